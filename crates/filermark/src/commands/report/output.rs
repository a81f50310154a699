//! The output of a report: a file, with its chart in the same directory, or standard output.

use filermark_cli_kit::exit::CommandError;
use filermark_cli_kit::files::write_whole;
use filermark_report::{FORMS, Form, HTML, Report, ReportError};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// The form for a file's name; HTML, if the name has no extension.
///
/// # Errors
/// No form has this extension; with those that exist.
pub fn form_of(out: &Path) -> Result<&'static Form, CommandError> {
    let Some(extension) = out.extension() else {
        return Ok(&FORMS[0]);
    };
    let extension = extension.to_string_lossy();
    let is_named = |form: &&Form| extension.eq_ignore_ascii_case(form.output.extension());
    FORMS.iter().find(is_named).ok_or_else(|| {
        let known: Vec<_> = FORMS.iter().map(|form| form.output.extension()).collect();
        CommandError::Usage(vec![format!(
            "{}: no report has the extension \"{extension}\"; give one of {}, or the format with -f",
            out.display(),
            known.join(", ")
        )])
    })
}

/// Whether a form is HTML, which has its chart in a separate file.
pub fn is_page(form: &Form) -> bool {
    form.name == HTML.name
}

/// Whether the output is standard output.
pub fn is_stdout(out: &Path) -> bool {
    out == Path::new("-")
}

/// Writes a report; prints the path if it is a file.
pub fn deliver(out: &Path, form: &Form, bytes: &[u8]) -> Result<(), CommandError> {
    if !is_stdout(out) {
        write_whole(out, bytes).map_err(CommandError::Failed)?;
        filermark_cli_kit::stderr_line!("Creating {}", out.display());
        return Ok(());
    }
    if std::io::stdout().is_terminal() && !form.output.is_text() {
        return Err(CommandError::Usage(vec![format!(
            "-f {} is not text that a terminal can show: give -o FILE",
            form.name
        )]));
    }
    crate::stdout::print_bytes(bytes);
    Ok(())
}

/// Writes the results chart of a page into its directory; `draw` makes it in a form.
pub fn deliver_chart(
    out: &Path,
    form: &Form,
    draw: impl FnOnce(&Form) -> Report,
) -> Result<(), CommandError> {
    let Some(picture) = chart_beside(out).filter(|_| is_page(form)) else {
        return Ok(());
    };
    let form = form_of(&picture)?;
    match draw(form) {
        Ok(png) => deliver(&picture, form, &png),
        // A record without a measured point has no chart; its page states that.
        Err(ReportError::NothingToDraw(_)) => Ok(()),
        Err(why) => Err(CommandError::of(why)),
    }
}

/// The file of a page's chart; none for standard output, or if the page itself has that name.
pub fn chart_beside(page: &Path) -> Option<PathBuf> {
    let chart = page.with_extension("png");
    (!is_stdout(page) && chart != page).then_some(chart)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_determine_the_form() {
        for (name, form) in [
            ("mine.html", "html"),
            ("mine.TXT", "text"),
            ("a.b/mine.pdf", "pdf"),
            ("mine.summary", "summary"),
            ("-", "html"),
            ("mine", "html"),
        ] {
            let found = form_of(Path::new(name)).expect("a form");
            assert_eq!(found.name, form, "{name}");
        }
        let Err(CommandError::Usage(why)) = form_of(Path::new("mine.other")) else {
            panic!("no form has this extension");
        };
        assert!(
            why[0].contains("\"other\"") && why[0].contains("html, "),
            "{why:?}"
        );
        assert_eq!(chart_beside(Path::new("-")), None);
        assert_eq!(
            chart_beside(Path::new("d/mine.html")),
            Some("d/mine.png".into())
        );
    }
}
