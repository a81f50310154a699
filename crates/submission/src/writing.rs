//! Writes a document as XML.

use crate::document::{Document, Element};
use crate::form::{Kind, Node};
use filermark_model::NOT_A_SPEC_RESULT;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use std::io;

/// The version of the form, on the root element.
pub(crate) const FORM_VERSION: &str = "1";

/// What is written beside the values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// Nothing. Blank optional elements are left out.
    Values,
    /// A comment before each element, also before blank optional ones. Those that come from the
    /// files of a run are left out.
    Skeleton,
}

/// The XML of a document. Blank optional elements are left out. Missing values are empty
/// elements, so an incomplete form can be saved and completed later.
pub fn write_xml(document: &Document) -> String {
    xml(document, Style::Values)
}

/// A blank form to fill in with a text editor or a script: every element that the files of a run
/// do not fill in, after a comment that says what belongs there.
pub fn write_skeleton() -> String {
    xml(&Document::new(), Style::Skeleton)
}

fn xml(document: &Document, style: Style) -> String {
    let mut xml = Writer::new_with_indent(Vec::new(), b' ', 2);
    // Writing into memory does not fail.
    let _ = whole(&mut xml, document, style);
    let mut text = String::from_utf8(xml.into_inner()).unwrap_or_default();
    text.push('\n');
    text
}

fn whole(xml: &mut Writer<Vec<u8>>, document: &Document, style: Style) -> io::Result<()> {
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    comment(xml, NOT_A_SPEC_RESULT)?;
    let root = document.root();
    xml.create_element(root.node().name)
        .with_attribute(("version", FORM_VERSION))
        .write_inner_content(|xml| children(xml, root, style))?;
    Ok(())
}

fn children(xml: &mut Writer<Vec<u8>>, element: &Element, style: Style) -> io::Result<()> {
    let whole_list_is_blank = element.is_blank();
    for child in element.children() {
        let node = child.node();
        let is_spare = element.node().is_list() && child.is_blank() && !whole_list_is_blank;
        let is_left_out = match style {
            Style::Values => is_spare || (node.is_optional && child.is_blank()),
            Style::Skeleton => is_filled_by_run(node),
        };
        if is_left_out {
            continue;
        }
        if style == Style::Skeleton {
            comment(xml, &explanation(node))?;
        }
        let writer = xml.create_element(node.name);
        match node.kind {
            Kind::Field(_) => writer.write_text_content(BytesText::new(child.text()))?,
            _ => writer.write_inner_content(|xml| children(xml, child, style))?,
        };
    }
    Ok(())
}

/// Whether the files of a run have all of it.
fn is_filled_by_run(node: &Node) -> bool {
    match node.kind {
        Kind::Field(_) => node.is_of_run(),
        Kind::Group(_) | Kind::List(..) => node.children().iter().all(is_filled_by_run),
    }
}

fn comment(xml: &mut Writer<Vec<u8>>, text: &str) -> io::Result<()> {
    // Two hyphens would end a comment.
    let text = text.replace("--", "- -");
    xml.write_event(Event::Comment(BytesText::from_escaped(format!(" {text} "))))
}

/// What belongs into an element, and of which type it is.
fn explanation(node: &Node) -> String {
    let kind = match node.kind {
        Kind::Field(field) => field.value.type_name(),
        Kind::Group(_) => "group".to_owned(),
        Kind::List(item, _) => format!("list: repeat {} for each", item.name),
    };
    let optional = if node.is_optional { ", optional" } else { "" };
    format!("{} ({kind}{optional})", node.doc)
}
