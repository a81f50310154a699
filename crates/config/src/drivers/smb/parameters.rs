//! The parameters of SMB that the 2008 generation's rc file does not have.

use crate::params::{Group, Kind, PORT, Parameter, choice, choices, parameters};
use filermark_model::plan::SmbPlan;
use filermark_model::smb::{Encryption, Signing};

const fn p(kind: Kind, one_line: &'static str) -> Parameter {
    Parameter::new(Group::Server, kind, one_line)
        .own()
        .of_driver(SmbPlan::DRIVER)
}

parameters! {
    PASSWORD_FILE: Option<String> = p(
        Kind::Path,
        "A file whose first line is the password of USERNAME",
    )
    .example("smb.password")
    .help(
        "Relative to the rc file. Only its owner should be able to read it (chmod 600); \
         a note is given when others can. It has precedence over PASSWORD and FILERMARK_PASSWORD.",
    );
    SMB_AUTH: AuthMethod = p(
        choice::<AuthMethod>(),
        "How to log in to the SMB server",
    )
    .default("ntlm")
    .help(
        "ntlm: NTLMv2 with USERNAME, a password and DOMAIN. kerberos: with USERNAME and a \
         password, or without both with the tickets of the caller's cache (kinit), which every \
         client host needs then. guest: as a guest, without a password. anonymous: without a user. \
         Guests and anonymous sessions have no key, so that nothing can be signed or encrypted. \
         A wrong password is tried once, never again: accounts are not locked by it.",
    );
    SMB_DIALECT: Option<String> = p(
        Kind::Text,
        "The dialect of SMB, or a range of them: 3.1.1, 2.1-3.1.1",
    )
    .example("2.0.2-3.1.1")
    .help(
        "NT1 (SMB1), 2.0.2, 2.1, 3.0, 3.0.2 or 3.1.1, or two of them with a hyphen; the server \
         chooses the highest that it supports. Not set: NT1 with FS_PROTOCOL=cifs, 2.0.2-3.1.1 with \
         smb. Where SMB_SIGNING or SMB_ENCRYPTION needs a later dialect, the range begins there.",
    );
    SMB_SIGNING: Signing = p(
        choice::<Signing>(),
        "Whether messages are signed, and how",
    )
    .default("auto")
    .help(
        "auto: where the server requires it, with the best that it offers. off: never; a server \
         that requires it is refused. required: always, with the best that it offers. The names \
         of the algorithms: always, with that one; hmac-sha256 for 2.0.2 and 2.1 (and 3.1.1 where the \
         server offers it), aes-cmac from 3.0, aes-gmac for 3.1.1. SMB1 has one way only.",
    );
    SMB_ENCRYPTION: Encryption = p(
        choice::<Encryption>(),
        "Whether messages are encrypted, and how; from SMB 3.0",
    )
    .default("auto")
    .help(
        "auto: where the server or the share requires it, with the best that both can do. off: \
         never; a server that requires it is refused. required: always. The names of the \
         ciphers: always, with that one; aes-128-ccm from 3.0, the others for 3.1.1.",
    );
    SMB_CHANNELS: u32 = p(
        Kind::Int(1, SmbPlan::CHANNELS_MAX as u64, "connections"),
        "Connections of each session (multichannel), from SMB 3.0",
    )
    .default("1")
    .help(
        "As NCONNECT of NFS: each connection of CONNECTIONS becomes this many connections of one \
         session, which the server binds to it. Calls are spread over them in turn. Calls of a \
         connection that is lost are sent again over the others, unless they cannot be sent twice \
         (the record counts both); open files stay open as long as one connection is left.",
    );
    SMB_CHANNELS_FEWER: bool = p(
        Kind::Switch,
        "Work with fewer channels than SMB_CHANNELS where the server refuses some",
    )
    .default("off")
    .help(
        "off: a connection that the server does not bind to its session ends the run. on: the \
         session has those that the server binds, and the record counts the others (channels_refused).",
    );
    SMB_PORT: u16 = p(PORT, "TCP port of the SMB servers").default("445");
}

/// SMB_AUTH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuthMethod {
    Ntlm,
    Kerberos,
    Guest,
    Anonymous,
}

impl AuthMethod {
    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ntlm => "ntlm",
            Self::Kerberos => "kerberos",
            Self::Guest => "guest",
            Self::Anonymous => "anonymous",
        }
    }
}

choices! {
    AuthMethod {
        "ntlm" => Ntlm, "kerberos" => Kerberos, "guest" => Guest, "anonymous" => Anonymous
    }
    Signing {
        "auto" => Auto, "off" => Off, "required" => Required, "hmac-sha256" => HmacSha256,
        "aes-cmac" => AesCmac, "aes-gmac" => AesGmac
    }
    Encryption {
        "auto" => Auto, "off" => Off, "required" => Required, "aes-128-ccm" => Aes128Ccm,
        "aes-128-gcm" => Aes128Gcm, "aes-256-ccm" => Aes256Ccm, "aes-256-gcm" => Aes256Gcm
    }
}
