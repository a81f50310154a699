//! The password of a source: from a file that only the user may read, or the environment.
//!
//! Treated like the agents' secret file: one that others may read is refused.

use crate::meter::ReadFailure;
use filermark_system::Privacy;
use std::io::Read;
use std::path::Path;

/// The environment variable with the password, where there is no file.
pub(crate) const VARIABLE: &str = "FILERMARK_METER_PASSWORD";
/// Longest password, in bytes.
const LEN_MAX: u64 = 1024;
const STEP: &str = "read the password";

/// The first line of the file, or the environment variable.
pub(crate) fn password(file: Option<&Path>) -> Result<String, ReadFailure> {
    match file {
        Some(path) => of_file(path),
        None => std::env::var(VARIABLE).map_err(|_| {
            let reason = format!("there is none: add ?password-file=FILE, or set {VARIABLE}");
            ReadFailure::new(STEP, reason)
        }),
    }
}

fn of_file(path: &Path) -> Result<String, ReadFailure> {
    let shown = path.display();
    let bad = |why: String| ReadFailure::new(STEP, format!("{shown}: {why}"));
    let file = filermark_system::open_at_once(path).map_err(|error| bad(error.to_string()))?;
    // Of the open file: its name may be replaced meanwhile.
    let found = file.metadata().map_err(|error| bad(error.to_string()))?;
    if !found.is_file() {
        return Err(bad("not a regular file".into()));
    }
    let privacy = filermark_system::privacy(&file).map_err(|error| bad(error.to_string()))?;
    if let Privacy::Shared { who, .. } = privacy {
        let fix = filermark_system::private_command(path);
        return Err(bad(format!(
            "others may read or write it ({who}); change the password if other users may have \
             read it, then: {fix}"
        )));
    }
    let mut text = String::new();
    file.take(LEN_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|error| bad(error.to_string()))?;
    let line = text.lines().next().unwrap_or_default();
    if line.is_empty() || line.len() as u64 > LEN_MAX {
        let wanted = format!("its first line is the password, of 1 to {LEN_MAX} bytes");
        return Err(bad(wanted));
    }
    Ok(line.to_owned())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("password");
        std::fs::write(&path, "hush now\nand more\n").expect("written");
        for mode in [0o640, 0o604, 0o620, 0o644] {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("set");
            let message = format!("{:?}", password(Some(&path)).expect_err("open to others"));
            assert!(
                message.contains("chmod 600") && !message.contains("hush"),
                "{message}"
            );
        }
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("set");
        assert_eq!(password(Some(&path)).as_deref(), Ok("hush now"));
        // As an editor on Windows leaves it.
        std::fs::write(&path, "hush now\r\nand more\r\n").expect("written");
        assert_eq!(password(Some(&path)).as_deref(), Ok("hush now"));
        std::fs::write(&path, "\n").expect("written");
        assert!(password(Some(&path)).is_err());
        assert!(password(Some(dir.path())).is_err());
        assert!(password(Some(&dir.path().join("none"))).is_err());
    }
}
