//! Completion of a line.

use super::{Editor, Mode};
use crate::form::{Kind, Value};

const COMMANDS: [&str; 7] = [".d", ".u", ".n", ".p", ".q", ".s", ".v"];
const LIST_COMMANDS: [&str; 2] = [".a", ".r"];
const QUERIES: [&str; 3] = ["?c", "?d", "?"];

impl Editor {
    /// The lines that begin with this text: commands, queries, the words of a choice, names
    /// of children, y and n.
    pub fn completions(&self, line: &str) -> Vec<String> {
        let begun = line.trim_start();
        let begins = |word: &&str| {
            word.get(..begun.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(begun))
        };
        let fitting = |words: &[&str]| -> Vec<String> {
            let words = words.iter().filter(|w| begins(w));
            words.map(|w| (*w).to_owned()).collect()
        };
        let node = self.here().node();
        match &self.mode {
            Mode::Lines(_) | Mode::Refused => Vec::new(),
            Mode::Asked(_) => fitting(&["y", "n"]),
            Mode::Line if begun.starts_with('.') => {
                let mut words = COMMANDS.to_vec();
                if node.is_list() {
                    words.extend(LIST_COMMANDS);
                }
                fitting(&words)
            }
            Mode::Line if begun.starts_with('?') => fitting(&QUERIES),
            Mode::Line => match node.kind {
                Kind::Field(field) => match field.value {
                    Value::Choice(words) => fitting(words),
                    _ => Vec::new(),
                },
                Kind::Group(children) => {
                    let names: Vec<&str> = children.iter().map(|child| child.name).collect();
                    fitting(&names)
                }
                Kind::List(item, _) => {
                    let count = self.here().children().len();
                    let names: Vec<String> = match count {
                        1 => vec![item.name.to_owned()],
                        _ => (1..=count.min(100))
                            .map(|number| format!("{}[{number}]", item.name))
                            .collect(),
                    };
                    let names: Vec<&str> = names.iter().map(String::as_str).collect();
                    fitting(&names)
                }
            },
        }
    }
}
