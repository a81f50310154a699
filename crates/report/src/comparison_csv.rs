//! A comparison as comma-separated values (RFC 4180): a row for each difference.

use filermark_results::compare::{Against, Comparison, Difference};
use filermark_results::csv::field;
use std::fmt::Write as _;

const HEAD: &str = "side,verdict,scope,load_point,load,operation,figure,unit,before,after,change_pcnt,low_pcnt,high_pcnt,adjusted_p_value,judgement";

/// The whole table: the differences over the sweep, at each load point, and of each operation.
pub fn comparison_csv(comparison: &Comparison) -> String {
    let mut out = format!("{HEAD}\r\n");
    for against in &comparison.against {
        for row in &against.sweep {
            line(&mut out, against, ["sweep", "", "", ""], row);
        }
        for point in &against.points {
            let number = point.number.to_string();
            for row in &point.figures {
                line(
                    &mut out,
                    against,
                    ["load_point", &number, &point.load, ""],
                    row,
                );
            }
            for op in &point.ops {
                let place = ["load_point", &number, &point.load, &op.name];
                line(&mut out, against, place, &op.service);
            }
        }
        for op in &against.ops {
            line(&mut out, against, ["sweep", "", "", &op.name], &op.service);
        }
        if against.sweep.is_empty() && against.points.iter().all(|p| p.figures.is_empty()) {
            // A side without a figure has a row for its verdict.
            let (name, verdict) = (field(&against.name), word(against.verdict));
            let _ = write!(out, "{name},{verdict},none{}\r\n", ",".repeat(12));
        }
    }
    out
}

/// A word of the JSON form.
fn word(value: impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

fn line(out: &mut String, against: &Against, place: [&str; 4], row: &Difference) {
    let place: Vec<String> = place.iter().map(|text| field(text)).collect();
    let _ = write!(
        out,
        "{},{},{},{},{},{:.6},{:.6},{:.4},{:.4},{:.4},{:.3e},{}\r\n",
        field(&against.name),
        word(against.verdict),
        place.join(","),
        word(row.kind),
        row.unit,
        row.before,
        row.after,
        row.change_pcnt,
        row.low_pcnt,
        row.high_pcnt,
        row.adjusted_p_value,
        word(row.verdict)
    );
}
