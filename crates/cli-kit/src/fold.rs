//! Tables and lists that fit the width of a terminal.

use crate::view::columns;

/// A text whose lines of more than `width` characters are continued below their last column: the
/// last one in their first half that two blanks or more precede; without one, two characters
/// behind their beginning.
pub(crate) fn folded(text: &str, width: usize) -> String {
    let width = width.max(20);
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let line: Vec<char> = line.chars().collect();
        // Colours take no columns; they stand before the last column.
        let hidden = line.len() - columns(&line.iter().collect::<String>()).min(line.len());
        let indent = last_column(&line, width / 2 + hidden).saturating_sub(hidden);
        let shown = |begins: usize| width - begins + if begins == 0 { hidden } else { 0 };
        let mut rest = &line[..];
        loop {
            let begins = if rest.len() == line.len() { 0 } else { indent };
            out.extend(std::iter::repeat_n(' ', begins));
            let Some(cut) = place_to_break(rest, shown(begins), indent - begins) else {
                break;
            };
            out.extend(&rest[..cut]);
            out.truncate(out.trim_end().len());
            out.push('\n');
            rest = &rest[cut + 1..];
            let blanks = rest.iter().take_while(|c| **c == ' ').count();
            rest = &rest[blanks..];
        }
        out.extend(rest);
        out.push('\n');
    }
    out
}

/// Where continued lines begin, before `most`.
fn last_column(line: &[char], most: usize) -> usize {
    let blanks = line.iter().take_while(|c| **c == ' ').count();
    let begins = |at: &usize| {
        let before = &line[..*at];
        before.ends_with(&[' ', ' ']) && line[*at] != ' '
    };
    let found = (blanks + 1..most.min(line.len())).rev().find(begins);
    found.unwrap_or((blanks + 2).min(most))
}

/// The last blank within `most` characters, behind the first `least` characters, or else the first
/// one behind it; `None`: the line fits, or has none.
fn place_to_break(line: &[char], most: usize, least: usize) -> Option<usize> {
    if line.len() <= most {
        return None;
    }
    // Commands stand between backquotes and stay whole.
    let is_command = |at: usize| line[..at].iter().filter(|c| **c == '`').count() % 2 == 1;
    let is_blank = |at: &usize| line[*at] == ' ' && !is_command(*at);
    let within = (least + 1..=most).rev().find(is_blank);
    within.or_else(|| (most + 1..line.len()).find(is_blank))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_continued_below_their_last_column() {
        let text = "NAME      What it is and what it does\nshort\n";
        let want = "NAME      What it is and\n          what it does\nshort\n";
        assert_eq!(folded(text, 24), want);
        let list = "  a sentence without columns that goes on";
        let want = "  a sentence without\n    columns that goes\n    on\n";
        assert_eq!(folded(list, 22), want);
    }

    #[test]
    fn colours_take_no_columns_and_commands_stay_whole() {
        let text = "\x1b[32mok\x1b[0m    h1   a sentence that goes on\n";
        let want = "\x1b[32mok\x1b[0m    h1   a sentence that\n           goes on\n";
        assert_eq!(folded(text, 27), want);
        let text = "fix it: `sudo sysctl -w a=1` and look again\n";
        assert_eq!(
            folded(text, 20),
            "fix it:\n  `sudo sysctl -w a=1`\n  and look again\n"
        );
    }

    /// Nothing but blanks changes, and words that are too long stay whole.
    #[test]
    fn words_stay_as_they_are() {
        let text = "path  /a/very/long/path/that/has/no/blank and more of it\n  x\n";
        for width in 0..60 {
            let words = |t: &str| t.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&folded(text, width)), words(text), "{width}");
        }
        assert_eq!(folded(text, 80), text);
    }
}
