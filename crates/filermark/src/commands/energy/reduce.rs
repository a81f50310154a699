//! `energy reduce`.

use crate::cli::energy::ReduceArgs;
use crate::exit::{Ended, Failure};

/// Does it.
pub fn reduce(_args: &ReduceArgs) -> Ended {
    Err(Failure::Failed("energy reduce: not built yet".into()))
}
