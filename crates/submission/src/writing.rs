//! Writes a document as XML.

use crate::document::{Document, Element};
use crate::form::Kind;
use filermark_model::NOT_A_SPEC_RESULT;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use std::io;

/// The version of the form, on the root element.
pub(crate) const FORM_VERSION: &str = "1";

/// The XML of a document. Blank optional elements are left out. Missing values are empty
/// elements, so an incomplete form can be saved and completed later.
pub fn write_xml(document: &Document) -> String {
    let mut xml = Writer::new_with_indent(Vec::new(), b' ', 2);
    // Writing into memory does not fail.
    let _ = whole(&mut xml, document);
    let mut text = String::from_utf8(xml.into_inner()).unwrap_or_default();
    text.push('\n');
    text
}

fn whole(xml: &mut Writer<Vec<u8>>, document: &Document) -> io::Result<()> {
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    xml.write_event(Event::Comment(BytesText::from_escaped(format!(
        " {NOT_A_SPEC_RESULT} "
    ))))?;
    let root = document.root();
    xml.create_element(root.node().name)
        .with_attribute(("version", FORM_VERSION))
        .write_inner_content(|xml| children(xml, root))?;
    Ok(())
}

fn children(xml: &mut Writer<Vec<u8>>, element: &Element) -> io::Result<()> {
    let whole_list_is_blank = element.is_blank();
    for child in element.children() {
        let is_spare = element.node().is_list() && child.is_blank() && !whole_list_is_blank;
        if is_spare || (child.node().is_optional && child.is_blank()) {
            continue;
        }
        let writer = xml.create_element(child.node().name);
        match child.node().kind {
            Kind::Field(_) => writer.write_text_content(BytesText::new(child.text()))?,
            _ => writer.write_inner_content(|xml| children(xml, child))?,
        };
    }
    Ok(())
}
