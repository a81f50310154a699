//! The report of a submission as a page, as text, and as key and value.

use super::view::{Extras, ResultView, Section, TEXT_WIDTH, results, sections};
use crate::curve_json::curve_json;
use crate::files::{CurveLabels, CurvePoint, curve_inline, curve_svg};
use crate::keys::flatten;
use crate::options::Edition;
use crate::templates::{TemplateError, Templates};
use filermark_model::NOT_A_SPEC_RESULT;
use filermark_results::Curve;
use filermark_submission::{Document, Element};
use serde::Serialize;

/// The input of both templates.
#[derive(Serialize)]
struct Page {
    title: String,
    vendor: String,
    product: String,
    notice: &'static str,
    generated: String,
    is_review: bool,
    is_compliant: bool,
    compliance_reason: String,
    results: Vec<ResultView>,
    sections: Vec<Section>,
    fault_count: usize,
    /// Of the reviewer's edition.
    faults: Vec<(String, String)>,
    remarks: Vec<String>,
    files: Vec<(String, String, String)>,
    program: String,
    rule: String,
}

impl Page {
    fn of(document: &Document, extras: &Extras) -> Self {
        let root = document.root();
        let is_review = extras.edition == Edition::Reviewer;
        let faults = document.faults();
        let fault_count = faults.len();
        let faults = faults.into_iter().filter(|_| is_review);
        let vendor = root.value("productInfo.vendorAndProduct.vendor");
        let product = root.value("productInfo.vendorAndProduct.productName");
        Self {
            title: match (vendor, product) {
                ("", "") => "A submission without a name".into(),
                (vendor, "") => vendor.into(),
                ("", product) => product.into(),
                (vendor, product) => format!("{vendor}: {product}"),
            },
            vendor: vendor.into(),
            product: product.into(),
            notice: NOT_A_SPEC_RESULT,
            generated: extras.generated.clone(),
            is_review,
            is_compliant: root.value("resultCompliance.isCompliant") != "no",
            compliance_reason: root.value("resultCompliance.reason").into(),
            results: results(document, extras),
            sections: sections(document, extras),
            fault_count,
            faults: faults.map(|f| (f.path, f.reason)).collect(),
            remarks: extras.remarks.clone(),
            files: if is_review {
                files(document)
            } else {
                Vec::new()
            },
            program: format!("filermark {}", env!("CARGO_PKG_VERSION")),
            rule: "=".repeat(TEXT_WIDTH),
        }
    }
}

/// The files that the results come from, with their checksums.
fn files(document: &Document) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    for (result, _) in document.results() {
        let Some(files) = result.get("runFiles") else {
            continue;
        };
        for (what, name, sum) in [
            ("Summary", "summaryFile", "summarySha256"),
            ("rc file", "rcFile", "rcSha256"),
            ("Run record", "recordFile", "recordSha256"),
        ] {
            let name = files.value(name);
            if !name.is_empty() {
                found.push((
                    what.to_owned(),
                    name.to_owned(),
                    files.value(sum).to_owned(),
                ));
            }
        }
    }
    found
}

/// The results chart, for a wide page or for a phone; empty without a load point.
pub(super) fn chart(curve: &Curve, is_wide: bool) -> String {
    let drawn = curve_inline(&chart_points(curve), &labels(curve));
    drawn.map_or(
        String::new(),
        |(wide, narrow)| {
            if is_wide { wide } else { narrow }
        },
    )
}

/// The results chart as an SVG file; `None` without a load point.
pub fn results_svg(curve: &Curve) -> Option<String> {
    curve_svg(&chart_points(curve), &labels(curve))
}

fn chart_points(curve: &Curve) -> Vec<CurvePoint> {
    let points = curve.points.iter().map(|p| CurvePoint {
        x: if curve.is_classical() {
            p.achieved
        } else {
            p.load
        },
        y: p.mean_ms,
        valid: p.is_valid,
    });
    points.collect()
}

fn labels(curve: &Curve) -> CurveLabels<'_> {
    CurveLabels {
        title: "Mean service time over load",
        x: &curve.metric,
        y: "ms",
    }
}

/// The report as one self-contained page.
///
/// # Errors
/// A user's template cannot be rendered.
pub fn submission_html(
    document: &Document,
    extras: &Extras,
    templates: &Templates,
) -> Result<String, TemplateError> {
    templates.render("submission.html", &Page::of(document, extras))
}

/// The report as plain text, with the same content.
///
/// # Errors
/// As [`submission_html`].
pub fn submission_text(
    document: &Document,
    extras: &Extras,
    templates: &Templates,
) -> Result<String, TemplateError> {
    templates.render("submission.txt", &Page::of(document, extras))
}

/// The summary of a submission, one `key: value` per line.
pub fn submission_summary(document: &Document) -> String {
    let whole = submission_json(document);
    let root = document.root();
    let product = root
        .get("productInfo")
        .and_then(|p| p.get("vendorAndProduct"));
    let value = |name| product.map_or("", |p| p.value(name));
    flatten(&serde_json::json!({
        "kind": "submission",
        "format": 1,
        "vendor": value("vendor"),
        "product": value("productName"),
        "date_tested": value("dateTested"),
        "compliant": root.value("resultCompliance.isCompliant"),
        "fault_count": document.faults().len(),
        "results": whole["results"],
        "notice": NOT_A_SPEC_RESULT,
    }))
}

/// The whole submission as JSON: fields by name, lists as arrays, every value as the text
/// that was typed; the results also as figures.
pub fn submission_json(document: &Document) -> serde_json::Value {
    let results: Vec<_> = document
        .results()
        .iter()
        .map(|(result, curve)| curve_json(curve, result.value("verdict")))
        .collect();
    let faults: Vec<_> = document
        .faults()
        .into_iter()
        .map(|f| serde_json::json!({ "path": f.path, "reason": f.reason }))
        .collect();
    serde_json::json!({
        "kind": "submission",
        "format": 1,
        "notice": NOT_A_SPEC_RESULT,
        "submission": value_of(document.root()),
        "results": results,
        "faults": faults,
    })
}

fn value_of(element: &Element) -> serde_json::Value {
    let node = element.node();
    if node.field().is_some() {
        return element.text().into();
    }
    if node.is_list() {
        return element.items().map(value_of).collect();
    }
    let shown = element.children().iter();
    let shown = shown.filter(|child| !(child.node().is_optional && child.is_blank()));
    let members = shown.map(|child| (child.node().name.to_owned(), value_of(child)));
    serde_json::Value::Object(members.collect())
}
