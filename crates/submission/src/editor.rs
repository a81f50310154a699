//! The editor's dialogue (manual M, 5.1.1), without terminal and files: it takes a line and
//! returns the output and the request of the next step.
//!
//! Where the seed does not define the behaviour, no input is lost: an invalid value is stored,
//! the reason is printed, and the editor stays at the node. An incomplete entry is part of
//! [`Editor::snapshot`].

mod ask;
mod command;
mod complete;
mod entry;
mod show;
#[cfg(test)]
mod tests;

use crate::document::{Document, Element};
use crate::node_path::NodePath;
use ask::Question;
use command::Input;

/// A session of the editor.
#[derive(Clone, Debug)]
pub struct Editor {
    document: Document,
    place: NodePath,
    output: String,
    mode: Mode,
    is_saved: bool,
    is_typed: bool,
    quits_when_saved: bool,
    revision: u64,
}

/// How the next line is interpreted.
#[derive(Clone, Debug, Default)]
enum Mode {
    /// As a command, a query or a value.
    #[default]
    Line,
    /// As a line of a value of several lines, up to a line with only `.`.
    Lines(String),
    /// As a line of such a value at a node without a text: it is ignored.
    Refused,
    /// As the answer to a question.
    Asked(Question),
}

/// The result of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EditorStep {
    /// The text to print: complete lines, or empty.
    pub output: String,
    /// What the caller does next.
    pub request: EditorRequest,
}

/// What the caller of the editor does next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EditorRequest {
    /// Read the next line.
    #[default]
    Go,
    /// Save the document under this name, and call [`Editor::saved`] or
    /// [`Editor::not_saved`].
    Save(String),
    /// End.
    Quit,
}

impl EditorStep {
    fn print(output: impl Into<String>) -> Self {
        let mut output = output.into();
        if !output.is_empty() && !output.ends_with('\n') {
            output.push('\n');
        }
        Self {
            output,
            request: EditorRequest::Go,
        }
    }

    fn request(request: EditorRequest) -> Self {
        Self {
            output: String::new(),
            request,
        }
    }
}

impl Editor {
    /// A session on an unsaved document; `output` is the default name for saving.
    pub fn new(document: Document, output: impl Into<String>) -> Self {
        Self {
            document,
            place: NodePath::root(),
            output: output.into(),
            mode: Mode::Line,
            is_saved: false,
            is_typed: false,
            quits_when_saved: false,
            revision: 0,
        }
    }

    /// The document.
    pub const fn document(&self) -> &Document {
        &self.document
    }

    /// The document with the lines of an unfinished entry, for the autosave file.
    pub fn snapshot(&self) -> Document {
        let mut document = self.document.clone();
        if let Mode::Lines(lines) = &self.mode
            && !lines.is_empty()
        {
            // It fails only for nodes without a text, which have no lines.
            let _ = document.set(&self.place, lines);
        }
        document
    }

    /// Increases with every change of [`Editor::snapshot`].
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// Whether there is input that was not saved.
    pub const fn is_typed(&self) -> bool {
        self.is_typed
    }

    /// Whether the document was saved in its current state.
    pub const fn is_saved(&self) -> bool {
        self.is_saved
    }

    /// The path of the current node.
    pub fn path(&self) -> String {
        self.document.path(&self.place)
    }

    /// Continues with the unsaved document of an earlier session, at its last path.
    pub fn resume(&mut self, document: Document, path: &str) {
        self.document = document;
        self.place = self.document.find(path).unwrap_or_default();
        self.mode = Mode::Line;
        self.changed();
    }

    /// The last line of the prompt, without a line break.
    pub const fn prompt(&self) -> &'static str {
        match &self.mode {
            Mode::Line => ":",
            Mode::Lines(_) | Mode::Refused => ">",
            Mode::Asked(question) => question.text(),
        }
    }

    /// The output at the start of the session.
    pub fn begin(&self) -> EditorStep {
        EditorStep::print(self.position())
    }

    /// Processes a line of input. Pasted text has line breaks in it.
    pub fn enter(&mut self, line: &str) -> EditorStep {
        match std::mem::take(&mut self.mode) {
            Mode::Line => self.line(line),
            Mode::Lines(lines) => self.more(lines, line),
            Mode::Refused => self.ignore(line),
            Mode::Asked(question) => self.answer(question, line),
        }
    }

    /// Discards the current entry: the lines of a value, or a question.
    pub fn abandon(&mut self) -> EditorStep {
        match std::mem::take(&mut self.mode) {
            Mode::Line => EditorStep::default(),
            Mode::Refused => EditorStep::print(self.position()),
            Mode::Lines(_) => {
                self.revision += 1;
                EditorStep::print(self.position())
            }
            Mode::Asked(_) => {
                self.quits_when_saved = false;
                EditorStep::print(self.position())
            }
        }
    }

    /// Stores the lines of an unfinished entry, at the end of the input.
    pub fn end_entry(&mut self) {
        if let Mode::Lines(lines) = std::mem::take(&mut self.mode)
            && !lines.is_empty()
        {
            self.store(&lines);
        }
    }

    /// Whether a question is not answered yet.
    pub const fn is_asked(&self) -> bool {
        matches!(self.mode, Mode::Asked(_))
    }

    /// The document was saved as `name`.
    pub fn saved(&mut self, name: &str) -> EditorStep {
        self.is_saved = true;
        self.is_typed = false;
        let output = format!("Saved {name}\n");
        match std::mem::take(&mut self.quits_when_saved) {
            true => EditorStep {
                output,
                request: EditorRequest::Quit,
            },
            false => EditorStep::print(output + &self.position()),
        }
    }

    /// The document could not be saved, for this reason.
    pub fn not_saved(&mut self, why: &str) -> EditorStep {
        self.quits_when_saved = false;
        EditorStep::print(format!("Not saved: {why}"))
    }

    fn here(&self) -> &Element {
        // The place is always in the document; the root is only a fallback.
        self.document
            .element(&self.place)
            .unwrap_or_else(|| self.document.root())
    }

    fn line(&mut self, line: &str) -> EditorStep {
        match command::parse(line) {
            Input::Down => self.down(String::new()),
            Input::Up(levels) => self.move_to(Some(self.document.up(&self.place, levels)), ""),
            Input::Next => self.move_to(
                self.document.next_sibling(&self.place),
                "There is no next sibling; .d goes to the next node.",
            ),
            Input::Previous => self.move_to(
                self.document.previous_sibling(&self.place),
                "There is no previous sibling.",
            ),
            Input::Child(number) => self.move_to(
                number
                    .checked_sub(1)
                    .and_then(|at| self.document.child(&self.place, at)),
                "There is no child of this number; ?c shows them.",
            ),
            Input::Add => self.add(),
            Input::Remove(number) => self.remove(number),
            Input::Quit => self.quit(),
            Input::Save(name) => self.save(name),
            Input::Validate => self.validate(),
            Input::Children => EditorStep::print(self.children()),
            Input::Explain => EditorStep::print(self.explanation()),
            Input::Help => EditorStep::print(show::HELP),
            Input::Lines => self.begin_lines(),
            Input::Text(text) => self.text(&text),
            Input::Unknown(why) => EditorStep::print(why),
        }
    }

    fn move_to(&mut self, place: Option<NodePath>, otherwise: &str) -> EditorStep {
        match place {
            Some(place) => {
                self.place = place;
                EditorStep::print(self.position())
            }
            None => EditorStep::print(otherwise),
        }
    }

    /// `.d`, with output before it.
    fn down(&mut self, mut output: String) -> EditorStep {
        match self.document.next(&self.place) {
            Some(place) => self.place = place,
            None => output.push_str(
                "This is the last node of the document; .v checks it, .s saves it, .q quits.\n",
            ),
        }
        EditorStep::print(output + &self.position())
    }

    fn add(&mut self) -> EditorStep {
        match self.document.add_item(&self.place) {
            Ok(place) => {
                self.changed();
                let number = place.number().map_or(1, |at| at + 1);
                let output = format!("Added item {number}; .{number} goes to it.\n");
                EditorStep::print(output + &self.position())
            }
            Err(why) => EditorStep::print(to_sentence(why)),
        }
    }

    fn remove(&mut self, number: usize) -> EditorStep {
        let at = number.checked_sub(1).unwrap_or(usize::MAX);
        match self.document.remove_item(&self.place, at) {
            Ok(()) => {
                self.changed();
                EditorStep::print(format!("Removed item {number}.\n{}", self.position()))
            }
            Err(why) => EditorStep::print(to_sentence(why)),
        }
    }

    /// Marks the document as changed.
    const fn changed(&mut self) {
        self.typed();
        self.is_saved = false;
    }

    const fn typed(&mut self) {
        self.is_typed = true;
        self.revision += 1;
    }
}

/// A reason as a sentence.
fn to_sentence(why: &str) -> String {
    let mut chars = why.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    let text: String = first.into_iter().chain(chars).collect();
    format!("{text}.")
}
