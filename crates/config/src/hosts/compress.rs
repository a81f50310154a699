//! Compresses names to ranges, so that a thousand of them fit on a line.

use std::collections::HashMap;

/// Numbers with more digits stay as they are.
const DIGITS_MAX: usize = 9;

/// Names that differ in their last number only.
struct NameGroup {
    before: String,
    after: String,
    ranges: Vec<Range>,
}

struct Range {
    first: String,
    last: String,
}

impl Range {
    /// Adds the next number, if it continues from the last.
    fn takes(&mut self, digits: &str) -> bool {
        let number = |t: &str| t.parse::<u32>().ok();
        let next = number(&self.last).and_then(|n| n.checked_add(1));
        let padded = self.first.len() > 1 && self.first.starts_with('0');
        let fits = match padded {
            true => digits.len() == self.first.len(),
            false => !digits.starts_with('0'),
        };
        let takes = fits && next.is_some() && number(digits) == next;
        if takes {
            self.last = digits.to_owned();
        }
        takes
    }

    fn text(&self) -> String {
        match self.first == self.last {
            true => self.first.clone(),
            false => format!("{}-{}", self.first, self.last),
        }
    }
}

/// Writes names as a host list that [`expand_hosts`](super::expand_hosts) reads:
/// `nv[01-16],c[1-3,7]`. Names of one family are combined at the place of the
/// first of them.
pub fn fold_hosts<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut families: Vec<NameGroup> = Vec::new();
    // A name without a number is none of a family: `b` and `b0` are no range.
    let mut known: HashMap<(&str, &str, bool), usize> = HashMap::new();
    for name in names {
        let (before, digits, after) = split(name);
        let at = *known
            .entry((before, after, digits.is_empty()))
            .or_insert_with(|| {
                families.push(NameGroup {
                    before: before.to_owned(),
                    after: after.to_owned(),
                    ranges: Vec::new(),
                });
                families.len() - 1
            });
        let ranges = &mut families[at].ranges;
        if !ranges.last_mut().is_some_and(|r| r.takes(digits)) {
            ranges.push(Range {
                first: digits.to_owned(),
                last: digits.to_owned(),
            });
        }
    }
    families
        .iter()
        .map(NameGroup::text)
        .collect::<Vec<_>>()
        .join(",")
}

impl NameGroup {
    fn text(&self) -> String {
        let (before, after) = (&self.before, &self.after);
        let texts: Vec<String> = self.ranges.iter().map(Range::text).collect();
        match texts.as_slice() {
            _ if before.contains(':') => format!("[{before}]"),
            [one] if !one.contains('-') => format!("{before}{one}{after}"),
            _ => format!("{before}[{}]{after}", texts.join(",")),
        }
    }
}

/// A name's last number, and the text before and after it; IPv6 addresses and names
/// that begin with their only number have none.
fn split(name: &str) -> (&str, &str, &str) {
    let whole = (name, "", "");
    if name.contains(':') {
        return whole;
    }
    let is_digit = |c: char| c.is_ascii_digit();
    let Some(end) = name.rfind(is_digit).map(|at| at + 1) else {
        return whole;
    };
    let begin = name[..end].rfind(|c| !is_digit(c)).map_or(0, |at| {
        at + name[at..].chars().next().map_or(1, char::len_utf8)
    });
    match begin == 0 || end - begin > DIGITS_MAX {
        true => whole,
        false => (&name[..begin], &name[begin..end], &name[end..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::expand_hosts;

    #[test]
    fn lists_fold_and_unfold() {
        let cases = [
            ("a", "a"),
            ("nv01 nv02 nv03", "nv[01-03]"),
            ("nv08 nv09 nv10", "nv[08-10]"),
            ("c1 c2 c3 c7", "c[1-3,7]"),
            ("c8 c9 c10", "c[8-10]"),
            ("c09 c10 c011", "c[09-10,011]"),
            ("a1.x a2.x b a3.x", "a[1-3].x,b"),
            ("10.0.0.1 10.0.0.2", "10.0.0.[1-2]"),
            ("::1 ::2", "[::1],[::2]"),
            ("3com localhost", "3com,localhost"),
            ("n1234567890 n1234567891", "n1234567890,n1234567891"),
            ("c3 c1", "c[3,1]"),
            ("b0 b", "b0,b"),
            ("b b1 b2", "b,b[1-2]"),
            ("n99 n100 n0", "n[99-100,0]"),
        ];
        for (names, want) in cases {
            let names: Vec<&str> = names.split(' ').collect();
            let folded = fold_hosts(names.iter().copied());
            assert_eq!(folded, want);
            let mut back = expand_hosts(&folded).unwrap();
            let mut names: Vec<String> = names.into_iter().map(str::to_owned).collect();
            back.sort();
            names.sort();
            assert_eq!(back, names);
        }
    }
}
