//! Kerberos and RPC-with-TLS of a kernel's NFS server and client: the files of the daemons that do both for
//! it (rpc.svcgssd, tlshd).

use crate::tools::write;
use crate::{Error, Kdc, KerberosExport, Result};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// The files (PEM) of a kernel's tlshd (RFC 9289). Only Linux 6.12 has RPC-with-TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlshdFiles {
    /// The machine's certificate. A server's has to have its address: see [`TlshdFiles::names`].
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Certificates of the authorities that it trusts.
    pub authorities: PathBuf,
}

impl TlshdFiles {
    /// The addresses that kernels in a sandbox may have, and those of their host, for certificates. A
    /// kernel gets its address when it is started.
    #[must_use]
    pub fn names() -> Vec<String> {
        let of = |machine| move |tap| format!("10.99.{tap}.{machine}");
        (1..=9).map(of(1)).chain((1..=9).map(of(2))).collect()
    }

    /// Copies them to where tlshd of the machine with this shared directory has them.
    pub(crate) fn put(&self, shared: &Path) -> Result<()> {
        let dir = shared.join("tls");
        std::fs::create_dir_all(&dir).map_err(Error::path("make", &dir))?;
        for (from, name, mode) in [
            (&self.certificate, "own.pem", 0o644),
            (&self.key, "own.key", 0o600),
            (&self.authorities, "ca.pem", 0o644),
        ] {
            let to = dir.join(name);
            std::fs::copy(from, &to).map_err(Error::path("copy", from))?;
            set_mode(&to, mode)?;
        }
        Ok(())
    }
}

/// tlshd refuses a key that others may read, and warns of a certificate that they may not.
fn set_mode(file: &Path, mode: u32) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode))
        .map_err(Error::path("chmod", file))
}

/// What an export of a [`crate::KernelServer`] requires. Default: nothing, AUTH_SYS in the clear.
#[derive(Debug, Clone, Copy, Default)]
pub struct KernelSecurity<'a> {
    /// Tickets of this realm.
    pub kerberos: Option<(&'a Kdc, KerberosExport)>,
    /// TLS, with or without a certificate of the client.
    pub tls: Option<&'a TlshdFiles>,
}

impl KernelSecurity<'_> {
    /// For exportfs; begins with a comma, or is empty.
    pub(crate) fn export_options(&self) -> String {
        let ways = match self.kerberos {
            None => "",
            Some((_, KerberosExport::AllWays)) => ",sec=krb5:krb5i:krb5p",
            Some((_, KerberosExport::PrivacyOnly)) => ",sec=krb5p",
        };
        let transport = self.tls.map_or("", |_| ",xprtsec=tls:mtls");
        format!("{ways}{transport}")
    }

    /// Puts the files of the daemons into a machine's shared directory.
    pub(crate) fn put(&self, shared: &Path, address: IpAddr) -> Result<()> {
        if let Some((kdc, _)) = self.kerberos {
            kdc.add_nfs_server(&address.to_string())?;
            let keytab = shared.join("keytab");
            std::fs::copy(kdc.keytab(), &keytab).map_err(Error::path("copy", kdc.keytab()))?;
            write(shared.join("krb5.conf"), &Kdc::realm_only_configuration())?;
        }
        self.tls.map_or(Ok(()), |files| files.put(shared))
    }
}
