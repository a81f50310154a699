//! How calls of NFS carry the user, and how they are protected.

use serde::{Deserialize, Serialize};

/// How calls carry the user and how they are protected (SECURITY).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NfsSecurity {
    /// AUTH_SYS: user and groups as numbers, taken on trust.
    #[default]
    Sys,
    /// RPCSEC_GSS with Kerberos: the headers of calls and replies are signed.
    Krb5,
    /// The arguments and results are signed too.
    Krb5i,
    /// The arguments and results are encrypted.
    Krb5p,
}

impl NfsSecurity {
    /// Its word, the same as in the options of exports and mounts (`sec=`).
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sys => "sys",
            Self::Krb5 => "krb5",
            Self::Krb5i => "krb5i",
            Self::Krb5p => "krb5p",
        }
    }

    /// Whether it is AUTH_SYS.
    pub const fn is_sys(&self) -> bool {
        matches!(self, Self::Sys)
    }

    /// Whether it is RPCSEC_GSS with Kerberos.
    pub const fn is_kerberos(&self) -> bool {
        !self.is_sys()
    }
}
