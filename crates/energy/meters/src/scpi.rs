//! Power meters with the commands of the WT300 family (IM WT310E-17EN: the NUMeric group),
//! in lines over TCP ([`line`]) or by VXI-11 ([`vxi11`]).
//!
//! Seven items are set up once for each connection, and read with one query. A figure that
//! the meter does not have (`NAN`) or that is over its range (`INF`) is left out. After any
//! failure the connection is dropped: a late answer would be taken for the next one.

mod line;
mod vxi11;

use crate::meter::{ReadFailure, Sample, Source};
use crate::waiting::{Deadline, Resolver};
use filermark_energy_data::Quantity;
use filermark_model::text::sanitize;
use line::Line;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use vxi11::Vxi11;

/// Longest line that a meter may answer, in bytes. Seven figures have 100.
const LINE_LEN_MAX: usize = 1024;

/// The items of the query, by the meter's names, in the order of the answer.
const ITEMS: [(&str, Quantity); 7] = [
    ("P", Quantity::Power),
    ("U", Quantity::Voltage),
    ("I", Quantity::Current),
    ("S", Quantity::ApparentPower),
    ("LAMBDA", Quantity::PowerFactor),
    ("FU", Quantity::Frequency),
    // Only with the option for harmonics; the item stays empty without it.
    ("UTHD", Quantity::VoltageDistortion),
];

/// SCPI's figure for infinity (IEEE 488.2: 9.9E37); NaN is above it.
const NO_FIGURE: f64 = 9.9e37;

/// Sends commands to a meter and receives its answers.
pub(crate) trait Transport: Send {
    /// Sends a command.
    fn write(
        &mut self,
        words: &str,
        step: &'static str,
        deadline: Deadline,
    ) -> Result<(), ReadFailure>;

    /// Reads the answer, one line.
    fn read_line(&mut self, step: &'static str, deadline: Deadline) -> Result<String, ReadFailure>;

    /// Sends a query and waits for its answer.
    fn query(
        &mut self,
        words: &str,
        step: &'static str,
        deadline: Deadline,
    ) -> Result<String, ReadFailure> {
        self.write(words, step, deadline)?;
        self.read_line(step, deadline)
    }
}

/// The kinds of transport.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TransportKind {
    /// Lines over TCP, to this port.
    Lines(u16),
    /// VXI-11, its core channel at this port; `None`: the port that the portmapper returns.
    Vxi11(Option<u16>),
}

/// A meter.
pub(crate) struct Scpi {
    resolver: Resolver,
    transport: TransportKind,
    element: u32,
    limit: Duration,
    link: Option<Box<dyn Transport>>,
}

impl Scpi {
    /// `element` is the input. Connects at the first reading.
    pub(crate) fn new(host: &str, way: TransportKind, element: u32, limit: Duration) -> Self {
        let port = match way {
            TransportKind::Lines(port) | TransportKind::Vxi11(Some(port)) => port,
            TransportKind::Vxi11(None) => vxi11::PORTMAPPER,
        };
        Self {
            resolver: Resolver::new(host, port),
            transport: way,
            element,
            limit,
            link: None,
        }
    }

    fn connect(&mut self, deadline: Deadline) -> Result<Box<dyn Transport>, ReadFailure> {
        let address = self.resolver.address(deadline)?;
        let mut link: Box<dyn Transport> = match self.transport {
            TransportKind::Lines(_) => Box::new(Line::connect(address, deadline)?),
            TransportKind::Vxi11(port) => {
                Box::new(Vxi11::connect(address, port.is_none(), deadline)?)
            }
        };
        set_up(&mut *link, self.element, deadline)?;
        Ok(link)
    }
}

impl Source for Scpi {
    fn figures(&mut self) -> Result<Sample, ReadFailure> {
        let deadline = Deadline::after(self.limit);
        let mut link = match self.link.take() {
            Some(link) => link,
            None => self.connect(deadline)?,
        };
        let answer = link.query(":NUMERIC:NORMAL:VALUE?", "read the figures", deadline)?;
        let values = figures(&answer).map_err(|why| ReadFailure::new("read the figures", why))?;
        self.link = Some(link);
        Ok(Sample::now(values))
    }
}

/// Selects the figures, and checks that the meter accepted the selection.
fn set_up(link: &mut dyn Transport, element: u32, deadline: Deadline) -> Result<(), ReadFailure> {
    const STEP: &str = "set the meter up";
    let identity = link.query("*IDN?", "identify the meter", deadline)?;
    // IEEE 488.2, 10.14: maker, model, serial number, version.
    if identity.matches(',').count() != 3 {
        let identity = sanitize(&identity, 80);
        let reason = format!(
            "\"{identity}\" is not an instrument's identification: is this a meter's port?"
        );
        return Err(ReadFailure::new("identify the meter", reason));
    }
    link.write(":COMMUNICATE:HEADER OFF", STEP, deadline)?;
    link.write(":NUMERIC:FORMAT ASCII", STEP, deadline)?;
    // An item that the meter does not have must not keep its former function.
    link.write(":NUMERIC:NORMAL:CLEAR ALL", STEP, deadline)?;
    let count = format!(":NUMERIC:NORMAL:NUMBER {}", ITEMS.len());
    link.write(&count, STEP, deadline)?;
    for (at, (name, _)) in (1..).zip(ITEMS) {
        let item = format!(":NUMERIC:NORMAL:ITEM{at} {name},{element}");
        link.write(&item, STEP, deadline)?;
    }
    let first = link.query(":NUMERIC:NORMAL:ITEM1?", STEP, deadline)?;
    let wanted = format!("P,{element}");
    let got: String = first.chars().filter(|c| !c.is_whitespace()).collect();
    if !got.eq_ignore_ascii_case(&wanted) {
        let got = sanitize(&first, 80);
        let reason = format!(
            "its first item is \"{got}\" and not {wanted}: does it have an input {element}, and \
             the commands of the WT300 family?"
        );
        return Err(ReadFailure::new(STEP, reason));
    }
    Ok(())
}

/// Connects within the limit. `what` describes the address in an error message.
fn stream(address: SocketAddr, what: &str, deadline: Deadline) -> Result<TcpStream, ReadFailure> {
    const STEP: &str = "connect";
    let stream = TcpStream::connect_timeout(&address, deadline.left(STEP)?);
    stream.map_err(|error| match error.kind() {
        ErrorKind::TimedOut => deadline.passed(STEP),
        _ => ReadFailure::new(STEP, format!("{error}; is {address} {what}?")),
    })
}

/// Sends all of it, within the limit.
fn send(
    stream: &mut TcpStream,
    bytes: &[u8],
    step: &'static str,
    deadline: Deadline,
) -> Result<(), ReadFailure> {
    let left = deadline.left(step)?;
    let sent = stream
        .set_write_timeout(Some(left))
        .and_then(|()| stream.write_all(bytes));
    sent.map_err(|error| broken(&error, step, deadline))
}

/// Receives something, within the limit.
fn receive(
    stream: &mut TcpStream,
    some: &mut [u8],
    step: &'static str,
    deadline: Deadline,
) -> Result<usize, ReadFailure> {
    loop {
        let left = deadline.left(step)?;
        let got = stream
            .set_read_timeout(Some(left))
            .and_then(|()| stream.read(some));
        match got {
            Ok(0) => {
                let reason = "it closed the connection; is another program connected to it?";
                return Err(ReadFailure::new(step, reason));
            }
            Ok(len) => return Ok(len),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(broken(&error, step, deadline)),
        }
    }
}

fn broken(error: &std::io::Error, step: &'static str, deadline: Deadline) -> ReadFailure {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => deadline.passed(step),
        _ => ReadFailure::new(step, error.to_string()),
    }
}

/// `535.2E+00,230.1E+00,NAN,...`: the figures that are there.
fn figures(answer: &str) -> Result<Vec<(Quantity, f64)>, String> {
    let words: Vec<&str> = answer.split(',').map(str::trim).collect();
    if words.len() != ITEMS.len() {
        let (shown, wanted) = (sanitize(answer, 80), ITEMS.len());
        return Err(format!(
            "\"{shown}\" does not have the {wanted} figures of the query"
        ));
    }
    let mut values = Vec::new();
    for (word, (name, quantity)) in words.iter().zip(ITEMS) {
        match word.parse::<f64>() {
            // Over the range is INF, no figure is NAN; both parse.
            Ok(value) if value.is_finite() && value.abs() < NO_FIGURE => {
                values.push((quantity, value));
            }
            Ok(_) => {}
            Err(_) => {
                let word = sanitize(word, 20);
                return Err(format!("\"{word}\" for {name} is not a figure"));
            }
        }
    }
    if values.is_empty() {
        return Err("the answer has no figure: is the input on, and its range wide enough?".into());
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_and_inf_are_left_out() {
        let got = figures("535.20E+00,230.1E+00,2.3E+0, 540E+00,NAN,INF,9.91E+37");
        let wanted = [
            (Quantity::Power, 535.2),
            (Quantity::Voltage, 230.1),
            (Quantity::Current, 2.3),
            (Quantity::ApparentPower, 540.0),
        ];
        assert_eq!(got.expect("figures"), wanted);
        for bad in [
            "",
            "1",
            "1,2,3,4,5,6",
            "1,2,3,4,5,6,7,8",
            "1,2,x,4,5,6,7",
            "ERROR",
        ] {
            assert!(figures(bad).is_err(), "{bad}");
        }
        assert!(figures("NAN,NAN,NAN,NAN,NAN,NAN,INF").is_err());
        assert!(figures("-INF,nan,NAN,NAN,NAN,NAN,5").is_ok());
    }
}
