//! Parts of the run plan, each from the parameters that it follows from.

pub(crate) mod build;
pub(crate) mod common;
