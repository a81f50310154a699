//! `energy collect`.

use crate::cli::energy::CollectArgs;
use crate::exit::{Ended, Failure};

/// Does it.
pub fn collect(_args: &CollectArgs) -> Ended {
    Err(Failure::Failed("energy collect: not built yet".into()))
}
