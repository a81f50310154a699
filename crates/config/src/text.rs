//! The sources of the text of parameters.

pub(crate) mod secret_file;
