//! The editor's dialogue (seed 001, 5.1.1), without a terminal and without a file: a
//! line goes in, what is to be printed and done comes out.
//!
//! What the seed leaves open is decided so that no typing is lost: a value that is not
//! right is stored all the same, its reason told, and the editor stays there; what is
//! half-typed is part of [`Editor::snapshot`].

mod command;
mod complete;
mod show;
#[cfg(test)]
mod tests;

use crate::document::{Document, Element, TEXT_LEN_MAX};
use crate::form::{Kind, Value};
use crate::place::Place;
use command::Input;

/// A session of the editor.
#[derive(Clone, Debug)]
pub struct Editor {
    document: Document,
    place: Place,
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
    /// An answer.
    Asked(Question),
}

/// What is asked with y or n.
#[derive(Clone, Debug)]
enum Question {
    /// Save what is not valid under this name, and quit then.
    SaveInvalid(String, Quits),
    SaveUnsaved,
    QuitUnsaved,
    QuitInvalid,
    ListFaults,
}

type Quits = bool;

/// What comes of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// To be printed: whole lines, or nothing.
    pub said: String,
    /// To be done.
    pub wish: Wish,
}

/// What the editor wants done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Wish {
    /// Read the next line.
    #[default]
    Go,
    /// Save the document under this name, and tell by [`Editor::saved`] or
    /// [`Editor::not_saved`] what came of it.
    Save(String),
    /// End.
    Quit,
}

impl Turn {
    fn say(said: impl Into<String>) -> Self {
        let mut said = said.into();
        if !said.is_empty() && !said.ends_with('\n') {
            said.push('\n');
        }
        Self {
            said,
            wish: Wish::Go,
        }
    }

    fn wish(wish: Wish) -> Self {
        Self {
            said: String::new(),
            wish,
        }
    }
}

impl Editor {
    /// A session on a document that is to be saved as `output`; it counts as unsaved.
    pub fn new(document: Document, output: impl Into<String>) -> Self {
        Self {
            document,
            place: Place::root(),
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
            Mode::Lines(_) => ">",
            Mode::Asked(question) => question.text(),
        }
    }

    /// What is printed first.
    pub fn begin(&self) -> Turn {
        Turn::say(self.position())
    }

    /// Takes a line. A line break in it comes from text that was pasted.
    pub fn enter(&mut self, line: &str) -> Turn {
        match std::mem::take(&mut self.mode) {
            Mode::Line => self.line(line),
            Mode::Lines(lines) => self.more(lines, line),
            Mode::Asked(question) => self.answer(question, line),
        }
    }

    /// Gives up what is being entered: the lines so far, or a question.
    pub fn abandon(&mut self) -> Turn {
        match std::mem::take(&mut self.mode) {
            Mode::Line => Turn::default(),
            Mode::Lines(_) => {
                self.revision += 1;
                Turn::say(self.position())
            }
            Mode::Asked(_) => {
                self.quits_when_saved = false;
                Turn::say(self.position())
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
    pub fn saved(&mut self, name: &str) -> Turn {
        self.is_saved = true;
        self.is_typed = false;
        let said = format!("Saved {name}\n");
        match std::mem::take(&mut self.quits_when_saved) {
            true => Turn {
                said,
                wish: Wish::Quit,
            },
            false => Turn::say(said + &self.position()),
        }
    }

    /// The document could not be saved, for this reason.
    pub fn not_saved(&mut self, why: &str) -> Turn {
        self.quits_when_saved = false;
        Turn::say(format!("Not saved: {why}"))
    }

    fn here(&self) -> &Element {
        // The place is always one of the document; the root is, whatever happens.
        self.document
            .element(&self.place)
            .unwrap_or_else(|| self.document.root())
    }

    fn line(&mut self, line: &str) -> Turn {
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
            Input::Children => Turn::say(self.children()),
            Input::Explain => Turn::say(self.explanation()),
            Input::Help => Turn::say(show::HELP),
            Input::Lines => self.begin_lines(),
            Input::Text(text) => self.text(&text),
            Input::Wrong(why) => Turn::say(why),
        }
    }

    fn move_to(&mut self, place: Option<Place>, otherwise: &str) -> Turn {
        match place {
            Some(place) => {
                self.place = place;
                Turn::say(self.position())
            }
            None => Turn::say(otherwise),
        }
    }

    /// `.d`, with something said before it.
    fn down(&mut self, mut said: String) -> Turn {
        match self.document.next(&self.place) {
            Some(place) => self.place = place,
            None => said.push_str(
                "This is the last node of the document; .v checks it, .s saves it, .q quits.\n",
            ),
        }
        Turn::say(said + &self.position())
    }

    fn add(&mut self) -> Turn {
        match self.document.add_item(&self.place) {
            Ok(place) => {
                self.changed();
                let number = place.number().map_or(1, |at| at + 1);
                let said = format!("Added item {number}; .{number} goes there.\n");
                Turn::say(said + &self.position())
            }
            Err(why) => Turn::say(sentence(why)),
        }
    }

    fn remove(&mut self, number: usize) -> Turn {
        let at = number.checked_sub(1).unwrap_or(usize::MAX);
        match self.document.remove_item(&self.place, at) {
            Ok(()) => {
                self.changed();
                Turn::say(format!("Removed item {number}.\n{}", self.position()))
            }
            Err(why) => Turn::say(sentence(why)),
        }
    }

    fn quit(&mut self) -> Turn {
        let is_valid = self.document.faults().is_empty();
        let question = match (is_valid, self.is_saved) {
            (true, true) => return Turn::wish(Wish::Quit),
            (true, false) => Question::SaveUnsaved,
            (false, true) => Question::QuitInvalid,
            (false, false) => Question::SaveInvalid(self.output.clone(), true),
        };
        self.ask(question)
    }

    fn save(&mut self, name: Option<&str>) -> Turn {
        let name = name.unwrap_or(&self.output).to_owned();
        match self.document.faults().is_empty() {
            true => Turn::wish(Wish::Save(name)),
            false => self.ask(Question::SaveInvalid(name, false)),
        }
    }

    fn validate(&mut self) -> Turn {
        let count = self.document.faults().len();
        if count == 0 {
            return Turn::say(format!("Document is valid\n{}", self.position()));
        }
        let nodes = if count == 1 { "node is" } else { "nodes are" };
        let mut turn = self.ask(Question::ListFaults);
        turn.said = format!("Document is not valid: {count} {nodes} missing or wrong\n");
        turn
    }

    fn ask(&mut self, question: Question) -> Turn {
        self.mode = Mode::Asked(question);
        Turn::default()
    }

    fn answer(&mut self, question: Question, line: &str) -> Turn {
        let yes = match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => true,
            "n" | "no" => false,
            _ => {
                self.mode = Mode::Asked(question);
                return Turn::say("Please answer y or n.");
            }
        };
        match (question, yes) {
            (Question::SaveInvalid(name, quits), true) => {
                self.quits_when_saved = quits;
                Turn::wish(Wish::Save(name))
            }
            (Question::SaveUnsaved, true) => {
                self.quits_when_saved = true;
                Turn::wish(Wish::Save(self.output.clone()))
            }
            (Question::SaveInvalid(_, true) | Question::SaveUnsaved, false) => {
                self.ask(Question::QuitUnsaved)
            }
            (Question::QuitUnsaved | Question::QuitInvalid, true) => Turn::wish(Wish::Quit),
            (Question::ListFaults, true) => {
                let faults = self.document.faults();
                let list: String = faults.iter().map(|fault| format!("{fault}\n")).collect();
                Turn::say(list + &self.position())
            }
            (_, false) => Turn::say(self.position()),
        }
    }

    fn begin_lines(&mut self) -> Turn {
        if let Err(why) = self.can_hold_text() {
            return Turn::say(why);
        }
        self.mode = Mode::Lines(String::new());
        Turn::default()
    }

    /// Lines of a value; those behind the lone `.` are lines like any other.
    fn more(&mut self, mut lines: String, line: &str) -> Turn {
        let mut rest = line.split('\n');
        while let Some(line) = rest.next() {
            let line = line.strip_suffix('\r').unwrap_or(line);
            if line.trim_end() == "." {
                let mut turn = self.store(lines.strip_suffix('\n').unwrap_or(&lines));
                for line in rest {
                    if turn.wish == Wish::Go {
                        let next = self.enter(line);
                        turn.said.push_str(&next.said);
                        turn.wish = next.wish;
                    }
                }
                return turn;
            }
            if lines.len() + line.len() < TEXT_LEN_MAX {
                lines.push_str(line);
                lines.push('\n');
            } else {
                self.mode = Mode::Lines(lines);
                self.typed();
                return Turn::say(
                    "That is more than 1 MiB: this line and the rest are left out. A lone . ends the entry.",
                );
            }
        }
        self.mode = Mode::Lines(lines);
        self.typed();
        Turn::default()
    }

    /// Text at a node: a value; or, where a node holds none, the name of a child.
    fn text(&mut self, text: &str) -> Turn {
        if self.here().node().field().is_some() {
            return self.store(text);
        }
        let path = format!("{}.{}", self.path(), text.trim_matches('.'));
        match self.document.find(&path) {
            Some(place) => self.move_to(Some(place), ""),
            None => Turn::say(
                "This node has children and holds no text itself. ?c shows them; Enter goes to the first one.",
            ),
        }
    }

    fn can_hold_text(&self) -> Result<Value, &'static str> {
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
    fn store(&mut self, text: &str) -> Turn {
        let value = match self.can_hold_text() {
            Ok(value) => value,
            Err(why) => return Turn::say(why),
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
            return Turn::say(sentence(why));
        }
        self.changed();
        let faults = self.document.faults();
        match faults.iter().find(|fault| fault.place == self.place) {
            Some(fault) => Turn::say(format!(
                "{said}Stored, but not valid: {}.\nType it again, or go on with Enter.\n",
                fault.reason
            )),
            None => self.down(said),
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

impl Question {
    const fn text(&self) -> &'static str {
        match self {
            Self::SaveInvalid(..) => "This document is not valid! Really save (y/n)?",
            Self::SaveUnsaved => "This document has not been saved. Save it now (y/n)?",
            Self::QuitUnsaved => "Quit without saving (y/n)?",
            Self::QuitInvalid => "This document is not valid! Really quit (y/n)?",
            Self::ListFaults => "Show the list of invalid nodes (y/n)?",
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

/// A reason as a sentence.
fn sentence(why: &str) -> String {
    let mut chars = why.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    let text: String = first.into_iter().chain(chars).collect();
    format!("{text}.")
}
