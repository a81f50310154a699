//! XML as a tree of elements. The file is untrusted: no document type, no entities
//! except XML's own, and limits of depth and size.

use crate::error::{ConfigError, SourceLocation, quoted};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// Deepest nesting that is read; definitions have four levels.
const DEPTH_MAX: usize = 16;

/// Most elements that are read.
const ELEMENTS_MAX: usize = 100_000;

/// One element.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    /// Its name in lower case.
    pub name: String,
    /// Names in lower case, and values.
    pub attributes: Vec<(String, String)>,
    /// Its own text, without the white space around it.
    pub text: String,
    pub children: Vec<Node>,
    /// Where it begins, from 1.
    pub line: usize,
}

impl Node {
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.trim())
    }

    /// The name of an element: the attribute `name`, a child `<name>`, or its text.
    pub fn title(&self) -> Option<&str> {
        let child = || self.children.iter().find(|c| c.name == "name");
        let named = self.attribute("name").or_else(|| child().map(Node::value));
        named.or(Some(&self.text)).filter(|name| !name.is_empty())
    }

    /// Its value: the text, the attribute `value`, or a child `<value>`.
    pub fn value(&self) -> &str {
        if !self.text.is_empty() {
            return &self.text;
        }
        let child = || self.children.iter().find(|c| c.name == "value");
        let child = || child().map(|c| c.text.as_str());
        self.attribute("value").or_else(child).unwrap_or_default()
    }
}

/// Reads a whole document; returns an element without a name that has its root, or all
/// elements of a file that has several.
pub(super) fn read(file: &str, text: &str) -> Result<Node, ConfigError> {
    let mut parser = Parser {
        file,
        text,
        reader: Reader::from_str(text),
        open: vec![Node::default()],
        count: 0,
        counted: (0, 1),
    };
    parser.whole()?;
    let document = parser.open.pop().unwrap_or_default();
    match document.children.is_empty() {
        true => Err(parser.error("there is no element in the file")),
        false => Ok(document),
    }
}

struct Parser<'a> {
    file: &'a str,
    text: &'a str,
    reader: Reader<&'a [u8]>,
    /// The open elements, outermost first; the document itself is the first.
    open: Vec<Node>,
    count: usize,
    /// Bytes whose line breaks are counted, and the line that they end in.
    counted: (usize, usize),
}

impl Parser<'_> {
    fn line(&mut self) -> usize {
        let at = usize::try_from(self.reader.buffer_position()).unwrap_or(usize::MAX);
        let at = at.min(self.text.len());
        let (from, line) = self.counted;
        let new = self.text.as_bytes().get(from..at).unwrap_or_default();
        let line = line + new.iter().filter(|b| **b == b'\n').count();
        self.counted = (at.max(from), line);
        line
    }

    fn error(&mut self, what: impl Into<String>) -> ConfigError {
        let place = SourceLocation::line(self.file, self.line(), 1);
        ConfigError::new(place, what, "")
    }

    fn whole(&mut self) -> Result<(), ConfigError> {
        loop {
            let event = match self.reader.read_event() {
                Ok(event) => event,
                Err(e) => return Err(self.error(format!("this is not well-formed XML: {e}"))),
            };
            match event {
                Event::Start(start) => self.begin(&start)?,
                Event::Empty(start) => {
                    self.begin(&start)?;
                    self.end()?;
                }
                Event::End(_) => self.end()?,
                Event::Text(text) => self.report(&text),
                Event::CData(text) => self.report(&text),
                Event::GeneralRef(name) => {
                    let Some(c) = entity(&name) else {
                        let name = quoted(&name);
                        return Err(self.error(format!("the entity &{name}; is not known")));
                    };
                    self.report(&c.to_string());
                }
                Event::DocType(_) => {
                    return Err(self.error(
                        "a document type declaration (<!DOCTYPE ...>) is refused: its entities \
                         could make the file grow without end; remove it",
                    ));
                }
                Event::Comment(_) | Event::PI(_) | Event::Decl(_) => {}
                Event::Eof if self.open.len() > 1 => {
                    return Err(self.error("the file ends too early"));
                }
                Event::Eof => return Ok(()),
            }
        }
    }

    fn begin(&mut self, start: &BytesStart<'_>) -> Result<(), ConfigError> {
        let line = self.line();
        self.count += 1;
        if self.open.len() > DEPTH_MAX || self.count > ELEMENTS_MAX {
            return Err(self.error(format!(
                "more than {DEPTH_MAX} levels or {ELEMENTS_MAX} elements are not read"
            )));
        }
        let mut attributes = Vec::new();
        for attribute in start.attributes() {
            let attribute = match attribute {
                Ok(attribute) => attribute,
                Err(e) => return Err(self.error(format!("this is not well-formed XML: {e}"))),
            };
            let name = attribute.key.as_ref().to_ascii_lowercase();
            attributes.push((name, plain(&attribute.value)));
        }
        self.open.push(Node {
            name: start.name().as_ref().to_ascii_lowercase(),
            attributes,
            line,
            ..Node::default()
        });
        Ok(())
    }

    fn end(&mut self) -> Result<(), ConfigError> {
        match self.open.as_slice() {
            [_, .., _] => {}
            _ => return Err(self.error("an end tag has no start tag")),
        }
        if let Some(mut node) = self.open.pop() {
            node.text = node.text.trim().to_owned();
            if let Some(parent) = self.open.last_mut() {
                parent.children.push(node);
            }
        }
        Ok(())
    }

    fn report(&mut self, text: &str) {
        if let Some(node) = self.open.last_mut() {
            node.text.push_str(text);
        }
    }
}

/// The five entities of XML itself, and characters by number.
fn entity(name: &str) -> Option<char> {
    let number = |text: &str| match text.strip_prefix('x') {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    };
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => char::from_u32(number(name.strip_prefix('#')?)?),
    }
}

/// An attribute's value with its entities replaced; an unknown one stays as it is.
fn plain(text: &str) -> String {
    let mut pieces = text.split('&');
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let known = piece.split_once(';');
        match known.and_then(|(name, rest)| Some((entity(name)?, rest))) {
            Some((c, rest)) => {
                out.push(c);
                out.push_str(rest);
            }
            None => {
                out.push('&');
                out.push_str(piece);
            }
        }
    }
    out
}
