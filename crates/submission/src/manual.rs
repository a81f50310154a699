//! The page of the manual on the form.

use crate::form::{FORM, Kind, Node};
use std::fmt::Write as _;

/// The reference page on the form, in Markdown.
pub fn form_markdown() -> String {
    let mut out = String::from(
        "# The form of a submission\n\n\
This page lists the fields of a submission. [subedit](subedit.md) fills them in. The XML has the same names; \
`filermark subedit --xsd` prints its schema. The page is generated from the form \
(`UPDATE_GOLDEN=1 cargo test -p filermark-submission`).\n\n\
- *run*: the value comes from the run's files and cannot be edited.\n\
- *optional*: the field may be blank; a group or list may be blank as a whole.\n\
- *list*: any number of items, at least one.\n\
- Free-form text may contain the HTML elements `p`, `br`, `blockquote`, `ul`, `ol`, `li` and `pre`, which also set the \
layout of text reports. HTML reports also keep `b`, `i`, `u`, `em`, `strong`, `code`, `tt`, `sub`, `sup`, `small` and `kbd`. \
Other tags and all attributes are removed.\n\n\
Some checks concern more than one field: a result that is not compliant must have a reason, and a compliant one must not; \
the type of every load generator must be described; verdict, peak and overall response time must be those of the load points.\n",
    );
    for child in FORM.children() {
        let _ = write!(out, "\n## {}\n\n", child.name);
        match child.kind {
            Kind::Field(_) => table(&mut out, std::slice::from_ref(child), ""),
            _ => {
                let _ = write!(out, "{}{}\n\n", escaped(child.doc), marks(child));
                table(&mut out, child.children(), "");
            }
        }
    }
    out
}

fn table(out: &mut String, nodes: &'static [Node], prefix: &str) {
    out.push_str("| Path | What belongs there | Value |\n|---|---|---|\n");
    for node in nodes {
        rows(out, node, prefix);
    }
}

fn rows(out: &mut String, node: &'static Node, prefix: &str) {
    let path = format!("{prefix}{}", node.name);
    let value = match node.kind {
        Kind::Field(field) => escaped(&field.value.type_name()),
        Kind::Group(_) => "group".into(),
        Kind::List(item, _) => format!("list of `{}`", item.name),
    };
    let _ = writeln!(
        out,
        "| `{path}` | {} | {value}{} |",
        escaped(node.doc),
        marks(node)
    );
    for child in node.children() {
        rows(out, child, &format!("{path}."));
    }
}

fn marks(node: &Node) -> String {
    let mut marks = String::new();
    if node.is_optional {
        marks.push_str(", *optional*");
    }
    if node.is_of_run() {
        marks.push_str(", *run*");
    }
    marks
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
        .replace('<', "&lt;")
        .replace('*', "\\*")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_matches_the_form() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/src/reference/submission-form.md"
        );
        let made = form_markdown();
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(path, &made).unwrap();
        }
        let page = std::fs::read_to_string(path).unwrap_or_default();
        assert_eq!(
            made, page,
            "to accept the change: UPDATE_GOLDEN=1 cargo test"
        );
    }
}
