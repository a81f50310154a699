//! The text of the marker file: the same whichever driver wrote it, so that a
//! directory that was claimed through one is known through another.

use crate::driver::Claim;

/// Most bytes of a marker that are worth looking at.
pub const MARKER_BYTES_MAX: u32 = 4096;

const SECOND_LINE: &str = "Filermark, a file-server benchmark, made this directory";

/// What the marker says: the run first, then words for the person who finds it.
pub fn marker_text(claim: &Claim) -> String {
    format!(
        "{}\n{SECOND_LINE} for a run and owns\n\
         everything in it. If that run is no longer under way it can be deleted:\n\
         rm -r {}\n",
        claim.run_id, claim.dir_name
    )
}

/// The run that a marker names; `None` if it is no marker of ours.
pub fn marker_run(data: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(data).ok()?;
    let (run, rest) = text.split_once('\n')?;
    rest.starts_with(SECOND_LINE).then(|| run.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_recognised_and_other_files_are_not() {
        let claim = Claim {
            dir_name: "filermark.mine".to_owned(),
            run_id: "20260101-abc".to_owned(),
        };
        let text = marker_text(&claim);
        assert_eq!(marker_run(text.as_bytes()).as_deref(), Some("20260101-abc"));
        assert!(text.contains("rm -r filermark.mine"));
        for foreign in [&b""[..], b"20260101-abc\n", b"\xff\xfe\n", b"x\ny\n"] {
            assert_eq!(marker_run(foreign), None, "{foreign:?}");
        }
    }
}
