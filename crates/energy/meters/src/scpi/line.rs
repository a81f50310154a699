//! Lines over TCP: a command is a line, and so is an answer.

use super::{LINE_LEN_MAX, Transport, receive, send, stream};
use crate::meter::ReadFailure;
use crate::waiting::Deadline;
use std::net::{SocketAddr, TcpStream};

/// A connection.
#[derive(Debug)]
pub(super) struct Line {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Line {
    pub(super) fn connect(address: SocketAddr, deadline: Deadline) -> Result<Self, ReadFailure> {
        Ok(Self {
            stream: stream(address, "the meter's line port", deadline)?,
            buffer: Vec::new(),
        })
    }
}

impl Transport for Line {
    fn write(
        &mut self,
        words: &str,
        step: &'static str,
        deadline: Deadline,
    ) -> Result<(), ReadFailure> {
        let line = format!("{words}\n");
        send(&mut self.stream, line.as_bytes(), step, deadline)
    }

    fn read_line(&mut self, step: &'static str, deadline: Deadline) -> Result<String, ReadFailure> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                if !self.buffer.is_empty() {
                    return Err(ReadFailure::new(step, "it sent more than one answer"));
                }
                let text = String::from_utf8(line).map(|text| text.trim().to_owned());
                return text.map_err(|_| ReadFailure::new(step, "its answer is not text"));
            }
            if self.buffer.len() >= LINE_LEN_MAX {
                let reason = format!("it answered {LINE_LEN_MAX} bytes without an end of line");
                return Err(ReadFailure::new(step, reason));
            }
            let mut some = [0; 256];
            let len = receive(&mut self.stream, &mut some, step, deadline)?;
            self.buffer
                .extend_from_slice(some.get(..len).unwrap_or(&[]));
        }
    }
}
