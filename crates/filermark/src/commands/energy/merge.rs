//! `energy merge`.

use crate::cli::energy::MergeArgs;
use crate::exit::{Ended, Failure};

/// Does it.
pub fn merge(_args: &MergeArgs) -> Ended {
    Err(Failure::Failed("energy merge: not built yet".into()))
}
