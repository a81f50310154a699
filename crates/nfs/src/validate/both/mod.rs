//! Checks that versions 2 and 3 have in common, written once for both. The tables of the
//! versions name them; what a version demands in another way is in its own module.

pub(super) mod link;
pub(super) mod ops;
pub(super) mod remove;
pub(super) mod rename;
