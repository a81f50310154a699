//! The Linux kernel's own NFS server and NFS client.

use crate::tools::{need, write};
use crate::uml::Uml;
use crate::{Error, Export, Result, Sandbox, ServerOptions};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Memory of a server; the export lives in it. Only what is used is taken
/// from the host.
const SERVER_MIB: u32 = 1536;

/// Memory of a client.
const CLIENT_MIB: u32 = 512;

/// Threads of nfsd. User Mode Linux has one CPU.
const THREADS: u32 = 4;

/// A Linux kernel that exports a tmpfs over NFSv3, TCP, at the standard ports.
#[derive(Debug)]
pub struct KernelServer {
    uml: Uml,
    export: Export,
}

impl KernelServer {
    /// Boots a server in a sandbox of its own.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when not root or a package is missing; otherwise
    /// what failed, with the end of the kernel's console.
    pub fn start() -> Result<KernelServer> {
        KernelServer::start_in(&Sandbox::new()?, ServerOptions::default())
    }

    /// Boots a server in a sandbox that other fixtures share.
    ///
    /// # Errors
    ///
    /// As [`KernelServer::start`].
    pub fn start_in(sandbox: &Arc<Sandbox>, options: ServerOptions) -> Result<KernelServer> {
        need(&[
            ("rpc.nfsd", "nfs-kernel-server"),
            ("rpc.mountd", "nfs-kernel-server"),
            ("rpcbind", "rpcbind"),
        ])?;
        let access = if options.read_only { "ro" } else { "rw" };
        let squash = if options.root_squash {
            "root_squash"
        } else {
            "no_root_squash"
        };
        let space = options.space_mib.unwrap_or(SERVER_MIB * 3 / 4);
        let uml = Uml::boot(
            sandbox,
            "nfsd",
            SERVER_MIB,
            include_str!("../scripts/uml-server.sh"),
            &[
                ("EXPORT_SIZE", format!("{space}m")),
                (
                    "EXPORT_OPTIONS",
                    format!("{access},{squash},insecure,fsid=1,sync"),
                ),
                ("THREADS", THREADS.to_string()),
            ],
        )?;
        let export = Export {
            address: uml.guest(),
            nfs_port: 2049,
            mount_port: 20048,
            path: "/srv/export".into(),
        };
        Ok(KernelServer { uml, export })
    }

    /// The export over IPv4; rpcbind answers on port 111 of the same address.
    #[must_use]
    pub fn export(&self) -> &Export {
        &self.export
    }

    /// The export over IPv6.
    #[must_use]
    pub fn export_v6(&self) -> Export {
        Export {
            address: self.uml.guest_v6(),
            ..self.export.clone()
        }
    }

    /// The interface that its traffic takes, for [`crate::Capture`].
    #[must_use]
    pub fn interface(&self) -> &str {
        &self.uml.interface
    }

    /// What the kernel's console has said so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.uml.kernel.said()
    }

    /// The namespaces it runs in.
    #[must_use]
    pub fn sandbox(&self) -> &Arc<Sandbox> {
        self.uml.sandbox()
    }
}

/// What became of a script on a [`KernelClient`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptOutput {
    /// The shell's exit status: 0 is success, 128 + n a signal.
    pub status: i32,
    /// Standard output and standard error, mixed.
    pub output: String,
}

/// A Linux kernel that has an NFSv3 export mounted on `/mnt`.
#[derive(Debug)]
pub struct KernelClient {
    uml: Uml,
    scripts: u32,
}

impl KernelClient {
    /// Boots a client and mounts an export of a server in the same sandbox.
    ///
    /// A server on a loopback address is reached through the client's own
    /// interface instead, so it has to listen on all addresses (`0.0.0.0`).
    /// `extra` are more mount options after a comma, such as `rsize=65536`, or
    /// empty.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when not root or a package is missing; otherwise
    /// what failed, with the end of the kernel's console.
    pub fn start(sandbox: &Arc<Sandbox>, export: &Export, extra: &str) -> Result<KernelClient> {
        need(&[("mount.nfs", "nfs-common")])?;
        let comma = if extra.is_empty() { "" } else { "," };
        let family = if export.address.is_ipv6() { "6" } else { "" };
        // Empty: the host's end of the client's own interface.
        let server = match export.address {
            address if address.is_loopback() => String::new(),
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        };
        let uml = Uml::boot(
            sandbox,
            "client",
            CLIENT_MIB,
            include_str!("../scripts/uml-client.sh"),
            &[
                ("SERVER", server),
                ("EXPORT", export.path.clone()),
                ("FAMILY", family.to_owned()),
                (
                    "OPTIONS",
                    format!(
                        "nfsvers=3,proto=tcp{family},mountproto=tcp{family},port={},mountport={},nolock{comma}{extra}",
                        export.nfs_port, export.mount_port
                    ),
                ),
            ],
        )?;
        Ok(KernelClient { uml, scripts: 0 })
    }

    /// Runs a shell script in the mounted directory. The script sees the
    /// host's files read-only and a `/tmp` of its own; scripts run one after
    /// the other on the same mount.
    ///
    /// # Errors
    ///
    /// When the script is not done within `limit`, or the kernel is gone. A
    /// script that fails is not an error here: see [`ScriptOutput::status`].
    pub fn run(&mut self, script: &str, limit: Duration) -> Result<ScriptOutput> {
        let number = self.scripts;
        self.scripts += 1;
        write(self.uml.shared.join(format!("script-{number}")), script)?;
        self.uml.kernel.tell(&number.to_string())?;
        let mark = format!("testbed: script {number} ended with ");
        let status = self
            .uml
            .kernel
            .wait_for("the script's end", limit, |said| {
                let (_, rest) = said.split_once(&mark)?;
                // Only a whole line: the number may still be on its way.
                let (status, _) = rest.split_once('\n')?;
                status.trim().parse().ok()
            })?;
        let output = self.uml.shared.join(format!("output-{number}"));
        let bytes = std::fs::read(&output).map_err(Error::path("read", &output))?;
        Ok(ScriptOutput {
            status,
            output: String::from_utf8_lossy(&bytes).into_owned(),
        })
    }

    /// The interface that its traffic takes, for [`crate::Capture`].
    #[must_use]
    pub fn interface(&self) -> &str {
        &self.uml.interface
    }

    /// What the kernel's console has said so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.uml.kernel.said()
    }
}
