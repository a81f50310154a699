//! Checks that versions 2 and 3 have in common, written once for both. The tables of the
//! versions name them; what a version demands in another way is in its own module.

pub(super) mod attributes;
pub(super) mod create;
pub(super) mod link;
pub(super) mod look;
pub(super) mod ops;
pub(super) mod remove;
pub(super) mod rename;
pub(super) mod rpc;
pub(super) mod write;
