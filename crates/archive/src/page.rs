//! What an HTML report says: whose it is, its headline and its verdict.

use filermark_results::{Curve, RunRecord};

/// What a report of a run or a submission by the shipped templates has in its front.
const OWN_WORDS: [&str; 2] = ["a Filermark report</title>", ": a disclosure</title>"];
/// Digits behind the point of an overall response time.
const ORT_DECIMALS: usize = 2;

pub(crate) fn is_ours(page: &str) -> bool {
    OWN_WORDS.iter().any(|words| page.contains(words))
}

/// Whether a page is a report of something else than this record.
pub(crate) fn is_of_other(page: &str, record: &RunRecord) -> bool {
    is_ours(page) && !has_headline(page, record)
}

/// Whether a page has the verdict of a run in its text, and not the opposite one.
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

/// Whether a page has the peak and the overall response time of a run in its text.
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

/// What is between the tags, without style sheets.
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

/// Whether a number in a text is this one, rounded to no fewer decimals.
fn contains_number(text: &str, value: f64, decimals: usize) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
    text.split(|c| !is_part(c)).any(|word| {
        let word = word.trim_matches(['.', ',']).replace(',', "");
        let given = word.split_once('.').map_or(0, |(_, behind)| behind.len());
        let half = 0.5 / 10f64.powi(i32::try_from(given).unwrap_or(i32::MAX));
        let number = word.parse::<f64>().ok();
        given >= decimals && number.is_some_and(|n| (n - value).abs() <= half * 1.000_001)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_as_people_write_them() {
        let text = text_of("<style>a{top:4791px}</style><b>4,790</b> op/s, <i>0.60</i> ms.");
        assert!(contains_number(&text, 4790.3, 0) && contains_number(&text, 0.598, 2));
        assert!(!contains_number(&text, 4791.0, 0) && !contains_number(&text, 0.61, 2));
        assert!(!contains_number("1 ms", 0.6, 2));
    }
}
