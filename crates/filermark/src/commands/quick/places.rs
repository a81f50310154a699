//! Where `quick` writes: the directory of results, names that are free, and the files of `--save`.

use super::parts::Part;
use filermark_cli_kit::exit::CommandError;
use filermark_cli_kit::view::print_stderr_line;
use filermark_results::outputs::RECORD;
use std::path::{Path, PathBuf};

/// Endings of the rc file of a part and of the files that it names.
const ENDINGS: [&str; 4] = ["", ".toml", ".mix", ".sizes"];

/// The directory of results: the wanted one, or a temporary one where it cannot be made.
pub fn result_dir(wanted: &Path) -> Result<PathBuf, CommandError> {
    let usable = |dir: &Path| {
        std::fs::create_dir_all(dir).is_ok() && tempfile::NamedTempFile::new_in(dir).is_ok()
    };
    if usable(wanted) {
        return Ok(wanted.to_owned());
    }
    let other = std::env::temp_dir().join(format!("filermark-quick-{}", std::process::id()));
    if usable(&other) {
        print_stderr_line(format!(
            "{}: no files can be written there; the results go to {}",
            wanted.display(),
            other.display()
        ));
        return Ok(other);
    }
    Err(CommandError::Failed(format!(
        "{}: no files can be written there; give another directory with -d",
        wanted.display()
    )))
}

/// `quick`, or the first of `quick2`, `quick3` ... without a record and an rc file: neither is
/// overwritten. The rc file of the first part is made, so that another program takes other names.
pub fn take_base(dir: &Path, parts: &[Part]) -> Result<String, CommandError> {
    for n in 1..=u32::MAX {
        let base = match n {
            1 => "quick".to_owned(),
            n => format!("quick{n}"),
        };
        let is_taken = |part: &Part| {
            let stem = format!("{base}-{}", part.name());
            dir.join(RECORD.name(&stem)).exists() || dir.join(format!("{stem}.rc")).exists()
        };
        if Part::STANDARD.iter().chain(&[Part::Own]).any(is_taken) {
            continue;
        }
        let first = dir.join(format!("{base}-{}.rc", parts[0].name()));
        match std::fs::File::create_new(&first) {
            Ok(_) => return Ok(base),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => {
                let place = first.display();
                return Err(CommandError::Failed(format!(
                    "{place}: cannot be made: {e}"
                )));
            }
        }
    }
    Err(CommandError::Failed("all names are taken".into()))
}

/// The folder and the file name of `--save`.
pub fn folder_and_name(save: &Path) -> (PathBuf, String) {
    let folder = save.parent().filter(|p| !p.as_os_str().is_empty());
    let name = save.file_name().unwrap_or_default().to_string_lossy();
    (
        folder.unwrap_or(Path::new(".")).to_owned(),
        name.into_owned(),
    )
}

/// Refuses to save over files that exist.
pub fn refuse_saved(save: &Path, parts: &[Part]) -> Result<(), CommandError> {
    let (folder, name) = folder_and_name(save);
    for (part, ending) in parts
        .iter()
        .flat_map(|part| ENDINGS.map(|ending| (part, ending)))
    {
        let path = folder.join(format!("{name}-{}{ending}", part.name()));
        if path.symlink_metadata().is_ok() {
            return Err(CommandError::Usage(vec![format!(
                "--save: {} exists; give another name",
                path.display()
            )]));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_taken_once() {
        let dir = tempfile::tempdir().expect("a directory");
        let take = |parts: &[Part]| take_base(dir.path(), parts).map_err(|_| ());
        assert_eq!(take(&Part::STANDARD), Ok("quick".into()));
        assert_eq!(take(&[Part::Own]), Ok("quick2".into()));
        std::fs::write(dir.path().join("quick3-mix.run.jsonl"), "").expect("written");
        assert_eq!(take(&Part::STANDARD), Ok("quick4".into()));
    }
}
