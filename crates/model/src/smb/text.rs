//! What a plan says about SMB, in words for people: `filermark plan`, the report.

use super::{Auth, Dialect, Encryption, Signing, SmbPlan};
use crate::plan::Transport;
use crate::text::quoted;
use std::fmt;

impl SmbPlan {
    /// The dialects that are offered: `SMB1`, `SMB 3.1.1`, `SMB 2.0.2 to 3.1.1`.
    pub fn dialect_text(&self) -> String {
        match self.dialects {
            (Dialect::Nt1, Dialect::Nt1) => "SMB1 (NT LM 0.12)".to_owned(),
            (low, high) if low == high => format!("SMB {low}"),
            (low, high) => format!("SMB {low} to {high}"),
        }
    }

    /// How procs share connections, and how many channels a session has, in text.
    pub(super) fn connections_text(&self) -> String {
        let connections = self.connections.text(Transport::Tcp);
        match self.channels {
            0 | 1 => connections,
            n => format!("{connections} (each a session of {n} channels)"),
        }
    }

    /// How messages are protected, and who logs in: (what it is, in words).
    pub fn rows(&self) -> [(&'static str, String); 3] {
        [
            ("Login", self.auth.to_string()),
            ("Signing", self.signing.to_string()),
            ("Encryption", self.encryption.to_string()),
        ]
    }
}

impl fmt::Display for Signing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "where the server requires it",
            Self::Off => "never",
            Self::Required => "always, the best that the server offers",
            Self::HmacSha256 => "always, HMAC-SHA256",
            Self::AesCmac => "always, AES-128-CMAC",
            Self::AesGmac => "always, AES-128-GMAC",
        })
    }
}

impl fmt::Display for Encryption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "where the server or the share requires it",
            Self::Off => "never",
            Self::Required => "always, the best that the server offers",
            Self::Aes128Ccm => "always, AES-128-CCM",
            Self::Aes128Gcm => "always, AES-128-GCM",
            Self::Aes256Ccm => "always, AES-256-CCM",
            Self::Aes256Gcm => "always, AES-256-GCM",
        })
    }
}

impl fmt::Display for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ntlm { username, domain } => {
                let separator = if domain.is_empty() { "" } else { "\\" };
                let (domain, username) = (quoted(domain), quoted(username));
                write!(f, "user {domain}{separator}{username} by NTLMv2")
            }
            Self::Kerberos { username, domain } => {
                let realm = match domain.is_empty() {
                    true => "the system's own realm".to_owned(),
                    false => format!("realm {}", quoted(domain)),
                };
                match username.is_empty() {
                    true => write!(f, "whose tickets are in the cache, by Kerberos, {realm}"),
                    false => write!(f, "user {} by Kerberos, {realm}", quoted(username)),
                }
            }
            Self::Guest => f.write_str("as a guest"),
            Self::Anonymous => f.write_str("anonymously"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_login_is_described_on_one_line() {
        let ntlm = |username: &str, domain: &str| Auth::Ntlm {
            username: username.into(),
            domain: domain.into(),
        };
        assert_eq!(ntlm("me", "LAB").to_string(), r"user LAB\me by NTLMv2");
        assert_eq!(
            ntlm("m\u{202e}e", "").to_string(),
            "user m\u{fffd}e by NTLMv2"
        );
        let kerberos = Auth::Kerberos {
            username: String::new(),
            domain: "LAB".into(),
        };
        let want = "whose tickets are in the cache, by Kerberos, realm LAB";
        assert_eq!(kerberos.to_string(), want);
    }
}
