//! Captured network traffic, decoded by Wireshark's dissectors.

mod written;

use crate::daemon::Daemon;
use crate::tools::{BUSY_LIMIT, need, search_path, write};
use crate::{Error, Result, Sandbox};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

const START_LIMIT: Duration = BUSY_LIMIT;
const STOP_LIMIT: Duration = BUSY_LIMIT;

/// dumpcap gets packets from the kernel in blocks, the last one after a timeout
/// of at most a quarter of a second; if it ended sooner it would miss that block.
const LAST_BLOCK: Duration = Duration::from_millis(400);

/// The kernel's buffer for dumpcap, in MiB: bursts must not be lost.
const BUFFER_MIB: &str = "64";

/// NFS's program number (RFC 1813, section 2).
const NFS_PROGRAM: &str = "100003";

/// Starts dumpcap and, when the input ends, lets it finish its file.
const DUMPCAP: &str = r#"
dumpcap "$@" </dev/null &
read -r _
kill -INT $!
wait $!
"#;

/// A running capture of TCP and UDP traffic; it ends when dropped, and its file is removed.
#[derive(Debug)]
pub struct Capture {
    dumpcap: Daemon,
    file: PathBuf,
    ports: Vec<u16>,
    decoder: Decoder,
    sandbox: Arc<Sandbox>,
}

/// The protocol as which tshark decodes the captured ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decoder {
    Rpc,
    /// SMB after the four-byte header of NetBIOS session messages.
    Smb,
}

impl Decoder {
    /// tshark's name.
    fn name(self) -> &'static str {
        match self {
            Decoder::Rpc => "rpc",
            Decoder::Smb => "nbss",
        }
    }

    /// dumpcap's filter. Of a fragmented datagram only the first fragment has the ports.
    fn port_filter(self, port: u16) -> String {
        match self {
            Decoder::Rpc => format!("port {port} or (udp and ip[6:2] & 0x3fff != 0)"),
            Decoder::Smb => format!("tcp port {port}"),
        }
    }

    /// A filter for packets that tshark cannot decode. It does not decode the hints that an
    /// SMB server's first answer may carry (MS-SPNG 2.2.1, NegTokenInit2) and reports them
    /// as malformed.
    fn malformed(self, to_server: &str) -> String {
        match self {
            Decoder::Rpc => "_ws.malformed || rpc.fragment.error".to_owned(),
            Decoder::Smb => format!(
                "_ws.malformed && !(spnego && (smb2.cmd == 0 || smb.cmd == 0x72) && !({to_server}))"
            ),
        }
    }
}

impl Capture {
    /// Captures whole packets from and to the given ports, TCP and UDP, on an interface
    /// of the sandbox (`lo`, or that of a fixture's `interface`).
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] without tshark; otherwise what dumpcap reported.
    pub fn start(sandbox: &Arc<Sandbox>, interface: &str, ports: &[u16]) -> Result<Capture> {
        Capture::start_as(sandbox, interface, ports, Decoder::Rpc)
    }

    /// As [`Capture::start`], for ports of SMB, version 1 or later. Where a message may be
    /// longer than 128 KiB, the port must be 445: see [`crate::Samba::STANDARD_PORT`].
    ///
    /// # Errors
    ///
    /// As [`Capture::start`].
    pub fn start_smb(sandbox: &Arc<Sandbox>, interface: &str, ports: &[u16]) -> Result<Capture> {
        Capture::start_as(sandbox, interface, ports, Decoder::Smb)
    }

    fn start_as(
        sandbox: &Arc<Sandbox>,
        interface: &str,
        ports: &[u16],
        decoder: Decoder,
    ) -> Result<Capture> {
        need(&[("dumpcap", "tshark"), ("tshark", "tshark")])?;
        let name = format!("capture-{}", sandbox.next_number());
        let file = sandbox.dir().join(format!("{name}.pcapng"));
        let filter: Vec<String> = ports
            .iter()
            .map(|port| decoder.port_filter(*port))
            .collect();
        let path = file.display().to_string();
        let mut dumpcap = Daemon::start(
            sandbox,
            &name,
            "sh",
            &[
                "-c",
                DUMPCAP,
                "dumpcap",
                "-i",
                interface,
                "-B",
                BUFFER_MIB,
                "-w",
                &path,
                "-f",
                &filter.join(" or "),
            ],
        )?;
        dumpcap.wait_for("the start of the capture", START_LIMIT, |output| {
            output.contains("File: ").then_some(())
        })?;
        Ok(Capture {
            dumpcap,
            file,
            ports: ports.to_vec(),
            decoder,
            sandbox: Arc::clone(sandbox),
        })
    }

    /// Ends the capture. The file is removed with the sandbox.
    ///
    /// # Errors
    ///
    /// When dumpcap fails or does not end.
    pub fn stop(mut self) -> Result<Pcap> {
        std::thread::sleep(LAST_BLOCK);
        let status = self.dumpcap.finish(STOP_LIMIT)?;
        let output = self.dumpcap.output();
        if !status.success() {
            return Err(Error::failed("dumpcap", status.to_string(), output));
        }
        let Some((packets, dropped)) = packets_and_drops(&output) else {
            return Err(Error::failed("dumpcap", "no count of packets", output));
        };
        Ok(Pcap {
            file: self.file.clone(),
            ports: self.ports.clone(),
            decoder: self.decoder,
            preferences: None,
            packets,
            dropped,
            sandbox: Arc::clone(&self.sandbox),
        })
    }
}

/// Reads `Packets received/dropped on interface 'lo': 898/0 (...)`.
fn packets_and_drops(output: &str) -> Option<(u64, u64)> {
    let line = output
        .lines()
        .rev()
        .find(|line| line.contains("received/dropped on"))?;
    let (_, counts) = line.rsplit_once("': ")?;
    let (received, dropped) = counts.split_whitespace().next()?.split_once('/')?;
    Some((received.parse().ok()?, dropped.parse().ok()?))
}

/// A finished capture, which is analysed with tshark.
#[derive(Debug)]
pub struct Pcap {
    file: PathBuf,
    ports: Vec<u16>,
    decoder: Decoder,
    /// A directory with preferences for tshark.
    preferences: Option<PathBuf>,
    packets: u64,
    dropped: u64,
    sandbox: Arc<Sandbox>,
}

/// tshark's figures for one procedure: calls that got a reply, and the
/// time from the last byte of the call to the reply.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcedureTimes {
    /// Its number (RFC 1813, section 3.3; RFC 7530, section 16).
    pub procedure: u32,
    /// Its name, in capitals, as in the RFC.
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

impl Pcap {
    /// The capture's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// Packets captured.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Packets that dumpcap lost because they arrived too fast. Counts can be compared
    /// with others only when this is 0: the capture is complete then.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// How many packets tshark cannot decode, in any protocol.
    ///
    /// # Errors
    ///
    /// When tshark fails.
    pub fn malformed(&self) -> Result<u64> {
        let filter = self.decoder.malformed(&self.any_port("tcp.dstport"));
        let lines = self.tshark(&["-Y", &filter, "-T", "fields", "-e", "frame.number"])?;
        Ok(lines.lines().count() as u64)
    }

    /// Gives tshark the password of the users who logged in by NTLM: it then decrypts SMB3
    /// and checks signatures. Without it, an encrypted message is one unknown message.
    ///
    /// # Errors
    ///
    /// When its preferences cannot be written.
    pub fn with_password(mut self, password: &str) -> Result<Pcap> {
        let number = self.sandbox.next_number();
        let dir = self.sandbox.dir().join(format!("wireshark-{number}"));
        std::fs::create_dir_all(&dir).map_err(Error::path("make", &dir))?;
        let line = format!("ntlmssp.nt_password: {password}\n");
        write(dir.join("preferences"), &line)?;
        self.preferences = Some(dir);
        Ok(self)
    }

    /// A filter for packets whose `field` is one of the captured ports.
    pub(crate) fn any_port(&self, field: &str) -> String {
        let ports = self.ports.iter().map(|port| format!("{field}=={port}"));
        ports.collect::<Vec<_>>().join(" || ")
    }

    /// NFSv3 calls sent, answered or not, by procedure number.
    ///
    /// # Errors
    ///
    /// When tshark fails.
    pub fn calls(&self) -> Result<BTreeMap<u32, u64>> {
        self.calls_of(3)
    }

    /// Calls sent of this version of NFS, answered or not, by procedure number. Over UDP
    /// each retransmission counts.
    ///
    /// # Errors
    ///
    /// When tshark fails.
    pub fn calls_of(&self, version: u32) -> Result<BTreeMap<u32, u64>> {
        let to_server = [self.any_port("tcp.dstport"), self.any_port("udp.dstport")].join(" || ");
        let filter = format!("rpc.msgtyp == 0 && ({to_server})");
        let fields = [
            "-e",
            "rpc.program",
            "-e",
            "rpc.programversion",
            "-e",
            "rpc.procedure",
        ];
        let mut args = vec!["-Y", &filter, "-T", "fields", "-E", "occurrence=a"];
        args.extend(fields);
        count_calls(&self.tshark(&args)?, version)
    }

    /// Service times of NFSv3 by procedure, for those that were used.
    ///
    /// # Errors
    ///
    /// When tshark fails, or prints an unexpected table.
    pub fn times(&self) -> Result<Vec<ProcedureTimes>> {
        self.times_of(3)
    }

    /// Service times of this version of NFS by procedure, for those that were used. Version 4 has one
    /// beside NULL: COMPOUND.
    ///
    /// # Errors
    ///
    /// As [`Pcap::times`].
    pub fn times_of(&self, version: u32) -> Result<Vec<ProcedureTimes>> {
        let table = self.tshark(&["-q", "-z", &format!("rpc,srt,{NFS_PROGRAM},{version}")])?;
        let rows: Vec<ProcedureTimes> = table.lines().filter_map(times_row).collect();
        if table.contains("RPC SRT Statistics") {
            Ok(rows)
        } else {
            Err(Error::failed("tshark -z rpc,srt", "no table", table))
        }
    }

    /// Runs tshark on the file with further arguments and returns its output, for
    /// queries that have no function here. The captured ports are decoded as RPC,
    /// or as SMB.
    ///
    /// # Errors
    ///
    /// When tshark fails, with its message.
    pub fn tshark(&self, args: &[&str]) -> Result<String> {
        let mut command = Command::new("tshark");
        command.arg("-n").arg("-r").arg(&self.file);
        for port in &self.ports {
            command
                .arg("-d")
                .arg(format!("tcp.port=={port},{}", self.decoder.name()));
            if self.decoder == Decoder::Rpc {
                command.arg("-d").arg(format!("udp.port=={port},rpc"));
            }
        }
        // Keeps tshark from reading the user's preferences.
        let nowhere = Path::new("/nonexistent");
        let preferences = self.preferences.as_deref().unwrap_or(nowhere);
        let output = command
            .args(args)
            .env("PATH", search_path())
            .env("WIRESHARK_CONFIG_DIR", preferences)
            .output()
            .map_err(Error::io("start tshark"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(Error::failed("tshark", output.status.to_string(), stderr))
    }
}

/// Counts calls of one version of NFS in lines of `program,...<TAB>version,...<TAB>procedure,...`:
/// a line for each packet, a number for each message.
fn count_calls(lines: &str, wanted: u32) -> Result<BTreeMap<u32, u64>> {
    let (mut counts, wanted) = (BTreeMap::new(), wanted.to_string());
    for line in lines.lines() {
        let mut columns = line.split('\t').map(|column| column.split(','));
        let (Some(programs), Some(versions), Some(procedures)) =
            (columns.next(), columns.next(), columns.next())
        else {
            return Err(Error::failed("tshark", "a line without three fields", line));
        };
        for ((program, version), procedure) in programs.zip(versions).zip(procedures) {
            if (program, version) == (NFS_PROGRAM, wanted.as_str()) {
                let number = procedure
                    .parse()
                    .map_err(|_| Error::failed("tshark", "no procedure number", line))?;
                *counts.entry(number).or_insert(0) += 1;
            }
        }
    }
    Ok(counts)
}

/// Reads a row of `-z rpc,srt`: index, name, calls, min, max, mean, sum (s).
fn times_row(line: &str) -> Option<ProcedureTimes> {
    let columns: Vec<&str> = line.split_whitespace().collect();
    let [procedure, name, calls, min, max, _, sum] = columns[..] else {
        return None;
    };
    let calls: u64 = calls.parse().ok()?;
    let microseconds = |text: &str| text.parse::<f64>().ok().map(|seconds| seconds * 1e6);
    Some(ProcedureTimes {
        procedure: procedure.parse().ok()?,
        name: name.to_owned(),
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
    fn dumpcap_s_last_line_is_read() {
        let output = "Packets captured: 898\nPackets received/dropped on interface \
                    'Loopback: lo': 898/7 (pcap:0/dumpcap:0/flushed:0/ps_ifdrop:0) (100.0%)\n";
        assert_eq!(packets_and_drops(output), Some((898, 7)));
        assert_eq!(packets_and_drops("Capturing on 'Loopback: lo'\n"), None);
    }

    #[test]
    fn several_calls_in_one_packet_are_counted_and_other_programs_are_not() {
        let lines = "100003\t3\t1\n100003,100003,100003\t3,3,3\t6,6,1\n100005\t3\t1\n";
        let counts = count_calls(lines, 3).expect("well-formed lines");
        assert_eq!(counts, BTreeMap::from([(1, 2), (6, 2)]));
        assert!(count_calls("100003\t3\n", 3).is_err());
        assert!(count_calls("100003\t3\tx\n", 3).is_err());
    }

    #[test]
    fn a_row_of_service_times_is_read_and_headings_are_not() {
        let row = times_row("    6  READ   20   0.000072   0.000964   0.000587   0.011736");
        let row = row.expect("a row");
        assert_eq!(
            (row.procedure, row.name.as_str(), row.calls),
            (6, "READ", 20)
        );
        assert!((row.mean_us - 586.8).abs() < 0.01);
        assert!((row.min_us - 72.0).abs() < 0.01);
        assert_eq!(
            times_row("Index  Procedure  Calls  Min SRT  Max SRT  Avg SRT  Sum SRT"),
            None
        );
        assert_eq!(times_row("====="), None);
    }
}
