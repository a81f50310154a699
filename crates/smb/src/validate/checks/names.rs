//! Names: long ones, those of all scripts, upper and lower case.

use super::rules::OPEN;
use crate::validate::bench::{Bench, Judge};
use crate::validate::session::Open;
use crate::validate::suite::Check;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::{Stop, same};
use filermark_smbwire::smb2::file::disposition;
use filermark_smbwire::status;

checks! { CHECKS: Check =>
    "names.long", "OPEN", "a name of 255 characters works, one of 256 is refused" => long, by OPEN;
    "names.unicode", "OPEN", "names in all scripts, also beyond 16 bits" => unicode, by OPEN;
    "names.case", "OPEN", "a name is found in any case" => case, by OPEN;
    "names.case_kept", "FIND", "a name keeps the case that it was created with" => case_kept, by OPEN;
    "names.plain", "OPEN", "blanks, dots, dashes and brackets in names" => plain, by OPEN;
    "names.deep", "OPEN", "a path of many directories" => deep, by OPEN;
}

/// Makes a file of this name, finds it again by the name and in a listing.
fn works(b: &mut Bench<'_>, name: &str) -> Result<(), Stop> {
    let shown: String = name.chars().take(40).collect();
    let path = b.path(name);
    let what = format!("OPEN to make {shown}");
    let file = b.smb.open(&Open::new_file(&path)).done(&what)?.file;
    b.smb.close(file).done("CLOSE")?;
    let opened = b
        .smb
        .open(&Open::file(&path))
        .done(&format!("OPEN of {shown}"))?;
    b.smb.close(opened.file).done("CLOSE")?;
    let dir = b.dir.clone();
    let (found, _) = b.smb.calls().find(&dir, "*", 32 << 10).done("FIND")?;
    match found.iter().any(|found| found.name == name) {
        true => Ok(()),
        false => {
            let names: Vec<_> = found.into_iter().map(|found| found.name).collect();
            Err(Stop::fail(
                format!("FIND: {shown} as it was made"),
                format!("{names:?}"),
            ))
        }
    }
}

fn long(b: &mut Bench<'_>) -> Result<(), Stop> {
    let file = b.make("file", &[])?;
    let most = b.smb.calls().query_fs(file).done("QUERY_FS")?.name_max;
    let most = most.unwrap_or(255).min(255) as usize;
    works(b, &"n".repeat(most))?;
    let path = b.path(&"n".repeat(256));
    let make = Open::file(&path).by(disposition::OPEN_IF);
    let wanted = [
        status::OBJECT_NAME_INVALID,
        status::NAME_TOO_LONG,
        status::OBJECT_PATH_SYNTAX_BAD,
        status::OBJECT_NAME_NOT_FOUND,
    ];
    let status = b
        .smb
        .open(&make)
        .refused("OPEN to make a name of 256 characters", &wanted)?;
    if status != status::OBJECT_NAME_INVALID {
        b.note(format!(
            "a name of 256 characters: {}; OBJECT_NAME_INVALID is usual",
            status::text(status)
        ));
    }
    Ok(())
}

fn unicode(b: &mut Bench<'_>) -> Result<(), Stop> {
    for name in [
        "Gr\u{fc}\u{df}e",
        "\u{434}\u{43e}\u{43a}\u{443}\u{43c}\u{435}\u{43d}\u{442}",
        "\u{65e5}\u{672c}\u{8a9e}",
        "\u{1f4be} disk",
        "clef \u{1d11e}",
        "e\u{301} and \u{e9}",
    ] {
        works(b, name)?;
    }
    Ok(())
}

fn case(b: &mut Bench<'_>) -> Result<(), Stop> {
    b.put("MixedCase.Txt", b"some")?;
    b.put("\u{c4}rger", b"some")?;
    for name in ["mixedcase.txt", "MIXEDCASE.TXT", "\u{e4}RGER"] {
        let path = b.path(name);
        let opened = b
            .smb
            .open(&Open::file(&path))
            .done(&format!("OPEN of {name}"))?;
        same("OPEN: size", 4, opened.size)?;
        b.smb.close(opened.file).done("CLOSE")?;
    }
    let path = b.path("mixedCASE.txt");
    let wanted = [status::OBJECT_NAME_COLLISION];
    let made = b.smb.open(&Open::new_file(&path));
    made.refused("OPEN to make the same name in other letters", &wanted)
        .map(drop)
}

fn case_kept(b: &mut Bench<'_>) -> Result<(), Stop> {
    for name in ["UPPER", "lower", "MiXeD"] {
        works(b, name)?;
    }
    Ok(())
}

fn plain(b: &mut Bench<'_>) -> Result<(), Stop> {
    for name in [
        "with blank",
        "a.b.c.d",
        "-dash",
        "(1) [2] {3}",
        "~$x #%&'@!^_+=,;",
        "x.y",
    ] {
        works(b, name)?;
    }
    Ok(())
}

fn deep(b: &mut Bench<'_>) -> Result<(), Stop> {
    let mut name = String::from("level");
    for level in 0..6 {
        let path = b.path(&name);
        let dir = b
            .smb
            .open(&Open::new_dir(&path))
            .done(&format!("OPEN of directory {level}"))?;
        b.smb.close(dir.file).done("CLOSE")?;
        name.push_str(r"\level");
    }
    b.put(&name, b"down there")?;
    let file = b.open(&name)?.file;
    b.reads_back(file, 0, b"down there")
}
