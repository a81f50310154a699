//! How the program ends.

use crate::view::print_stderr_line;
use filermark_config::ConfigError;
use std::fmt::Display;
use std::process::ExitCode;

/// The user interrupted with Ctrl-C; [`crate::interrupt::code`] has the signal's own.
pub const INTERRUPTED: u8 = 130;

/// The run came to its end, and no load point of it counts.
pub const NOTHING_COUNTS: u8 = 4;

/// Why a subcommand could not do what it was asked.
#[derive(Clone, Debug)]
pub enum CommandError {
    /// The command line or the rc file is wrong; a sentence each.
    Usage(Vec<String>),
    /// Something else went wrong.
    Failed(String),
    /// A signal has stopped it.
    Stopped,
}

impl CommandError {
    /// From an error of any type.
    pub fn of(reason: impl Display) -> Self {
        Self::Failed(reason.to_string())
    }

    /// The exit code that it stands for.
    pub fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Failed(_) => 1,
            Self::Stopped => crate::interrupt::code(),
        }
    }

    /// Why, in one line.
    pub fn reason(&self) -> String {
        match self {
            Self::Usage(sentences) => sentences.join("; "),
            Self::Failed(sentence) => sentence.clone(),
            Self::Stopped => "stopped on request".into(),
        }
    }

    /// Prints it on stderr; returns the exit code.
    pub fn print(&self) -> ExitCode {
        match self {
            Self::Usage(sentences) => {
                for sentence in sentences {
                    print_stderr_line(format!("filermark: {sentence}"));
                }
            }
            Self::Failed(_) | Self::Stopped => {
                print_stderr_line(format!("filermark: {}", self.reason()))
            }
        }
        ExitCode::from(self.code())
    }
}

impl From<Vec<ConfigError>> for CommandError {
    fn from(errors: Vec<ConfigError>) -> Self {
        Self::Usage(errors.iter().map(ToString::to_string).collect())
    }
}

impl From<ConfigError> for CommandError {
    fn from(error: ConfigError) -> Self {
        vec![error].into()
    }
}

/// The result of a subcommand.
pub type CommandResult = Result<ExitCode, CommandError>;
