//! Renderings for people: the HTML report and the terminal summary.
//!
//! [`html()`] makes one self-contained page, [`summary()`] a table for the
//! terminal, [`json_summary`] the same for programs, and [`progress_line`] what
//! is said as each load point ends. All of them see a run record and nothing
//! else: this room knows no server and no clock, and of files only the templates
//! that a user may put in place of its own ([`Templates`]). [`sequence_dot`] and
//! [`sequence_svg`] draw what a benchmark's procs do.

mod advice;
mod breakdown;
mod charts;
mod composite;
mod disclosure;
mod files;
mod format;
mod html;
mod json;
mod key_values;
mod knee;
mod scale;
mod sequence;
mod setup;
mod summary;
mod svg;
mod templates;
mod view;
mod words;

pub use advice::advice;
pub use disclosure::{
    Edition, Extras, IMAGE_BYTES_MAX, Image, submission_html, submission_json, submission_summary,
    submission_text,
};
pub use files::{
    Chart, CurveLabels, CurvePoint, PngError, chart_png, chart_svg, curve_inline, curve_svg,
};
pub use html::html;
pub use json::json_summary;
pub use key_values::curve_summary;
pub use knee::{KNEE_TERM, knee};
pub use sequence::{sequence_dot, sequence_svg};
pub use summary::{progress_line, summary};
pub use templates::{TemplateError, Templates};
