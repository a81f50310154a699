//! A submission as a report: one view of it, laid out as a page or as text.
//!
//! The report follows the form: every group, list and field has its place and its title
//! from there, so that nothing that was filled in is left out.
//! Page and text are made from the same [`view`]; only the templates differ.

mod fragment;
mod images;
mod page;
mod table;
mod view;

#[cfg(test)]
mod tests;

pub use images::{IMAGE_BYTES_MAX, Image};
pub use page::{
    results_svg, submission_html, submission_json, submission_summary, submission_text,
};
pub use view::Extras;
