//! Reads XML into a document. The file is not trusted: entities, document types and unknown
//! elements are refused, and all sizes are limited.

use crate::document::{Document, Element, ITEM_COUNT_MAX, TEXT_LEN_MAX};
use crate::form::{FORM, Kind};
use crate::writing::FORM_VERSION;
use filermark_model::text::sanitize;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// Maximum size of the file, in bytes.
pub const XML_LEN_MAX: usize = 16 << 20;

/// Why a text is not a submission. The message begins with the line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}: {reason}")]
pub struct XmlError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and what is expected.
    pub reason: String,
}

/// Reads a submission.
///
/// # Errors
/// It is not XML, has a document type, is of another version of the form, has elements that
/// are not in the form, or is too large.
pub fn read_xml(text: &str) -> Result<Document, XmlError> {
    if text.len() > XML_LEN_MAX {
        let reason = format!("larger than {} MiB", XML_LEN_MAX >> 20);
        return Err(XmlError { line: 1, reason });
    }
    let mut parser = Parser {
        reader: Reader::from_str(text),
        text,
        document: Document::new(),
    };
    parser.document.root.put("resultCompliance.isCompliant", "");
    parser.whole()?;
    Ok(parser.document)
}

struct Parser<'a> {
    reader: Reader<&'a [u8]>,
    text: &'a str,
    document: Document,
}

type ReadResult<T = ()> = Result<T, XmlError>;

impl<'a> Parser<'a> {
    fn error<T>(&self, reason: impl Into<String>) -> ReadResult<T> {
        let at = usize::try_from(self.reader.buffer_position()).unwrap_or(usize::MAX);
        let read = self.text.as_bytes().get(..at.min(self.text.len()));
        let breaks = read.map_or(0, |read| read.iter().filter(|&&b| b == b'\n').count());
        Err(XmlError {
            line: breaks + 1,
            reason: reason.into(),
        })
    }

    /// The next event that is not a comment, a declaration or a processing instruction.
    fn event(&mut self) -> ReadResult<Event<'a>> {
        loop {
            match self.reader.read_event() {
                Ok(Event::Comment(_) | Event::PI(_) | Event::Decl(_)) => {}
                Ok(Event::DocType(_)) => {
                    return self.error("a document type declaration (<!DOCTYPE ...>) is refused: its entities could expand without limit or read other files; remove it");
                }
                Ok(event) => return Ok(event),
                Err(e) => return self.error(format!("not well-formed XML: {e}")),
            }
        }
    }

    fn whole(&mut self) -> ReadResult {
        let mut found = false;
        loop {
            match self.event()? {
                Event::Start(start) if !found => {
                    found = true;
                    self.check_root(&start)?;
                    let mut root =
                        std::mem::replace(&mut self.document.root, Element::blank(&FORM));
                    self.children(&mut root)?;
                    self.document.root = root;
                }
                Event::Eof if found => return Ok(()),
                Event::Eof => return self.error("there is no element in the file"),
                Event::Text(text) if is_blank(&text) => {}
                Event::Empty(start) if !found => {
                    found = true;
                    self.check_root(&start)?;
                }
                _ => return self.error("there is content before or after the root element"),
            }
        }
    }

    fn check_root(&self, start: &BytesStart<'_>) -> ReadResult {
        let name = name_of(start.name().as_ref());
        if name != FORM.name {
            return self.error(format!(
                "the root element is <{name}>, but that of a submission is <{}>; subedit makes one",
                FORM.name
            ));
        }
        let mut version = String::new();
        for attribute in start.attributes() {
            match attribute {
                Ok(a) if a.key.as_ref() == "version" => version = name_of(&a.value),
                Ok(a) => {
                    let name = name_of(a.key.as_ref());
                    return self.error(format!(
                        "the root element has an attribute {name}, but may only have version"
                    ));
                }
                Err(e) => return self.error(format!("not well-formed XML: {e}")),
            }
        }
        if version != FORM_VERSION {
            return self.error(format!(
                "this submission has version \"{version}\" of the form, but this program reads version {FORM_VERSION}; use the Filermark version that wrote it"
            ));
        }
        Ok(())
    }

    /// The children of `element`, up to its end.
    fn children(&mut self, element: &mut Element) -> ReadResult {
        let mut seen = 0;
        loop {
            match self.event()? {
                Event::Start(start) => {
                    let at = self.child_at(element, &start, &mut seen)?;
                    self.content(element, at)?;
                }
                Event::Empty(start) => {
                    self.child_at(element, &start, &mut seen)?;
                }
                Event::End(_) => return Ok(()),
                Event::Text(text) if is_blank(&text) => {}
                Event::Eof => return self.error("the file ends too early"),
                _ => {
                    let name = element.node().name;
                    return self.error(format!("<{name}> has text, but may only have elements"));
                }
            }
        }
    }

    fn content(&mut self, element: &mut Element, at: usize) -> ReadResult {
        let Some(child) = element.children_mut().get_mut(at) else {
            return self.error("an element is missing");
        };
        match child.node().kind {
            Kind::Field(_) => {
                let text = self.field_text(child.node().name)?;
                child.write(&text);
                Ok(())
            }
            _ => self.children(child),
        }
    }

    /// The child for a start tag; in a list it is added if necessary.
    fn child_at(
        &self,
        element: &mut Element,
        start: &BytesStart<'_>,
        seen: &mut usize,
    ) -> ReadResult<usize> {
        let name = name_of(start.name().as_ref());
        if start.attributes().next().is_some() {
            return self.error(format!("<{name}> has attributes, but the form has none"));
        }
        let parent = element.node();
        if let Kind::List(item, _) = parent.kind {
            if name != item.name {
                return self.error(format!(
                    "<{name}> in <{}>, which may only have <{}>",
                    parent.name, item.name
                ));
            }
            *seen += 1;
            if *seen > ITEM_COUNT_MAX {
                return self.error(format!(
                    "<{}> has more than {ITEM_COUNT_MAX} items",
                    parent.name
                ));
            }
            if *seen > element.children().len() {
                element.children_mut().push(Element::blank(item));
            }
            return Ok(*seen - 1);
        }
        let Some(at) = parent.children().iter().position(|c| c.name == name) else {
            let known: Vec<_> = parent.children().iter().map(|c| c.name).collect();
            let known = known.join(", ");
            return self.error(format!(
                "<{name}> in <{}>, which may only have: {known}",
                parent.name
            ));
        };
        // Each child once, in the order of the form: `seen` is the first possible position.
        if at < *seen {
            return self.error(format!("<{name}> is there twice or in the wrong place"));
        }
        *seen = at + 1;
        Ok(at)
    }

    /// The text of a field, up to its end.
    fn field_text(&mut self, name: &str) -> ReadResult<String> {
        let mut text = String::new();
        loop {
            match self.event()? {
                Event::Text(piece) => text.push_str(&piece),
                Event::CData(piece) => text.push_str(&piece),
                Event::GeneralRef(reference) => match resolve(&reference) {
                    Some(c) => text.push(c),
                    None => {
                        return self.error(format!(
                                "<{name}>: the entity &{}; is unknown; XML has &amp; &lt; &gt; &quot; &apos; and numbers",
                                name_of(&reference)
                            ));
                    }
                },
                Event::End(_) => return Ok(text),
                Event::Start(_) | Event::Empty(_) => {
                    return self.error(format!(
                        "<{name}> is a field and cannot have elements; write &lt; for < in HTML"
                    ));
                }
                _ => return self.error("the file ends too early"),
            }
            if text.len() > TEXT_LEN_MAX {
                return self.error(format!(
                    "<{name}> is longer than {} KiB",
                    TEXT_LEN_MAX >> 10
                ));
            }
        }
    }
}

/// Resolves the five entities of XML and characters by number.
fn resolve(reference: &str) -> Option<char> {
    match reference {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = reference.strip_prefix('#')?;
            let code = match number.strip_prefix('x') {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

/// Maximum length of a name in a message, in characters.
const NAME_CHARS_MAX: usize = 80;

/// A name for messages.
fn name_of(name: &str) -> String {
    sanitize(name, NAME_CHARS_MAX)
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
