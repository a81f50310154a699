//! Text in messages: what comes from outside, the name that was probably meant, words for a
//! shell.

mod foreign;

pub use foreign::{escaped, is_printable, multi_line, one_line, quoted, sanitize};

/// The nearest of `known` to `name`, when it is near enough to be meant.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_ascii_uppercase();
    let chars = name.chars().count();
    if chars > 64 {
        return None;
    }
    let limit = |k: &str| k.len().min(name.len()).div_ceil(3);
    known
        // No distance is below that of the lengths, which is had for nothing.
        .filter(|k| k.chars().count().abs_diff(chars) <= limit(k))
        .map(|k| (edit_distance(&name, &k.to_ascii_uppercase()), k))
        .filter(|(d, k)| *d <= limit(k))
        .min_by_key(|(d, _)| *d)
        .map(|(_, k)| k)
}

/// Levenshtein's distance, with a swap of neighbours counted as one step.
fn edit_distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut rows = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = change.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

/// A word for a shell, in single quotes where it needs them.
pub fn shell_quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_far_ones_are_not() {
        let known = ["RUNTIME", "LOAD", "INCR_LOAD", "PROCS"];
        assert_eq!(nearest("RUNTIEM", known.into_iter()), Some("RUNTIME"));
        assert_eq!(nearest("load", known.into_iter()), Some("LOAD"));
        assert_eq!(nearest("PROC", known.into_iter()), Some("PROCS"));
        assert_eq!(nearest("HELLO_WORLD", known.into_iter()), None);
        assert_eq!(nearest("", known.into_iter()), None);
    }

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        assert_eq!(shell_quote("LOAD=100"), "LOAD=100");
        assert_eq!(shell_quote("CLIENTS=h1 h2"), "'CLIENTS=h1 h2'");
        assert_eq!(shell_quote("a'b"), r"'a'\''b'");
        assert_eq!(shell_quote(""), "''");
    }
}
