//! A Redfish service on a loopback port. Its bodies are written by hand after DMTF's
//! schemas (DSP8010) and published mock-ups; they are not captures.

use crate::device::Device;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::{Arc, Mutex};

/// An answer of the service.
pub enum Answer {
    /// 200 with this body.
    Body(Value),
    /// This status line, with these headers (each ends with CRLF), and no body.
    Status(&'static str, String),
    /// These bytes repeatedly, until the client disconnects.
    Flood(Vec<u8>),
    /// Nothing, until the client disconnects.
    Nothing,
}

/// A path that was asked for, and with which login.
pub type Asked = (String, Option<String>);

/// A running service.
pub struct Service {
    device: Device,
    scheme: &'static str,
    requests: Arc<Mutex<Vec<Asked>>>,
}

impl Service {
    /// Over plain HTTP; `answer` is given the path and the Authorization header.
    pub fn plain(answer: impl Fn(&str, Option<&str>) -> Answer + Send + 'static) -> Self {
        Self::start(None, answer)
    }

    /// Over TLS, with a self-signed certificate, returned in PEM.
    pub fn tls(answer: impl Fn(&str, Option<&str>) -> Answer + Send + 'static) -> (Self, String) {
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).expect("a certificate");
        let der = made.cert.der().clone();
        let text = STANDARD.encode(&der);
        let lines: Vec<&str> = text
            .as_bytes()
            .chunks(64)
            .map(|line| std::str::from_utf8(line).expect("ASCII"))
            .collect();
        let (begin, end) = ("-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----");
        let pem = format!("{begin}\n{}\n{end}\n", lines.join("\n"));
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![der], key.into())
            .expect("a configuration");
        (Self::start(Some(Arc::new(config)), answer), pem)
    }

    fn start(
        tls: Option<Arc<ServerConfig>>,
        answer: impl Fn(&str, Option<&str>) -> Answer + Send + 'static,
    ) -> Self {
        let scheme = if tls.is_some() {
            "redfish"
        } else {
            "redfish+http"
        };
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let device = Device::start(move |stream| match &tls {
            None => serve(stream, &answer, &seen),
            Some(config) => {
                let server = ServerConnection::new(Arc::clone(config)).expect("a connection");
                serve(StreamOwned::new(server, stream), &answer, &seen);
            }
        });
        Self {
            device,
            scheme,
            requests,
        }
    }

    /// A source of it: `user` with its `@`, or nothing.
    pub fn source(&self, user: &str, path: &str) -> String {
        format!("{}://{user}{}{path}", self.scheme, self.device.address())
    }

    /// The requests since the last call, with their logins.
    pub fn requests(&self) -> Vec<Asked> {
        std::mem::take(&mut self.requests.lock().expect("requests"))
    }

    /// The paths of these requests.
    pub fn paths(&self) -> Vec<String> {
        self.requests().into_iter().map(|(path, _)| path).collect()
    }
}

fn serve(
    stream: impl Read + Write,
    answer: &impl Fn(&str, Option<&str>) -> Answer,
    seen: &Mutex<Vec<Asked>>,
) {
    let mut stream = BufReader::new(stream);
    let (mut path, mut login) = (String::new(), None);
    loop {
        let mut line = String::new();
        // A failed handshake, or a test that has ended, ends it.
        if !matches!(stream.read_line(&mut line), Ok(len) if len > 0) {
            return;
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some(rest) = line.strip_prefix("GET ") {
            path = rest.split(' ').next().unwrap_or_default().to_owned();
        }
        if let Some((name, value)) = line.split_once(": ")
            && name.eq_ignore_ascii_case("authorization")
        {
            login = Some(value.to_owned());
        }
    }
    let answer = answer(&path, login.as_deref());
    seen.lock().expect("requests").push((path, login));
    let writer = stream.get_mut();
    // The client may have disconnected; some tests do that.
    let _ = match answer {
        Answer::Body(body) => {
            let body = body.to_string();
            let len = body.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len}\r\n\
                 Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nConnection: close\r\n\r\n"
            );
            writer.write_all(format!("{head}{body}").as_bytes())
        }
        Answer::Status(status, headers) => writer.write_all(
            format!("HTTP/1.1 {status}\r\n{headers}Content-Length: 0\r\nConnection: close\r\n\r\n")
                .as_bytes(),
        ),
        Answer::Flood(bytes) => {
            let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
            let mut sent = writer.write_all(head.as_bytes());
            while sent.is_ok() {
                sent = writer.write_all(&bytes);
            }
            sent
        }
        Answer::Nothing => {
            let mut some = [0; 64];
            while matches!(stream.read(&mut some), Ok(len) if len > 0) {}
            Ok(())
        }
    };
    let _ = stream.get_mut().flush();
}

/// A rack server with old resources and new ones.
pub fn rackmount(path: &str) -> Answer {
    let link = |name: &str| json!({"@odata.id": format!("/redfish/v1/Chassis/1U/{name}")});
    let body = match path
        .strip_prefix("/redfish/v1/Chassis/1U")
        .unwrap_or("none")
    {
        "" => json!({
            "@odata.type": "#Chassis.v1_22_0.Chassis",
            "@odata.id": "/redfish/v1/Chassis/1U",
            "EnvironmentMetrics": link("EnvironmentMetrics"),
            "Power": link("Power"),
            "ThermalSubsystem": link("ThermalSubsystem"),
            "Thermal": link("Thermal"),
        }),
        "/EnvironmentMetrics" => json!({
            "@odata.type": "#EnvironmentMetrics.v1_3_0.EnvironmentMetrics",
            "TemperatureCelsius": {"Reading": 39, "DataSourceUri": "/redfish/v1/x/CPU1Temp"},
            "PowerWatts": {"Reading": 374.0},
            "HumidityPercent": {"Reading": 41.5},
        }),
        "/ThermalSubsystem" => json!({
            "@odata.type": "#ThermalSubsystem.v1_1_0.ThermalSubsystem",
            "ThermalMetrics": link("ThermalSubsystem/ThermalMetrics"),
        }),
        "/ThermalSubsystem/ThermalMetrics" => json!({
            "@odata.type": "#ThermalMetrics.v1_1_0.ThermalMetrics",
            "TemperatureSummaryCelsius": {
                "Internal": {"Reading": 39}, "Intake": {"Reading": 24.8}, "Exhaust": {"Reading": 40.5}
            },
        }),
        "/Power" => json!({
            "@odata.type": "#Power.v1_7_1.Power",
            "@odata.id": "/redfish/v1/Chassis/1U/Power",
            "PowerControl": [{"Name": "System Input Power", "PowerConsumedWatts": 344}],
        }),
        _ => return Answer::Status("404 Not Found", String::new()),
    };
    Answer::Body(body)
}
