//! Entry of values, of one line and of several lines.

use super::{Editor, EditorRequest, EditorStep, Mode, to_sentence};
use crate::document::TEXT_LEN_MAX;
use crate::form::{Kind, ROOT_NAME, Value};
use crate::node_path::NodePath;

impl Editor {
    pub(super) fn begin_lines(&mut self) -> EditorStep {
        if let Err(why) = self.can_hold_text() {
            self.mode = Mode::Refused;
            return EditorStep::print(format!(
                "{why}\nThe following lines are ignored; a line with only . ends that, and so does Ctrl-C.\n"
            ));
        }
        self.mode = Mode::Lines(String::new());
        EditorStep::print("Several lines: a line with only . ends them, Ctrl-C discards them.\n")
    }

    /// Adds lines to a value. Lines after the line with only `.` are entered separately.
    pub(super) fn more(&mut self, mut lines: String, line: &str) -> EditorStep {
        let mut rest = line.split('\n');
        while let Some(line) = rest.next() {
            let line = line.strip_suffix('\r').unwrap_or(line);
            if line.trim_end() == "." {
                let step = self.store(lines.strip_suffix('\n').unwrap_or(&lines));
                return self.enter_each(step, rest);
            }
            if lines.len() + line.len() < TEXT_LEN_MAX {
                lines.push_str(line);
                lines.push('\n');
            } else {
                self.mode = Mode::Lines(lines);
                self.typed();
                return EditorStep::print(
                    "The value has more than 1 MiB: this line and the following ones are left out. A line with only . ends the entry.",
                );
            }
        }
        self.mode = Mode::Lines(lines);
        self.typed();
        EditorStep::default()
    }

    /// Ignores the lines of a refused value, up to a line with only `.`. They must not be
    /// taken for commands.
    pub(super) fn ignore(&mut self, line: &str) -> EditorStep {
        let mut lines = line.split('\n');
        if lines.any(|line| line.trim_end() == ".") {
            let step = EditorStep::print(self.position());
            return self.enter_each(step, lines);
        }
        self.mode = Mode::Refused;
        EditorStep::default()
    }

    /// Enters the pasted lines that follow those of `step`.
    fn enter_each<'l>(
        &mut self,
        mut step: EditorStep,
        lines: impl Iterator<Item = &'l str>,
    ) -> EditorStep {
        for line in lines {
            if step.request == EditorRequest::Go {
                let next = self.enter(line);
                step.output.push_str(&next.output);
                step.request = next.request;
            }
        }
        step
    }

    /// Processes a text: the value of a field, the name of a child, or a complete path.
    pub(super) fn text(&mut self, text: &str) -> EditorStep {
        // A complete path, as in lists of invalid nodes, works at every node.
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
                "This comes from the run's files and cannot be edited; subedit with other files replaces it.",
            ),
            Kind::Field(field) => Ok(field.value),
            _ => Err("This node has children and holds no text itself. ?c shows them."),
        }
    }

    /// Stores a value in the current node, and goes to the next node if it is valid.
    pub(super) fn store(&mut self, text: &str) -> EditorStep {
        let value = match self.can_hold_text() {
            Ok(value) => value,
            Err(why) => return EditorStep::print(why),
        };
        let mut output = String::new();
        if text.len() > TEXT_LEN_MAX {
            output.push_str("The value has more than 1 MiB: the rest is left out.\n");
        }
        if text.trim().contains('\n') && !value.is_multi_line() {
            output.push_str("This value cannot be multi-line: the lines are joined.\n");
        }
        let text = as_choice(value, text);
        if let Err(why) = self.document.set(&self.place, text) {
            return EditorStep::print(to_sentence(why));
        }
        self.changed();
        let faults = self.document.faults();
        match faults.iter().find(|fault| fault.place == self.place) {
            Some(fault) => EditorStep::print(format!(
                "{output}Stored, but not valid: {}.\nType it again, or continue with Enter.\n",
                fault.reason
            )),
            None => self.down(output),
        }
    }
}

/// The word of a choice in the form's spelling; upper and lower case of the input do not
/// matter.
fn as_choice(value: Value, text: &str) -> &str {
    let Value::Choice(words) = value else {
        return text;
    };
    let same = |word: &&&str| word.eq_ignore_ascii_case(text.trim());
    words.iter().find(same).map_or(text, |word| word)
}
