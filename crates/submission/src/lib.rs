//! The submission: what a disclosure of results holds.
//!
//! [`FORM`] declares every field once; a [`Document`] is a filled-in form with its
//! walk ([`Document::next`] and its siblings), its checks ([`Document::faults`]), its
//! XML ([`read_xml`], [`write_xml`]) and the schema of that ([`xsd`]). [`fill`] puts in
//! what a run knows; an [`Editor`] is the dialogue that fills in the rest. This
//! room opens no file, reads no terminal and makes no report.

mod check;
mod document;
mod editor;
mod fill;
mod form;
mod manual;
mod node_path;
mod outcome;
mod outputs;
mod reading;
mod walk;
mod writing;
mod xsd;

#[cfg(any(test, feature = "testing"))]
pub mod testing;

#[cfg(test)]
mod tests;

pub use check::{Fault, FieldFault, check_value};
pub use document::{Document, Element, ITEM_COUNT_MAX, TEXT_LEN_MAX};
pub use editor::{Editor, EditorRequest, EditorStep};
pub use fill::{ResultFile, RunFiles, fill, mismatches};
pub use form::{FORM, Field, Kind, Node, Origin, ROOT_NAME, Value, YES_NO};
pub use manual::form_markdown;
pub use node_path::NodePath;
pub use outcome::{curve_of, differences};
pub use outputs::OUTPUTS;
pub use reading::{XML_LEN_MAX, XmlError, read_xml};
pub use writing::write_xml;
pub use xsd::xsd;
