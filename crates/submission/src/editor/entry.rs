//! Values: of one line, of many, and what happens to those that are not right.

use super::{Editor, EditorRequest, EditorStep, Mode, to_sentence};
use crate::document::TEXT_LEN_MAX;
use crate::form::{Kind, ROOT_NAME, Value};
use crate::node_path::NodePath;

impl Editor {
    pub(super) fn begin_lines(&mut self) -> EditorStep {
        if let Err(why) = self.can_hold_text() {
            self.mode = Mode::Refused;
            return EditorStep::print(format!(
                "{why}\nLines that follow are left out: a line with a lone . or Ctrl-C ends that.\n"
            ));
        }
        self.mode = Mode::Lines(String::new());
        EditorStep::print("Several lines: a line with a lone . ends them, Ctrl-C gives them up.\n")
    }

    /// Lines of a value; those behind the lone `.` are lines like any other.
    pub(super) fn more(&mut self, mut lines: String, line: &str) -> EditorStep {
        let mut rest = line.split('\n');
        while let Some(line) = rest.next() {
            let line = line.strip_suffix('\r').unwrap_or(line);
            if line.trim_end() == "." {
                let turn = self.store(lines.strip_suffix('\n').unwrap_or(&lines));
                return self.enter_each(turn, rest);
            }
            if lines.len() + line.len() < TEXT_LEN_MAX {
                lines.push_str(line);
                lines.push('\n');
            } else {
                self.mode = Mode::Lines(lines);
                self.typed();
                return EditorStep::print(
                    "That is more than 1 MiB: this line and the rest are left out. A lone . ends the entry.",
                );
            }
        }
        self.mode = Mode::Lines(lines);
        self.typed();
        EditorStep::default()
    }

    /// Lines of a value that is not taken, up to a line with a lone `.`: as commands they
    /// would do what nobody wants.
    pub(super) fn leave_out(&mut self, line: &str) -> EditorStep {
        let mut lines = line.split('\n');
        if lines.any(|line| line.trim_end() == ".") {
            let turn = EditorStep::print(self.position());
            return self.enter_each(turn, lines);
        }
        self.mode = Mode::Refused;
        EditorStep::default()
    }

    /// Takes lines that were pasted behind what `turn` came of.
    fn enter_each<'l>(
        &mut self,
        mut turn: EditorStep,
        lines: impl Iterator<Item = &'l str>,
    ) -> EditorStep {
        for line in lines {
            if turn.request == EditorRequest::Go {
                let next = self.enter(line);
                turn.output.push_str(&next.output);
                turn.request = next.request;
            }
        }
        turn
    }

    /// Text at a node: a value; or, where a node holds none, the name of a child.
    pub(super) fn text(&mut self, text: &str) -> EditorStep {
        // A whole path, as lists of invalid nodes have it, leads there from anywhere.
        if let Some(place) = self.whole_path(text) {
            return self.move_to(Some(place), "");
        }
        if self.here().node().field().is_some() {
            return self.store(text);
        }
        let path = format!("{}.{}", self.path(), text.trim_matches('.'));
        match self.document.find(&path) {
            Some(place) => self.move_to(Some(place), ""),
            None => EditorStep::print(
                "This node has children and holds no text itself. ?c shows them; Enter goes to the first one.",
            ),
        }
    }

    fn whole_path(&self, text: &str) -> Option<NodePath> {
        let path = text.trim().trim_matches('.');
        let is_whole = path == ROOT_NAME || path.starts_with(&format!("{ROOT_NAME}."));
        is_whole.then(|| self.document.find(path)).flatten()
    }

    pub(super) fn can_hold_text(&self) -> Result<Value, &'static str> {
        let node = self.here().node();
        match node.kind {
            Kind::Field(_) if node.is_of_run() => Err(
                "This comes from the run's files and cannot be edited; the next subedit with other files replaces it.",
            ),
            Kind::Field(field) => Ok(field.value),
            _ => Err("This node has children and holds no text itself. ?c shows them."),
        }
    }

    /// Stores a value here, and goes on when it is right.
    pub(super) fn store(&mut self, text: &str) -> EditorStep {
        let value = match self.can_hold_text() {
            Ok(value) => value,
            Err(why) => return EditorStep::print(why),
        };
        let mut said = String::new();
        if text.len() > TEXT_LEN_MAX {
            said.push_str("That is more than 1 MiB: the rest is left out.\n");
        }
        if text.trim().contains('\n') && !value.is_multi_line() {
            said.push_str("This value cannot be multi-line: the lines are joined.\n");
        }
        let text = as_choice(value, text);
        if let Err(why) = self.document.set(&self.place, text) {
            return EditorStep::print(to_sentence(why));
        }
        self.changed();
        let faults = self.document.faults();
        match faults.iter().find(|fault| fault.place == self.place) {
            Some(fault) => EditorStep::print(format!(
                "{said}Stored, but not valid: {}.\nType it again, or go on with Enter.\n",
                fault.reason
            )),
            None => self.down(said),
        }
    }
}

/// A word of a choice as the form writes it, whatever case it was typed in.
fn as_choice(value: Value, text: &str) -> &str {
    let Value::Choice(words) = value else {
        return text;
    };
    let same = |word: &&&str| word.eq_ignore_ascii_case(text.trim());
    words.iter().find(same).map_or(text, |word| word)
}
