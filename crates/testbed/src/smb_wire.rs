//! SMB in a capture, decoded by Wireshark's dissectors: calls, times, statuses, and
//! whether signatures are right.

use crate::{Error, Pcap, Result};
use std::collections::BTreeMap;

/// SMB2's commands by number (MS-SMB2 2.2.1.2).
const SMB2: [&str; 19] = [
    "NEGOTIATE",
    "SESSION_SETUP",
    "LOGOFF",
    "TREE_CONNECT",
    "TREE_DISCONNECT",
    "CREATE",
    "CLOSE",
    "FLUSH",
    "READ",
    "WRITE",
    "LOCK",
    "IOCTL",
    "CANCEL",
    "ECHO",
    "QUERY_DIRECTORY",
    "CHANGE_NOTIFY",
    "QUERY_INFO",
    "SET_INFO",
    "OPLOCK_BREAK",
];

/// SMB1's commands that current clients use (MS-CIFS 2.2.2.1).
const SMB1: [(u32, &str); 22] = [
    (0x00, "CREATE_DIRECTORY"),
    (0x01, "DELETE_DIRECTORY"),
    (0x04, "CLOSE"),
    (0x05, "FLUSH"),
    (0x06, "DELETE"),
    (0x07, "RENAME"),
    (0x08, "QUERY_INFORMATION"),
    (0x10, "CHECK_DIRECTORY"),
    (0x24, "LOCKING_ANDX"),
    (0x25, "TRANSACTION"),
    (0x2b, "ECHO"),
    (0x2e, "READ_ANDX"),
    (0x2f, "WRITE_ANDX"),
    (0x33, "TRANSACTION2_SECONDARY"),
    (0x34, "FIND_CLOSE2"),
    (0x71, "TREE_DISCONNECT"),
    (0x72, "NEGOTIATE"),
    (0x73, "SESSION_SETUP_ANDX"),
    (0x74, "LOGOFF_ANDX"),
    (0x75, "TREE_CONNECT_ANDX"),
    (0xa2, "NT_CREATE_ANDX"),
    (0xa4, "NT_CANCEL"),
];

/// Subcommands of SMB1's TRANSACTION2 (MS-CIFS 2.2.2.2).
const TRANS2: [(u32, &str); 10] = [
    (0x00, "TRANS2_OPEN2"),
    (0x01, "TRANS2_FIND_FIRST2"),
    (0x02, "TRANS2_FIND_NEXT2"),
    (0x03, "TRANS2_QUERY_FS_INFORMATION"),
    (0x05, "TRANS2_QUERY_PATH_INFORMATION"),
    (0x06, "TRANS2_SET_PATH_INFORMATION"),
    (0x07, "TRANS2_QUERY_FILE_INFORMATION"),
    (0x08, "TRANS2_SET_FILE_INFORMATION"),
    (0x0d, "TRANS2_CREATE_DIRECTORY"),
    (0x10, "TRANS2_GET_DFS_REFERRAL"),
];

/// Subcommands of SMB1's NT_TRANSACT (MS-CIFS 2.2.2.2).
const NT_TRANSACT: [(u32, &str); 6] = [
    (0x01, "NT_TRANSACT_CREATE"),
    (0x02, "NT_TRANSACT_IOCTL"),
    (0x03, "NT_TRANSACT_SET_SECURITY_DESC"),
    (0x04, "NT_TRANSACT_NOTIFY_CHANGE"),
    (0x05, "NT_TRANSACT_RENAME"),
    (0x06, "NT_TRANSACT_QUERY_SECURITY_DESC"),
];

const SMB1_TRANSACTION2: u32 = 0x32;
const SMB1_NT_TRANSACT: u32 = 0xa0;
/// In an AndX chain: no further command (MS-CIFS 2.2.3.4).
const SMB1_NO_FURTHER: u32 = 0xff;

/// tshark's figures for one command: calls that got a reply, and the time from the call
/// to the reply.
#[derive(Debug, Clone, PartialEq)]
pub struct SmbTimes {
    /// Its name in the specifications, in capitals; SMB1's transactions by their
    /// subcommand (`TRANS2_FIND_FIRST2`).
    pub name: String,
    /// Calls with a reply.
    pub calls: u64,
    /// The shortest time, in microseconds.
    pub min_us: f64,
    /// The longest time, in microseconds.
    pub max_us: f64,
    /// The mean time, in microseconds.
    pub mean_us: f64,
}

/// For captures by [`crate::Capture::start_smb`].
impl Pcap {
    /// Requests sent, answered or not, by the name of the command, SMB1 and SMB2
    /// together; each request of an AndX chain or a compound counts.
    ///
    /// # Errors
    ///
    /// When tshark fails.
    pub fn smb_calls(&self) -> Result<BTreeMap<String, u64>> {
        let mut counts = BTreeMap::new();
        for name in self
            .smb_requests()?
            .into_iter()
            .flat_map(|(_, names)| names)
        {
            *counts.entry(name).or_insert(0) += 1;
        }
        Ok(counts)
    }

    /// The requests of each packet that has any, in order: the time in seconds since the
    /// first packet, and the names as in [`Pcap::smb_calls`].
    ///
    /// # Errors
    ///
    /// When tshark fails.
    pub fn smb_requests(&self) -> Result<Vec<(f64, Vec<String>)>> {
        let frames = self.smb_frames()?.into_iter();
        Ok(frames
            .map(|(time, frames)| (time, frames.into_iter().flatten().collect()))
            .collect())
    }

    /// As [`Pcap::smb_requests`], with a list for each frame: a compound is one list.
    ///
    /// # Errors
    ///
    /// When tshark fails.
    pub fn smb_frames(&self) -> Result<Vec<(f64, Vec<Vec<String>>)>> {
        let to_server = self.any_port("tcp.dstport");
        let lines = self.smb_fields(
            &format!("(smb || smb2) && ({to_server})"),
            &[
                "smb2.cmd",
                "smb.cmd",
                "smb.trans2.cmd",
                "smb.nt.function",
                "smb2.chain_offset",
            ],
        )?;
        let named = lines.into_iter().map(|(time, columns)| {
            let column = |at: usize| columns.get(at).map_or(&[][..], Vec::as_slice);
            let (mut trans2, mut nt) = (column(2).iter(), column(3).iter());
            // The offset from each to the next of its compound; 0: it is the last.
            let mut chained = column(4).iter();
            let mut second: Vec<Vec<String>> = vec![Vec::new()];
            for command in column(0) {
                if let Some(frame) = second.last_mut() {
                    frame.push(smb2_name(*command));
                }
                if chained.next().is_none_or(|offset| *offset == 0) {
                    second.push(Vec::new());
                }
            }
            second.retain(|frame| !frame.is_empty());
            let first = column(1)
                .iter()
                .filter(|command| **command != SMB1_NO_FURTHER)
                .map(|command| vec![smb1_name(*command, &mut trans2, &mut nt)]);
            (time, second.into_iter().chain(first).collect())
        });
        Ok(named.collect())
    }

    /// The server's answers by NTSTATUS.
    ///
    /// # Errors
    ///
    /// When tshark fails.
    pub fn smb_statuses(&self) -> Result<BTreeMap<u32, u64>> {
        let from_server = self.any_port("tcp.srcport");
        let lines = self.smb_fields(
            &format!("(smb || smb2) && ({from_server})"),
            &["smb2.nt_status", "smb.nt_status"],
        )?;
        let mut counts = BTreeMap::new();
        for status in lines.into_iter().flat_map(|(_, columns)| columns).flatten() {
            *counts.entry(status).or_insert(0) += 1;
        }
        Ok(counts)
    }

    /// Service times by command, for those that were used.
    ///
    /// # Errors
    ///
    /// When tshark fails, or prints an unexpected table.
    pub fn smb_times(&self) -> Result<Vec<SmbTimes>> {
        let table = self.tshark(&["-q", "-z", "smb,srt", "-z", "smb2,srt"])?;
        if table.contains("SMB2 SRT Statistics") {
            Ok(read_times(&table))
        } else {
            Err(Error::failed("tshark -z smb2,srt", "no table", table))
        }
    }

    /// Right and wrong signatures of SMB2 messages, for a capture with
    /// [`Pcap::with_password`]. tshark checks HMAC-SHA256 and AES-CMAC only and reports all
    /// AES-GMAC signatures as wrong: the server must not offer GMAC. Of a compound it can
    /// check the first message only; the others are left out here.
    ///
    /// # Errors
    ///
    /// When tshark fails.
    pub fn smb_signatures(&self) -> Result<(u64, u64)> {
        let fields = [
            "smb2.good_signature",
            "smb2.bad_signature",
            "smb2.chain_offset",
        ];
        let filter = format!("{} || {}", fields[0], fields[1]);
        let mut args = vec!["-o", "smb2.verify_signatures:TRUE", "-Y", &filter];
        args.extend(["-T", "fields"]);
        args.extend(fields.iter().flat_map(|field| ["-e", field]));
        let lines = self.tshark(&args)?;
        Ok(lines.lines().fold((0, 0), |sum, line| {
            let (good, bad) = signatures(line);
            (sum.0 + good, sum.1 + bad)
        }))
    }

    /// SMB3 messages that were encrypted, in both directions.
    ///
    /// # Errors
    ///
    /// When tshark fails.
    pub fn smb_encrypted(&self) -> Result<u64> {
        let field = "smb2.header.transform.signature";
        let lines = self.tshark(&["-Y", field, "-T", "fields", "-e", field])?;
        let found = lines.lines().map(|line| line.split(',').count() as u64);
        Ok(found.sum())
    }

    /// Numeric fields of the packets that match a filter: for each packet its time, in
    /// seconds since the first one, and for each field all of its values.
    fn smb_fields(&self, filter: &str, fields: &[&str]) -> Result<Vec<(f64, Vec<Vec<u32>>)>> {
        let mut args = vec!["-Y", filter, "-T", "fields", "-E", "occurrence=a"];
        for field in ["frame.time_relative"].iter().chain(fields) {
            args.extend(["-e", field]);
        }
        let text = self.tshark(&args)?;
        let line = |line: &str| -> Option<(f64, Vec<Vec<u32>>)> {
            let (time, columns) = line.split_once('\t')?;
            let columns = columns.split('\t').map(|column| {
                let values = column.split(',').filter(|value| !value.is_empty());
                values.map(number).collect::<Option<Vec<u32>>>()
            });
            Some((time.parse().ok()?, columns.collect::<Option<_>>()?))
        };
        let bad = |text: &str| Error::failed("tshark", "not a number in a field", text);
        text.lines()
            .map(|text| line(text).ok_or_else(|| bad(text)))
            .collect()
    }
}

/// Right and wrong signatures of one packet, from a line with the right ones, the wrong
/// ones, and the offset from each message to the next of its compound (0: there is none).
fn signatures(line: &str) -> (u64, u64) {
    let mut columns = line.split('\t').map(|column| {
        let values = column.split(',').filter(|value| !value.is_empty());
        values.map(|value| number(value).unwrap_or(0))
    });
    let mut count = || columns.next().map_or(0, |values| values.count() as u64);
    let (good, bad) = (count(), count());
    let followed = columns
        .next()
        .map_or(0, |values| values.filter(|at| *at > 0).count() as u64);
    (good, bad.saturating_sub(followed))
}

/// A number in tshark's output: decimal, or hexadecimal with `0x`.
fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn smb2_name(command: u32) -> String {
    let known = usize::try_from(command).ok().and_then(|at| SMB2.get(at));
    known.map_or_else(|| format!("SMB2_{command:#x}"), |name| (*name).to_owned())
}

/// The name of an SMB1 command; for a transaction, that of its next subcommand.
fn smb1_name<'a>(
    command: u32,
    trans2: &mut impl Iterator<Item = &'a u32>,
    nt: &mut impl Iterator<Item = &'a u32>,
) -> String {
    match command {
        SMB1_TRANSACTION2 => match trans2.next() {
            Some(number) => named(&TRANS2, *number, "TRANS2"),
            None => "TRANSACTION2".to_owned(),
        },
        SMB1_NT_TRANSACT => match nt.next() {
            Some(number) => named(&NT_TRANSACT, *number, "NT_TRANSACT"),
            None => "NT_TRANSACT".to_owned(),
        },
        other => named(&SMB1, other, "SMB1"),
    }
}

fn named(table: &[(u32, &str)], number: u32, family: &str) -> String {
    let known = table.iter().find(|(own, _)| *own == number);
    known.map_or_else(
        || format!("{family}_{number:#x}"),
        |(_, name)| (*name).to_owned(),
    )
}

/// Reads the tables of `-z smb,srt` and `-z smb2,srt`: sections begin with a filter,
/// rows are index, name, calls, min, max, mean, sum (s).
fn read_times(table: &str) -> Vec<SmbTimes> {
    let mut section = "";
    let mut rows = Vec::new();
    for line in table.lines() {
        if let Some(filter) = line.strip_prefix("Filter: ") {
            section = filter.trim();
            continue;
        }
        let name = |number: u32| match section {
            "smb2.cmd" => smb2_name(number),
            "smb.cmd" => named(&SMB1, number, "SMB1"),
            "smb.trans2.cmd" => named(&TRANS2, number, "TRANS2"),
            _ => named(&NT_TRANSACT, number, "NT_TRANSACT"),
        };
        rows.extend(times_row(line, name));
    }
    rows
}

fn times_row(line: &str, name: impl Fn(u32) -> String) -> Option<SmbTimes> {
    let columns: Vec<&str> = line.split_whitespace().collect();
    // The name between them may have spaces.
    let [index, .., calls, min, max, _, sum] = columns[..] else {
        return None;
    };
    let calls: u64 = calls.parse().ok()?;
    let microseconds = |text: &str| text.parse::<f64>().ok().map(|seconds| seconds * 1e6);
    Some(SmbTimes {
        name: name(index.parse().ok()?),
        calls,
        min_us: microseconds(min)?,
        max_us: microseconds(max)?,
        // tshark's own column has fewer digits.
        mean_us: microseconds(sum)? / calls as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_all_four_tables_are_read() {
        let table = "SMB SRT Statistics:\nFilter: smb.cmd\n\
            Index  Commands               Calls    Min SRT    Max SRT    Avg SRT    Sum SRT\n  \
            46  Read AndX                   2   0.000108   0.000110   0.000109   0.000218\n\n\
            Filter: smb.trans2.cmd\nIndex  Transaction2 Commands  Calls    Min SRT\n    \
            1  FIND_FIRST2                 3   0.000334   0.000543   0.000465   0.001396\n\
            Filter: smb.nt.function\n    \
            6  NT QUERY SECURITY DESC      1   0.000066   0.000066   0.000066   0.000066\n\
            ====\nSMB2 SRT Statistics:\nFilter: smb2.cmd\n   \
            14  Find                        6   0.000065   0.000299   0.000156   0.000934\n";
        let rows = read_times(table);
        let names: Vec<(&str, u64)> = rows.iter().map(|r| (r.name.as_str(), r.calls)).collect();
        assert_eq!(
            names,
            [
                ("READ_ANDX", 2),
                ("TRANS2_FIND_FIRST2", 3),
                ("NT_TRANSACT_QUERY_SECURITY_DESC", 1),
                ("QUERY_DIRECTORY", 6)
            ]
        );
        assert!((rows[0].mean_us - 109.0).abs() < 0.01 && (rows[0].max_us - 110.0).abs() < 0.01);
    }

    #[test]
    fn a_chain_of_smb1_commands_is_named_in_order() {
        let (trans2, nt) = ([5, 0x55], [6]);
        let (mut trans2, mut nt) = (trans2.iter(), nt.iter());
        let names = [0x32, 0xa0, 0x32, 0x32, 0x99].map(|n| smb1_name(n, &mut trans2, &mut nt));
        assert_eq!(
            names,
            [
                "TRANS2_QUERY_PATH_INFORMATION",
                "NT_TRANSACT_QUERY_SECURITY_DESC",
                "TRANS2_0x55",
                "TRANSACTION2",
                "SMB1_0x99"
            ]
        );
        assert_eq!(
            (number("0xc0000016"), number("x")),
            (Some(0xc000_0016), None)
        );
    }
}
