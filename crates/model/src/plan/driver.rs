//! Which driver makes the load, with its settings.

use super::Labels;
use super::nfs::NfsPlan;
use super::posix::PosixPlan;
use crate::secret::Secret;
use crate::smb::SmbPlan;
use serde::{Deserialize, Serialize};

/// Which driver makes the load, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "lowercase")]
pub enum DriverPlan {
    /// Speaks NFS version 2 or 3 itself. (Records up to format 1 call it `nfs3`.)
    #[serde(alias = "nfs3")]
    Nfs(NfsPlan),
    /// Speaks SMB itself.
    Smb(SmbPlan),
    /// Works on mounted file systems by system calls.
    Posix(PosixPlan),
    /// Answers every operation at once: measures the generator.
    Null,
}

impl DriverPlan {
    /// The driver's name, as plans and records have it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Nfs(_) => "nfs",
            Self::Smb(_) => "smb",
            Self::Posix(_) => "posix",
            Self::Null => "null",
        }
    }

    /// The password that it logs in with, where it does.
    pub const fn password(&self) -> Option<&Secret> {
        match self {
            Self::Smb(smb) => Some(&smb.password),
            Self::Nfs(_) | Self::Posix(_) | Self::Null => None,
        }
    }

    /// Gives it the password, which plans come without; no use to those that need none.
    pub fn set_password(&mut self, password: Secret) {
        if let Self::Smb(smb) = self {
            smb.password = password;
        }
    }

    /// Its fields in the words of the parameters.
    pub const fn labels(&self) -> Labels {
        match self {
            Self::Nfs(_) => NfsPlan::LABELS,
            Self::Smb(_) => SmbPlan::LABELS,
            Self::Posix(_) => PosixPlan::LABELS,
            Self::Null => &[],
        }
    }

    /// Its fields that say where and as whom the work is done, not what it is.
    pub const fn places(&self) -> &'static [&'static str] {
        match self {
            Self::Nfs(_) => NfsPlan::PLACES,
            Self::Smb(_) => SmbPlan::PLACES,
            Self::Posix(_) | Self::Null => &[],
        }
    }
}
