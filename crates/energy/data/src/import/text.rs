//! Decodes text of any origin into lines of UTF-8: with or without a byte order mark, UTF-16 of
//! either order with a mark, and bytes that are not UTF-8 as Latin-1, in which meters write
//! degrees and lambdas. A line has a limit.

use std::io::{self, Read};

/// Bytes of a line that are kept. A row of a meter has some hundred.
pub(crate) const LINE_LEN_MAX: usize = 1 << 16;
/// Bytes that are read at once.
const BUFFER: usize = 1 << 16;

#[derive(Clone, Copy, PartialEq, Eq)]
enum TextEncoding {
    Bytes,
    Utf16 { big_endian: bool },
}

/// Lines of a text.
pub(crate) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    at: usize,
    code: Option<TextEncoding>,
    raw: Vec<u8>,
    /// The line's number, from 1.
    pub(crate) number: u64,
    /// The line without its end; of one that is too long, its beginning.
    pub(crate) line: String,
    /// Whether it is too long.
    pub(crate) too_long: bool,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            at: 0,
            code: None,
            raw: Vec::new(),
            number: 0,
            line: String::new(),
            too_long: false,
        }
    }

    /// Goes to the next line; false at the end.
    pub(crate) fn next(&mut self) -> io::Result<bool> {
        let code = match self.code {
            Some(code) => code,
            None => {
                let code = self.begin()?;
                self.code = Some(code);
                code
            }
        };
        self.raw.clear();
        self.too_long = false;
        let ended = match code {
            TextEncoding::Bytes => self.take_bytes()?,
            TextEncoding::Utf16 { big_endian } => self.take_units(big_endian)?,
        };
        if !ended && self.raw.is_empty() && !self.too_long {
            return Ok(false);
        }
        self.number += 1;
        self.line.clear();
        match code {
            TextEncoding::Bytes => decode_bytes(&self.raw, &mut self.line),
            TextEncoding::Utf16 { big_endian } => {
                let unit = |pair: &[u8]| match big_endian {
                    true => u16::from_be_bytes([pair[0], pair[1]]),
                    false => u16::from_le_bytes([pair[0], pair[1]]),
                };
                let units = self.raw.chunks_exact(2).map(unit);
                let chars = char::decode_utf16(units);
                self.line.extend(chars.map(|c| c.unwrap_or('\u{fffd}')));
            }
        }
        let kept = self.line.trim_end_matches(['\r', '\n']).len();
        self.line.truncate(kept);
        Ok(true)
    }

    fn begin(&mut self) -> io::Result<TextEncoding> {
        while self.buffer.len() < 3 && self.more()? {}
        let (skipped, code) = match self.buffer.as_slice() {
            [0xef, 0xbb, 0xbf, ..] => (3, TextEncoding::Bytes),
            [0xff, 0xfe, ..] => (2, TextEncoding::Utf16 { big_endian: false }),
            [0xfe, 0xff, ..] => (2, TextEncoding::Utf16 { big_endian: true }),
            _ => (0, TextEncoding::Bytes),
        };
        self.at = skipped;
        Ok(code)
    }

    /// Reads on; false at the end.
    fn more(&mut self) -> io::Result<bool> {
        self.buffer.drain(..self.at);
        self.at = 0;
        let had = self.buffer.len();
        self.buffer.resize(had + BUFFER, 0);
        let read = loop {
            match self.input.read(&mut self.buffer[had..]) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.buffer.truncate(had + *read.as_ref().unwrap_or(&0));
        Ok(read? > 0)
    }

    fn keep(&mut self, from: usize, to: usize) {
        let space = LINE_LEN_MAX.saturating_sub(self.raw.len());
        let kept = (to - from).min(space);
        self.too_long |= kept < to - from;
        self.raw.extend_from_slice(&self.buffer[from..from + kept]);
    }

    /// Up to a line feed; whether there was one.
    fn take_bytes(&mut self) -> io::Result<bool> {
        loop {
            let rest = &self.buffer[self.at..];
            if let Some(length) = rest.iter().position(|b| *b == b'\n') {
                self.keep(self.at, self.at + length);
                self.at += length + 1;
                return Ok(true);
            }
            let end = self.buffer.len();
            self.keep(self.at, end);
            self.at = end;
            if !self.more()? {
                return Ok(false);
            }
        }
    }

    /// As [`take_bytes`](Self::take_bytes), with units of two bytes. An odd byte at the end is
    /// dropped.
    fn take_units(&mut self, big_endian: bool) -> io::Result<bool> {
        let feed = if big_endian { [0, b'\n'] } else { [b'\n', 0] };
        loop {
            let rest = &self.buffer[self.at..];
            if let Some(units) = rest.chunks_exact(2).position(|pair| pair == feed) {
                self.keep(self.at, self.at + units * 2);
                self.at += units * 2 + 2;
                return Ok(true);
            }
            let end = self.at + rest.len() / 2 * 2;
            self.keep(self.at, end);
            self.at = end;
            if !self.more()? {
                self.at = self.buffer.len();
                return Ok(false);
            }
        }
    }
}

/// UTF-8, and each invalid byte as Latin-1.
fn decode_bytes(bytes: &[u8], out: &mut String) {
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|b| char::from(*b)));
    }
}

/// Splits a line into the cells of a table. A cell may be quoted, and ends with the line.
pub(crate) fn cells(line: &str, separator: u8, out: &mut csv::StringRecord) {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(separator)
        .trim(csv::Trim::All)
        .buffer_capacity(line.len() + 1)
        .from_reader(line.as_bytes());
    if !matches!(reader.read_record(out), Ok(true)) {
        out.clear();
    }
    // The parser does not treat quotes after a blank as quotes.
    if out.iter().any(|cell| cell.starts_with('"')) {
        *out = out
            .iter()
            .map(|cell| cell.trim_matches('"').trim())
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<String> {
        let mut lines = Lines::new(bytes);
        let mut all = Vec::new();
        while lines.next().expect("memory") {
            all.push(lines.line.clone());
        }
        assert_eq!(lines.number, all.len() as u64);
        all
    }

    #[test]
    fn codes_and_ends() {
        let wanted = ["°C,λ", "1,2", "", "3"];
        assert_eq!(lines("°C,λ\r\n1,2\n\n3".as_bytes()), wanted);
        assert_eq!(lines("\u{feff}°C,λ\r\n1,2\n\n3\n".as_bytes()), wanted);
        let units: Vec<u16> = "\u{feff}°C,λ\r\n1,2\n\n3\n".encode_utf16().collect();
        let little: Vec<u8> = units.iter().flat_map(|u| u.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|u| u.to_be_bytes()).collect();
        assert_eq!(lines(&little), wanted);
        assert_eq!(lines(&big), wanted);
        assert_eq!(lines(b"\xb0C;\xb5V\r\n"), ["°C;µV"]);
        assert_eq!(lines(b""), [""; 0]);
    }

    #[test]
    fn a_line_has_a_limit() {
        let mut text = vec![b'x'; LINE_LEN_MAX * 5];
        text.extend_from_slice(b"\nshort\n");
        let mut read = Lines::new(text.as_slice());
        assert!(read.next().expect("memory"));
        assert!(read.too_long && read.line.len() == LINE_LEN_MAX);
        assert!(read.next().expect("memory"));
        assert_eq!((read.line.as_str(), read.too_long), ("short", false));
        assert!(!read.next().expect("memory"));
    }

    #[test]
    fn quoted_cells() {
        let mut record = csv::StringRecord::new();
        cells(r#""a, b"; "c";d"#, b';', &mut record);
        assert_eq!(record.iter().collect::<Vec<_>>(), ["a, b", "c", "d"]);
        cells("", b',', &mut record);
        assert_eq!(record.len(), 0);
        cells("\"open, never closed", b',', &mut record);
        assert_eq!(record.len(), 1);
    }
}
