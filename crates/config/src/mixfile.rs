//! Mix files, version 2 (seed 001, section 3.3.1, MIXFILE). The seed has them for NFS only;
//! those for SMB are like them, with the names of SMB's operations and shares that may
//! have decimals, since the table of seed 001, section 2.2.2, has some.

use crate::error::{ConfigError, Place, nearest, quoted};
use filermark_model::benchmark::Protocol;
use filermark_model::{Mix, Op};

/// The first line, to the letter.
pub const MIXFILE_HEADER: &str = "SFS MIXFILE VERSION 2";

/// Names that the format knows and NFSv3 does not (RFC 1094's ROOT and WRITECACHE).
const NFS2_ONLY: &[&str] = &["root", "wrcache"];

/// Shares are counted in thousandths of a percent.
const PERCENT: u32 = 1_000;

/// Reads a mix file of a protocol; `file` is what messages call it.
///
/// # Errors
/// Everything that is wrong, line by line.
pub fn parse_mixfile(file: &str, text: &str, protocol: Protocol) -> Result<Mix, Vec<ConfigError>> {
    let mut lines = text.split('\n').map(|l| l.strip_suffix('\r').unwrap_or(l));
    if lines.next() != Some(MIXFILE_HEADER) {
        return Err(vec![ConfigError::new(
            Place::line(file, 1, 1),
            format!("the first line is not exactly '{MIXFILE_HEADER}'"),
            "make it so, with nothing before or after it",
        )]);
    }
    let mut errors = Vec::new();
    let mut shares: Vec<(Op, u32)> = Vec::new();
    for (i, line) in lines.enumerate() {
        if line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        match parse_share(line, protocol) {
            Ok((op, _)) if shares.iter().any(|(o, _)| *o == op) => errors.push(ConfigError::new(
                Place::line(file, i + 2, 1),
                format!("operation {op} has a line already"),
                "give every operation one line",
            )),
            Ok(share) => shares.push(share),
            Err((message, hint)) => {
                errors.push(ConfigError::new(Place::line(file, i + 2, 1), message, hint));
            }
        }
    }
    let total: u32 = shares.iter().map(|(_, p)| p).sum();
    if errors.is_empty() && total != 100 * PERCENT {
        errors.push(ConfigError::new(
            Place::File(file.to_owned()),
            format!("the shares add up to {} percent", percent(total)),
            "make it 100",
        ));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let shares = shares.into_iter().map(|(op, p)| (op, percent(p)));
    Mix::new(shares).map_err(|e| {
        let place = Place::File(file.to_owned());
        vec![ConfigError::new(place, e.to_string(), "correct the shares")]
    })
}

fn percent(thousandths: u32) -> f64 {
    f64::from(thousandths) / f64::from(PERCENT)
}

fn parse_share(line: &str, protocol: Protocol) -> Result<(Op, u32), (String, String)> {
    let smb = protocol.is_sequential();
    let words: Vec<&str> = line.split_whitespace().collect();
    if words.first().is_some_and(|w| w.starts_with('#')) {
        return Err((
            "a comment that does not begin in the first column".into(),
            "move the # to the begin of the line".into(),
        ));
    }
    let [name, share] = words.as_slice() else {
        return Err((
            format!(
                "'{}' is not an operation and its share",
                quoted(line.trim())
            ),
            "write 'getattr 26%', nothing after it".into(),
        ));
    };
    if NFS2_ONLY.contains(name) && !smb {
        return Err((
            format!("operation {name} belongs to NFS version 2; NFSv3 has none of that name"),
            "leave the line out and give its share to others".into(),
        ));
    }
    let known = if smb { Op::SMB } else { Op::NFS3 };
    let Some(op) = known.iter().copied().find(|op| op.name() == *name) else {
        let of = if smb { " of SMB" } else { "" };
        let names = known.iter().map(|o| o.name());
        let hint = match nearest(name, names.clone()) {
            Some(near) => format!("did you mean {near}?"),
            None if smb => format!("known: {}", names.collect::<Vec<_>>().join(" ")),
            None => "names are small letters, as in getattr or readdirplus".into(),
        };
        let name = quoted(name);
        return Err((format!("there is no operation{of} '{name}'"), hint));
    };
    match parse_percent(share, smb) {
        Some(percent) => Ok((op, percent)),
        None => {
            let decimals = if smb { " or 12.5," } else { "" };
            let hint = format!(
                "write one to three digits,{decimals} 100 at most, and % right behind them"
            );
            Err((format!("'{}' is not a share of {op}", quoted(share)), hint))
        }
    }
}

/// A share in thousandths of a percent.
fn parse_percent(share: &str, decimals: bool) -> Option<u32> {
    let digits = share.strip_suffix('%')?;
    let (whole, part) = match digits.split_once('.') {
        Some((whole, part)) if decimals && (1..=3).contains(&part.len()) => (whole, part),
        Some(_) => return None,
        None => (digits, ""),
    };
    let plain = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit());
    if !(1..=3).contains(&whole.len()) || !plain(whole) || !plain(part) {
        return None;
    }
    let part: u32 = format!("{part:0<3}").parse().ok()?;
    let share = whole.parse::<u32>().ok()? * PERCENT + part;
    (share <= 100 * PERCENT).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Vec<String> {
        said_of(text, Protocol::Nfs3)
    }

    fn said_of(text: &str, protocol: Protocol) -> Vec<String> {
        match parse_mixfile("mix", text, protocol) {
            Ok(mix) => mix
                .shares()
                .iter()
                .map(|(o, p)| format!("{o} {p}"))
                .collect(),
            Err(errors) => errors.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn good_ones() {
        let head = MIXFILE_HEADER;
        assert_eq!(
            said(&format!("{head}\n  getattr 60%\n# x\nread 040%\n\n")),
            ["getattr 60", "read 40"]
        );
        assert_eq!(
            said(&format!("{head}\r\nnull 100%\r\nread 0%")),
            ["null 100"]
        );
    }

    #[test]
    fn every_name_of_the_manual_is_read_or_refused_by_name() {
        let names = "null getattr setattr root lookup readlink read wrcache write create remove \
             rename link symlink mkdir rmdir readdir fsstat access commit fsinfo mknod pathconf \
             readdirplus";
        for name in names.split_whitespace() {
            let got = said(&format!("{MIXFILE_HEADER}\n{name} 100%\n"));
            let want = match name {
                "root" | "wrcache" => format!("mix:2:1: operation {name} belongs to NFS version 2"),
                _ => format!("{name} 100"),
            };
            assert!(got[0].starts_with(&want), "{}", got[0]);
        }
    }

    #[test]
    fn bad_ones() {
        let cases = [
            ("", "mix:1:1: the first line is not exactly"),
            (" SFS MIXFILE VERSION 2\n", "mix:1:1: the first line"),
            ("SFS MIXFILE VERSION 2 \n", "mix:1:1: the first line"),
            ("SFS MIXFILE VERSION 1\n", "mix:1:1: the first line"),
        ];
        for (text, want) in cases {
            assert!(said(text)[0].starts_with(want), "{text:?}");
        }
        let bodies = [
            ("read 99%", "mix: the shares add up to 99 percent"),
            ("", "mix: the shares add up to 0 percent"),
            (" # x", "mix:2:1: a comment that does not begin"),
            ("read 100", "mix:2:1: '100' is not a share of read"),
            ("read 1000%", "mix:2:1: '1000%' is not a share"),
            ("read 101%", "mix:2:1: '101%' is not a share"),
            ("read +50%", "mix:2:1: '+50%' is not a share"),
            ("read 12.5%", "mix:2:1: '12.5%' is not a share"),
            ("read %", "mix:2:1: '%' is not a share"),
            (
                "read 100 %",
                "mix:2:1: 'read 100 %' is not an operation and",
            ),
            ("read", "mix:2:1: 'read' is not an operation and"),
            (
                "reed 100%",
                "mix:2:1: there is no operation 'reed'; did you mean read?",
            ),
            (
                "READ 100%",
                "mix:2:1: there is no operation 'READ'; did you mean read?",
            ),
            (
                "read 50%\nread 50%",
                "mix:3:1: operation read has a line already",
            ),
        ];
        for (body, want) in bodies {
            let got = said(&format!("{MIXFILE_HEADER}\n{body}"));
            assert!(got[0].starts_with(want), "{body:?}: {}", got[0]);
        }
    }

    #[test]
    fn those_of_smb_have_its_names_and_decimals() {
        let smb = |body: &str| said_of(&format!("{MIXFILE_HEADER}\n{body}"), Protocol::Smb2);
        assert_eq!(
            smb("open 9.7%\nclose 9.7%\nread 80.599%\nfind 0.001%"),
            ["read 80.599", "find 0.001", "open 9.7", "close 9.7"]
        );
        for (body, want) in [
            ("read 100.0%", "read 100"),
            (
                "read 100.001%",
                "mix:2:1: '100.001%' is not a share of read",
            ),
            ("read 1.0001%", "mix:2:1: '1.0001%' is not a share of read"),
            ("read 1.%", "mix:2:1: '1.%' is not a share of read"),
            ("read .5%", "mix:2:1: '.5%' is not a share of read"),
            ("read 1.+5%", "mix:2:1: '1.+5%' is not a share of read"),
            ("read 99.9%", "mix: the shares add up to 99.9 percent"),
            (
                "getattr 100%",
                "mix:2:1: there is no operation of SMB 'getattr'",
            ),
            (
                "query_paht 1%",
                "mix:2:1: there is no operation of SMB 'query_paht'; did you",
            ),
        ] {
            assert!(smb(body)[0].starts_with(want), "{body}: {}", smb(body)[0]);
        }
        let nfs = said(&format!("{MIXFILE_HEADER}\nopen 100%"));
        assert!(
            nfs[0].starts_with("mix:2:1: there is no operation 'open'"),
            "{}",
            nfs[0]
        );
    }
}
