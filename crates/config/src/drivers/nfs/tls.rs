//! RPC-with-TLS (RFC 9289): parameters and settings.

use crate::params::{self, Group, Kind, Parameter, StandardValue, choice, choices, parameters};
use crate::reading::Reading;
use filermark_model::plan::{NfsPlan, TlsCertificate, TlsPlan, Transport};

/// TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TlsMode {
    Off,
    On,
    Mutual,
}

choices! {
    TlsMode { "off" => Off, "on" => On, "mtls" => Mutual }
}

const fn p(kind: Kind, one_line: &'static str) -> Parameter {
    Parameter::new(Group::Server, kind, one_line)
        .own()
        .of_driver(NfsPlan::DRIVER)
}

parameters! {
    TLS: TlsMode = p(
        choice::<TlsMode>(),
        "TLS on the connections to the NFS program (RFC 9289)",
    )
    .default("off")
    .standard(StandardValue::Fixed("off"))
    .help(
        "on: every connection is encrypted, and the server shows a certificate. mtls: the client shows \
         one, too (TLS_CERT, TLS_KEY). There is no attempt in the clear where TLS fails. Needs TCP. \
         Portmapper and MOUNT are called in the clear, as kernel clients do it. Encryption costs \
         processor time on client and server, so results with and without it are not comparable.",
    );
    TLS_CA: Option<String> = p(
        Kind::Path,
        "Certificates of the authorities that sign those of servers (PEM)",
    )
    .example("/etc/filermark/ca.pem")
    .help(
        "A file, needed with TLS. An absolute path: each client reads the file on its own host. The \
         authorities of the system are not trusted by themselves; where they have signed the server's \
         certificate, give their file (Debian: /etc/ssl/certs/ca-certificates.crt).",
    );
    TLS_CERT: Option<String> = p(
        Kind::Path,
        "The client's certificate and its chain (PEM), for TLS=mtls",
    )
    .example("/etc/filermark/client.pem")
    .help("A file. An absolute path: each client reads the file on its own host.");
    TLS_KEY: Option<String> = p(
        Kind::Path,
        "The private key of TLS_CERT (PEM, without a passphrase)",
    )
    .example("/etc/filermark/client.key")
    .help(
        "A file. An absolute path: each client reads the file on its own host, and the key stays there. Only \
         the user that runs Filermark should be able to read it (chmod 600).",
    );
    TLS_NAME: Option<String> = p(
        Kind::Text,
        "Name in the certificates of servers; not set: that in MNT_POINTS",
    )
    .example("nas.example.com")
    .help("A DNS name or an IP address of the certificate's subjectAltName, for all servers.");
}

/// The settings of TLS; `None`: none.
pub(super) fn settings(r: &mut Reading<'_>, transport: Transport) -> Option<TlsPlan> {
    let values = r.values;
    let mode = values.get(&TLS);
    let own = [&TLS_CERT, &TLS_KEY];
    let unused: &[_] = match mode {
        TlsMode::Off => &[&TLS_CA, &TLS_CERT, &TLS_KEY, &TLS_NAME],
        TlsMode::On => &own,
        TlsMode::Mutual => &[],
    };
    if let Some(set) = unused.iter().find(|p| values.given(p).is_some()) {
        let (message, hint) = match mode {
            TlsMode::Off => (
                "has no effect without TLS",
                "set TLS=on or mtls, or leave it out",
            ),
            _ => ("is for mutual TLS alone", "set TLS=mtls, or leave it out"),
        };
        r.refuse(set, format!("{} {message}", set.name), hint);
    }
    if mode == TlsMode::Off {
        return None;
    }
    if transport == Transport::Udp {
        let message = "TLS protects connections, and UDP has none (TCP=off)".to_owned();
        r.refuse(&TLS, message, "set TCP=on, or TLS=off");
    }
    let own = match mode {
        TlsMode::Mutual => Some(TlsCertificate {
            certificate: file(r, &TLS_CERT),
            key: file(r, &TLS_KEY),
        }),
        _ => None,
    };
    Some(TlsPlan {
        authorities: file(r, &TLS_CA),
        own,
        server_name: r.values.get(&TLS_NAME),
    })
}

/// A file of the clients.
fn file(r: &mut Reading<'_>, parameter: &'static params::Param<Option<String>>) -> String {
    let name = parameter.name;
    let Some(path) = r.values.get(parameter) else {
        let hint = format!("set {name} to the absolute path of the file on the clients");
        r.refuse(
            &TLS,
            format!("TLS needs {name} ({})", parameter.one_line),
            hint,
        );
        return String::new();
    };
    if !is_absolute(&path) {
        let message = format!("{name}={path} is not an absolute path");
        let hint = "each client reads the file on its own host: give the whole path there";
        r.refuse(parameter, message, hint);
    }
    path
}

/// On Unix or on Windows: clients may have another system than this host.
fn is_absolute(path: &str) -> bool {
    let drive = |rest: &str| rest.starts_with([':']) && rest[1..].starts_with(['/', '\\']);
    let mut rest = path.chars();
    path.starts_with('/')
        || rest.next().is_some_and(|c| c.is_ascii_alphabetic()) && drive(rest.as_str())
}

/// Refuses TLS for a driver that does not have it.
pub(crate) fn refuse(r: &mut Reading<'_>, message: &str, hint: &str) {
    if r.values.get(&TLS) != TlsMode::Off {
        r.refuse(&TLS, message.to_owned(), hint);
    }
}

#[cfg(test)]
mod tests {
    use super::is_absolute;

    #[test]
    fn absolute_paths_of_either_system() {
        for path in ["/a", "/", "C:\\x.pem", "d:/x.pem"] {
            assert!(is_absolute(path), "{path}");
        }
        for path in ["", "a", "./a", "C:x", "C", ":/x", "\u{e4}:/x"] {
            assert!(!is_absolute(path), "{path}");
        }
    }
}
