//! The table of outputs of the whole program: the files that `run`, `report`, `bundle` and `verify`
//! create and read, with the texts for help and documentation.

use crate::energy;
use filermark_results::output::{Origin, Output, OutputTable};
use filermark_results::outputs;

/// All rows.
pub const TABLE: OutputTable<'static> = OutputTable(&[
    outputs::OUTPUTS,
    filermark_report::OUTPUTS,
    energy::OUTPUTS,
    filermark_submission::OUTPUTS,
]);

/// The width of help, in columns.
const HELP_WIDTH: usize = 80;

/// The files that a run leaves, in a paragraph for `--help`.
pub fn help() -> String {
    let of = |origin| {
        let rows = TABLE.iter().filter(|output| output.origin == origin);
        // Files in separate folders are not listed one by one.
        let rows = rows.filter(|output| !output.pattern.contains('/') || is_dir(output));
        let names = rows.map(|output| example(output, "SUFFIX"));
        names.collect::<Vec<_>>().join(", ")
    };
    let of_energy = match energy::OUTPUTS {
        [] => String::new(),
        _ => format!(" With --energy also {}.", of(Origin::Energy)),
    };
    let text = format!(
        "Results are written to ./result (-d, WORK_DIR): {}; over NFS and SMB {}; on mounted file \
         systems {}.{of_energy}",
        of(Origin::EveryRun),
        of(Origin::ClassicalRun),
        of(Origin::CompositeRun),
    );
    filermark_report::wrapped(&text, HELP_WIDTH, 0)
}

/// The name of a file; the first one, if there are several.
fn example(output: &Output, suffix: &str) -> String {
    // The first piece of an interrupted run has no number, so the next one is the second.
    let number = match output.pattern.contains("{client}") {
        true => 1,
        false => 2,
    };
    output.numbered(suffix, number, "")
}

fn is_dir(output: &Output) -> bool {
    output.pattern.ends_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_report::{CHARTS, FORMS};
    use std::path::Path;

    fn docs(page: &str) -> std::path::PathBuf {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/reference");
        root.join(page)
    }

    /// The rows of an origin, for the documentation.
    fn table_of(origin: Origin) -> String {
        let mut out = "| File | Contents | For |\n|---|---|---|\n".to_owned();
        let rows = TABLE.iter().filter(|output| output.origin == origin);
        for output in rows.filter(|output| !output.pattern.contains('/') || is_dir(output)) {
            let name = example(output, "mine");
            let more = match name == output.name("mine") {
                true => "",
                false => " ...",
            };
            let (about, readers) = (output.about, output.readers);
            out += &format!("| `{name}`{more} | {about} | {readers} |\n");
        }
        out
    }

    fn table_of_roles() -> String {
        let rows =
            filermark_results::Role::ALL.map(|role| format!("| `{role}` | {} |\n", role.about()));
        format!("| `role` | File |\n|---|---|\n{}", rows.concat())
    }

    /// Puts a table between its marks in a page.
    fn put(page: &str, mark: &str, table: &str) -> String {
        let front = format!("<!-- {mark} -->\n");
        let (before, rest) = page.split_once(&front).expect(mark);
        let (_, behind) = rest.split_once("<!-- end -->").expect(mark);
        format!("{before}{front}\n{table}\n<!-- end -->{behind}")
    }

    #[test]
    #[cfg(feature = "energy")]
    fn the_page_of_formats_has_every_output_and_role() {
        let path = docs("formats.md");
        let page = std::fs::read_to_string(&path).expect("the page");
        let mut made = page.clone();
        for (mark, table) in [
            ("every run", table_of(Origin::EveryRun)),
            ("NFS and SMB", table_of(Origin::ClassicalRun)),
            ("mounted file systems", table_of(Origin::CompositeRun)),
            ("energy", table_of(Origin::Energy)),
            ("roles", table_of_roles()),
        ] {
            made = put(&made, mark, &table);
        }
        if made != page && std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &made).expect("written");
            return;
        }
        assert_eq!(
            made, page,
            "if that is meant: UPDATE_GOLDEN=1 cargo test -p filermark"
        );
    }

    #[test]
    fn the_pages_name_every_form_and_chart() {
        let formats = std::fs::read_to_string(docs("formats.md")).expect("the page");
        let reports = formats.split("\n## Reports\n").nth(1).expect("a section");
        let reports = reports.split("\n### ").next().unwrap_or_default();
        for form in &FORMS {
            assert!(
                reports.contains(&format!("`{}`", form.name)),
                "{}",
                form.name
            );
        }
        let commands = std::fs::read_to_string(docs("commands.md")).expect("the page");
        let row = commands
            .lines()
            .find(|line| line.starts_with("| `--chart NAME`"));
        for chart in &CHARTS {
            let name = format!("`{}`", chart.name);
            assert!(row.is_some_and(|row| row.contains(&name)), "{name}");
        }
    }

    #[test]
    fn rows_are_identified_by_their_names() {
        for output in TABLE.iter() {
            let name = output.numbered("mine", 1, "VDA2");
            let found = TABLE.of_name(&name).map(|found| found.pattern);
            let is_below_dir = output.pattern.contains('/');
            assert!(
                is_below_dir || found == Some(output.pattern),
                "{name}: {found:?}"
            );
        }
        assert_eq!(help().matches("SUFFIX.run.jsonl").count(), 1);
    }
}
