//! Where a report goes: to a file, with its chart beside it, or to standard output.

use crate::cli::report::Format;
use filermark_cli_kit::exit::CommandError;
use filermark_cli_kit::files::write_whole;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// The form that a file's name asks for; a page, where it says nothing.
pub fn format_of(out: &Path) -> Format {
    let extension = out.extension().and_then(|e| e.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "txt" => Format::Text,
        "pdf" => Format::Pdf,
        "json" => Format::Json,
        "png" => Format::Png,
        "svg" => Format::Svg,
        _ => Format::Html,
    }
}

/// Whether standard output is meant.
pub fn is_stdout(out: &Path) -> bool {
    out == Path::new("-")
}

/// Writes a report; says so where it is a file.
pub fn deliver(out: &Path, bytes: &[u8]) -> Result<(), CommandError> {
    if !is_stdout(out) {
        write_whole(out, bytes).map_err(CommandError::Failed)?;
        eprintln!("Creating {}", out.display());
        return Ok(());
    }
    let is_text = std::str::from_utf8(bytes).is_ok() && !bytes.starts_with(b"%PDF-");
    if std::io::stdout().is_terminal() && !is_text {
        let sentence = "this is no text for a terminal: give -o FILE";
        return Err(CommandError::Usage(vec![sentence.into()]));
    }
    crate::stdout::print_bytes(bytes);
    Ok(())
}

/// The file of the chart that stands beside a page; none beside standard output, nor
/// where the page itself has that name.
pub fn chart_beside(page: &Path) -> Option<PathBuf> {
    let chart = page.with_extension("png");
    (!is_stdout(page) && chart != page).then_some(chart)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_determine_the_form() {
        for (name, format) in [
            ("mine.html", Format::Html),
            ("mine.TXT", Format::Text),
            ("a.b/mine.pdf", Format::Pdf),
            ("-", Format::Html),
            ("mine", Format::Html),
        ] {
            assert_eq!(format_of(Path::new(name)), format, "{name}");
        }
        assert_eq!(chart_beside(Path::new("-")), None);
        assert_eq!(
            chart_beside(Path::new("d/mine.html")),
            Some("d/mine.png".into())
        );
    }
}
