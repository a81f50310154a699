//! What the prime looks at from its own host. Facts only; nothing here says whether
//! they are good.

pub(super) mod prime;
pub(super) mod ssh;
