//! Lines from a user at a terminal, with editing, history and completion; or from a pipe.

use filermark_submission::TEXT_LEN_MAX;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Helper};
use std::io::{BufRead, IsTerminal, Read, StdinLock};

/// What was typed.
#[derive(Debug)]
pub enum InputEvent {
    /// A line, without its end.
    Line(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, the end of the pipe, or a lost terminal.
    End,
}

/// Called while a line is being typed.
pub trait LineListener {
    /// The complete lines that can follow from this beginning.
    fn completions(&self, line: &str) -> Vec<String>;
    /// The line until now.
    fn on_line_change(&self, line: &str);
}

/// Where lines come from.
pub enum Keyboard<L: LineListener> {
    /// A terminal.
    Terminal(Box<rustyline::Editor<RustylineHelper<L>, MemHistory>>),
    /// Anything else.
    Pipe(StdinLock<'static>),
}

/// Adapter of a [`LineListener`] for rustyline.
pub struct RustylineHelper<L>(L);

impl<L: LineListener> Keyboard<L> {
    /// For this process's standard input.
    pub fn new(listener: L) -> Self {
        if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
            let config = Config::builder()
                .completion_type(CompletionType::List)
                .auto_add_history(false)
                .build();
            let history = MemHistory::with_config(&config);
            if let Ok(mut editor) = rustyline::Editor::with_history(config, history) {
                editor.set_helper(Some(RustylineHelper(listener)));
                return Self::Terminal(Box::new(editor));
            }
        }
        Self::Pipe(std::io::stdin().lock())
    }

    /// Whether questions can be asked.
    pub const fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }

    /// Reads a line after a prompt; it begins with `begun`, if it can be edited.
    pub fn read(&mut self, prompt: &str, begun: &str) -> InputEvent {
        match self {
            Self::Terminal(editor) => {
                let prompt = format!("{prompt} ");
                match editor.readline_with_initial(&prompt, (begun, "")) {
                    Ok(line) => {
                        if !line.trim().is_empty() {
                            let _ = editor.add_history_entry(line.as_str());
                        }
                        InputEvent::Line(line)
                    }
                    Err(ReadlineError::Interrupted) => InputEvent::Interrupted,
                    Err(_) => InputEvent::End,
                }
            }
            Self::Pipe(stdin) => {
                crate::stdout::print(&format!("{prompt}\n"));
                match line_of(stdin) {
                    Some(line) => InputEvent::Line(line),
                    None => InputEvent::End,
                }
            }
        }
    }
}

/// A line of a pipe. A line longer than any value is cut; the editor reports that.
fn line_of(source: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    let len_max = TEXT_LEN_MAX as u64 + 2;
    let read = source.by_ref().take(len_max).read_until(b'\n', &mut line);
    if !matches!(read, Ok(1..)) {
        return None;
    }
    if line.last() != Some(&b'\n') && line.len() as u64 >= len_max {
        skip_line(source);
    }
    let line = String::from_utf8_lossy(&line);
    Some(line.trim_end_matches(['\n', '\r']).to_owned())
}

fn skip_line(source: &mut impl BufRead) {
    loop {
        let (used, is_end) = match source.fill_buf() {
            Ok([]) | Err(_) => return,
            Ok(buffer) => match buffer.iter().position(|&b| b == b'\n') {
                Some(at) => (at + 1, true),
                None => (buffer.len(), false),
            },
        };
        source.consume(used);
        if is_end {
            return;
        }
    }
}

impl<L: LineListener> Helper for RustylineHelper<L> {}
impl<L> Highlighter for RustylineHelper<L> {}
impl<L> Validator for RustylineHelper<L> {}

/// Called at every change of the line; gives no hints.
impl<L: LineListener> Hinter for RustylineHelper<L> {
    type Hint = String;

    fn hint(&self, line: &str, _pos: usize, _ctx: &Context<'_>) -> Option<String> {
        self.0.on_line_change(line);
        None
    }
}

impl<L: LineListener> Completer for RustylineHelper<L> {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _ctx: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let begun = line.get(..pos).unwrap_or_default();
        Ok((0, self.0.completions(begun)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    #[test]
    fn lines_of_a_pipe_have_a_limit() {
        let long = "x".repeat(3 << 20);
        let text = format!("one\r\n{long}\n\nlast");
        let mut source = BufReader::new(text.as_bytes());
        assert_eq!(line_of(&mut source).as_deref(), Some("one"));
        let line = line_of(&mut source).expect("a line");
        assert_eq!(line.len(), TEXT_LEN_MAX + 2);
        assert_eq!(line_of(&mut source).as_deref(), Some(""));
        assert_eq!(line_of(&mut source).as_deref(), Some("last"));
        assert_eq!(line_of(&mut source), None);
    }
}
