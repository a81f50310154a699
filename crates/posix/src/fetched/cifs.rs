//! `/proc/fs/cifs/Stats`: of each share that the Linux client is connected to what was
//! read. With SMB 2 and 3 the line is `Bytes read: N  Bytes written: N`, with SMB1
//! `Reads:  N Bytes: N`.

/// The bytes that have come from a share, `//server/share`, all connections to it
/// together; `None`: there is none, or this kernel does not count them.
pub fn read_bytes_in(stats: &str, share: &str) -> Option<u64> {
    let share = share.replace('\\', "/");
    let mut total: Option<u64> = None;
    let mut here = false;
    for line in stats.lines().map(str::trim) {
        if let Some(name) = share_of(line) {
            here = name.replace('\\', "/").eq_ignore_ascii_case(&share);
        } else if here && let Some(bytes) = bytes_of(line) {
            total = Some(total.unwrap_or(0).saturating_add(bytes));
        }
    }
    total
}

/// `1) \\server\share`, with `DISCONNECTED` behind where it is.
fn share_of(line: &str) -> Option<&str> {
    let (number, rest) = line.split_once(") ")?;
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let name = rest.split('\t').next()?.trim();
    (is_number && name.starts_with(r"\\")).then_some(name)
}

fn bytes_of(line: &str) -> Option<u64> {
    let figure = match line.strip_prefix("Bytes read:") {
        Some(rest) => rest,
        None => line.strip_prefix("Reads:")?.split_once("Bytes:")?.1,
    };
    figure.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the form of Linux 6.1: two shares by SMB 3, one of them connected twice, and
    /// one by SMB1.
    const CAPTURED: &str = r"Resources in use
CIFS Session: 2
Share (unique mount targets): 6
SMB Request/Response Buffer: 1 Pool size: 5
SMB Small Req/Resp Buffer: 1 Pool size: 30
Operations (MIDs): 0

0 session 0 share reconnects
Total vfs operations: 2046 maximum at one time: 4

Max requests in flight: 9
1) \\10.0.2.2\work
SMBs: 812
Bytes read: 1048576  Bytes written: 2097152
Open files: 0 total (local), 0 open on server
TreeConnects: 1 total 0 failed
Reads: 17 total 0 failed
Writes: 33 total 0 failed
2) \\10.0.2.2\work	DISCONNECTED 
SMBs: 3
Bytes read: 24  Bytes written: 0
Reads: 1 total 0 failed
3) \\10.0.2.2\IPC$
SMBs: 4
Bytes read: 0  Bytes written: 0
4) \\old\share one
SMBs: 90 Oplocks breaks: 0
Reads:  5 Bytes: 40960
Writes: 6 Bytes: 49152
";

    /// Also writes it where FILERMARK_FUZZ_SEEDS says, for ci/fuzz.
    #[test]
    fn both_forms_are_read_and_connections_added_up() {
        if let Some(corpus) = std::env::var_os("FILERMARK_FUZZ_SEEDS") {
            let corpus = std::path::Path::new(&corpus).join("kernel_counts");
            std::fs::create_dir_all(&corpus).unwrap();
            std::fs::write(corpus.join("cifs"), CAPTURED).unwrap();
        }
        let read = |share| read_bytes_in(CAPTURED, share);
        assert_eq!(read("//10.0.2.2/work"), Some(1_048_600));
        assert_eq!(
            read(r"\\10.0.2.2\WORK"),
            Some(1_048_600),
            "names have no case"
        );
        assert_eq!(read("//old/share one"), Some(40_960));
        assert_eq!(read("//10.0.2.2/ipc$"), Some(0));
        assert_eq!(read("//10.0.2.2/wor"), None);
    }

    #[test]
    fn damaged_text_yields_nothing() {
        let old = "1) \\\\server\\share\nSMBs: 279\nReads: 0 sent 0 failed\n";
        assert_eq!(read_bytes_in(old, "//server/share"), None, "not counted");
        let bad = "1) \\\\s\\x\nBytes read: x  Bytes written: 3\n) \n1)";
        assert_eq!(read_bytes_in(bad, "//s/x"), None);
    }
}
