//! Output of the editor: position, children, descriptions, help.

use super::Editor;
use crate::document::{Document, Element};
use crate::form::{Kind, Node};
use filermark_model::text::sanitize;

/// Maximum number of lines of a value in a prompt.
const LINE_COUNT_MAX: usize = 200;
/// Maximum length of such a line, in characters.
const LINE_LEN_MAX: usize = 2000;
/// Maximum length of a field in the summary of an item, in characters.
const SUMMARY_LEN_MAX: usize = 40;

pub(super) const HELP: &str = "\
Commands:
  .d, Enter  to the first child, else to the next node
  .u#        up # levels; .u is .u1
  .n, .p     to the next, the previous sibling
  .#         to child number #
  .a         add a blank item to this list
  .r#        remove item number # from this list
  .v         check the document
  .s [FILE]  save it; FILE.xml: under this name, FILE.zip: with all its files
  .q         quit
Queries:
  ?c         children of this node; * marks those that are incomplete or invalid
  ?d         what belongs here
  ?          this help
Other input is stored in this node, and the next node follows. At a node with
children, the name of a child goes to it.
  .          begins a value of several lines; a line with only . ends it; if that is
             the first line, the value becomes empty
  \\          before a value that begins with . or ? (or \\), or is quit, exit,
             save, help or ls
Ctrl-C discards the line; Ctrl-D is .q.
";

impl Editor {
    /// The prompt without its last line: the path, and the value, indented by four blanks.
    pub(super) fn position(&self) -> String {
        let mut text = format!(".{}\n", self.path());
        let value = self.here().text();
        if value.is_empty() {
            return text;
        }
        let mut lines = value.lines();
        for line in lines.by_ref().take(LINE_COUNT_MAX) {
            text.push_str("    ");
            text.push_str(&sanitize(line, LINE_LEN_MAX));
            text.push('\n');
        }
        let left = lines.count();
        if left > 0 {
            text.push_str(&format!("    ... ({left} more lines)\n"));
        }
        text
    }

    /// `?c`.
    pub(super) fn children(&self) -> String {
        let here = self.here();
        if here.children().is_empty() {
            return "This node has no children.".into();
        }
        let faults = self.document.faults();
        let mut text = String::new();
        for (at, child) in here.children().iter().enumerate() {
            let star = match Document::is_faulty(&faults, &self.place.child(at)) {
                true => "*",
                false => "",
            };
            let fields = distinguishing_fields(here, child);
            let name = child.node().name;
            text.push_str(&format!("{}. {star}{name}{fields}\n", at + 1));
        }
        text
    }

    /// `?d`.
    pub(super) fn explanation(&self) -> String {
        let node = self.here().node();
        let rule = rule(node);
        format!(
            "{}\n-----\nType: {}\n{rule}\n-----\n",
            node.doc,
            type_name(node)
        )
    }
}

/// The fields that distinguish an item of a list from the others.
fn distinguishing_fields(list: &Element, item: &Element) -> String {
    let Kind::List(_, keys) = list.node().kind else {
        return String::new();
    };
    let values = keys.iter().map(|path| item.value(path));
    let values = values.filter(|value| !value.is_empty());
    let values: Vec<String> = values
        .map(|value| sanitize(value, SUMMARY_LEN_MAX))
        .collect();
    match values.is_empty() {
        true => String::new(),
        false => format!(" ({})", values.join(", ")),
    }
}

fn type_name(node: &Node) -> String {
    match node.kind {
        Kind::Field(field) => field.value.type_name(),
        Kind::Group(children) => format!("Group of {} nodes", children.len()),
        Kind::List(item, _) => format!("List of {}", item.name),
    }
}

/// The rule for a valid value, in the seed's words.
fn rule(node: &Node) -> String {
    let lines = match node.field() {
        Some(_) if node.is_of_run() => {
            return "Value comes from the run's files, and cannot be edited".into();
        }
        Some(field) if field.value.is_multi_line() => "may be multi-line",
        Some(_) => "cannot be multi-line",
        None => {
            let blank = match node.is_optional {
                true => "May be left blank as a whole",
                false => "Cannot be left blank",
            };
            return match node.is_list() {
                true => format!("{blank}; .a adds an item, .r# removes item #"),
                false => format!("{blank}; Enter goes to the first of its nodes"),
            };
        }
    };
    match node.is_optional {
        true => format!("Value may be empty, and {lines}"),
        false => format!("Value must not be empty, and {lines}"),
    }
}
