//! BLOCK_FILE: other transfer sizes. A format of Filermark's own, since the
//! 2008 manual does not describe its format.
//!
//! Every line is `read KB PERCENT%` or `write KB PERCENT%`; `#` begins a comment.

use crate::error::{ConfigError, SourceLocation, quoted};
use filermark_model::SizeDistribution;
use filermark_model::dist::SizeShare;

/// The largest logical transfer, in binary kilobytes (the largest file of 2008).
const KIB_MAX: f64 = 32_768.0;

/// The tables that a block file gives; a kind without a line is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockFile {
    /// Sizes of logical reads.
    pub read: Option<SizeDistribution>,
    /// Sizes of logical writes.
    pub write: Option<SizeDistribution>,
}

/// Reads a block file; `file` is its name in messages.
///
/// # Errors
/// Everything that is wrong, line by line.
pub fn parse_blockfile(file: &str, text: &str) -> Result<BlockFile, Vec<ConfigError>> {
    let mut errors = Vec::new();
    let mut tables: [Vec<SizeShare>; 2] = [Vec::new(), Vec::new()];
    for (i, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let place = SourceLocation::line(file, i + 1, 1);
        match parse_row(line) {
            Ok((kind, row)) if tables[kind].iter().any(|r| r.kib == row.kib) => {
                let message = format!("size {} KB has a line already", row.kib);
                errors.push(ConfigError::new(place, message, "give every size one line"));
            }
            Ok((kind, row)) => tables[kind].push(row),
            Err(message) => {
                let hint = "write 'read 4 25%': read or write, KB, share";
                errors.push(ConfigError::new(place, message, hint));
            }
        }
    }
    if errors.is_empty() && tables.iter().all(Vec::is_empty) {
        let hint = "write lines such as 'read 4 25%'";
        let place = SourceLocation::File(file.to_owned());
        errors.push(ConfigError::new(place, "there is no row in it", hint));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let [read, write] = tables;
    let mut table = |kind: &str, mut rows: Vec<SizeShare>| {
        if rows.is_empty() {
            return None;
        }
        rows.sort_by(|a, b| a.kib.total_cmp(&b.kib));
        SizeDistribution::new(rows)
            .map_err(|e| {
                let place = SourceLocation::File(file.to_owned());
                let message = format!("{kind} rows: {e}");
                errors.push(ConfigError::new(place, message, "correct the shares"));
            })
            .ok()
    };
    let found = BlockFile {
        read: table("read", read),
        write: table("write", write),
    };
    if errors.is_empty() {
        Ok(found)
    } else {
        Err(errors)
    }
}

fn parse_row(line: &str) -> Result<(usize, SizeShare), String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [kind, kib, percent] = words.as_slice() else {
        return Err(format!("'{}' does not have three words", quoted(line)));
    };
    let kind = match kind.to_ascii_lowercase().as_str() {
        "read" => 0,
        "write" => 1,
        _ => return Err(format!("'{}' is neither read nor write", quoted(kind))),
    };
    let number = |text: &str| text.parse::<f64>().ok();
    let Some(kib) = number(kib).filter(|n| *n >= 1.0 / 1024.0 && *n <= KIB_MAX) else {
        return Err(format!(
            "'{}' is not a size from 1/1024 to {KIB_MAX} KB",
            quoted(kib)
        ));
    };
    let share = percent.strip_suffix('%').and_then(number);
    let Some(percent) = share.filter(|p| (0.0..=100.0).contains(p)) else {
        return Err(format!(
            "'{}' is not a share from 0% to 100%",
            quoted(percent)
        ));
    };
    Ok((kind, SizeShare { kib, percent }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_in_any_order() {
        let text = "# mine\nread 8 75%\r\nread 4 25% # small ones\n\nwrite 0.5 100%\n";
        let found = parse_blockfile("b", text).unwrap();
        assert_eq!(found.read.unwrap().mean_bytes(), 7.0 * 1024.0);
        assert_eq!(found.write.unwrap().max().0, 512);
        assert_eq!(parse_blockfile("b", "read 4 100%").unwrap().write, None);
    }

    #[test]
    fn what_is_refused() {
        let cases = [
            ("", "b: there is no row in it"),
            ("read 4", "b:1:1: 'read 4' does not have three words"),
            ("raed 4 100%", "b:1:1: 'raed' is neither"),
            ("read 0 100%", "b:1:1: '0' is not a size"),
            ("read inf 100%", "b:1:1: 'inf' is not a size"),
            ("read 99999 100%", "b:1:1: '99999' is not a size"),
            ("read 4 100", "b:1:1: '100' is not a share"),
            ("read 4 nan%", "b:1:1: 'nan%' is not a share"),
            (
                "read 4 50%\nread 4 50%",
                "b:2:1: size 4 KB has a line already",
            ),
            (
                "read 4 50%",
                "b: read rows: the size distribution adds up to 50",
            ),
        ];
        for (text, want) in cases {
            let got = parse_blockfile("b", text).unwrap_err()[0].to_string();
            assert!(got.starts_with(want), "{text:?}: {got}");
        }
    }
}
