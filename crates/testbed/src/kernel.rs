//! The Linux kernel's own NFS server and NFS client.

use crate::tools::{BUSY_LIMIT, need};
use crate::uml::Uml;
use crate::{
    Error, Export, Kernel, KernelSecurity, NfsCounts, NfsVersion, Result, Sandbox, ServerOptions,
    TlshdFiles,
};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Memory of a server, with the export. Only memory that is used is taken from the
/// host.
const SERVER_MIB: u32 = 1536;

/// Memory of a client.
const CLIENT_MIB: u32 = 512;

/// Threads of nfsd. User Mode Linux has one CPU.
const THREADS: u32 = 4;

/// The environment variable with the path of an nfsd module that has NFSv2.
const NFSD_V2: &str = "FILERMARK_NFSD_V2";

/// Reading the kernel's counters takes milliseconds, on a busy machine longer.
const COUNTS_LIMIT: Duration = BUSY_LIMIT;

/// A Linux kernel that exports a tmpfs over NFSv3 and optionally NFSv4, over TCP and
/// optionally UDP, at the standard ports.
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
        KernelServer::start_as(sandbox, Kernel::V61, options, KernelSecurity::default())
    }

    /// Boots a server with this kernel whose export requires Kerberos, TLS, or both. Its address is its
    /// name in the realm.
    ///
    /// # Errors
    ///
    /// As [`KernelServer::start`].
    pub fn start_as(
        sandbox: &Arc<Sandbox>,
        kernel: Kernel,
        options: ServerOptions,
        security: KernelSecurity<'_>,
    ) -> Result<KernelServer> {
        KernelServer::start_with(sandbox, kernel, options, security, None)
    }

    /// Boots a server of NFSv2 and NFSv3 over TCP and UDP, both at port 2049, not
    /// registered with its rpcbind. Debian's kernel is built without version 2: the
    /// environment variable `FILERMARK_NFSD_V2` is the path of an `nfsd.ko` that has it.
    /// `None` if it is not set: no package provides that module.
    ///
    /// # Errors
    ///
    /// As [`KernelServer::start`].
    pub fn start_nfs2() -> Option<Result<KernelServer>> {
        let module = PathBuf::from(std::env::var_os(NFSD_V2)?);
        Some(Sandbox::new().and_then(|sandbox| {
            let security = KernelSecurity::default();
            let options = ServerOptions::default();
            KernelServer::start_with(&sandbox, Kernel::V61, options, security, Some(&module))
        }))
    }

    fn start_with(
        sandbox: &Arc<Sandbox>,
        kernel: Kernel,
        options: ServerOptions,
        security: KernelSecurity<'_>,
        nfs2: Option<&Path>,
    ) -> Result<KernelServer> {
        if kernel == Kernel::V61 {
            need(&[
                ("rpc.nfsd", "nfs-kernel-server"),
                ("rpc.mountd", "nfs-kernel-server"),
                ("rpcbind", "rpcbind"),
            ])?;
        }
        let access = if options.read_only { "ro" } else { "rw" };
        let squash = if options.root_squash {
            "root_squash"
        } else {
            "no_root_squash"
        };
        let space = options.space_mib.unwrap_or(SERVER_MIB * 3 / 4);
        let yes = |is_on: bool| if is_on { "yes" } else { "" }.to_owned();
        // fsid=0: the export is NFSv4's root, too.
        let export = format!(
            "{access},{squash},insecure,fsid=0,sync,no_subtree_check{}",
            security.export_options()
        );
        let uml = Uml::boot(
            sandbox,
            kernel,
            "nfsd",
            SERVER_MIB,
            include_str!("../scripts/uml-server.sh"),
            &[
                ("EXPORT_SIZE", format!("{space}m")),
                ("EXPORT_OPTIONS", export),
                ("THREADS", THREADS.to_string()),
                ("UDP", if options.udp { "--udp" } else { "" }.to_owned()),
                ("NFS4", yes(options.nfs4)),
                ("NFS2", yes(nfs2.is_some())),
                ("KERBEROS", yes(security.kerberos.is_some())),
                ("TLS", yes(security.tls.is_some())),
            ],
            |shared, address| {
                security.put(shared, address)?;
                match nfs2 {
                    Some(module) => std::fs::copy(module, shared.join("nfsd.ko"))
                        .map(drop)
                        .map_err(Error::path("copy", module)),
                    None => Ok(()),
                }
            },
        )?;
        let export = Export {
            address: uml.guest(),
            nfs_port: 2049,
            mount_port: 20048,
            path: "/srv/export".into(),
            path_v4: options.nfs4.then(|| "/".into()),
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

    /// Runs a shell script on the server, in the exported directory.
    ///
    /// # Errors
    ///
    /// As [`KernelClient::run`].
    pub fn run(&mut self, script: &str, limit: Duration) -> Result<ScriptOutput> {
        self.uml.run(script, limit)
    }

    /// The server's counters since its start: NFSv3 procedures and operations of
    /// NFSv4 (those of `nfsstat -s`).
    ///
    /// # Errors
    ///
    /// When the kernel has ended, or its counters are not as expected.
    pub fn counts(&mut self) -> Result<NfsCounts> {
        let done = self.uml.run("cat /proc/net/rpc/nfsd", COUNTS_LIMIT)?;
        NfsCounts::of_server(&done.output)
    }

    /// The interface that its traffic uses, for [`crate::Capture`].
    #[must_use]
    pub fn interface(&self) -> &str {
        &self.uml.interface
    }

    /// The output of the kernel's console so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.uml.kernel.output()
    }

    /// The namespaces it runs in.
    #[must_use]
    pub fn sandbox(&self) -> &Arc<Sandbox> {
        self.uml.sandbox()
    }
}

/// The result of a script on a [`KernelClient`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptOutput {
    /// The shell's exit status: 0 is success, 128 + n a signal.
    pub status: i32,
    /// Standard output and standard error, mixed.
    pub output: String,
}

/// Mount options and memory of a [`KernelClient`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientOptions {
    /// The protocol.
    pub version: NfsVersion,
    /// More mount options, such as `rsize=65536`, or empty.
    pub extra: String,
    /// Memory of the whole client, its page cache included.
    pub memory_mib: u32,
    /// The kernel.
    pub kernel: Kernel,
    /// The files of its tlshd, for mounts with `xprtsec=tls` or `xprtsec=mtls`.
    pub tls: Option<TlshdFiles>,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            version: NfsVersion::V3,
            extra: String::new(),
            memory_mib: CLIENT_MIB,
            kernel: Kernel::default(),
            tls: None,
        }
    }
}

/// A Linux kernel that has an export mounted on `/mnt`.
#[derive(Debug)]
pub struct KernelClient {
    uml: Uml,
}

impl KernelClient {
    /// The path that scripts use for the directory shared with the host: see
    /// [`KernelClient::shared`].
    pub const SHARED: &'static str = "/run/testbed";

    /// The path that scripts use for the mount.
    pub const MOUNT: &'static str = "/mnt";

    /// Boots a client and mounts an export over NFSv3; `extra` are more mount
    /// options, or empty. See [`KernelClient::start_with`].
    ///
    /// # Errors
    ///
    /// As [`KernelClient::start_with`].
    pub fn start(sandbox: &Arc<Sandbox>, export: &Export, extra: &str) -> Result<KernelClient> {
        let options = ClientOptions {
            extra: extra.to_owned(),
            ..ClientOptions::default()
        };
        KernelClient::start_with(sandbox, export, &options)
    }

    /// Boots a client and mounts an export of a server in the same sandbox.
    ///
    /// NFSv2 works over TCP only: Debian's kernel is built without NFS over UDP
    /// (CONFIG_NFS_DISABLE_UDP_SUPPORT); MOUNT can use UDP
    /// (`extra: "mountproto=udp"`).
    ///
    /// A server on a loopback address is reached through the client's tap interface
    /// instead, so it must listen on all addresses (`0.0.0.0`).
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when not root or a package is missing; otherwise
    /// what failed, with the end of the kernel's console.
    pub fn start_with(
        sandbox: &Arc<Sandbox>,
        export: &Export,
        options: &ClientOptions,
    ) -> Result<KernelClient> {
        if options.kernel == Kernel::V61 {
            need(&[("mount.nfs", "nfs-common")])?;
        }
        let (path, mount) = mount_options(export, options)?;
        let family = if export.address.is_ipv6() { "6" } else { "" };
        // Empty: the host's address on the client's tap interface.
        let server = match export.address {
            address if address.is_loopback() => String::new(),
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        };
        let tls = &options.tls;
        let uml = Uml::boot(
            sandbox,
            options.kernel,
            "client",
            options.memory_mib,
            include_str!("../scripts/uml-client.sh"),
            &[
                ("SERVER", server),
                ("EXPORT", path),
                ("FAMILY", family.to_owned()),
                ("OPTIONS", mount),
                ("TLS", tls.as_ref().map_or("", |_| "yes").to_owned()),
            ],
            |shared, _| tls.as_ref().map_or(Ok(()), |files| files.put(shared)),
        )?;
        Ok(KernelClient { uml })
    }

    /// The path of [`KernelClient::SHARED`] on the host, for results of scripts.
    #[must_use]
    pub fn shared(&self) -> &Path {
        &self.uml.shared
    }

    /// The path on the host of the file `SHARED/name` of scripts.
    #[must_use]
    pub fn shared_file(&self, name: &str) -> PathBuf {
        self.uml.shared.join(name)
    }

    /// Runs a shell script in the mounted directory. The script sees the
    /// host's files read-only and has its own `/tmp`; scripts run one after the
    /// other on the same mount.
    ///
    /// # Errors
    ///
    /// When the script has not ended within `limit`, or the kernel has ended. A
    /// script that fails is not an error here: see [`ScriptOutput::status`].
    pub fn run(&mut self, script: &str, limit: Duration) -> Result<ScriptOutput> {
        self.uml.run(script, limit)
    }

    /// The interface that its traffic uses, for [`crate::Capture`].
    #[must_use]
    pub fn interface(&self) -> &str {
        &self.uml.interface
    }

    /// The output of the kernel's console so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.uml.kernel.output()
    }
}

/// The path to mount, and the mount options.
fn mount_options(export: &Export, options: &ClientOptions) -> Result<(String, String)> {
    let family = if export.address.is_ipv6() { "6" } else { "" };
    let comma = if options.extra.is_empty() { "" } else { "," };
    let common = format!(
        "nfsvers={},proto=tcp{family},port={}",
        options.version.name(),
        export.nfs_port
    );
    let extra = &options.extra;
    if matches!(options.version, NfsVersion::V2 | NfsVersion::V3) {
        let mount = format!("mountproto=tcp{family},mountport={}", export.mount_port);
        return Ok((
            export.path.clone(),
            format!("{common},{mount},nolock{comma}{extra}"),
        ));
    }
    match &export.path_v4 {
        Some(path) => Ok((path.clone(), format!("{common}{comma}{extra}"))),
        None => Err(Error::failed(
            "mount",
            "the server does not serve NFSv4; set ServerOptions::nfs4",
            "",
        )),
    }
}
