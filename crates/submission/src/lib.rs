//! Submissions: the disclosure of results.
//!
//! [`FORM`] declares every field once. A [`Document`] is a filled-in form, with
//! navigation ([`Document::next`] and others), checks ([`Document::faults`]), XML
//! ([`read_xml`], [`write_xml`], [`write_skeleton`]) and its schema ([`xsd`]). [`fill`] fills in the values of
//! a run; an [`Editor`] is the dialogue for the other fields. This crate opens no file,
//! reads no terminal and makes no report.

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
pub use writing::{write_skeleton, write_xml};
pub use xsd::xsd;
