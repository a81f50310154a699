//! Text from outside, made safe to show.
//!
//! Names, sentences and lines come from servers, clients, files and users. A terminal obeys
//! control characters in them, a line end fakes a further line of a log, and a direction
//! mark makes a name read as another one. All that shows or writes such text calls one of
//! these functions:
//!
//! | Function | For |
//! |---|---|
//! | [`one_line`] | a name or sentence as a whole: files, logs, tables |
//! | [`sanitize`], [`quoted`] | a piece of bounded length: messages |
//! | [`multi_line`] | text of several lines |
//! | [`escaped`] | bytes of unknown encoding: file names, paths |
//!
//! Line ends and tabs become blanks, whatever else is unsafe becomes U+FFFD. Markup is not
//! escaped here; the templates do that.

use std::fmt::Write as _;

/// The longest piece that [`quoted`] leaves, in characters.
const QUOTED_CHARS_MAX: usize = 60;

/// What stands in the place of an unsafe character.
const REPLACEMENT: char = '\u{fffd}';

/// The text on one line.
pub fn one_line(text: &str) -> String {
    text.chars().map(safe).collect()
}

/// The text on one line, cut behind so many characters, with `...` where it was cut.
pub fn sanitize(text: &str, chars_max: usize) -> String {
    let mut out: String = text.chars().take(chars_max).map(safe).collect();
    if text.chars().nth(chars_max).is_some() {
        out.push_str("...");
    }
    out
}

/// A piece of the user's text as a message may quote it: on one line, not too long.
pub fn quoted(text: &str) -> String {
    sanitize(text, QUOTED_CHARS_MAX)
}

/// The text with its line ends and tabs.
pub fn multi_line(text: &str) -> String {
    let kept = |c| if matches!(c, '\n' | '\t') { c } else { safe(c) };
    text.replace("\r\n", "\n").chars().map(kept).collect()
}

/// Bytes as text, each that is not part of a safe character as `\xNN`, and a backslash
/// twice: two names that differ stay different.
pub fn escaped(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    let hex = |out: &mut String, bytes: &[u8]| {
        for byte in bytes {
            let _ = write!(out, "\\x{byte:02x}");
        }
    };
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                c if is_unsafe(c) => hex(&mut out, c.encode_utf8(&mut [0; 4]).as_bytes()),
                c => out.push(c),
            }
        }
        hex(&mut out, chunk.invalid());
    }
    out
}

/// Whether [`one_line`] would leave the text as it is.
pub fn is_printable(text: &str) -> bool {
    !text.contains(is_unsafe)
}

fn safe(c: char) -> char {
    match c {
        '\t'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => ' ',
        c if is_unsafe(c) => REPLACEMENT,
        c => c,
    }
}

/// Control characters, line ends of Unicode, what changes the direction of writing, and the
/// two code points that XML cannot hold.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
        )
        || matches!(c, '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Text with many of the characters that matter.
    fn text() -> impl Strategy<Value = String> {
        let odd = prop::sample::select(vec![
            '\0', '\t', '\n', '\r', '\u{1b}', '\u{7f}', '\u{85}', '\u{9b}', '\u{61c}', '\u{200e}',
            '\u{2028}', '\u{202e}', '\u{2066}', '\u{fffe}', '\u{ffff}', '\\', '.', 'ü', '😀',
        ]);
        let any = prop_oneof![odd, any::<char>()];
        prop::collection::vec(any, 0..100).prop_map(|all| all.into_iter().collect())
    }

    proptest! {
        #[test]
        fn nothing_unsafe_is_left(text in text(), max in 0usize..120) {
            for shown in [one_line(&text), sanitize(&text, max), quoted(&text)] {
                prop_assert!(is_printable(&shown), "{shown:?}");
            }
            let lines = multi_line(&text);
            prop_assert!(lines.split(['\n', '\t']).all(is_printable), "{lines:?}");
            prop_assert!(is_printable(&escaped(text.as_bytes())));
        }

        #[test]
        fn lengths_are_bounded(text in text(), max in 0usize..120) {
            prop_assert_eq!(one_line(&text).chars().count(), text.chars().count());
            prop_assert!(sanitize(&text, max).chars().count() <= max + 3);
            prop_assert!(quoted(&text).chars().count() <= QUOTED_CHARS_MAX + 3);
            prop_assert!(multi_line(&text).chars().count() <= text.chars().count());
            prop_assert!(escaped(text.as_bytes()).len() <= 4 * text.len());
        }

        #[test]
        fn a_second_time_changes_nothing(text in text(), max in 0usize..120) {
            let shown = one_line(&text);
            prop_assert_eq!(&one_line(&shown), &shown);
            let shown = sanitize(&text, max);
            prop_assert_eq!(&sanitize(&shown, max), &shown);
            let shown = multi_line(&text);
            prop_assert_eq!(&multi_line(&shown), &shown);
        }

        #[test]
        fn what_is_printable_stays(text in "[ -\\[\\]-~üß😀]{0,60}") {
            prop_assert!(is_printable(&text));
            prop_assert_eq!(one_line(&text), text.as_str());
            prop_assert_eq!(quoted(&text), text.as_str());
            prop_assert_eq!(multi_line(&text), text.as_str());
            prop_assert_eq!(escaped(text.as_bytes()), text);
        }

        #[test]
        fn bytes_that_differ_are_shown_differently(
            one in prop::collection::vec(any::<u8>(), 0..6),
            other in prop::collection::vec(any::<u8>(), 0..6),
        ) {
            prop_assert!(is_printable(&escaped(&one)));
            prop_assert_eq!(one == other, escaped(&one) == escaped(&other));
        }
    }

    #[test]
    fn line_ends_are_blanks_and_commands_to_terminals_are_visible() {
        assert_eq!(
            one_line("a\u{1b}[2Jb\nc\u{202e}d"),
            "a\u{fffd}[2Jb c\u{fffd}d"
        );
        assert_eq!(one_line("ümlaut <b>"), "ümlaut <b>");
        assert_eq!(quoted("a\u{9b}b\tc"), "a\u{fffd}b c");
        assert_eq!(quoted(&"x".repeat(100)).len(), 63);
        assert_eq!(multi_line("a\r\nb\u{7}\n\tc"), "a\nb\u{fffd}\n\tc");
        assert_eq!(escaped(b"a\xffb\\\x1b\xc3\xbc\n"), "a\\xffb\\\\\\x1bü\\x0a");
    }
}
