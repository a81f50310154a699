//! The table of reports: the forms of `report -f`, and their rows in the table of outputs.
//! The charts of `report --chart` are [`CHARTS`](crate::CHARTS).

use crate::curve_json::{summary_file_json, summary_file_keys};
use crate::disclosure::{
    Extras, results_svg, submission_html, submission_json, submission_summary, submission_text,
};
use crate::files::{PngError, chart_png, chart_svg};
use crate::html::html;
use crate::json::json_summary_with;
use crate::keys::key_values;
use crate::options::{Edition, ReportOptions};
use crate::templates::{TemplateError, Templates};
use crate::text::text;
use filermark_results::output::{Make, Origin, Output};
use filermark_results::{Role, RunRecord, Summary};
use filermark_submission::Document;
use serde_json::{Value, json};

/// Why a report cannot be rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// The template cannot be rendered.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// The drawing cannot be converted to a picture.
    #[error(transparent)]
    Png(#[from] PngError),
    /// There are no points to draw.
    #[error("there is nothing to draw: {0}")]
    NothingToDraw(&'static str),
}

/// The result of a form of a report.
pub type Report = Result<Vec<u8>, ReportError>;

/// A form of a report.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Its name in `-f`.
    pub name: &'static str,
    /// Its row in the table of outputs. The extension of `-o FILE` chooses the form.
    pub output: Output,
    /// How it is made from a run record.
    pub record: fn(&RunRecord, &ReportOptions<'_>) -> Report,
    /// How it is made from a submission.
    pub submission: SubmissionForm,
    /// How it is made from a summary file, which has only load points.
    pub summary: Option<fn(&Summary) -> Report>,
    /// Whether the result is a page that a browser prints.
    pub is_printed: bool,
}

/// How a form is made from a submission.
#[derive(Clone, Copy, Debug)]
pub enum SubmissionForm {
    /// With the files of the submission.
    Laid(fn(&Document, &Extras, &Templates) -> Result<String, TemplateError>),
    /// From the document alone.
    Bare(fn(&Document) -> Report),
}

/// The page.
pub const HTML: Form = Form {
    name: "html",
    output: Output {
        pattern: "{suffix}.html",
        role: Role::Report,
        media_type: "text/html",
        origin: Origin::EveryRun,
        make: Make::Page(&[
            |record| shipped_page(record, Edition::Public),
            |record| shipped_page(record, Edition::Reviewer),
        ]),
        about: "the report, one self-contained page",
        readers: "people",
    },
    record: |record, options| Ok(html(record, options)?.into_bytes()),
    submission: SubmissionForm::Laid(submission_html),
    summary: None,
    is_printed: false,
};

/// Lines of keys and values.
pub const KEYS: Form = Form {
    name: "summary",
    output: on_request("{suffix}.summary", "text/plain", "lines of `key: value`"),
    record: |record, _| Ok(key_values(record).into_bytes()),
    submission: SubmissionForm::Bare(|document| Ok(submission_summary(document).into_bytes())),
    summary: Some(|summary| Ok(summary_file_keys(summary).into_bytes())),
    is_printed: false,
};

/// All forms.
pub const FORMS: [Form; 7] = [
    HTML,
    Form {
        name: "text",
        output: on_request("{suffix}.txt", "text/plain", "the same as plain text"),
        record: |record, options| Ok(text(record, options)?.into_bytes()),
        submission: SubmissionForm::Laid(submission_text),
        summary: None,
        is_printed: false,
    },
    KEYS,
    Form {
        name: "pdf",
        output: on_request(
            "{suffix}.pdf",
            "application/pdf",
            "the page, printed by a browser",
        ),
        is_printed: true,
        ..HTML
    },
    Form {
        name: "json",
        output: on_request("{suffix}.json", "application/json", "the summary as JSON"),
        record: |record, options| {
            let mut value = json_summary_with(record, options.percentiles);
            if let Some(historical) = options.historical {
                value["historical"] = json!(historical);
            }
            Ok(json_text(&value))
        },
        submission: SubmissionForm::Bare(|document| Ok(json_text(&submission_json(document)))),
        summary: Some(|summary| Ok(json_text(&summary_file_json(summary)))),
        is_printed: false,
    },
    Form {
        name: "png",
        output: on_request("{suffix}.png", "image/png", "a chart as a picture"),
        record: |record, options| Ok(chart_png(&record_chart(record, options)?)?),
        submission: SubmissionForm::Bare(|document| Ok(chart_png(&submission_chart(document)?)?)),
        summary: Some(|summary| Ok(chart_png(&summary_chart(summary)?)?)),
        is_printed: false,
    },
    Form {
        name: "svg",
        output: on_request("{suffix}.svg", "image/svg+xml", "a chart as a drawing"),
        record: |record, options| Ok(record_chart(record, options)?.into_bytes()),
        submission: SubmissionForm::Bare(|document| Ok(submission_chart(document)?.into_bytes())),
        summary: Some(|summary| Ok(summary_chart(summary)?.into_bytes())),
        is_printed: false,
    },
];

/// The rows of this crate in the table of outputs.
pub const OUTPUTS: &[Output] = &{
    let mut all = [FORMS[0].output; FORMS.len()];
    let mut at = 1;
    while at < all.len() {
        all[at] = FORMS[at].output;
        at += 1;
    }
    all
};

/// The row of a form that a user asks for.
const fn on_request(
    pattern: &'static str,
    media_type: &'static str,
    about: &'static str,
) -> Output {
    Output {
        pattern,
        role: Role::Report,
        media_type,
        origin: Origin::Command("report"),
        make: Make::Elsewhere,
        about,
        readers: "people",
    }
}

/// The page from the shipped templates.
fn shipped_page(record: &RunRecord, edition: Edition) -> Option<String> {
    let templates = Templates::builtin();
    let options = ReportOptions {
        edition,
        ..ReportOptions::new(&templates)
    };
    html(record, &options).ok()
}

fn json_text(value: &Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}

fn record_chart(record: &RunRecord, options: &ReportOptions<'_>) -> Result<String, ReportError> {
    chart_svg(record, options.chart, options.historical).ok_or(ReportError::NothingToDraw(
        "no load point of the record was measured, or none counts",
    ))
}

fn submission_chart(document: &Document) -> Result<String, ReportError> {
    let results = document.results();
    let drawn = results.first().and_then(|(_, curve)| results_svg(curve));
    drawn.ok_or(ReportError::NothingToDraw(
        "the submission has no load point",
    ))
}

fn summary_chart(summary: &Summary) -> Result<String, ReportError> {
    results_svg(&summary.curve).ok_or(ReportError::NothingToDraw("the file has no load point"))
}
