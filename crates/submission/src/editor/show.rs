//! What the editor shows: where it is, children, explanations, help.

use super::Editor;
use crate::document::{Document, Element};
use crate::form::{Kind, Node};
use filermark_model::text::sanitize;

/// Most lines of a value that a prompt shows.
const LINE_COUNT_MAX: usize = 200;
/// Most characters of a line of it.
const LINE_LEN_MAX: usize = 2000;
/// Most characters of a field in the summary of an item.
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
  .s [FILE]  save it; FILE.xml: there, FILE.zip: with all its files
  .q         quit
Queries:
  ?c         children of this node; * marks what misses something or is wrong
  ?d         what belongs here
  ?          this help
Anything else is stored in this node, and the next node follows. At a node with
children the name of a child leads there.
  .          begins a value of many lines; a line with a lone . ends it, and a lone
             . at once makes it empty
  \\          before a first . or ? (or \\) makes a value of it
Ctrl-C gives the line up; Ctrl-D is .q.
";

impl Editor {
    /// The prompt's lines but the last: the path, and the value, indented by four.
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
            let told = distinguishing_fields(here, child);
            text.push_str(&format!("{}. {star}{}{told}\n", at + 1, child.node().name));
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

/// Of an item of a list, the fields that tell it from the others.
fn distinguishing_fields(list: &Element, item: &Element) -> String {
    let Kind::List(_, told_by) = list.node().kind else {
        return String::new();
    };
    let values = told_by.iter().map(|path| item.value(path));
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

/// What makes a value right, in the seed's words.
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
