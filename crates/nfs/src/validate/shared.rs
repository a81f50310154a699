//! Checks that versions 2, 3 and 4.1 share. The tables of the versions name them; checks that
//! differ are in the module of the version.

pub(super) mod attributes;
pub(super) mod create;
pub(super) mod link;
pub(super) mod lookup;
pub(super) mod ops;
pub(super) mod read;
pub(super) mod readdir;
pub(super) mod remove;
pub(super) mod rename;
pub(super) mod rpc;
pub(super) mod write;
