//! Mix files, version 2 (manual M, section 3.3.1, MIXFILE). The seed has them for NFS only;
//! those for SMB have the same form, with the names of SMB's operations. Shares may have
//! decimals, since the table of manual M, section 2.2.2, has some, and since rare
//! operations of a real server would be lost without them.
//!
//! A server's statistics are accepted in place of a mix file, as nhfsstone did.
#![deny(clippy::wildcard_enum_match_arm)]

pub use crate::nfsstat::types::MIXFILE_HEADER;

use crate::error::{ConfigError, SourceLocation, nearest, quoted};
use crate::nfsstat::{Dialect, MixOfCounts, Version, is_of_version4, ops_of, read_statistics};
use filermark_model::benchmark::Protocol;
use filermark_model::plan::NfsVersion;
use filermark_model::{Finding, Mix, Op, Rule, Severity};

/// Names that the format has and NFSv3 does not (RFC 1094's ROOT and WRITECACHE), and
/// the RFC's statement about them.
const NFS2_ONLY: &[(&str, &str)] = &[
    ("root", "is obsolete (RFC 1094, section 2.2.4)"),
    ("wrcache", "is not used (RFC 1094, section 2.2.8)"),
];

/// Shares are counted in thousandths of a percent.
const PERCENT: u32 = 1_000;

/// A mix, and a finding about its source.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadMix {
    /// The mix.
    pub mix: Mix,
    /// How a server's statistics were converted, where they were read; a warning
    /// where the benchmark's protocol lacks some of the counted operations.
    pub note: Option<Finding>,
}

/// Reads a mix file of a protocol, or a server's statistics in its place; `file` is its
/// name in messages. `run` is NFS_VERSION: benchmarks of version 3 are also run over version 4, and
/// statistics are then those of that version.
///
/// # Errors
/// Everything that is wrong, line by line.
pub fn read_mix(
    file: &str,
    text: &str,
    (protocol, run): (Protocol, Option<NfsVersion>),
) -> Result<ReadMix, Vec<ConfigError>> {
    let is_mixfile = first_line(text) == MIXFILE_HEADER;
    // A plain table is too similar to a mix file whose first line was forgotten.
    let dialect = Dialect::of(text).filter(|d| !is_mixfile && *d != Dialect::Plain);
    if dialect.is_none() {
        let mix = parse_mixfile(file, text, protocol)?;
        return Ok(ReadMix { mix, note: None });
    }
    if protocol.is_sequential() {
        return Err(vec![ConfigError::new(
            SourceLocation::File(file.to_owned()),
            "these are statistics of an NFS server, and the benchmark uses SMB",
            "give a mix file with operations of SMB",
        )]);
    }
    let statistics = read_statistics(file, text).map_err(|e| vec![e])?;
    let of_run = run.filter(|run| run.has_state() && protocol == Protocol::Nfs3);
    let version = of_run.or(protocol.nfs_version());
    let wanted = version.and_then(|v| Version::of(u8::try_from(v.number()).unwrap_or(0)));
    let has = wanted.filter(|v| statistics.has(*v));
    let ops = of_run.map_or_else(|| protocol.ops(), ops_of);
    let made = statistics.mix(has, ops).map_err(|e| vec![e])?;
    let note = conversion_note(&made, wanted);
    let mix = made.mix().map_err(|e| {
        let place = SourceLocation::File(file.to_owned());
        vec![ConfigError::new(place, e.to_string(), "")]
    })?;
    let note = Some(note);
    Ok(ReadMix { mix, note })
}

/// The note about a mix made from counts, for a benchmark of a version.
fn conversion_note(made: &MixOfCounts, wanted: Option<Version>) -> Finding {
    let mut text = format!(
        "MIXFILE is not a mix file: {} ({}); the shares are made from its counts",
        made.what(),
        made.file
    );
    let other = wanted.filter(|v| *v != made.version);
    if let Some(wanted) = other {
        let (is, has) = (wanted.number(), made.version.number());
        text += &format!(
            ", as there are none of version {is}, which the run uses: these are counts of \
             version {has}"
        );
    }
    let left_out = made.omitted_text();
    let severity = match (other, &left_out) {
        (Some(_), Some(_)) => Severity::Warning,
        _ => Severity::Note,
    };
    if let Some(words) = left_out {
        text += &format!("; left out, {words}");
    }
    Finding::new(Rule::NotStandard, severity, text)
}

fn first_line(text: &str) -> &str {
    let line = text.split('\n').next().unwrap_or_default();
    line.strip_suffix('\r').unwrap_or(line)
}

/// Reads a mix file of a protocol; `file` is its name in messages.
///
/// # Errors
/// Everything that is wrong, line by line.
pub fn parse_mixfile(file: &str, text: &str, protocol: Protocol) -> Result<Mix, Vec<ConfigError>> {
    let mut lines = text.split('\n').map(|l| l.strip_suffix('\r').unwrap_or(l));
    if lines.next() != Some(MIXFILE_HEADER) {
        return Err(vec![ConfigError::new(
            SourceLocation::line(file, 1, 1),
            format!("the first line is not exactly '{MIXFILE_HEADER}'"),
            "make it so, with nothing before or after it; or give a server's statistics, as \
             `nfsstat -s` prints them (`filermark params MIXFILE` says more)",
        )]);
    }
    let mut errors = Vec::new();
    let mut shares: Vec<(Op, u32)> = Vec::new();
    for (i, line) in lines.enumerate() {
        if line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        match parse_share(line, protocol) {
            Ok(None) => {}
            Ok(Some((op, _))) if shares.iter().any(|(o, _)| *o == op) => {
                errors.push(ConfigError::new(
                    SourceLocation::line(file, i + 2, 1),
                    format!("operation {op} has a line already"),
                    "give every operation one line",
                ));
            }
            Ok(Some(share)) => shares.push(share),
            Err((message, hint)) => {
                errors.push(ConfigError::new(
                    SourceLocation::line(file, i + 2, 1),
                    message,
                    hint,
                ));
            }
        }
    }
    let total: u32 = shares.iter().map(|(_, p)| p).sum();
    if errors.is_empty() && total != 100 * PERCENT {
        errors.push(ConfigError::new(
            SourceLocation::File(file.to_owned()),
            format!("the shares add up to {} percent", percent(total)),
            "make it 100",
        ));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let shares = shares.into_iter().map(|(op, p)| (op, percent(p)));
    Mix::new(shares).map_err(|e| {
        let place = SourceLocation::File(file.to_owned());
        vec![ConfigError::new(place, e.to_string(), "correct the shares")]
    })
}

fn percent(thousandths: u32) -> f64 {
    f64::from(thousandths) / f64::from(PERCENT)
}

/// Whether a protocol has the operations that no client may call ([`NFS2_ONLY`]).
const fn has_obsolete(protocol: Protocol) -> bool {
    matches!(protocol, Protocol::Nfs2)
}

/// A share of an operation that no client may call: must be zero.
fn obsolete(name: &str, why: &str, share: &str) -> Result<(), (String, String)> {
    match parse_percent(share) {
        Some(0) => Ok(()),
        Some(_) => Err((
            format!("operation {name} {why}; its share can only be 0%"),
            "leave the line out and give its share to others".into(),
        )),
        None => Err(no_share(name, share)),
    }
}

fn no_share(op: &str, share: &str) -> (String, String) {
    (
        format!("'{}' is not a share of {op}", quoted(share)),
        "write one to three digits, or 12.5 with three decimals at most, 100 at most, and % \
         right behind them"
            .into(),
    )
}

/// The content of a line; `None`: a share of zero.
type Line = Option<(Op, u32)>;

fn parse_share(line: &str, protocol: Protocol) -> Result<Line, (String, String)> {
    let smb = protocol.is_sequential();
    let words: Vec<&str> = line.split_whitespace().collect();
    if words.first().is_some_and(|w| w.starts_with('#')) {
        return Err((
            "a comment that does not begin in the first column".into(),
            "move the # to the beginning of the line".into(),
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
    let lower = name.to_ascii_lowercase();
    if let Some((name, why)) = NFS2_ONLY.iter().find(|(n, _)| *n == lower && !smb) {
        if has_obsolete(protocol) {
            return obsolete(name, why, share).map(|()| None);
        }
        // The manual of 2008 has the names among those of version 3.
        if parse_percent(share) == Some(0) {
            return Ok(None);
        }
        return Err((
            format!("operation {name} belongs to NFS version 2; its share can only be 0%"),
            "leave the line out and give its share to others".into(),
        ));
    }
    let known = names_of(protocol);
    let is_named = |op: &Op| op.name() == lower;
    let Some(op) = known.iter().copied().find(is_named) else {
        let of = match protocol {
            Protocol::Nfs2 => " of NFS version 2",
            Protocol::Smb1 | Protocol::Smb2 => " of SMB",
            Protocol::Nfs3
            | Protocol::Nfs40
            | Protocol::Nfs41
            | Protocol::Nfs42
            | Protocol::Posix => "",
        };
        let names = known.iter().map(|o| o.name());
        let of_later = has_obsolete(protocol) && Op::NFS3.iter().any(|o| o.name() == lower);
        let of_version4 = if smb { None } else { part_of(&lower) };
        let near = nearest(&lower, names.clone()).filter(|_| !of_later && of_version4.is_none());
        let hint = match near {
            Some(near) => format!("did you mean {near}?"),
            None if of_later => format!(
                "version 3 has it, version 2 has {}",
                names.collect::<Vec<_>>().join(" ")
            ),
            None if of_version4.is_some() => of_version4.unwrap_or_default().to_owned(),
            None if smb => format!("known: {}", names.collect::<Vec<_>>().join(" ")),
            None => "names are those of the RFCs, as getattr, readdirplus or read_plus".into(),
        };
        let name = quoted(name);
        return Err((format!("there is no operation{of} '{name}'"), hint));
    };
    match parse_percent(share) {
        Some(percent) => Ok(Some((op, percent))),
        None => Err(no_share(op.name(), share)),
    }
}

/// Why an operation of NFSv4 is in no mix; `None`: it is none.
fn part_of(name: &str) -> Option<&'static str> {
    Some(match name {
        "close" => "open is an OPEN and its CLOSE: name open",
        "lockt" | "locku" => "lock is a LOCK and its LOCKU: name lock",
        "delegreturn" => "delegations are returned where there are some (DELEGATIONS=keep)",
        name if is_of_version4(name) => {
            "it is only a part of others: a run sends it where they need it"
        }
        _ => return None,
    })
}

/// The operations that a mix file of a protocol may name. Benchmarks of version 3 are also run over version 4,
/// so their mix files may have its operations; whether NFS_VERSION has them is checked with the plan.
fn names_of(protocol: Protocol) -> &'static [Op] {
    match protocol {
        Protocol::Nfs3 => Op::NFS42,
        Protocol::Nfs2
        | Protocol::Nfs40
        | Protocol::Nfs41
        | Protocol::Nfs42
        | Protocol::Smb1
        | Protocol::Smb2
        | Protocol::Posix => protocol.ops(),
    }
}

/// A share in thousandths of a percent.
fn parse_percent(share: &str) -> Option<u32> {
    let digits = share.strip_suffix('%')?;
    let (whole, part) = match digits.split_once('.') {
        Some((whole, part)) if (1..=3).contains(&part.len()) => (whole, part),
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

    fn messages(text: &str) -> Vec<String> {
        messages_for(text, Protocol::Nfs3)
    }

    fn messages_for(text: &str, protocol: Protocol) -> Vec<String> {
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
            messages(&format!("{head}\n  getattr 60%\n# x\nread 040%\n\n")),
            ["getattr 60", "read 40"]
        );
        // Tools and other programs write names in capitals.
        assert_eq!(
            messages(&format!("{head}\nGETATTR 60%\nRead 40%\nROOT 0%\n")),
            ["getattr 60", "read 40"]
        );
        assert_eq!(
            messages(&format!("{head}\r\nnull 100%\r\nread 0%")),
            ["null 100"]
        );
    }

    #[test]
    fn operations_of_version_4_have_names() {
        let text = format!("{MIXFILE_HEADER}\nopen 10%\nread_plus 30.5%\ncopy 59.5%\n");
        let mut names = messages(&text);
        names.sort();
        assert_eq!(names, ["copy 59.5", "open 10", "read_plus 30.5"]);
        assert_eq!(messages_for(&text, Protocol::Nfs42), messages(&text));
        let of_2 = messages_for(&text, Protocol::Nfs2);
        assert!(
            of_2[0].contains("no operation of NFS version 2 'open'"),
            "{of_2:?}"
        );
    }

    #[test]
    fn names_of_version_2_may_have_no_share_in_version_3() {
        let text = format!("{MIXFILE_HEADER}\nroot 0%\nwrcache 000%\nread 100%\n");
        assert_eq!(messages(&text), ["read 100"]);
    }

    #[test]
    fn every_name_of_the_manual_is_read_or_refused_by_name() {
        let names = "null getattr setattr root lookup readlink read wrcache write create remove \
             rename link symlink mkdir rmdir readdir fsstat access commit fsinfo mknod pathconf \
             readdirplus";
        for name in names.split_whitespace() {
            let got = messages(&format!("{MIXFILE_HEADER}\n{name} 100%\n"));
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
            assert!(messages(text)[0].starts_with(want), "{text:?}");
        }
        let bodies = [
            ("read 99%", "mix: the shares add up to 99 percent"),
            ("", "mix: the shares add up to 0 percent"),
            (" # x", "mix:2:1: a comment that does not begin"),
            ("read 100", "mix:2:1: '100' is not a share of read"),
            ("read 1000%", "mix:2:1: '1000%' is not a share"),
            ("read 101%", "mix:2:1: '101%' is not a share"),
            ("read +50%", "mix:2:1: '+50%' is not a share"),
            ("read 12.5%", "mix: the shares add up to 12.5 percent"),
            ("read 12.5555%", "mix:2:1: '12.5555%' is not a share"),
            ("read 12.%", "mix:2:1: '12.%' is not a share"),
            ("read .5%", "mix:2:1: '.5%' is not a share"),
            ("read 1e2%", "mix:2:1: '1e2%' is not a share"),
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
                "read 50%\nread 50%",
                "mix:3:1: operation read has a line already",
            ),
        ];
        for (body, want) in bodies {
            let got = messages(&format!("{MIXFILE_HEADER}\n{body}"));
            assert!(got[0].starts_with(want), "{body:?}: {}", got[0]);
        }
    }

    #[test]
    fn mix_files_of_smb_have_its_names_and_decimals() {
        let smb = |body: &str| messages_for(&format!("{MIXFILE_HEADER}\n{body}"), Protocol::Smb2);
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
        let nfs = messages(&format!("{MIXFILE_HEADER}\nclose 100%"));
        assert!(
            nfs[0].starts_with("mix:2:1: there is no operation 'close'"),
            "{}",
            nfs[0]
        );
    }

    #[test]
    fn operations_that_no_client_may_call_have_no_share() {
        let result = |name: &str, share: &str| {
            let (_, why) = NFS2_ONLY.iter().find(|(n, _)| *n == name).unwrap();
            obsolete(name, why, share).map_err(|(message, _)| message)
        };
        assert_eq!(result("root", "0%"), Ok(()));
        assert_eq!(result("wrcache", "0.000%"), Ok(()));
        assert_eq!(
            result("root", "1%").unwrap_err(),
            "operation root is obsolete (RFC 1094, section 2.2.4); its share can only be 0%"
        );
        let wrong = result("wrcache", "0.001%").unwrap_err();
        assert!(wrong.contains("section 2.2.8"), "{wrong}");
        assert!(result("root", "0").unwrap_err().contains("not a share"));
        // In version 3, which has none of these names, they are refused as well.
        let of_v3 = |line| super::parse_share(line, Protocol::Nfs3);
        assert_eq!(of_v3("root 0%"), Ok(None));
        assert!(of_v3("root 1%").unwrap_err().0.contains("NFS version 2"));
    }

    #[test]
    fn rare_operations_have_decimals() {
        let body = "read 60.5%\nwrite 39.499%\nmknod 0.001%";
        assert_eq!(
            messages(&format!("{MIXFILE_HEADER}\n{body}")),
            ["read 60.5", "write 39.499", "mknod 0.001"]
        );
    }

    #[test]
    fn statistics_are_read_in_place_of_a_mix_file() {
        let text = include_str!("../tests/fixtures/nfsstat/sunos-s.txt");
        let read = read_mix("x", text, (Protocol::Nfs3, None)).unwrap();
        let percent = |op| read.mix.percent(op);
        assert_eq!(
            (percent(Op::Lookup), percent(Op::Getattr)),
            (34.153, 12.713)
        );
        let note = read.note.unwrap().message;
        assert!(note.contains("NFS version 2, 31622 calls (x)"), "{note}");
        assert!(note.contains("none of version 3"), "{note}");
        let error = |text: &str, protocol| {
            read_mix("x", text, (protocol, None)).unwrap_err()[0].to_string()
        };
        assert!(error(text, Protocol::Smb2).contains("uses SMB"));
        // The first line identifies a mix file; where it is missing, the message asks for it.
        assert!(error("getattr 60%\nread 40%\n", Protocol::Nfs3).starts_with("x:1:1: the first"));
        assert!(error("getattr 60\nread 40\n", Protocol::Nfs3).starts_with("x:1:1: the first"));
        let mix = format!("{MIXFILE_HEADER}\r\nread 100%\r\n");
        assert_eq!(
            read_mix("x", &mix, (Protocol::Nfs3, None)).unwrap().note,
            None
        );
    }

    /// A benchmark of version 3 that is run over version 4 takes the counts of version 4, with its operations.
    #[test]
    fn counts_are_those_of_the_version_of_the_run() {
        let text = "Server nfs v3:\nnull getattr setattr lookup access\n0 1000 0 500 500\n\n\
                    Server nfs v4 operations:\nopen close lock read getattr\n30 30 10 40 20\n";
        let read = |run| read_mix("x", text, (Protocol::Nfs3, run)).unwrap().mix;
        for run in [None, Some(NfsVersion::V3)] {
            assert_eq!(read(run).percent(Op::Access), 25.0);
        }
        let mix = read(Some(NfsVersion::V41));
        assert_eq!((mix.percent(Op::Open), mix.percent(Op::Lock)), (30.0, 10.0));
        assert_eq!(mix.percent(Op::Access), 0.0);
    }

    #[test]
    fn parts_of_operations_of_version_4_are_explained() {
        let hint = |name: &str| {
            let line = format!("{name} 10%");
            super::parse_share(&line, Protocol::Nfs42).unwrap_err().1
        };
        assert!(hint("close").contains("name open"), "{}", hint("close"));
        assert!(hint("locku").contains("name lock"));
        assert!(hint("sequence").contains("only a part of others"));
        assert_eq!(hint("opne"), "did you mean open?");
    }

    #[test]
    fn counts_of_another_version_give_a_warning() {
        let v2 = "Server nfs v2:\nnull getattr setattr root\n0 100 0 0\n";
        let v3 = "Server nfs v3:\nnull getattr setattr lookup access\n0 1000 0 500 500\n";
        let read = |text: &str, p| read_mix("x", text, (p, None)).unwrap();
        let head = "Server rpc stats:\n";
        let both = read(&format!("{head}{v2}\n{v3}"), Protocol::Nfs2);
        assert_eq!(both.mix.percent(Op::Getattr), 100.0);
        assert_eq!(both.note.unwrap().severity, Severity::Note);
        let other = read(&format!("{head}{v3}"), Protocol::Nfs2);
        assert_eq!(other.mix.percent(Op::Access), 0.0);
        let note = other.note.unwrap();
        assert_eq!(note.severity, Severity::Warning);
        for words in [
            "none of version 2",
            "counts of version 3",
            "25.000 %",
            "access 500",
        ] {
            assert!(note.message.contains(words), "{}", note.message);
        }
        let null = read_mix("x", "{\"v2\":1}", (Protocol::Nfs2, None));
        assert!(null.is_err());
    }

    #[test]
    fn an_operation_that_version_2_lacks_has_a_hint() {
        let got = messages_for(&format!("{MIXFILE_HEADER}\naccess 100%"), Protocol::Nfs2);
        let want = "mix:2:1: there is no operation of NFS version 2 'access'; version 3 has it, \
                    version 2 has null getattr";
        assert!(got[0].starts_with(want), "{}", got[0]);
    }
}
