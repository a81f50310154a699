//! The words of one line: `Key=value`, with blanks, quotes and comments.

use crate::error::{ConfigError, SourceLocation, nearest, quoted};

const KEYS: [&str; 8] = [
    "Clientname",
    "Username",
    "Workdir",
    "Execpath",
    "Workload",
    "Oprate",
    "Password",
    "Instances",
];

/// A word of a line.
pub(super) struct Word {
    pub key: &'static str,
    pub value: String,
    /// The place of the key.
    pub location: SourceLocation,
}

/// The position of the reader on a line.
pub(super) struct Scan<'a> {
    file: &'a str,
    line: usize,
    chars: Vec<char>,
    at: usize,
}

impl<'a> Scan<'a> {
    pub fn new(file: &'a str, line: usize, text: &str) -> Self {
        Self {
            file,
            line,
            chars: text.chars().collect(),
            at: 0,
        }
    }

    pub fn is_at_end(&self) -> bool {
        self.at >= self.chars.len()
    }

    pub fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn place(&self, at: usize) -> SourceLocation {
        SourceLocation::line(self.file, self.line, at + 1)
    }

    pub fn skip_blanks(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let from = self.at;
        while self.peek().is_some_and(&wanted) {
            self.at += 1;
        }
        self.chars[from..self.at].iter().collect()
    }

    /// Reads `Key = value`.
    pub fn word(&mut self) -> Result<Word, ConfigError> {
        let from = self.at;
        let name = self.take_while(|c| c != '=' && !c.is_whitespace());
        let place = self.place(from);
        let after_name = self.at;
        self.skip_blanks();
        if self.peek() != Some('=') {
            self.at = after_name;
            return Err(ConfigError::new(
                place,
                format!("'{}' is not Key=value", quoted(&name)),
                "put a value with blanks in double quotes",
            ));
        }
        self.at += 1;
        let known = KEYS.iter().find(|k| k.eq_ignore_ascii_case(&name));
        let value = self.value(&name)?;
        let Some(key) = known else {
            let hint = match nearest(&name, KEYS.into_iter()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("known: {}", KEYS.join(", ")),
            };
            let message = format!("there is no key '{}'", quoted(&name));
            return Err(ConfigError::new(place, message, hint));
        };
        if value.is_empty() {
            let message = format!("{key} has no value");
            let hint = match *key {
                "Instances" => "write a number, e.g. Instances=4 (# begins a comment)",
                _ => "write Key=value",
            };
            return Err(ConfigError::new(place, message, hint));
        }
        Ok(Word {
            key,
            value,
            location: place,
        })
    }

    /// Reads a value; blanks before it are allowed, unless what follows is the next key.
    fn value(&mut self, name: &str) -> Result<String, ConfigError> {
        let before = self.at;
        self.skip_blanks();
        if self.at > before && self.key_follows() {
            return Ok(String::new());
        }
        match self.peek() {
            None | Some('#') => Ok(String::new()),
            Some(quote @ ('"' | '\'')) => {
                let from = self.at;
                self.at += 1;
                let value = self.take_while(|c| c != quote);
                if self.peek().is_none() {
                    return Err(ConfigError::new(
                        self.place(from),
                        format!(
                            "the quote {quote} that opens the value of {} is never closed",
                            quoted(name)
                        ),
                        format!("put {quote} at the end of the value"),
                    ));
                }
                self.at += 1;
                Ok(value)
            }
            Some('\u{201c}' | '\u{201d}' | '\u{2018}' | '\u{2019}') => {
                let place = self.place(self.at);
                self.take_while(|c| !c.is_whitespace());
                Err(ConfigError::new(
                    place,
                    format!("the value of {} is in typographical quotes", quoted(name)),
                    "type plain double quotes",
                ))
            }
            Some(_) => Ok(self.take_while(|c| !c.is_whitespace())),
        }
    }

    /// Whether a known key and its `=` come next.
    fn key_follows(&self) -> bool {
        let rest: String = self.chars[self.at..].iter().collect();
        rest.split_once('=').is_some_and(|(name, _)| {
            let name = name.trim_end();
            KEYS.iter().any(|k| k.eq_ignore_ascii_case(name))
        })
    }
}
