//! nfs-ganesha: a user-space NFS server, with its rpcbind and D-Bus daemon.

use crate::daemon::Daemon;
use crate::tools::{BUSY_LIMIT, log_tail, need, wait_until, write};
use crate::{Error, Export, Kdc, KerberosExport, Result, Sandbox, ServerOptions};
use rustix::process::{Pid, Signal, kill_process};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Not the standard ports, to detect a client that ignores its configuration or
/// does not ask the portmapper.
const NFS_PORT: u16 = 12049;
const MOUNT_PORT: u16 = 12048;

/// It takes less than 0.2 s on an idle machine.
const START_LIMIT: Duration = BUSY_LIMIT;

/// The exported directory in the sandbox: a tmpfs.
const FILES: &str = "/run/export";

/// The file system that ganesha exports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fsal {
    /// A tmpfs of the fixture: everything that is written can be read back, and
    /// accessed from outside with [`Ganesha::files`].
    Vfs,
    /// ganesha's memory. It keeps only the first MiB of each file; reads beyond
    /// that return filler data, so data cannot be verified there.
    Mem,
}

/// A running nfs-ganesha: NFSv3 and MOUNT over TCP (optionally UDP), IPv4 and IPv6,
/// without a grace period, on non-standard ports registered with its rpcbind.
#[derive(Debug)]
pub struct Ganesha {
    export: Export,
    fsal: Fsal,
    log: PathBuf,
    config: PathBuf,
    // Dropped in this order: the server before the daemons that it uses.
    server: Daemon,
    _bus: Daemon,
    _rpcbind: Daemon,
    sandbox: Arc<Sandbox>,
}

impl Ganesha {
    /// Starts a server in a sandbox of its own.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when not root or a package is missing; otherwise
    /// what failed, with the end of ganesha's log.
    pub fn start(fsal: Fsal) -> Result<Ganesha> {
        Ganesha::start_in(&Sandbox::new()?, fsal, ServerOptions::default())
    }

    /// Starts a server in a sandbox that other fixtures share. A sandbox can have
    /// only one ganesha.
    ///
    /// # Errors
    ///
    /// As [`Ganesha::start`].
    pub fn start_in(sandbox: &Arc<Sandbox>, fsal: Fsal, options: ServerOptions) -> Result<Ganesha> {
        Ganesha::start_as(sandbox, fsal, options, None)
    }

    /// Starts a server that takes part in the realm of a KDC, in its sandbox.
    ///
    /// # Errors
    ///
    /// As [`Ganesha::start`].
    pub fn start_kerberos(
        kdc: &Kdc,
        fsal: Fsal,
        options: ServerOptions,
        accepts: KerberosExport,
    ) -> Result<Ganesha> {
        Ganesha::start_as(kdc.sandbox(), fsal, options, Some((kdc, accepts)))
    }

    fn start_as(
        sandbox: &Arc<Sandbox>,
        fsal: Fsal,
        options: ServerOptions,
        kerberos: Option<(&Kdc, KerberosExport)>,
    ) -> Result<Ganesha> {
        need(&[
            ("ganesha.nfsd", "nfs-ganesha"),
            ("rpcbind", "rpcbind"),
            ("dbus-daemon", "dbus-daemon"),
        ])?;
        let size = options
            .space_mib
            .map_or_else(|| "100%".to_owned(), |mib| format!("{mib}m"));
        sandbox.set_up("prepare for ganesha", PREPARE, &[FILES, &size])?;

        let rpcbind = Daemon::start(sandbox, "rpcbind", "rpcbind", &["-f", "-w"])?;
        let bus_config = write(sandbox.dir().join("dbus.conf"), BUS_CONFIG)?;
        let config_arg = format!("--config-file={}", bus_config.display());
        let bus = Daemon::start(
            sandbox,
            "dbus",
            "dbus-daemon",
            &["--nofork", "--nopidfile", &config_arg],
        )?;
        for socket in ["/run/rpcbind.sock", "/run/dbus/system_bus_socket"] {
            let socket = sandbox.inside(socket);
            let what = format!("{}", socket.display());
            wait_until(&what, START_LIMIT, bus.log(), || {
                Ok(socket.exists().then_some(()))
            })?;
        }
        let config = configuration(fsal, options, kerberos)?;
        let config = write(sandbox.dir().join("ganesha.conf"), &config)?;
        let kdc = kerberos.map(|(kdc, _)| kdc);
        let (server, log) = start_server(sandbox, &config, kdc)?;
        Ok(Ganesha {
            export: Export {
                address: IpAddr::V4(Ipv4Addr::LOCALHOST),
                nfs_port: NFS_PORT,
                mount_port: MOUNT_PORT,
                path: "/export".into(),
                path_v4: options.nfs4.then(|| "/export".into()),
            },
            fsal,
            log,
            config,
            server,
            _bus: bus,
            _rpcbind: rpcbind,
            sandbox: Arc::clone(sandbox),
        })
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
            address: IpAddr::V6(Ipv6Addr::LOCALHOST),
            ..self.export.clone()
        }
    }

    /// The path of the exported directory on the host; `None` for [`Fsal::Mem`].
    #[must_use]
    pub fn files(&self) -> Option<PathBuf> {
        (self.fsal == Fsal::Vfs).then(|| self.sandbox.inside(FILES))
    }

    /// Exports directories below the exported one as separate exports, at their paths
    /// below `/export`. For [`Fsal::Vfs`].
    ///
    /// # Errors
    ///
    /// What the system reported, or ganesha takes too long.
    pub fn nest(&self, below: &[String]) -> Result<()> {
        let read = |path: &Path| std::fs::read_to_string(path).map_err(Error::path("read", path));
        let reread = || Ok(read(&self.log)?.matches("Reread exports complete").count());
        let mut text = read(&self.config)?;
        for path in below {
            let id = text.matches("Export_Id").count() + 1;
            text.push_str(&format!(
                r#"EXPORT {{
    Export_Id = {id};
    Path = {FILES}/{path};
    Pseudo = /export/{path};
    Protocols = 3;
    Transports = TCP;
    Access_Type = RW;
    Squash = No_Root_Squash;
    SecType = sys;
    FSAL {{ Name = VFS; }}
}}
"#
            ));
        }
        write(self.config.clone(), &text)?;
        let before = reread()?;
        let pid = self.server.inner_pid();
        let pid = pid.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        let gone = || Error::failed("ganesha", "it has ended", "");
        kill_process(pid.ok_or_else(gone)?, Signal::HUP)
            .map_err(|e| Error::failed("signal ganesha", e.to_string(), ""))?;
        wait_until("ganesha's new exports", START_LIMIT, &self.log, || {
            Ok((reread()? > before).then_some(()))
        })
    }

    /// Its process, in the machine's namespace; `None` once it has ended.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        self.server.inner_pid()
    }

    /// The interface that its traffic uses, for [`crate::Capture`].
    #[must_use]
    pub fn interface(&self) -> &'static str {
        "lo"
    }

    /// The end of ganesha's log.
    #[must_use]
    pub fn log(&self) -> String {
        log_tail(&self.log)
    }

    /// The namespaces it runs in.
    #[must_use]
    pub fn sandbox(&self) -> &Arc<Sandbox> {
        &self.sandbox
    }
}

/// Starts ganesha and waits until both ports answer.
fn start_server(
    sandbox: &Arc<Sandbox>,
    config: &Path,
    kdc: Option<&Kdc>,
) -> Result<(Daemon, PathBuf)> {
    let log = sandbox.dir().join("ganesha-own.log");
    let (config, log_arg) = (config.display().to_string(), log.display().to_string());
    let environment = kdc.map(Kdc::environment);
    let environment = environment.map(|(name, value)| format!("{name}={}", value.display()));
    let program = ["ganesha.nfsd", "-F", "-L", &log_arg, "-f", &config];
    let mut args: Vec<&str> = environment.as_deref().into_iter().collect();
    args.extend(program);
    args.extend(["-p", "/run/ganesha.pid"]);
    let mut server = Daemon::start(sandbox, "ganesha", "env", &args)?;
    wait_until("ganesha", START_LIMIT, &log, || {
        if let Err(error) = server.check() {
            return Err(Error::failed("ganesha", error.to_string(), log_tail(&log)));
        }
        let up = sandbox.run(|| {
            [NFS_PORT, MOUNT_PORT]
                .iter()
                .all(|port| TcpStream::connect((Ipv4Addr::LOCALHOST, *port)).is_ok())
        });
        // The ports are bound before the exports exist.
        let initialized =
            std::fs::read_to_string(&log).is_ok_and(|text| text.contains("NFS SERVER INITIALIZED"));
        Ok((up && initialized).then_some(()))
    })?;
    Ok((server, log))
}

const PREPARE: &str = r#"
mkdir -p /run/dbus /run/ganesha /var/lib/nfs/ganesha "$1"
mount -t tmpfs -o "mode=755,size=$2" tmpfs "$1"
"#;

/// A D-Bus configuration that lets ganesha own its name; the host's configuration,
/// and the user that it names, may be missing.
const BUS_CONFIG: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>unix:path=/run/dbus/system_bus_socket</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/>
    <allow own="*"/>
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
  </policy>
</busconfig>
"#;

/// ganesha.conf. `mount_path_pseudo` makes MNT accept `/export`, independently of the
/// directory of the files.
fn configuration(
    fsal: Fsal,
    options: ServerOptions,
    kerberos: Option<(&Kdc, KerberosExport)>,
) -> Result<String> {
    let plugins = plugin_dir(fsal)?;
    let (name, path) = match fsal {
        Fsal::Vfs => ("VFS", FILES),
        Fsal::Mem => ("MEM", "/export"),
    };
    let access = if options.read_only { "RO" } else { "RW" };
    let squash = if options.root_squash {
        "Root_Squash"
    } else {
        "No_Root_Squash"
    };
    let protocols = if options.nfs4 { "3, 4" } else { "3" };
    let (transports, udp) = match options.udp {
        true => ("TCP, UDP", "true"),
        false => ("TCP", "false"),
    };
    let flavors = match kerberos {
        None => "sys",
        Some((_, KerberosExport::AllWays)) => "krb5, krb5i, krb5p",
        Some((_, KerberosExport::PrivacyOnly)) => "krb5p",
    };
    let kerberos = match kerberos {
        None => "Active_krb5 = false;".to_owned(),
        Some((kdc, _)) => format!(
            "Active_krb5 = true; PrincipalName = nfs; KeytabPath = {}; CCacheDir = /run/ganesha;",
            kdc.keytab().display()
        ),
    };
    Ok(format!(
        r#"NFS_CORE_PARAM {{
    NFS_Port = {NFS_PORT};
    MNT_Port = {MOUNT_PORT};
    NFS_Protocols = {protocols};
    Enable_NLM = false;
    Enable_UDP = {udp};
    Enable_RQUOTA = false;
    mount_path_pseudo = true;
    Plugins_Dir = "{plugins}";
}}
NFSV4 {{ Graceless = true; Only_Numeric_Owners = true; minor_versions = 0, 1, 2; }}
NFS_KRB5 {{ {kerberos} }}
LOG {{ Default_Log_Level = EVENT; }}
MEM {{ Inode_Size = 1048576; }}
EXPORT {{
    Export_Id = 1;
    Path = {path};
    Pseudo = /export;
    Protocols = {protocols};
    Transports = {transports};
    Access_Type = {access};
    Squash = {squash};
    SecType = {flavors};
    FSAL {{ Name = {name}; }}
}}
"#
    ))
}

/// The directory of ganesha's FSAL modules; its name contains the architecture.
fn plugin_dir(fsal: Fsal) -> Result<String> {
    let (module, package) = match fsal {
        Fsal::Vfs => ("libfsalvfs.so", "nfs-ganesha-vfs"),
        Fsal::Mem => ("libfsalmem.so", "nfs-ganesha-mem"),
    };
    let libraries = std::fs::read_dir("/usr/lib").map_err(Error::io("list /usr/lib"))?;
    let found = libraries
        .flatten()
        .map(|entry| entry.path().join("ganesha"))
        .chain([PathBuf::from("/usr/lib/ganesha")])
        .find(|dir: &PathBuf| Path::new(dir).join(module).is_file());
    match found {
        Some(dir) => Ok(dir.display().to_string()),
        None => Err(Error::Unavailable(format!(
            "ganesha's {module} is missing (Debian package {package}); run ci/install-deps"
        ))),
    }
}
