//! What a plan says about SMB: dialects, protection, who logs in, and how calls go.

mod counters;
mod driver;
mod text;

use crate::plan::{Connections, IpChoice, Labels};
use crate::secret::Secret;
pub use counters::SmbCounter;
pub(crate) use driver::{SMB1, SMB2};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Settings of the SMB driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SmbPlan {
    /// Lowest and highest dialect that is offered (SMB_DIALECT); both SMB1, or neither.
    pub dialects: (Dialect, Dialect),
    /// Whether messages are signed, and how (SMB_SIGNING).
    pub signing: Signing,
    /// Whether messages are encrypted, and how (SMB_ENCRYPTION).
    pub encryption: Encryption,
    /// Who logs in and how (SMB_AUTH, USERNAME, DOMAIN).
    pub auth: Auth,
    /// The password (PASSWORD, PASSWORD_FILE, FILERMARK_PASSWORD). Never leaves with the plan.
    #[serde(skip)]
    pub password: Secret,
    /// TCP port of the servers (SMB_PORT).
    pub port: u16,
    /// Address family to use.
    pub ip: IpChoice,
    /// Largest physical transfer in bytes (BLOCK_SIZE); `None`: what the server allows.
    pub block_size_max: Option<u32>,
    /// Physical reads outstanding per logical read (BIOD_MAX_READS; 0 works as 1).
    pub biod_max_reads: u32,
    /// Physical writes outstanding per logical write (BIOD_MAX_WRITES; 0 works as 1).
    pub biod_max_writes: u32,
    /// How procs share connections.
    pub connections: Connections,
    /// Connections of each session (SMB_CHANNELS).
    #[serde(
        default = "SmbPlan::channels_default",
        skip_serializing_if = "SmbPlan::is_channels_default"
    )]
    pub channels: u32,
    /// A session works with the channels that the server binds (SMB_CHANNELS_FEWER); else a
    /// refused one ends the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fewer_channels: bool,
    /// How long a reply may take before its connection is closed, in milliseconds
    /// (RPC_TIMEOUT_MS).
    pub reply_timeout_ms: u32,
    /// Longest wait for a connection or a session, in milliseconds (CONNECT_TIMEOUT_MS).
    pub connect_timeout_ms: u32,
}

/// The port of direct TCP (MS-SMB2 2.1).
const PORT: u16 = 445;

impl SmbPlan {
    /// The labels of the fields.
    const LABELS: Labels = &[
        ("block_size_max", "BLOCK_SIZE"),
        ("biod_max_reads", "BIOD_MAX_READS"),
        ("biod_max_writes", "BIOD_MAX_WRITES"),
        ("dialects", "SMB_DIALECT"),
        ("signing", "SMB_SIGNING"),
        ("encryption", "SMB_ENCRYPTION"),
        ("connections", "connections"),
        ("channels", "SMB_CHANNELS"),
        ("fewer_channels", "SMB_CHANNELS_FEWER"),
        ("auth", "who logs in"),
    ];
    /// The most channels of a session.
    pub const CHANNELS_MAX: u32 = 16;

    const fn channels_default() -> u32 {
        1
    }

    const fn is_channels_default(channels: &u32) -> bool {
        *channels == Self::channels_default()
    }

    /// The fields that say where and as whom the work is done.
    const PLACES: &'static [&'static str] = &["port", "ip", "auth"];
}

/// The settings of a run whose parameters set none of them, without a user.
impl Default for SmbPlan {
    fn default() -> Self {
        Self {
            dialects: (Dialect::V202, Dialect::V311),
            signing: Signing::default(),
            encryption: Encryption::default(),
            auth: Auth::Ntlm {
                username: String::new(),
                domain: String::new(),
            },
            password: Secret::NONE,
            port: PORT,
            ip: IpChoice::default(),
            block_size_max: None,
            biod_max_reads: 2,
            biod_max_writes: 2,
            connections: Connections::default(),
            channels: Self::channels_default(),
            fewer_channels: false,
            reply_timeout_ms: 60_000,
            connect_timeout_ms: 10_000,
        }
    }
}

/// A dialect of SMB, rising.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Dialect {
    /// NT LM 0.12, "SMB1" (MS-CIFS, MS-SMB).
    #[serde(rename = "NT1")]
    Nt1,
    /// SMB 2.0.2 (MS-SMB2, this and the following).
    #[serde(rename = "2.0.2")]
    V202,
    /// SMB 2.1.
    #[serde(rename = "2.1")]
    V210,
    /// SMB 3.0.
    #[serde(rename = "3.0")]
    V300,
    /// SMB 3.0.2.
    #[serde(rename = "3.0.2")]
    V302,
    /// SMB 3.1.1.
    #[serde(rename = "3.1.1")]
    V311,
}

impl Dialect {
    /// All of them, rising.
    pub const ALL: [Self; 6] = [
        Self::Nt1,
        Self::V202,
        Self::V210,
        Self::V300,
        Self::V302,
        Self::V311,
    ];

    /// As people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nt1 => "NT1",
            Self::V202 => "2.0.2",
            Self::V210 => "2.1",
            Self::V300 => "3.0",
            Self::V302 => "3.0.2",
            Self::V311 => "3.1.1",
        }
    }

    /// The number on the wire (MS-SMB2 2.2.3); 0 for SMB1, which has none.
    pub const fn revision(self) -> u16 {
        match self {
            Self::Nt1 => 0,
            Self::V202 => 0x0202,
            Self::V210 => 0x0210,
            Self::V300 => 0x0300,
            Self::V302 => 0x0302,
            Self::V311 => 0x0311,
        }
    }

    /// The dialect with a number of the wire.
    pub fn from_revision(revision: u16) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|d| revision != 0 && d.revision() == revision)
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Whether messages are signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signing {
    /// As the server wishes: where it requires it, with the best it offers.
    #[default]
    Auto,
    /// Never; a server that requires it is refused in plain words.
    Off,
    /// Always, with the best the dialect and the server offer.
    Required,
    /// Always, with HMAC-SHA256 (2.0.2 and 2.1; 3.1.1 where offered).
    HmacSha256,
    /// Always, with AES-128-CMAC (3.0 and later).
    AesCmac,
    /// Always, with AES-128-GMAC (3.1.1).
    AesGmac,
}

/// Whether messages are encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encryption {
    /// Where the server or the share requires it, with the best both can do.
    #[default]
    Auto,
    /// Never; a server that requires it is refused in plain words.
    Off,
    /// Always, with the best both can do.
    Required,
    /// Always, with AES-128-CCM (3.0 and later).
    #[serde(rename = "aes-128-ccm")]
    Aes128Ccm,
    /// Always, with AES-128-GCM (3.1.1).
    #[serde(rename = "aes-128-gcm")]
    Aes128Gcm,
    /// Always, with AES-256-CCM (3.1.1).
    #[serde(rename = "aes-256-ccm")]
    Aes256Ccm,
    /// Always, with AES-256-GCM (3.1.1).
    #[serde(rename = "aes-256-gcm")]
    Aes256Gcm,
}

/// Who logs in and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "lowercase")]
pub enum Auth {
    /// NTLMv2 with USERNAME, PASSWORD and DOMAIN; as a guest only where the server makes
    /// one of this user, which is reported.
    Ntlm {
        /// USERNAME.
        username: String,
        /// DOMAIN; may be empty.
        domain: String,
    },
    /// Kerberos by the system's library, with the tickets of the caller's cache or, where
    /// USERNAME and PASSWORD are given, with tickets obtained for them.
    Kerberos {
        /// USERNAME; empty: the owner of the ticket cache.
        username: String,
        /// DOMAIN: the realm; empty: the system's default.
        domain: String,
    },
    /// A guest: some user name, no password.
    Guest,
    /// No user: an anonymous session.
    Anonymous,
}
