//! `energy suite`.

use crate::cli::energy::SuiteArgs;
use crate::exit::{Ended, Failure};

/// Does it.
pub fn suite(_args: &SuiteArgs) -> Ended {
    Err(Failure::Failed("energy suite: not built yet".into()))
}
