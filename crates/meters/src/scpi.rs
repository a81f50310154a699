//! Power meters that are asked in lines over TCP, in the words of the WT300 family
//! (IM WT310E-17EN: commands of the NUMeric group).
//!
//! Seven items are set up once for each connection, and read with one query. What the
//! meter cannot say (`NAN`) or what is over its range (`INF`) is missing. After any failure
//! the connection is dropped: an answer that comes late would pass for the next one.

use crate::meter::{Sample, Source, Trouble};
use crate::waiting::{Deadline, Resolver};
use filermark_energy::Quantity;
use filermark_model::words::tame;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Longest line that a meter may answer, in bytes. Seven figures have 100.
const LINE_LEN_MAX: usize = 1024;

/// What is asked for, by the meter's names, in the order of the answer.
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

/// SCPI's figure for infinity (IEEE 488.2: 9.9E37) and, above it, for what is no number.
const NO_FIGURE: f64 = 9.9e37;

/// A meter.
#[derive(Debug)]
pub(crate) struct Scpi {
    resolver: Resolver,
    element: u32,
    limit: Duration,
    line: Option<Line>,
}

impl Scpi {
    /// At this place, asked for this input. Connects when it is read first.
    pub(crate) fn new(host: &str, port: u16, element: u32, limit: Duration) -> Self {
        Self {
            resolver: Resolver::new(host, port),
            element,
            limit,
            line: None,
        }
    }

    fn connect(&mut self, deadline: Deadline) -> Result<Line, Trouble> {
        const STEP: &str = "connect";
        let address = self.resolver.address(deadline)?;
        let stream = TcpStream::connect_timeout(&address, deadline.left(STEP)?);
        let stream = stream.map_err(|error| match error.kind() {
            ErrorKind::TimedOut => deadline.passed(STEP),
            _ => Trouble::new(
                STEP,
                format!("{error}; is {address} the meter's line port?"),
            ),
        })?;
        let mut line = Line {
            stream,
            buffer: Vec::new(),
        };
        line.set_up(self.element, deadline)?;
        Ok(line)
    }
}

impl Source for Scpi {
    fn figures(&mut self) -> Result<Sample, Trouble> {
        let deadline = Deadline::after(self.limit);
        let mut line = match self.line.take() {
            Some(line) => line,
            None => self.connect(deadline)?,
        };
        let answer = line.ask(":NUMERIC:NORMAL:VALUE?", "read the figures", deadline)?;
        let values = figures(&answer).map_err(|why| Trouble::new("read the figures", why))?;
        self.line = Some(line);
        Ok(Sample::now(values))
    }
}

/// A connection.
#[derive(Debug)]
struct Line {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Line {
    /// Says which figures are wanted, and looks whether it was understood.
    fn set_up(&mut self, element: u32, deadline: Deadline) -> Result<(), Trouble> {
        const STEP: &str = "set the meter up";
        let who = self.ask("*IDN?", "ask who it is", deadline)?;
        // IEEE 488.2, 10.14: maker, model, serial number, version.
        if who.matches(',').count() != 3 {
            let who = tame(&who, 80);
            let reason = format!("\"{who}\" is no instrument's name: is this a meter's port?");
            return Err(Trouble::new("ask who it is", reason));
        }
        self.tell(":COMMUNICATE:HEADER OFF", STEP, deadline)?;
        self.tell(":NUMERIC:FORMAT ASCII", STEP, deadline)?;
        // An item that the meter has not got must not keep what was there before.
        self.tell(":NUMERIC:NORMAL:CLEAR ALL", STEP, deadline)?;
        let count = format!(":NUMERIC:NORMAL:NUMBER {}", ITEMS.len());
        self.tell(&count, STEP, deadline)?;
        for (at, (name, _)) in (1..).zip(ITEMS) {
            let item = format!(":NUMERIC:NORMAL:ITEM{at} {name},{element}");
            self.tell(&item, STEP, deadline)?;
        }
        let first = self.ask(":NUMERIC:NORMAL:ITEM1?", STEP, deadline)?;
        let wanted = format!("P,{element}");
        let got: String = first.chars().filter(|c| !c.is_whitespace()).collect();
        if !got.eq_ignore_ascii_case(&wanted) {
            let got = tame(&first, 80);
            let reason = format!(
                "its first item is \"{got}\" and not {wanted}: has it an input {element}, and \
                 the commands of the WT300 family?"
            );
            return Err(Trouble::new(STEP, reason));
        }
        Ok(())
    }

    fn tell(&mut self, words: &str, step: &'static str, deadline: Deadline) -> Result<(), Trouble> {
        let left = deadline.left(step)?;
        let sent = self
            .stream
            .set_write_timeout(Some(left))
            .and_then(|()| self.stream.write_all(format!("{words}\n").as_bytes()));
        sent.map_err(|error| broken(&error, step, deadline))
    }

    fn ask(
        &mut self,
        words: &str,
        step: &'static str,
        deadline: Deadline,
    ) -> Result<String, Trouble> {
        self.tell(words, step, deadline)?;
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                if !self.buffer.is_empty() {
                    return Err(Trouble::new(step, "it answered more than it was asked"));
                }
                let text = String::from_utf8(line).map(|text| text.trim().to_owned());
                return text.map_err(|_| Trouble::new(step, "its answer is no text"));
            }
            if self.buffer.len() >= LINE_LEN_MAX {
                let reason = format!("it answered {LINE_LEN_MAX} bytes without an end of line");
                return Err(Trouble::new(step, reason));
            }
            let mut some = [0; 256];
            let left = deadline.left(step)?;
            let got = self
                .stream
                .set_read_timeout(Some(left))
                .and_then(|()| self.stream.read(&mut some));
            match got {
                Ok(0) => {
                    let reason = "it closed the connection; does another program talk to it?";
                    return Err(Trouble::new(step, reason));
                }
                Ok(len) => self
                    .buffer
                    .extend_from_slice(some.get(..len).unwrap_or(&[])),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(broken(&error, step, deadline)),
            }
        }
    }
}

fn broken(error: &std::io::Error, step: &'static str, deadline: Deadline) -> Trouble {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => deadline.passed(step),
        _ => Trouble::new(step, error.to_string()),
    }
}

/// `535.2E+00,230.1E+00,NAN,...`: the figures that are there.
fn figures(answer: &str) -> Result<Vec<(Quantity, f64)>, String> {
    let words: Vec<&str> = answer.split(',').map(str::trim).collect();
    if words.len() != ITEMS.len() {
        let (shown, wanted) = (tame(answer, 80), ITEMS.len());
        return Err(format!(
            "\"{shown}\" are not the {wanted} figures that were asked for"
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
                let word = tame(word, 20);
                return Err(format!("\"{word}\" for {name} is no figure"));
            }
        }
    }
    if values.is_empty() {
        return Err("it has no figure at all: is the input on, and its range wide enough?".into());
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_figure_is_missing() {
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
