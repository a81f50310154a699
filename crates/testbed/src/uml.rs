//! A Linux kernel as a process (User Mode Linux), with one network interface in the
//! sandbox, and the host's files or those of a tree, read-only, as its root.

use crate::daemon::Daemon;
use crate::linux::{IN_TREE, TREE_SHARED, modules};
use crate::tools::{need, write};
use crate::{Error, Kernel, Result, Sandbox, ScriptOutput, write_program};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// A kernel boots in 2 to 5 seconds, on a busy machine in more.
const BOOT_LIMIT: Duration = Duration::from_secs(90);

/// The beginning of every init script.
const COMMON: &str = include_str!("../scripts/uml-common.sh");

/// A running User Mode Linux.
#[derive(Debug)]
pub(crate) struct Uml {
    pub(crate) kernel: Daemon,
    /// The directory that is `/run/testbed` inside.
    pub(crate) shared: PathBuf,
    pub(crate) interface: String,
    net: Net,
    sandbox: Arc<Sandbox>,
    /// Number of scripts run so far.
    scripts: u32,
}

/// The addresses of one tap interface.
#[derive(Debug, Clone, Copy)]
struct Net(u8);

impl Net {
    /// Addresses that no other machine of the sandbox has.
    fn next(sandbox: &Sandbox) -> Result<Net> {
        match u8::try_from(sandbox.next_number()) {
            Ok(number) => Ok(Net(number)),
            Err(_) => Err(Error::Unavailable(
                "a sandbox has addresses for 255 taps".into(),
            )),
        }
    }
    fn interface(self) -> String {
        format!("tap{}", self.0)
    }
    /// The init script of a machine; `shared` is the path of its directory as linux.uml sees it.
    fn init(self, shared: &Path, settings: &[(&str, String)], script: &str) -> String {
        let mut init = format!(
            "#!/bin/sh\nSHARED='{}'\nADDRESS={}\nADDRESS6={}\nHOST={}\nHOST6={}\n",
            shared.display(),
            self.guest_v4(),
            self.guest_v6(),
            self.host_v4(),
            self.host_v6(),
        );
        for (variable, value) in settings {
            init.push_str(&format!("{variable}='{}'\n", value.replace('\'', "'\\''")));
        }
        init.push_str(COMMON);
        init.push_str(script);
        init
    }
    fn host_v4(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 99, self.0, 1)
    }
    fn guest_v4(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 99, self.0, 2)
    }
    fn host_v6(self) -> Ipv6Addr {
        Ipv6Addr::new(0xfd99, 0, 0, u16::from(self.0), 0, 0, 0, 1)
    }
    fn guest_v6(self) -> Ipv6Addr {
        Ipv6Addr::new(0xfd99, 0, 0, u16::from(self.0), 0, 0, 0, 2)
    }
}

impl Uml {
    /// Boots a kernel whose init is `script`, after the common part, and waits until it
    /// prints `testbed: ready`. `settings` are its shell variables; `prepare` puts files into the
    /// directory that is `/run/testbed` inside, for a machine of that address.
    pub(crate) fn boot(
        sandbox: &Arc<Sandbox>,
        linux: Kernel,
        name: &str,
        memory_mib: u32,
        script: &str,
        settings: &[(&str, String)],
        prepare: impl FnOnce(&Path, IpAddr) -> Result<()>,
    ) -> Result<Uml> {
        let tree = linux.tree()?;
        if !Path::new("/dev/net/tun").exists() {
            return Err(Error::Unavailable("/dev/net/tun is missing".into()));
        }
        let net = Net::next(sandbox)?;
        let interface = net.interface();
        let name = format!("{name}{}", net.0);
        let shared = sandbox.dir().join(&name);
        make_shared(&shared, tree.as_deref())?;
        prepare(&shared, IpAddr::V4(net.guest_v4()))?;
        sandbox.set_up(
            "make a tap interface",
            MAKE_TAP,
            &[
                &interface,
                &net.host_v4().to_string(),
                &net.host_v6().to_string(),
            ],
        )?;
        // The shared directory, as linux.uml sees it.
        let seen = match &tree {
            None => shared.clone(),
            Some(_) => Path::new(TREE_SHARED).join(&name),
        };
        write_program(&shared.join("init"), net.init(&seen, settings, script))?;
        let preload = match registers(&shared)? {
            None => String::new(),
            Some(library) => seen.join(library).display().to_string(),
        };
        let own = [
            format!("LD_PRELOAD={preload}"),
            "linux.uml".into(),
            format!("mem={memory_mib}M"),
            format!("init={}", seen.join("init").display()),
            format!("vec0:transport=tap,ifname={interface},depth=128,gro=1"),
            format!("umid={name}"),
        ];
        let args: Vec<&str> = own.iter().map(String::as_str).chain(KERNEL_ARGS).collect();
        let mut kernel = start(sandbox, &name, tree.as_deref(), &args)?;
        let ready = kernel.wait_for("the end of its init", BOOT_LIMIT, |output| {
            output
                .contains("testbed: ready")
                .then_some(true)
                .or_else(|| output.contains("testbed: failed").then_some(false))
        })?;
        if !ready {
            return Err(Error::failed(name, "its init failed", kernel.output()));
        }
        Ok(Uml {
            kernel,
            shared,
            interface,
            net,
            sandbox: Arc::clone(sandbox),
            scripts: 0,
        })
    }

    /// Runs a shell script inside, after the scripts before it.
    pub(crate) fn run(&mut self, script: &str, limit: Duration) -> Result<ScriptOutput> {
        let number = self.scripts;
        self.scripts += 1;
        write(self.shared.join(format!("script-{number}")), script)?;
        self.kernel.send_line(&number.to_string())?;
        let mark = format!("testbed: script {number} ended with ");
        let status = self.kernel.wait_for("the script's end", limit, |output| {
            let (_, rest) = output.split_once(&mark)?;
            // Only a whole line: part of the number may be missing.
            let (status, _) = rest.split_once('\n')?;
            status.trim().parse().ok()
        })?;
        let output = self.shared.join(format!("output-{number}"));
        let bytes = std::fs::read(&output).map_err(Error::path("read", &output))?;
        Ok(ScriptOutput {
            status,
            output: String::from_utf8_lossy(&bytes).into_owned(),
        })
    }

    /// The kernel's own address.
    pub(crate) fn guest(&self) -> IpAddr {
        IpAddr::V4(self.net.guest_v4())
    }

    /// The kernel's own address, IPv6.
    pub(crate) fn guest_v6(&self) -> IpAddr {
        IpAddr::V6(self.net.guest_v6())
    }

    /// The namespaces it runs in.
    pub(crate) fn sandbox(&self) -> &Arc<Sandbox> {
        &self.sandbox
    }
}

/// Arguments of every kernel.
const KERNEL_ARGS: [&str; 7] = [
    "root=/dev/root",
    "rootfstype=hostfs",
    "ro",
    "con=null",
    "con0=fd:0,fd:1",
    "uml_dir=/run/uml",
    "quiet",
];

/// Starts `env` with these arguments, in a tree if there is one.
fn start(sandbox: &Arc<Sandbox>, name: &str, tree: Option<&Path>, args: &[&str]) -> Result<Daemon> {
    let Some(tree) = tree else {
        return Daemon::start(sandbox, name, "env", args);
    };
    let (tree, dir) = (
        tree.display().to_string(),
        sandbox.dir().display().to_string(),
    );
    let front = ["-euc", IN_TREE, "sh", &tree, &dir, "env"];
    Daemon::start(sandbox, name, "sh", &[&front[..], args].concat())
}

/// The library that makes a kernel start on processors with AMX, built in the shared directory: its
/// name; none on others. User Mode Linux 6.1 sets the extended registers of its processes without
/// those of AMX, which the host refuses: the kernel then panics in its first process
/// (`fatal_sigsegv`).
fn registers(shared: &Path) -> Result<Option<&'static str>> {
    let processor = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    if !processor.split_whitespace().any(|flag| flag == "amx_tile") {
        return Ok(None);
    }
    need(&[("cc", "gcc")])?;
    let source = write(shared.join("uml_registers.c"), REGISTERS)?;
    const NAME: &str = "uml_registers.so";
    let library = shared.join(NAME);
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&library, &source])
        .output()
        .map_err(Error::io("start cc"))?;
    match built.status.success() {
        true => Ok(Some(NAME)),
        false => {
            let output = String::from_utf8_lossy(&built.stderr);
            Err(Error::failed(
                "cc",
                "cannot build uml_registers.c",
                &*output,
            ))
        }
    }
}

const REGISTERS: &str = include_str!("../scripts/uml_registers.c");

const MAKE_TAP: &str = r#"
mkdir -p /run/uml
ip tuntap add dev "$1" mode tap
ip address add "$2/24" dev "$1"
ip -6 address add "$3/64" dev "$1" nodad
ip link set "$1" up
"#;

/// Makes the shared directory, with a tree in it in which modprobe finds the modules of
/// the installed kernel.
fn make_shared(shared: &Path, root: Option<&Path>) -> Result<()> {
    let (modules, version) = modules(root)?;
    let tree = shared.join("modules/lib/modules");
    std::fs::create_dir_all(&tree).map_err(Error::path("make", &tree))?;
    let link = tree.join(version);
    std::os::unix::fs::symlink(&modules, &link).map_err(Error::path("link", &link))
}
