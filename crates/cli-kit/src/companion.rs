//! What may go on beside a run, as the run sees it: set up before the first load point, shown
//! with the run, reported behind it.

use crate::exit::CommandError;
use crate::view::Style;
use filermark_engine::driver::StopFlag;
use filermark_model::input::InputFile;
use filermark_results::RunRecord;
use std::path::Path;

/// Something that goes on beside a run.
pub trait Companion {
    /// The file that sets it up, for the run record.
    fn input(&self) -> InputFile;

    /// Its part before the first load point.
    ///
    /// # Errors
    /// `stop` was raised.
    fn before_load(&self, stop: &StopFlag) -> Result<(), CommandError>;

    /// Power at this moment.
    fn power(&self) -> Power {
        Power::default()
    }

    /// Its present state.
    fn status(&self) -> Box<dyn Status>;

    /// Messages for the user since the last call.
    fn take_messages(&self) -> Vec<String>;

    /// Ends it with the run.
    fn end(self: Box<Self>) -> Box<dyn Ended>;
}

/// Power at one moment, in watts; `None`: it is not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Power {
    /// The storage under test.
    pub power_w: Option<f64>,
    /// The clients.
    pub client_power_w: Option<f64>,
}

/// The state of a [`Companion`] at one moment.
pub trait Status: Send {
    /// Lines of the live view.
    fn lines(&self, style: Style) -> Vec<String>;

    /// One line for a stderr that is no terminal.
    fn line(&self) -> String;
}

/// A [`Companion`] that has ended.
pub trait Ended {
    /// The run came to no load point: removes the files of the companion, or names those that
    /// stay.
    fn discard(&self);

    /// Writes its files for the record at `path`, and with `to_stdout` its tables.
    ///
    /// # Errors
    /// It failed during the run, or a file cannot be read or written.
    fn report(&self, record: &RunRecord, path: &Path, to_stdout: bool) -> Result<(), CommandError>;
}
