//! The session: reads lines, prints the editor's output, saves files. Input is not lost when the
//! terminal is.

use super::autosave::{Autosave, AutosaveContent};
use super::keyboard::{InputEvent, Keyboard, LineListener};
use super::lost_terminal;
use super::store::Store;
use crate::stdout;
use filermark_cli_kit::exit::CommandResult;
use filermark_submission::{Document, Editor, EditorRequest, EditorStep, read_xml};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The state that the session, the keyboard and the signal handler share.
struct Shared {
    editor: Editor,
    autosave: Autosave,
    /// The line that is being typed.
    line: String,
    /// The editor's revision in the autosave.
    kept: u64,
    /// Whether the warning that the autosave cannot be written was printed.
    is_warned: bool,
    /// Whether the final autosave was made: a lost terminal causes an end of the input and a
    /// signal, in either order.
    is_over: bool,
}

type Handle = Arc<Mutex<Shared>>;

/// No code panics while holding it; after a panic the typed text still matters.
fn lock(handle: &Handle) -> MutexGuard<'_, Shared> {
    handle.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Writes changes to the autosave.
    fn keep(&mut self) {
        if self.editor.revision() == self.kept {
            return;
        }
        self.kept = self.editor.revision();
        self.write("");
    }

    /// Whether it could be written; a failure is reported once.
    fn write(&mut self, typed: &str) -> bool {
        let (document, at) = (self.editor.snapshot(), self.editor.path());
        let kept = self.autosave.keep(&document, &at, typed);
        if let Err(why) = &kept
            && !std::mem::replace(&mut self.is_warned, true)
        {
            filermark_cli_kit::stderr_line!(
                "{why}; input is lost if the terminal is lost. Save often (.s)"
            );
        }
        kept.is_ok()
    }

    /// Makes the final autosave, with the unfinished line.
    fn keep_all(&mut self) -> UnsavedOutcome {
        if std::mem::replace(&mut self.is_over, true) {
            return UnsavedOutcome::Nothing;
        }
        let line = std::mem::take(&mut self.line);
        let is_lost = self.editor.is_typed() || !line.trim().is_empty();
        match is_lost && self.write(&line) {
            true => UnsavedOutcome::Autosaved,
            false if is_lost => UnsavedOutcome::Lost,
            false => UnsavedOutcome::Nothing,
        }
    }
}

/// What happened to unsaved input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnsavedOutcome {
    /// There was none.
    Nothing,
    /// It is in the autosave.
    Autosaved,
    /// It could not be written.
    Lost,
}

/// Handles the input of the keyboard.
struct SessionListener(Handle);

impl LineListener for SessionListener {
    fn completions(&self, line: &str) -> Vec<String> {
        lock(&self.0).editor.completions(line)
    }

    fn on_line_change(&self, line: &str) {
        line.clone_into(&mut lock(&self.0).line);
    }
}

/// Edits a document until `.q` or the end of the input.
pub fn session(document: Document, store: Store, output: &Path) -> CommandResult {
    let autosave = Autosave::beside(output);
    let shared = Arc::new(Mutex::new(Shared {
        editor: Editor::new(document, output.display().to_string()),
        autosave: autosave.clone(),
        line: String::new(),
        kept: 0,
        is_warned: false,
        is_over: false,
    }));
    let mut keyboard = Keyboard::new(SessionListener(Arc::clone(&shared)));
    let kept = Arc::clone(&shared);
    lost_terminal::on_loss(move || {
        let mut state = lock(&kept);
        if state.keep_all() == UnsavedOutcome::Autosaved {
            filermark_cli_kit::stderr_line!("\nunsaved input is in {}", state.autosave.shown());
        }
    });
    let begun = match offer(&autosave, &mut keyboard) {
        AutosaveOffer::Nothing => String::new(),
        AutosaveOffer::Accepted(found) => take_up(&shared, &store, &found),
        AutosaveOffer::NoAnswer => return Ok(ExitCode::FAILURE),
    };
    let first = lock(&shared).editor.begin();
    stdout::print_folded(&first.output);
    Ok(converse(&shared, &store, &mut keyboard, begun))
}

fn converse(
    shared: &Handle,
    store: &Store,
    keyboard: &mut Keyboard<SessionListener>,
    mut begun: String,
) -> ExitCode {
    loop {
        let prompt = lock(shared).editor.prompt();
        let typed = keyboard.read(prompt, &std::mem::take(&mut begun));
        let mut state = lock(shared);
        let turn = match typed {
            InputEvent::Line(line) => {
                state.line.clear();
                state.editor.enter(&line)
            }
            InputEvent::Interrupted => {
                state.line.clear();
                state.editor.abandon()
            }
            // Ctrl-D at an empty line is .q; twice, or in the middle of a line, the
            // terminal is lost.
            InputEvent::End
                if keyboard.is_terminal() && state.line.is_empty() && !state.editor.is_asked() =>
            {
                state.editor.end_entry();
                stdout::print("\n");
                state.editor.enter(".q")
            }
            InputEvent::End => return end(&mut state),
        };
        let wish = carry_out(&mut state, store, turn);
        state.keep();
        if wish == EditorRequest::Quit {
            state.autosave.remove();
            return ExitCode::SUCCESS;
        }
    }
}

/// Prints the editor's output, and saves if requested.
fn carry_out(state: &mut Shared, store: &Store, turn: EditorStep) -> EditorRequest {
    stdout::print_folded(&turn.output);
    let EditorRequest::Save(name) = turn.request else {
        return turn.request;
    };
    let saved = store.save(state.editor.document(), &PathBuf::from(&name));
    let turn = match saved {
        Ok(()) => {
            state.autosave.remove();
            state.editor.saved(&name)
        }
        Err(why) => state.editor.not_saved(&why),
    };
    stdout::print_folded(&turn.output);
    turn.request
}

/// The input has ended without `.q`.
fn end(state: &mut Shared) -> ExitCode {
    state.editor.end_entry();
    let shown = state.autosave.shown();
    match state.keep_all() {
        UnsavedOutcome::Autosaved => {
            filermark_cli_kit::stderr_line!(
                "the input ended before .q; unsaved input is in {shown}, and the next subedit with this -o offers it"
            );
            return ExitCode::FAILURE;
        }
        UnsavedOutcome::Lost => {
            filermark_cli_kit::stderr_line!(
                "the input ended before .q; unsaved input is lost: {shown} cannot be written"
            );
            return ExitCode::FAILURE;
        }
        UnsavedOutcome::Nothing => {}
    }
    match state.editor.is_saved() {
        true => ExitCode::SUCCESS,
        false => {
            filermark_cli_kit::stderr_line!("the input ended before .s; nothing was saved");
            ExitCode::FAILURE
        }
    }
}

enum AutosaveOffer {
    Nothing,
    Accepted(AutosaveContent),
    /// There was no answer.
    NoAnswer,
}

/// Unsaved input of an earlier session: offered at a terminal, otherwise renamed, since the
/// first line of a script is not an answer to this question.
fn offer(autosave: &Autosave, keyboard: &mut Keyboard<SessionListener>) -> AutosaveOffer {
    let Some(found) = autosave.found() else {
        return AutosaveOffer::Nothing;
    };
    let shown = autosave.shown();
    let is_wanted = keyboard.is_terminal() && {
        stdout::print(&format!(
            "{shown} has unsaved input of an earlier session.\n"
        ));
        loop {
            match keyboard.read("Resume it (y/n)?", "") {
                InputEvent::Line(line) if line.trim().eq_ignore_ascii_case("y") => break true,
                InputEvent::Line(line) if line.trim().eq_ignore_ascii_case("n") => break false,
                InputEvent::Line(_) => stdout::print("Please answer y or n.\n"),
                InputEvent::Interrupted | InputEvent::End => return AutosaveOffer::NoAnswer,
            }
        }
    };
    if is_wanted {
        return AutosaveOffer::Accepted(found);
    }
    match autosave.move_away() {
        Some(aside) => filermark_cli_kit::stderr_line!(
            "the unsaved input of an earlier session is kept as {aside}"
        ),
        None => filermark_cli_kit::stderr_line!(
            "{shown}: the unsaved input of an earlier session cannot be renamed"
        ),
    }
    AutosaveOffer::Nothing
}

/// Resumes an earlier session; returns its unfinished line.
fn take_up(shared: &Handle, store: &Store, found: &AutosaveContent) -> String {
    let mut state = lock(shared);
    let mut document = match read_xml(&found.text) {
        Ok(document) => document,
        Err(e) => {
            let aside = state.autosave.move_away().unwrap_or_default();
            filermark_cli_kit::stderr_line!("it cannot be read, and is kept as {aside}: line {e}");
            return String::new();
        }
    };
    store.fill(&mut document);
    state.editor.resume(document, &found.at);
    found.typed.clone()
}
