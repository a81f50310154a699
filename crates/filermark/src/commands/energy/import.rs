//! `energy import`.

use crate::cli::energy::ImportArgs;
use crate::exit::{Ended, Failure};

/// Does it.
pub fn import(_args: &ImportArgs) -> Ended {
    Err(Failure::Failed("energy import: not built yet".into()))
}
