//! Checking, saving and quitting, with their questions.

use super::{Editor, EditorRequest, EditorStep, Mode};

/// A question that is answered with y or n.
#[derive(Clone, Debug)]
pub(super) enum Question {
    /// Whether to save an invalid document under this name; `true`: and then quit.
    SaveInvalid(String, bool),
    SaveUnsaved,
    QuitUnsaved,
    QuitInvalid,
    ListFaults,
}

impl Editor {
    pub(super) fn quit(&mut self) -> EditorStep {
        let is_valid = self.document.faults().is_empty();
        let question = match (is_valid, self.is_saved) {
            (true, true) => return EditorStep::request(EditorRequest::Quit),
            (true, false) => Question::SaveUnsaved,
            (false, true) => Question::QuitInvalid,
            (false, false) => Question::SaveInvalid(self.output.clone(), true),
        };
        self.ask(question)
    }

    pub(super) fn save(&mut self, name: Option<&str>) -> EditorStep {
        let name = name.unwrap_or(&self.output).to_owned();
        match self.document.faults().is_empty() {
            true => EditorStep::request(EditorRequest::Save(name)),
            false => self.ask(Question::SaveInvalid(name, false)),
        }
    }

    pub(super) fn validate(&mut self) -> EditorStep {
        let count = self.document.faults().len();
        if count == 0 {
            return EditorStep::print(format!("Document is valid\n{}", self.position()));
        }
        let nodes = if count == 1 { "node is" } else { "nodes are" };
        let mut step = self.ask(Question::ListFaults);
        step.output = format!("Document is not valid: {count} {nodes} missing or wrong\n");
        step
    }

    pub(super) fn ask(&mut self, question: Question) -> EditorStep {
        self.mode = Mode::Asked(question);
        EditorStep::default()
    }

    pub(super) fn answer(&mut self, question: Question, line: &str) -> EditorStep {
        let yes = match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => true,
            "n" | "no" => false,
            _ => {
                self.mode = Mode::Asked(question);
                return EditorStep::print("Please answer y or n.");
            }
        };
        match (question, yes) {
            (Question::SaveInvalid(name, quits), true) => {
                self.quits_when_saved = quits;
                EditorStep::request(EditorRequest::Save(name))
            }
            (Question::SaveUnsaved, true) => {
                self.quits_when_saved = true;
                EditorStep::request(EditorRequest::Save(self.output.clone()))
            }
            (Question::SaveInvalid(_, true) | Question::SaveUnsaved, false) => {
                self.ask(Question::QuitUnsaved)
            }
            (Question::QuitUnsaved | Question::QuitInvalid, true) => {
                EditorStep::request(EditorRequest::Quit)
            }
            (Question::ListFaults, true) => {
                let faults = self.document.faults();
                let list: String = faults.iter().map(|fault| format!("{fault}\n")).collect();
                EditorStep::print(list + &self.position())
            }
            (_, false) => EditorStep::print(self.position()),
        }
    }
}

impl Question {
    pub(super) const fn text(&self) -> &'static str {
        match self {
            Self::SaveInvalid(..) => "This document is not valid! Really save (y/n)?",
            Self::SaveUnsaved => "This document has not been saved. Save it now (y/n)?",
            Self::QuitUnsaved => "Quit without saving (y/n)?",
            Self::QuitInvalid => "This document is not valid! Really quit (y/n)?",
            Self::ListFaults => "Show the list of invalid nodes (y/n)?",
        }
    }
}
