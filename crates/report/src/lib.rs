//! Renderings for people: the HTML report and the terminal summary.
//!
//! [`html()`] makes one self-contained page, [`summary()`] a table for the
//! terminal, [`json_summary`] the same for programs, and [`progress_line`] what
//! is said as each load point ends. [`comparison_text`], [`comparison_json`] and
//! [`comparison_html`] show runs side by side. All of them see a run record and nothing
//! else: this room knows no server, no clock and no file. [`sequence_dot`] and
//! [`sequence_svg`] draw what a benchmark's procs do.

mod advice;
mod charts;
mod comparison;
mod comparison_html;
mod composite;
mod format;
mod html;
mod json;
mod scale;
mod sequence;
mod setup;
mod summary;
mod svg;
mod view;
mod words;

pub use advice::advice;
pub use comparison::{comparison_json, comparison_text};
pub use comparison_html::{ComparisonHtmlError, comparison_html};
pub use html::{HtmlError, html};
pub use json::json_summary;
pub use sequence::{sequence_dot, sequence_svg};
pub use summary::{progress_line, summary};
