//! From a mount point's words to a server that is ready to be worked on: its
//! address, ports, root handle and transfer sizes.
//!
//! Every step that fails says in one sentence where, what and what to try next.
//! Knows nothing of load, and makes nothing on the server.

mod advice;
mod datagrams;
mod negotiate;
mod resolve;
mod resolve4;
mod session;

pub(crate) use advice::{Service, explain, refused};
pub(crate) use datagrams::ask;
pub use datagrams::fragments;
pub use negotiate::{MAX_TRANSFER_BYTES, MIN_TRANSFER_BYTES, negotiate};
pub(crate) use resolve::{JukeboxRetries, addresses};
pub use session::SessionFacts;

use crate::client::{AnyFh, FileClient, MountClient, Nfs3Client, RpcOptions, narrow};
use crate::security::KerberosOptions;
use crate::starttls;
use filermark_model::plan::{MountPoint, NfsPlan, NfsSecurity, NfsVersion, Transport};
use filermark_model::survey::Space;
use filermark_onc::nfs3::{Fattr3, Fh, FsinfoOk, FsstatOk, PathconfOk};
use filermark_onc::rpc::{AuthBody, AuthFlavor, AuthSys};
use std::net::SocketAddr;
use std::time::Duration;

/// A mounted export, as far as a client without a kernel mounts.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// What was asked for.
    pub mount: MountPoint,
    /// Where the NFS program listens.
    pub nfs_address: SocketAddr,
    /// Where the MOUNT program listens; of version 4, which has none, where the NFS program does.
    pub mount_address: SocketAddr,
    /// What carries the calls to the NFS program.
    pub transport: Transport,
    /// What carries the calls to the MOUNT program: servers with NFS over UDP may have
    /// this one over TCP alone.
    pub mount_transport: Transport,
    /// UDP: the largest packet that the way to the server takes whole, in bytes, as far
    /// as this host knows.
    pub mtu: Option<u32>,
    /// Handle of the mounted directory.
    pub root: AnyFh,
    /// Its attributes.
    pub root_attributes: Option<Fattr3>,
    /// Flavors of authentication that the server takes, in its order.
    pub auth_flavors: Vec<AuthFlavor>,
    /// Largest READ to be used, in bytes.
    pub rsize: u32,
    /// Largest WRITE to be used, in bytes.
    pub wsize: u32,
    /// What FSINFO says.
    pub fsinfo: FsinfoOk,
    /// What PATHCONF says, if the server has it.
    pub pathconf: Option<PathconfOk>,
    /// What FSSTAT says, if the server has it.
    pub fsstat: Option<FsstatOk>,
    /// Version of TLS and cipher suite, in text; `None`: in the clear.
    pub tls: Option<String>,
    /// Version 4: what the server granted and states about itself.
    pub session: Option<SessionFacts>,
}

impl Target {
    /// The root's handle for calls of version 2 and 3.
    pub fn root3(&self) -> Fh {
        narrow(&self.root)
    }

    /// Space of the export as FSSTAT (NFSv2: STATFS) states it for this user; `None`
    /// also from a server that answers with nothing but zeros.
    pub fn space(&self) -> Option<Space> {
        let stat = self.fsstat.filter(|stat| stat.tbytes > 0)?;
        Some(Space {
            free_bytes: stat.abytes,
            total_bytes: stat.tbytes,
        })
    }

    /// Size of the READDIR answers to ask for, in bytes.
    pub fn dir_bytes(&self) -> u32 {
        // Over UDP a reply has to fit into one datagram. Version 2 prefers less anyway.
        let limit = NfsVersion::V3.transfer_bytes_max(self.transport);
        match self.fsinfo.dtpref {
            0 => 8192,
            preferred => preferred.clamp(4096, limit.unwrap_or(64 << 10)),
        }
    }

    /// A blocking client for the NFS program in the plan's version, not yet connected.
    pub fn file_client(&self, plan: &NfsPlan) -> FileClient {
        let (cred, options) = (credential(plan), self.nfs_options(plan));
        FileClient::new(plan.version, self.nfs_address, cred, options)
    }

    /// A blocking client for version 3 of the NFS program, not yet connected.
    pub fn nfs_client(&self, plan: &NfsPlan) -> Nfs3Client {
        Nfs3Client::new(self.nfs_address, credential(plan), self.nfs_options(plan))
    }

    /// How the NFS program is to be called under a plan.
    pub fn nfs_options(&self, plan: &NfsPlan) -> RpcOptions {
        nfs_options(plan, &self.mount.host)
    }

    /// Warnings about the transport and the export; a sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.datagram_warnings();
        let lists_sys = self.auth_flavors.contains(&AuthFlavor::Sys);
        let is_kerberos = self.auth_flavors.iter().any(is_kerberos);
        if !is_kerberos && self.auth_flavors.contains(&AuthFlavor::None) && !lists_sys {
            warnings.push(
                "the export lists AUTH_NONE and not AUTH_SYS: AUTH_SYS is used, but the server may treat every user as anonymous; export the path with sec=sys"
                    .to_owned(),
            );
        }
        warnings
    }

    /// Takes the server's note of our MNT back. Whether it works is of no
    /// consequence: the server's list of mounts is a hint (RFC 1813 section 5.2.3). Version 4 has none.
    pub fn unmount(&self, plan: &NfsPlan) {
        if plan.version.has_state() {
            return;
        }
        let options = RpcOptions {
            transport: self.mount_transport,
            ..mount_options(plan)
        };
        let address = self.mount_address;
        let mut client = MountClient::new(plan.version, address, credential(plan), options);
        if let Err(error) = client.umnt(&self.mount.path) {
            tracing::debug!(target: "filermark_nfs::mount", %error, "UMNT failed");
        }
    }

    /// Facts about the server, for the record: name, value.
    pub fn facts(&self) -> Vec<(String, String)> {
        let info = &self.fsinfo;
        let mut facts = vec![
            ("nfs address", self.nfs_address.to_string()),
            ("rsize", self.rsize.to_string()),
            ("wsize", self.wsize.to_string()),
            ("rtmax", info.rtmax.to_string()),
            ("rtpref", info.rtpref.to_string()),
            ("wtmax", info.wtmax.to_string()),
            ("wtpref", info.wtpref.to_string()),
            ("dtpref", info.dtpref.to_string()),
            ("maxfilesize", info.maxfilesize.to_string()),
            ("properties", format!("{:#x}", info.properties)),
        ];
        match &self.session {
            Some(session) => session.add_facts(&mut facts),
            None => facts.insert(1, ("mount address", self.mount_address.to_string())),
        }
        let time = info.time_delta;
        facts.push((
            "time_delta",
            format!("{}.{:09} s", time.seconds, time.nseconds),
        ));
        self.transport_facts(&mut facts);
        // MOUNT version 1 returns no flavors, STATFS no files.
        if !self.auth_flavors.is_empty() {
            let flavors: Vec<_> = self.auth_flavors.iter().map(|f| f.to_string()).collect();
            facts.push(("auth flavors", flavors.join(" ")));
        }
        if let Some(limits) = &self.pathconf {
            facts.push(("name_max", limits.name_max.to_string()));
            facts.push(("linkmax", limits.linkmax.to_string()));
        }
        if let Some(space) = &self.fsstat {
            facts.push(("total bytes", space.tbytes.to_string()));
            facts.push(("free bytes", space.abytes.to_string()));
            if space.tfiles > 0 {
                facts.push(("free files", space.afiles.to_string()));
            }
        }
        let own = |(name, value): (&str, String)| (name.to_owned(), value);
        facts.into_iter().map(own).collect()
    }
}

/// Whether a flavor is Kerberos.
const fn is_kerberos(flavor: &AuthFlavor) -> bool {
    matches!(
        flavor,
        AuthFlavor::Krb5 | AuthFlavor::Krb5i | AuthFlavor::Krb5p | AuthFlavor::RpcsecGss
    )
}

/// The flavor with which a plan calls the NFS program.
pub(crate) const fn flavor(plan: &NfsPlan) -> AuthFlavor {
    match plan.security {
        NfsSecurity::Sys => AuthFlavor::Sys,
        NfsSecurity::Krb5 => AuthFlavor::Krb5,
        NfsSecurity::Krb5i => AuthFlavor::Krb5i,
        NfsSecurity::Krb5p => AuthFlavor::Krb5p,
    }
}

/// The identity that a plan works under with AUTH_SYS.
pub fn credential(plan: &NfsPlan) -> AuthBody {
    let name = plan.machine_name.as_bytes();
    AuthSys::new(0, name, plan.uid, plan.gid, &plan.gids).to_body()
}

/// How the NFS program of the server with this name is to be called under a plan.
pub fn nfs_options(plan: &NfsPlan, host: &str) -> RpcOptions {
    RpcOptions {
        tls: starttls::options(plan, host),
        kerberos: KerberosOptions::of(plan, host),
        ..common_options(plan)
    }
}

/// How all programs are to be called.
fn common_options(plan: &NfsPlan) -> RpcOptions {
    RpcOptions {
        transport: plan.transport,
        udp_timeout: Duration::from_millis(plan.udp_timeout_ms.into()),
        connect_timeout: Duration::from_millis(plan.connect_timeout_ms.into()),
        reply_timeout: Duration::from_millis(plan.rpc_timeout_ms.into()),
        retries: plan.rpc_retries,
        resvport: plan.resvport,
        ..RpcOptions::default()
    }
}

/// How portmapper and MOUNT program are to be called under a plan: one try, for
/// a wrong port or a firewall should show soon. They are called in the clear and with AUTH_SYS whatever the
/// security of NFS, as kernels do: MOUNT returns the flavors that NFS may be called with (RFC 2623
/// section 2.7).
pub fn mount_options(plan: &NfsPlan) -> RpcOptions {
    RpcOptions {
        reply_timeout: Duration::from_millis(plan.connect_timeout_ms.into()),
        retries: 0,
        ..common_options(plan)
    }
}
