//! The editor's dialogue (manual M, 5.1.1), without a terminal and without a file: a
//! line goes in, what is to be printed and done comes out.
//!
//! What the seed leaves open is decided so that no typing is lost: a value that is not
//! right is stored all the same, its reason told, and the editor stays there; what is
//! half-typed is part of [`Editor::snapshot`].

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

/// What the next line is taken for.
#[derive(Clone, Debug, Default)]
enum Mode {
    /// A command, a query, a value.
    #[default]
    Line,
    /// A line of a value of many lines, up to a line with a lone `.`.
    Lines(String),
    /// A line of such a value at a node that takes none: it is left out.
    Refused,
    /// An answer.
    Asked(Question),
}

/// What comes of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EditorStep {
    /// To be printed: whole lines, or nothing.
    pub output: String,
    /// To be done.
    pub request: EditorRequest,
}

/// What the editor wants done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EditorRequest {
    /// Read the next line.
    #[default]
    Go,
    /// Save the document under this name, and tell by [`Editor::saved`] or
    /// [`Editor::not_saved`] what came of it.
    Save(String),
    /// End.
    Quit,
}

impl EditorStep {
    fn print(said: impl Into<String>) -> Self {
        let mut said = said.into();
        if !said.is_empty() && !said.ends_with('\n') {
            said.push('\n');
        }
        Self {
            output: said,
            request: EditorRequest::Go,
        }
    }

    fn request(wish: EditorRequest) -> Self {
        Self {
            output: String::new(),
            request: wish,
        }
    }
}

impl Editor {
    /// A session on a document that is to be saved as `output`; it counts as unsaved.
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

    /// The document with the lines of an entry that is not ended yet: what an autosave
    /// keeps.
    pub fn snapshot(&self) -> Document {
        let mut document = self.document.clone();
        if let Mode::Lines(lines) = &self.mode
            && !lines.is_empty()
        {
            // Refused where nobody may type: then there are no lines either.
            let _ = document.set(&self.place, lines);
        }
        document
    }

    /// Grows with every change of [`Editor::snapshot`].
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// Whether something was typed that no saved file has.
    pub const fn is_typed(&self) -> bool {
        self.is_typed
    }

    /// Whether this very document has been saved.
    pub const fn is_saved(&self) -> bool {
        self.is_saved
    }

    /// The path of the node that the session is at.
    pub fn path(&self) -> String {
        self.document.path(&self.place)
    }

    /// Goes on with a document of an earlier session, which nobody has saved, at the
    /// path where that was.
    pub fn take_up(&mut self, document: Document, path: &str) {
        self.document = document;
        self.place = self.document.find(path).unwrap_or_default();
        self.mode = Mode::Line;
        self.changed();
    }

    /// What the prompt's last line is now, without a line break.
    pub const fn prompt(&self) -> &'static str {
        match &self.mode {
            Mode::Line => ":",
            Mode::Lines(_) | Mode::Refused => ">",
            Mode::Asked(question) => question.text(),
        }
    }

    /// What is printed first.
    pub fn begin(&self) -> EditorStep {
        EditorStep::print(self.position())
    }

    /// Takes a line. A line break in it comes from text that was pasted.
    pub fn enter(&mut self, line: &str) -> EditorStep {
        match std::mem::take(&mut self.mode) {
            Mode::Line => self.line(line),
            Mode::Lines(lines) => self.more(lines, line),
            Mode::Refused => self.leave_out(line),
            Mode::Asked(question) => self.answer(question, line),
        }
    }

    /// Gives up what is being entered: the lines so far, or a question.
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

    /// Ends an entry of many lines as it is: the input ended.
    pub fn end_entry(&mut self) {
        if let Mode::Lines(lines) = std::mem::take(&mut self.mode)
            && !lines.is_empty()
        {
            self.store(&lines);
        }
    }

    /// Whether a question waits for its answer.
    pub const fn is_asked(&self) -> bool {
        matches!(self.mode, Mode::Asked(_))
    }

    /// The document was saved as `name`.
    pub fn saved(&mut self, name: &str) -> EditorStep {
        self.is_saved = true;
        self.is_typed = false;
        let said = format!("Saved {name}\n");
        match std::mem::take(&mut self.quits_when_saved) {
            true => EditorStep {
                output: said,
                request: EditorRequest::Quit,
            },
            false => EditorStep::print(said + &self.position()),
        }
    }

    /// The document could not be saved, for this reason.
    pub fn not_saved(&mut self, why: &str) -> EditorStep {
        self.quits_when_saved = false;
        EditorStep::print(format!("Not saved: {why}"))
    }

    fn here(&self) -> &Element {
        // The place is always one of the document; the root is, whatever happens.
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
                "There is no next sibling; .d goes on.",
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

    /// `.d`, with something said before it.
    fn down(&mut self, mut said: String) -> EditorStep {
        match self.document.next(&self.place) {
            Some(place) => self.place = place,
            None => said.push_str(
                "This is the last node of the document; .v checks it, .s saves it, .q quits.\n",
            ),
        }
        EditorStep::print(said + &self.position())
    }

    fn add(&mut self) -> EditorStep {
        match self.document.add_item(&self.place) {
            Ok(place) => {
                self.changed();
                let number = place.number().map_or(1, |at| at + 1);
                let said = format!("Added item {number}; .{number} goes there.\n");
                EditorStep::print(said + &self.position())
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

    /// The document is another one now.
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
