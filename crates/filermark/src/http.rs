//! A small HTTP/1.1 server for read-only pages: the metrics of a run and the page of `watch`.
//!
//! Requests are parsed by `httparse`. Each connection takes one request and has a time limit; the
//! number of connections and the size of a request are limited. It does not know what it serves.

mod listen;
mod serve;
#[cfg(test)]
mod tests;

pub use listen::{Listen, Token};
pub use serve::HttpServer;

/// A request that may be answered: GET or HEAD, with the token if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The path, without the query.
    pub path: String,
    /// The header `Accept`, empty if it is missing.
    pub accept: String,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The header `Content-Type`.
    pub content_type: &'static str,
    /// Additional headers.
    pub headers: &'static [(&'static str, &'static str)],
    /// The content.
    pub body: String,
}

impl Response {
    /// A content of this type.
    pub const fn of(content_type: &'static str, body: String) -> Self {
        Self {
            status: 200,
            content_type,
            headers: &[],
            body,
        }
    }

    /// A short text with a status.
    pub fn text(status: u16, body: &str) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            headers: &[],
            body: format!("{body}\n"),
        }
    }
}
