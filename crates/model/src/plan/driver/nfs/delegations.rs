//! What is done with delegations.

use serde::{Deserialize, Serialize};

/// What is done with delegations of NFSv4.1 and 4.2 (DELEGATIONS).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DelegationUse {
    /// Every OPEN says that none is wanted.
    #[default]
    Refuse,
    /// The server decides; what it grants is used and returned.
    Keep,
}

impl DelegationUse {
    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Keep => "keep",
        }
    }

    /// Whether none is wanted.
    pub const fn is_refuse(&self) -> bool {
        matches!(self, Self::Refuse)
    }
}
