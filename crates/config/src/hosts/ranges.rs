//! Host lists: `nv[01-16]`, `c[1-3,7]`, `rack[1-2]n[1-4]`, several words with blanks
//! or commas between them.

use super::{CLIENTS_MAX, HostWordError, check_host};
use crate::error::quoted;
use std::collections::HashSet;

/// The most digits of a number in brackets.
const DIGITS_MAX: usize = 9;
/// The longest word: [`CLIENTS_MAX`] numbers of that length, one by one.
const WORD_BYTES_MAX: usize = CLIENTS_MAX * (DIGITS_MAX + 1);
const EXAMPLE: &str = "write a name, an address, or a range: nv[01-16], c[1-3,7]";

/// One parsed word of a host list; stands for [`CLIENTS_MAX`] names at most.
#[derive(Debug)]
pub(crate) struct Pattern {
    parts: Vec<Part>,
    count: usize,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Numbers(Vec<Range>),
}

#[derive(Debug)]
struct Range {
    first: u32,
    last: u32,
    /// The number of digits to which every number is padded with zeros.
    width: usize,
}

impl Range {
    fn count(&self) -> usize {
        (self.last - self.first) as usize + 1
    }

    fn text(&self, number: u32) -> String {
        format!("{number:0width$}", width = self.width)
    }
}

impl Pattern {
    /// Reads a word.
    ///
    /// # Errors
    /// (what is wrong with it, what to try).
    pub fn parse(word: &str) -> Result<Self, HostWordError> {
        let wrong = |what: &str| Err((what.to_owned(), EXAMPLE.to_owned()));
        // Only an address can stand in brackets as a whole.
        if let Some(rest) = word.strip_prefix('[') {
            let Some(address) = rest.strip_suffix(']') else {
                return wrong("has no closing bracket at its end");
            };
            return match address.contains(':') && check_host(address).is_ok() {
                true => Ok(Self::plain(address)),
                false => wrong("has no IPv6 address in its brackets"),
            };
        }
        if word.len() > WORD_BYTES_MAX {
            return wrong("is too long");
        }
        let parts = parts(word)?;
        let count = parts.iter().map(Part::count).fold(1, usize::saturating_mul);
        if count > CLIENTS_MAX {
            return Err((
                format!("stands for {count} hosts"),
                format!("{CLIENTS_MAX} are the most"),
            ));
        }
        let pattern = Self { parts, count };
        match check_host(&pattern.longest()) {
            Ok(()) => Ok(pattern),
            Err(what) => wrong(what),
        }
    }

    fn plain(name: &str) -> Self {
        Self {
            parts: vec![Part::Text(name.to_owned())],
            count: 1,
        }
    }

    /// How many names it stands for.
    pub fn count(&self) -> usize {
        self.count
    }

    /// All names, in the order of the numbers; the last brackets vary fastest.
    pub fn names(&self) -> Vec<String> {
        let mut names = vec![String::new()];
        for part in &self.parts {
            let texts = part.texts();
            names = names
                .iter()
                .flat_map(|name| texts.iter().map(move |text| format!("{name}{text}")))
                .collect();
        }
        names
    }

    /// A name that is as long as any of them.
    fn longest(&self) -> String {
        self.parts.iter().map(Part::longest).collect()
    }
}

impl Part {
    /// How many texts may stand in its place.
    fn count(&self) -> usize {
        match self {
            Self::Text(_) => 1,
            Self::Numbers(ranges) => ranges
                .iter()
                .map(Range::count)
                .fold(0, usize::saturating_add),
        }
    }

    fn texts(&self) -> Vec<String> {
        match self {
            Self::Text(text) => vec![text.clone()],
            Self::Numbers(ranges) => {
                let of = |range: &Range| {
                    let numbers = range.first..=range.last;
                    numbers.map(|n| range.text(n)).collect::<Vec<_>>()
                };
                ranges.iter().flat_map(of).collect()
            }
        }
    }

    /// The longest of them.
    fn longest(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Numbers(ranges) => {
                let texts = ranges.iter().map(|r| r.text(r.last));
                texts.max_by_key(String::len).unwrap_or_default()
            }
        }
    }
}

fn parts(word: &str) -> Result<Vec<Part>, HostWordError> {
    let mut parts = Vec::new();
    let mut rest = word;
    while let Some((text, after)) = rest.split_once('[') {
        let Some((numbers, after)) = after.split_once(']') else {
            return Err(("has no closing bracket".into(), EXAMPLE.into()));
        };
        parts.push(Part::Text(text.to_owned()));
        let ranges = numbers.split(',').map(range).collect::<Result<_, _>>()?;
        parts.push(Part::Numbers(ranges));
        rest = after;
    }
    parts.push(Part::Text(rest.to_owned()));
    let stray = |p: &Part| matches!(p, Part::Text(text) if text.contains(']'));
    match parts.iter().any(stray) {
        true => Err(("has a ] without its [".into(), EXAMPLE.into())),
        false => Ok(parts),
    }
}

/// Reads `7` or `01-16`.
fn range(text: &str) -> Result<Range, HostWordError> {
    let wrong = |what: &str, hint: &str| {
        let what = format!("has '{}' in its brackets, {what}", quoted(text));
        Err((what, hint.to_owned()))
    };
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let is_number = |t: &str| {
        let digits = t.bytes().all(|b| b.is_ascii_digit());
        digits && (1..=DIGITS_MAX).contains(&t.len())
    };
    if !is_number(first) || !is_number(last) {
        return wrong("which is neither a number nor a range", EXAMPLE);
    }
    let padded = |t: &str| t.len() > 1 && t.starts_with('0');
    let is_padded = padded(first) || padded(last);
    if is_padded && first.len() != last.len() {
        return wrong(
            "whose ends have different numbers of digits",
            "write both with the same number of digits, e.g. [01-16]",
        );
    }
    // Nine digits fit.
    let number = |t: &str| t.parse::<u32>().unwrap_or(u32::MAX);
    let range = Range {
        first: number(first),
        last: number(last),
        width: if is_padded { first.len() } else { 0 },
    };
    match range.first > range.last {
        true => wrong("which is descending", "write the smaller number first"),
        false => Ok(range),
    }
}

/// The words of a list: blanks end a word anywhere, commas outside of the brackets of
/// a host name. (What follows `:/` is a path, whose brackets have no meaning.)
pub(crate) fn split_words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for blank_free in text.split_whitespace() {
        let (mut from, mut in_brackets, mut in_path) = (0, false, false);
        for (at, c) in blank_free.char_indices() {
            match c {
                ',' if !in_brackets => {
                    words.push(&blank_free[from..at]);
                    (from, in_path) = (at + 1, false);
                }
                '[' if !in_path => in_brackets = true,
                ']' => in_brackets = false,
                '/' if !in_brackets && blank_free[from..at].ends_with(':') => in_path = true,
                _ => {}
            }
        }
        words.push(&blank_free[from..]);
    }
    words.retain(|w| !w.is_empty());
    words
}

/// The names that a host list stands for, in its order; none twice, and
/// [`CLIENTS_MAX`] at most.
///
/// # Errors
/// (what is wrong, what to try).
pub fn expand_hosts(text: &str) -> Result<Vec<String>, HostWordError> {
    let mut names = Vec::new();
    for word in split_words(text) {
        let pattern = Pattern::parse(word)
            .map_err(|(what, hint)| (format!("'{}' {what}", quoted(word)), hint))?;
        if names.len() + pattern.count() > CLIENTS_MAX {
            return Err((
                format!("there are more than {CLIENTS_MAX} hosts"),
                "that is the maximum".into(),
            ));
        }
        names.extend(pattern.names());
    }
    let mut seen = HashSet::new();
    match names.iter().find(|name| !seen.insert(super::key(name))) {
        Some(twice) => Err((
            format!("{} is named twice", quoted(twice)),
            "leave one of them out".into(),
        )),
        None if names.is_empty() => Err(("there is no host".into(), EXAMPLE.into())),
        None => Ok(names),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_every_form() {
        let cases = [
            ("a", "a"),
            ("a b,c\n d", "a b c d"),
            ("nv[01-03]", "nv01 nv02 nv03"),
            ("nv[08-11]", "nv08 nv09 nv10 nv11"),
            ("c[1-3,7]", "c1 c2 c3 c7"),
            ("c[1,2],d[3]", "c1 c2 d3"),
            ("r[1-2]n[0-1].x", "r1n0.x r1n1.x r2n0.x r2n1.x"),
            ("10.0.0.[9-10]", "10.0.0.9 10.0.0.10"),
            ("[::1] ::2,[fe80::1%eth0]", "::1 ::2 fe80::1%eth0"),
            ("n[000-001]", "n000 n001"),
        ];
        for (text, want) in cases {
            assert_eq!(expand_hosts(text).unwrap().join(" "), want, "{text}");
        }
        assert_eq!(expand_hosts("n[0001-9999],m").unwrap().len(), CLIENTS_MAX);
    }

    #[test]
    fn what_is_refused() {
        let cases = [
            ("", "there is no host"),
            (",", "there is no host"),
            ("nv[01-16", "'nv[01-16' has no closing bracket"),
            ("nv01-16]", "has a ] without its ["),
            ("nv[1]]", "has a ] without its ["),
            ("c[1-3, 7]", "'c[1-3,' has no closing bracket"),
            ("c[]", "has '' in its brackets, which is neither"),
            ("c[a-b]", "has 'a-b' in its brackets, which is neither"),
            ("c[1-2-3]", "which is neither a number nor a range"),
            ("c[-1]", "which is neither"),
            ("c[[1]]", "which is neither"),
            ("c[3-1]", "which is descending"),
            ("c[01-1]", "whose ends have different numbers of digits"),
            ("c[1-4294967296]", "which is neither"),
            ("c[1-999999999]", "stands for 999999999 hosts"),
            (
                "c[0-99999][0-99999][0-99999][0-99999][0-99999]",
                "stands for 18446744073709551615 hosts",
            ),
            ("c[1-9999] d[1-9999]", "there are more than 10000 hosts"),
            ("c[1-3,2]", "c2 is named twice"),
            ("a A", "A is named twice"),
            ("[1-3]", "has no IPv6 address in its brackets"),
            ("[::1", "has no closing bracket"),
            ("-x[1-3]", "begins with '-'"),
            ("4", "has a number where"),
            ("a;b", "has an invalid client name"),
            ("[localhost]", "has no IPv6 address"),
            ("[a:b]", "has no IPv6 address"),
        ];
        for (text, want) in cases {
            let (what, hint) = expand_hosts(text).unwrap_err();
            assert!(what.contains(want), "{text}: {what}");
            assert!(!hint.is_empty());
        }
        let long = format!("{}[1-100]", "x".repeat(253));
        assert!(expand_hosts(&long).is_err());
    }

    #[test]
    fn words_of_mount_points_keep_their_commas_in_host_names_only() {
        let text = "c[1,2]:/a[b,c[3]:/d,e:/f g:/h[,[::1]:/i";
        let want = ["c[1,2]:/a[b", "c[3]:/d", "e:/f", "g:/h[", "[::1]:/i"];
        assert_eq!(split_words(text), want);
    }
}
