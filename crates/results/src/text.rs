//! Small helpers of the text renderers.

use filermark_model::{Finding, Severity};

/// The text on one line and without control characters: names and messages
/// come from outside, and must not be able to move a terminal's cursor or to
/// fake a further line of a log.
pub fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| {
            // Direction marks can make a name read as another one.
            let marks = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            if c.is_control() || marks { '\u{fffd}' } else { c }
        })
        .collect()
}

/// A finding on one line: its sentence, and the rule that speaks.
pub fn finding_line(finding: &Finding) -> String {
    format!("{} [{}]", one_line(&finding.message), finding.rule)
}

/// How much a finding matters, in one word.
pub const fn severity_label(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Invalid => "invalid",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_taken_out() {
        assert_eq!(
            one_line("a\x1b[2Jb\nc\u{202e}d"),
            "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d"
        );
        assert_eq!(one_line("ümlaut <b>"), "ümlaut <b>");
    }
}
