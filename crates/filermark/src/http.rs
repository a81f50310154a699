//! A small HTTP/1.1 server for what is read only: the metrics and events of a run, and the page of
//! `watch`; and the client that reads events.
//!
//! Requests and heads of answers are parsed by `httparse`. Each connection takes one request and
//! has a time limit; the number of connections and the size of a request are limited. The server
//! does not know what it serves.

mod client;
mod listen;
mod serve;
#[cfg(test)]
mod tests;

pub use client::{GetError, ServerUrl, get_lines};
pub use listen::{Listen, Token};
pub use serve::HttpServer;
use std::time::Duration;

/// A request that may be answered: GET or HEAD, with the token if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The path, without the query.
    pub path: String,
    /// The header `Accept`, empty if it is missing.
    pub accept: String,
}

/// What a stream has next.
#[derive(Debug)]
pub enum NextLines {
    /// Whole lines.
    Text(String),
    /// Nothing yet.
    Wait,
    /// Nothing follows.
    End,
}

/// Lines that are sent as they come.
pub trait LineStream: Send {
    /// The next lines; waits for them up to `wait`.
    fn next(&mut self, wait: Duration) -> NextLines;
}

/// The content of an answer.
pub enum Body {
    Text(String),
    /// Of unknown length: it ends with the connection.
    Lines(Box<dyn LineStream>),
}

/// An answer.
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The header `Content-Type`.
    pub content_type: &'static str,
    /// Additional headers.
    pub headers: &'static [(&'static str, &'static str)],
    /// The content.
    pub body: Body,
}

impl Response {
    /// A content of this type.
    pub const fn of(content_type: &'static str, body: String) -> Self {
        Self {
            status: 200,
            content_type,
            headers: &[],
            body: Body::Text(body),
        }
    }

    /// Lines as they come.
    pub fn lines(content_type: &'static str, lines: Box<dyn LineStream>) -> Self {
        Self {
            status: 200,
            content_type,
            headers: &[],
            body: Body::Lines(lines),
        }
    }

    /// A short text with a status.
    pub fn text(status: u16, body: &str) -> Self {
        Self {
            status,
            content_type: "text/plain; charset=utf-8",
            headers: &[],
            body: Body::Text(format!("{body}\n")),
        }
    }
}
