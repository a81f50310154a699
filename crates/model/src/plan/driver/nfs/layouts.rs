//! What is done with layouts of pNFS.

use serde::{Deserialize, Serialize};

/// What is done with layouts of NFSv4.1 and 4.2 (LAYOUTS; RFC 8881 section 12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LayoutUse {
    /// The client says that it does not use pNFS; all transfers go to the metadata server.
    #[default]
    Refuse,
    /// Layouts of flexible files (RFC 8435) are asked for, and transfers go to the data servers that they
    /// name.
    Use,
}

impl LayoutUse {
    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Use => "use",
        }
    }

    /// Whether none is asked for.
    pub const fn is_refuse(&self) -> bool {
        matches!(self, Self::Refuse)
    }
}
