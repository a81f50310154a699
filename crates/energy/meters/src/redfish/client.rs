//! HTTP for Redfish: one agent, a login, limits on time and size, and error messages.

use crate::meter::ReadFailure;
use crate::secret;
use crate::waiting::Deadline;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use filermark_energy_data::setup::SourceSpec;
use filermark_model::text::sanitize;
use filermark_results::Timestamp;
use serde_json::Value;
use std::path::Path;
use ureq::config::RedirectAuthHeaders;
use ureq::http::{StatusCode, Uri};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Error, ResponseExt};

/// Largest body that is read, in bytes.
const BODY_LEN_MAX: u64 = 1 << 20;
/// Largest file of certificates, in bytes.
const CA_LEN_MAX: u64 = 1 << 20;
/// Most redirects of one request: to the path with or without a last slash, and one more.
const REDIRECTS_MAX: u32 = 2;
const STEP: &str = "ask the service";

/// A client of one service.
pub(super) struct Client {
    agent: Agent,
    /// `https://host:port`.
    base: String,
    login: Option<String>,
    tls: bool,
    clock: Option<(f64, f64)>,
}

/// Why there is no body.
pub(super) enum HttpError {
    /// There is no such resource.
    NotFound(ReadFailure),
    /// Anything else.
    Other(ReadFailure),
}

impl From<HttpError> for ReadFailure {
    fn from(failed: HttpError) -> Self {
        match failed {
            HttpError::NotFound(failure) | HttpError::Other(failure) => failure,
        }
    }
}

impl From<ReadFailure> for HttpError {
    fn from(failure: ReadFailure) -> Self {
        Self::Other(failure)
    }
}

impl Client {
    /// Of this source.
    pub(super) fn new(spec: &SourceSpec) -> Result<Self, ReadFailure> {
        let SourceSpec::Redfish {
            tls,
            host,
            port,
            user,
            password_file,
            ca,
            insecure,
            ..
        } = spec
        else {
            return Err(ReadFailure::new("open", "not a Redfish source"));
        };
        let login = match user {
            None => None,
            Some(user) => {
                let password = secret::password(password_file.as_deref())?;
                let pair = STANDARD.encode(format!("{user}:{password}"));
                Some(format!("Basic {pair}"))
            }
        };
        let roots = match ca {
            Some(path) => certificates(path)?,
            None => RootCerts::WebPki,
        };
        let checks = TlsConfig::builder()
            .root_certs(roots)
            .disable_verification(*insecure)
            .build();
        // Service processors are in the local network: no proxy is used.
        let config = Agent::config_builder()
            .tls_config(checks)
            .http_status_as_error(false)
            .proxy(None)
            .max_redirects(REDIRECTS_MAX)
            .redirect_auth_headers(RedirectAuthHeaders::SameHost)
            .user_agent("filermark")
            .build();
        let host = match host.contains(':') {
            true => format!("[{host}]"),
            false => host.clone(),
        };
        let scheme = if *tls { "https" } else { "http" };
        Ok(Self {
            agent: config.new_agent(),
            base: format!("{scheme}://{host}:{port}"),
            login,
            tls: *tls,
            clock: None,
        })
    }

    /// Seconds that the service's clock is ahead of this host's, and the error bound; `None`
    /// before an answer with a date.
    pub(super) const fn clock(&self) -> Option<(f64, f64)> {
        self.clock
    }

    /// The body of a resource. The fragment of the path is not sent.
    pub(super) fn get(&mut self, path: &str, deadline: Deadline) -> Result<Value, HttpError> {
        let path = path.split('#').next().unwrap_or_default();
        let left = deadline.left(STEP)?;
        let sent = Timestamp::now();
        let mut request = self
            .agent
            .get(format!("{}{path}", self.base))
            .header("Accept", "application/json")
            .header("OData-Version", "4.0");
        if let Some(login) = &self.login {
            request = request.header("Authorization", login);
        }
        let request = request.config().timeout_global(Some(left)).build();
        let mut answer = request.call().map_err(|e| self.broken(e, deadline))?;
        let round_trip = Timestamp::now().seconds_since(sent);
        // An answer of another host is not that of the source in the setup.
        if place(answer.get_uri()) != self.base.parse().ok().as_ref().and_then(place) {
            let elsewhere = sanitize(&answer.get_uri().to_string(), 120);
            let reason = format!("{path} redirects to {elsewhere}; give that address instead");
            return Err(HttpError::Other(ReadFailure::new(STEP, reason)));
        }
        let date = answer.headers().get("date");
        if let Some(date) = date.and_then(|date| date.to_str().ok()).and_then(date_of) {
            // The header has whole seconds: the real time is half a second later on average.
            let middle = sent.plus_seconds(round_trip / 2.0);
            let ahead = date.plus_seconds(0.5).seconds_since(middle);
            self.clock = Some((ahead, 1.0 + round_trip / 2.0));
        }
        self.judge(answer.status(), path)?;
        let body = answer.body_mut().with_config().limit(BODY_LEN_MAX);
        let body = body.read_to_vec().map_err(|e| self.broken(e, deadline))?;
        serde_json::from_slice(&body).map_err(|error| {
            let reason = format!("{path} is not JSON ({error}); is this a Redfish service?");
            HttpError::Other(ReadFailure::new("read the answer", reason))
        })
    }

    fn judge(&self, status: StatusCode, path: &str) -> Result<(), HttpError> {
        let reason = match status.as_u16() {
            200 => return Ok(()),
            401 | 403 => match self.login {
                None => {
                    "it requires a login: redfish://USER@HOST/..., with the password in a file \
                         (?password-file=FILE) or in FILERMARK_METER_PASSWORD"
                        .to_owned()
                }
                Some(_) => format!(
                    "it refuses the login ({status}): is the password right, and may the user \
                     read {path}?"
                ),
            },
            404 => {
                let reason = format!("there is no {path}; /redfish/v1/Chassis lists what there is");
                return Err(HttpError::NotFound(ReadFailure::new(STEP, reason)));
            }
            300..=399 => format!("{path} redirects ({status}); give the final address instead"),
            429 | 503 => format!("too many requests ({status}); set a longer interval"),
            _ => format!("{path}: {status}"),
        };
        Err(HttpError::Other(ReadFailure::new(STEP, reason)))
    }

    fn broken(&self, error: Error, deadline: Deadline) -> ReadFailure {
        match error {
            Error::Timeout(_) => deadline.passed(STEP),
            Error::BodyExceedsLimit(_) => {
                let reason = format!("the answer has more than {BODY_LEN_MAX} bytes");
                ReadFailure::new("read the answer", reason)
            }
            Error::HostNotFound => ReadFailure::new("look the host up", "the name is unknown"),
            Error::TooManyRedirects | Error::RedirectFailed => {
                ReadFailure::new(STEP, "too many redirects; give the final address instead")
            }
            other => {
                let text = other.to_string();
                let low = text.to_lowercase();
                if self.tls && (low.contains("certificate") || low.contains("unknownissuer")) {
                    let reason = format!(
                        "its certificate is not trusted ({text}); give the one to trust with \
                         ca=FILE (PEM), or trust any with insecure=yes"
                    );
                    return ReadFailure::new("check the certificate", reason);
                }
                if low.contains("connection refused") {
                    let reason = format!(
                        "{text}; is the service on, and is this its port ({})? redfish+http:// is without TLS",
                        self.base
                    );
                    return ReadFailure::new("connect", reason);
                }
                ReadFailure::new(STEP, text)
            }
        }
    }
}

/// Scheme, host and port of an address.
fn place(uri: &Uri) -> Option<(String, String, u16)> {
    let scheme = uri.scheme_str()?.to_lowercase();
    let port = match scheme.as_str() {
        "http" => 80,
        _ => 443,
    };
    let port = uri.port_u16().unwrap_or(port);
    Some((scheme, uri.host()?.to_lowercase(), port))
}

/// The certificates of a file in PEM.
fn certificates(path: &Path) -> Result<RootCerts, ReadFailure> {
    let bad = |why: String| {
        let shown = path.display();
        ReadFailure::new("read the certificate", format!("{shown}: {why}"))
    };
    let found = std::fs::metadata(path).map_err(|error| bad(error.to_string()))?;
    if !found.is_file() || found.len() > CA_LEN_MAX {
        return Err(bad("not a file of certificates".into()));
    }
    let pem = std::fs::read(path).map_err(|error| bad(error.to_string()))?;
    let mut certificates: Vec<Certificate<'static>> = Vec::new();
    for item in parse_pem(&pem) {
        // A key in the same file is ignored.
        if let PemItem::Certificate(certificate) = item.map_err(|e| bad(e.to_string()))? {
            certificates.push(certificate);
        }
    }
    match certificates.is_empty() {
        true => Err(bad(
            "has no certificate in PEM (-----BEGIN CERTIFICATE-----)".into(),
        )),
        false => Ok(RootCerts::new_with_certs(&certificates)),
    }
}

/// `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, 5.6.7).
fn date_of(text: &str) -> Option<Timestamp> {
    let zoned = jiff::fmt::rfc2822::parse(text).ok()?;
    let at = zoned.timestamp().as_duration();
    (at > jiff::SignedDuration::ZERO).then(|| Timestamp::from_unix_seconds(at.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_compared_by_scheme_host_and_port() {
        let of = |text: &str| place(&text.parse().expect("an address"));
        assert_eq!(of("https://bmc:443"), of("https://BMC/redfish/v1"));
        assert_eq!(of("http://[::1]:80/x"), of("http://[::1]/y"));
        for other in ["http://bmc:443/", "https://bmc:444/", "https://other:443/"] {
            assert_ne!(of("https://bmc:443"), of(other), "{other}");
        }
        assert_eq!(of("/redfish"), None);
    }

    #[test]
    fn the_date_of_a_header() {
        let at = date_of("Sun, 06 Nov 1994 08:49:37 GMT").expect("a date");
        assert!((at.unix_seconds() - 784_111_777.0).abs() < 1e-6);
        for bad in ["", "yesterday", "Sun, 06 Nov 1994 08:49:37"] {
            assert!(date_of(bad).is_none(), "{bad}");
        }
    }
}
