//! The result of a conversion.

/// A converted file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvertedFile {
    /// What was read, e.g. "an rc file of the 2014 generation".
    pub what: String,
    /// What was made.
    pub form: ConvertedFormat,
    /// Its text, with the notes as comments.
    pub text: String,
    /// What has no equivalent, and what was assumed; with file and line.
    pub notes: Vec<String>,
    /// Why the result cannot be used as it is; empty: it can, or it is an rc file, which
    /// may need values from the command line.
    pub unusable: Vec<String>,
}

/// The format of the result of a conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConvertedFormat {
    /// An rc file.
    Rc,
    /// A definition file (TOML) with these benchmarks.
    Definitions(Vec<String>),
}
