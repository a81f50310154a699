//! What an HTML report contains: signs of the shipped templates, headline and verdict.

use filermark_results::{Curve, RunRecord};

/// Text in the head of reports by the shipped templates: of a run, of a submission.
const OWN_TITLES: [&str; 2] = ["a Filermark report</title>", ": a disclosure</title>"];
/// Digits after the decimal point of an overall response time.
const ORT_DECIMALS: usize = 2;

/// Whether a page was made with the shipped templates.
pub(crate) fn is_ours(page: &str) -> bool {
    OWN_TITLES.iter().any(|title| page.contains(title))
}

/// Whether a page is a report on something other than this record.
pub(crate) fn is_of_other(page: &str, record: &RunRecord) -> bool {
    is_ours(page) && !has_headline(page, record)
}

/// Whether the text of a page has the verdict of a run, and not the opposite one.
pub(crate) fn has_verdict(page: &str, record: &RunRecord) -> bool {
    let text = text_of(page);
    let is_part = |c: char| c.is_ascii_uppercase();
    let mut words = text.split(|c| !is_part(c));
    let is_invalid = record.verdict().label() == "INVALID";
    match is_invalid {
        true => words.any(|word| word == "INVALID"),
        false => words.any(|word| word == "VALID"),
    }
}

/// Whether the text of a page has the peak and the overall response time of a run.
pub(crate) fn has_headline(page: &str, record: &RunRecord) -> bool {
    let curve = Curve::of_record(record);
    let (Some(peak), Some(ort)) = (curve.peak_value(), curve.ort_ms()) else {
        return true;
    };
    let text = text_of(page);
    let is_whole = (peak - peak.round()).abs() < 1e-9;
    let peak_decimals = usize::from(peak < 100.0 && !is_whole);
    contains_number(&text, peak, peak_decimals) && contains_number(&text, ort, ORT_DECIMALS)
}

/// The text between the tags, without style sheets and scripts.
fn text_of(page: &str) -> String {
    let mut text = String::new();
    let mut is_style = false;
    for piece in page.split('<') {
        let (tag, words) = piece.split_once('>').unwrap_or(("", piece));
        is_style = match tag {
            "/style" | "/script" => false,
            _ => is_style || tag.starts_with("style") || tag.starts_with("script"),
        };
        if !is_style {
            text.push_str(words);
            text.push(' ');
        }
    }
    text
}

/// Whether a text has this number, rounded to at least this many decimals.
fn contains_number(text: &str, value: f64, decimals: usize) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
    text.split(|c| !is_part(c)).any(|word| {
        let word = word.trim_matches(['.', ',']).replace(',', "");
        let given = word.split_once('.').map_or(0, |(_, digits)| digits.len());
        let half = 0.5 / 10f64.powi(i32::try_from(given).unwrap_or(i32::MAX));
        let number = word.parse::<f64>().ok();
        given >= decimals && number.is_some_and(|n| (n - value).abs() <= half * 1.000_001)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounded_numbers_with_separators_are_found() {
        let text = text_of("<style>a{top:4791px}</style><b>4,790</b> op/s, <i>0.60</i> ms.");
        assert!(contains_number(&text, 4790.3, 0) && contains_number(&text, 0.598, 2));
        assert!(!contains_number(&text, 4791.0, 0) && !contains_number(&text, 0.61, 2));
        assert!(!contains_number("1 ms", 0.6, 2));
    }
}
