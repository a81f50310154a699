//! What the prime inspects from its own host. Facts only, without evaluation.

pub(super) mod prime;
pub(super) mod ssh;
