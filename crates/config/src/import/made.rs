//! What a conversion makes.

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
    /// Why what was made cannot be used as it is; empty: it can, or it is an rc file, which
    /// may lack what the command line gives.
    pub unusable: Vec<String>,
}

/// What a conversion makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConvertedFormat {
    /// An rc file.
    Rc,
    /// A definition file (TOML) with these benchmarks.
    Definitions(Vec<String>),
}
