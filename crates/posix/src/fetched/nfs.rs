//! `/proc/self/mountstats`: of each mount what its file system counts. For NFS the line
//! `bytes:` has eight figures (statvers 1.0 and 1.1 of the Linux client): read and
//! written by applications through the cache, the same past it (O_DIRECT), read from
//! and written to the server, and pages read and written by mappings.

/// Which of the figures is what the server sent.
const SERVER_READ: usize = 4;

/// The bytes that the server has sent for the mount at `place`; `None`: it is not there,
/// or no NFS mount. Where several are mounted on top of each other, the last counts.
pub fn read_bytes_in(stats: &str, place: &str) -> Option<u64> {
    let mut found = None;
    let mut here = false;
    for line in stats.lines() {
        if let Some(mount) = line.strip_prefix("device ") {
            here = is_at(mount, place);
            if here {
                found = None;
            }
        } else if here && let Some(figures) = line.trim_start().strip_prefix("bytes:") {
            let figure = figures.split_ascii_whitespace().nth(SERVER_READ);
            found = figure.and_then(|f| f.parse().ok());
        }
    }
    found
}

/// `server:/export mounted on /mnt with fstype nfs4 statvers=1.1`, blanks escaped.
fn is_at(mount: &str, place: &str) -> bool {
    let mut words = mount.split(' ');
    let at = words.position(|w| w == "on").and_then(|_| words.next());
    at.is_some_and(|at| crate::sys::unescaped(at) == place)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a kernel client (Linux 6.1) with a mount of version 3 and one of version 4.2.
    const CAPTURED: &str = "\
device proc mounted on /proc with fstype proc
device sysfs mounted on /sys with fstype sysfs
device 10.0.2.2:/v3 mounted on /mnt/a\\040b with fstype nfs statvers=1.1
\topts:\trw,vers=3,rsize=1048576,wsize=1048576,namlen=255,hard,proto=tcp
\tage:\t12
\tcaps:\tcaps=0xf,wtmult=4096,dtsize=1048576,bsize=0,namlen=255
\tsec:\tflavor=1,pseudoflavor=1
\tevents:\t3 22 0 1 2 9 40 4 0 1 0 4 0 1 2 0 0 2 0 1 3 0 0 0 0 0 0
\tbytes:\t4194304 2097152 8192 0 1056768 2097152 258 512
\tRPC iostats version: 1.1  p/v: 100003/3 (nfs)
\txprt:\ttcp 882 1 1 0 0 63 63 0 64 0 2 1 1
\tper-op statistics
\t        NULL: 1 1 0 44 24 0 0 0 0
\t        READ: 17 17 0 2108 1058944 0 12 13 0
device 10.0.2.2:/v4 mounted on /mnt/v4 with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,rsize=1048576,wsize=1048576
\tbytes:\t100 200 300 400 500 600 7 8
device tmpfs mounted on /tmp with fstype tmpfs
";

    /// Also writes it where FILERMARK_FUZZ_SEEDS says, for ci/fuzz.
    #[test]
    #[cfg_attr(feature = "portable", ignore = "mountstats is of Linux")]
    fn what_the_server_sent_is_read_of_versions_3_and_4() {
        if let Some(corpus) = std::env::var_os("FILERMARK_FUZZ_SEEDS") {
            let corpus = std::path::Path::new(&corpus).join("kernel_counts");
            std::fs::create_dir_all(&corpus).unwrap();
            std::fs::write(corpus.join("nfs"), CAPTURED).unwrap();
        }
        assert_eq!(read_bytes_in(CAPTURED, "/mnt/a b"), Some(1_056_768));
        assert_eq!(read_bytes_in(CAPTURED, "/mnt/v4"), Some(500));
        for none in ["/mnt", "/tmp", "/proc", ""] {
            assert_eq!(read_bytes_in(CAPTURED, none), None, "{none}");
        }
    }

    #[test]
    fn of_mounts_on_top_of_each_other_the_last_counts() {
        let over = "device a:/x mounted on /m with fstype nfs statvers=1.1\n\tbytes:\t1 2 3 4 5 6 7 8\n\
                    device b:/y mounted on /m with fstype nfs statvers=1.1\n\tbytes:\t1 2 3 4 55 6 7 8\n";
        assert_eq!(read_bytes_in(over, "/m"), Some(55));
        let hidden = format!("{over}device tmpfs mounted on /m with fstype tmpfs\n");
        assert_eq!(read_bytes_in(&hidden, "/m"), None);
    }

    #[test]
    fn damaged_text_yields_nothing() {
        for at in 0..CAPTURED.len() {
            // Must not panic; what is cut off is not known.
            let _ = read_bytes_in(&CAPTURED[..at], "/mnt/v4");
        }
        let bad = "device a mounted on /m with fstype nfs\n\tbytes:\t1 2 3 4 x 6\n";
        assert_eq!(read_bytes_in(bad, "/m"), None);
        assert_eq!(read_bytes_in("device a mounted on", "/m"), None);
    }
}
