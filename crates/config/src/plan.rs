//! Parts of the run plan, each made from its parameters.

pub(crate) mod build;
pub(crate) mod common;
