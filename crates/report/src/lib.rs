//! Renderings for people: the HTML report and the terminal summary.
//!
//! [`html()`] makes one self-contained page, [`text()`] the same without charts,
//! [`chart_svg`] and [`chart_png`] its charts as files, [`summary()`] a table for
//! the terminal, [`json_summary`] and [`key_values`] the same for programs, and
//! [`progress_line`] the line printed as each load point ends; [`comparison_text`],
//! [`comparison_json`] and [`comparison_html`] show runs side by side. All of these are
//! rendered from run records; a submission has its own: [`submission_html`] and related
//! functions. This crate uses no server and no clock, and reads no files except templates
//! that a user may provide in place of the shipped ones ([`Templates`]). [`sequence_dot`] and
//! [`sequence_svg`] draw what a benchmark's procs do. [`parts`] are for reports of other
//! crates.

mod advice;
mod breakdown;
mod charts;
mod comparison;
mod comparison_csv;
mod comparison_html;
mod comparison_overview;
mod composite;
mod curve_json;
mod disclosure;
mod files;
mod format;
mod heritage;
mod html;
mod json;
mod junit;
mod keys;
mod knee;
mod labels;
mod options;
mod outputs;
pub mod parts;
mod scale;
mod search;
mod sequence;
mod setup;
mod summary;
mod svg;
mod templates;
mod text;
mod view;

pub use advice::advice;
pub use charts::{CHARTS, Chart};
pub use comparison::{comparison_json, comparison_text};
pub use comparison_csv::comparison_csv;
pub use comparison_html::comparison_html;
pub use comparison_overview::comparison_overview;
pub use curve_json::{summary_file_json, summary_file_keys};
pub use disclosure::{
    Extras, IMAGE_BYTES_MAX, Image, results_svg, submission_html, submission_json,
    submission_summary, submission_text,
};
pub use files::{PngError, chart_png, chart_svg};
pub use format::{ms, rate};
pub use html::{html, record_sections};
pub use json::{json_summary, json_summary_with};
pub use junit::{Gate, junit};
pub use keys::key_values;
pub use knee::{KNEE_TERM, knee};
pub use options::{Edition, ReportOptions};
pub use outputs::{FORMS, Form, HTML, KEYS, OUTPUTS, Report, ReportError, SubmissionForm};
pub use search::search_line;
pub use sequence::{sequence_dot, sequence_svg};
pub use summary::{progress_line, summary, wrapped};
pub use templates::{Shipped, TemplateError, Templates};

pub use text::text;
