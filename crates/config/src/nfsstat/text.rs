//! A mix of counts as a mix file, with its source.

use super::mix::MixOfCounts;
use super::types::MIXFILE_HEADER;
use filermark_model::text::sanitize;
use std::fmt::Write as _;

/// The longest line of a comment, in characters.
const LINE_CHARS: usize = 96;

/// The mix file; `earlier` is the snapshot that was subtracted from the counts.
pub fn mix_file(made: &MixOfCounts, earlier: Option<&str>) -> String {
    let mut out = format!("{MIXFILE_HEADER}\n");
    comment(&mut out, &format!("From {}: {}.", made.file, made.what()));
    if let Some(earlier) = earlier {
        comment(
            &mut out,
            &format!("Only what came since {}.", sanitize(earlier, 200)),
        );
    }
    for (version, calls) in &made.others {
        let number = version.number();
        comment(
            &mut out,
            &format!("Version {number} is not in it: {calls} calls."),
        );
    }
    if let Some(words) = made.omitted_text() {
        comment(&mut out, &format!("Left out, {words}."));
    }
    for remark in &made.remarks {
        comment(&mut out, &format!("{remark}."));
    }
    let rare: Vec<String> = made
        .rare()
        .map(|s| format!("{} {}", s.op, s.calls))
        .collect();
    if !rare.is_empty() {
        comment(
            &mut out,
            &format!("Too rare for a share: {}.", rare.join(", ")),
        );
    }
    comment(&mut out, &format!("100 % are {} operations.", made.kept()));
    for share in made.shares.iter().filter(|s| s.thousandths > 0) {
        // Writing into a string cannot fail.
        let _ = writeln!(out, "{} {}%", share.op, share.percent());
    }
    out
}

/// A comment of as many lines as it needs.
fn comment(out: &mut String, text: &str) {
    let mut line = String::from("#");
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > LINE_CHARS && line != "#" {
            out.push_str(&line);
            out.push('\n');
            line = String::from("#  ");
        }
        line.push(' ');
        line.push_str(word);
    }
    out.push_str(&line);
    out.push('\n');
}
