//! The parameters of SMB beyond those that the 2008 generation's rc file has.

use super::decl::{Group, Kind, Parameter};
use super::own::PORT;

const fn p(name: &'static str, kind: Kind, one_line: &'static str) -> Parameter {
    Parameter::new(name, Group::Server, kind, one_line)
        .own()
        .smb()
}

pub(super) const PARAMETERS: &[Parameter] = &[
    p(
        "PASSWORD_FILE",
        Kind::Path,
        "A file whose first line is the password of USERNAME",
    )
    .example("smb.password")
    .help(
        "Relative to the rc file. Nobody but its owner should be able to read it (chmod 600); \
         it is told when others can. It counts before PASSWORD and FILERMARK_PASSWORD.",
    ),
    p(
        "SMB_AUTH",
        Kind::Choice(&["ntlm", "kerberos", "guest", "anonymous"]),
        "How to log in to the SMB server",
    )
    .default("ntlm")
    .help(
        "ntlm: NTLMv2 with USERNAME, a password and DOMAIN. kerberos: with USERNAME and a \
         password, or without both with the tickets of the caller's cache (kinit), which every \
         client host needs then. guest: as a guest, without a password. anonymous: as nobody. \
         Guests and anonymous sessions have no key, so that nothing can be signed or encrypted. \
         A wrong password is tried once, never again: accounts are not locked by it.",
    ),
    p(
        "SMB_DIALECT",
        Kind::Text,
        "The dialect of SMB, or a range of them: 3.1.1, 2.1-3.1.1",
    )
    .example("2.0.2-3.1.1")
    .help(
        "NT1 (SMB1), 2.0.2, 2.1, 3.0, 3.0.2 or 3.1.1, or two of them with a hyphen; the server \
         takes the highest that it knows. Not set: NT1 with FS_PROTOCOL=cifs, 2.0.2-3.1.1 with \
         smb. Where SMB_SIGNING or SMB_ENCRYPTION needs a later dialect, the range begins there.",
    ),
    p(
        "SMB_SIGNING",
        Kind::Choice(&[
            "auto",
            "off",
            "required",
            "hmac-sha256",
            "aes-cmac",
            "aes-gmac",
        ]),
        "Whether messages are signed, and how",
    )
    .default("auto")
    .help(
        "auto: where the server requires it, with the best that it offers. off: never; a server \
         that requires it is refused. required: always, with the best that it offers. The names \
         of the ways: always, in that one; hmac-sha256 for 2.0.2 and 2.1 (and 3.1.1 where the \
         server offers it), aes-cmac from 3.0, aes-gmac for 3.1.1. SMB1 has one way only.",
    ),
    p(
        "SMB_ENCRYPTION",
        Kind::Choice(&[
            "auto",
            "off",
            "required",
            "aes-128-ccm",
            "aes-128-gcm",
            "aes-256-ccm",
            "aes-256-gcm",
        ]),
        "Whether messages are encrypted, and how; from SMB 3.0",
    )
    .default("auto")
    .help(
        "auto: where the server or the share requires it, with the best that both can do. off: \
         never; a server that requires it is refused. required: always. The names of the \
         ciphers: always, with that one; aes-128-ccm from 3.0, the others for 3.1.1.",
    ),
    p("SMB_PORT", PORT, "TCP port of the SMB servers").default("445"),
];
