//! Where the text of parameters comes from.

pub(crate) mod secret_file;
