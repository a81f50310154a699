//! net-snmp's agent, with objects that a test sets: the outlets of a PDU, a sensor.

use crate::daemon::Daemon;
use crate::tools::{BUSY_LIMIT, need, write};
use crate::{Error, Result, Sandbox};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Not the standard port, to detect programs that ignore the configuration.
const PORT: u16 = 1161;

/// It takes some ten milliseconds on an idle machine.
const START_LIMIT: Duration = BUSY_LIMIT;

/// Answers for an object with the file of its name, if there is one (`pass_persist` of
/// snmpd.conf). Not `pass`, whose output the agent caches for half a minute.
const SCRIPT: &str = r#"while read -r what; do
  case $what in
    PING) echo PONG ;;
    get) read -r oid
      if [ -f "$DIR/$oid" ]; then echo "$oid"; cat "$DIR/$oid"; else echo NONE; fi ;;
    getnext) read -r oid; echo NONE ;;
    *) exit ;;
  esac
done
"#;

/// A running agent: SNMP version 2c over UDP, one read-only community.
#[derive(Debug)]
pub struct Snmpd {
    objects: PathBuf,
    _agent: Daemon,
    sandbox: Arc<Sandbox>,
}

impl Snmpd {
    /// The read-only community.
    pub const COMMUNITY: &'static str = "testbed-reads";

    /// The root of the objects that are files, that of a vendor of PDUs.
    pub const ROOT: &'static str = "1.3.6.1.4.1.3808";

    /// Starts an agent in a sandbox that other fixtures share. A sandbox can have only one.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when not root or the package is missing; otherwise what
    /// failed, with the agent's output.
    pub fn start_in(sandbox: &Arc<Sandbox>) -> Result<Snmpd> {
        need(&[("snmpd", "snmpd")])?;
        let dir = sandbox.dir().join("snmpd");
        let objects = dir.join("objects");
        std::fs::create_dir_all(&objects).map_err(Error::path("make", &objects))?;
        let script = SCRIPT.replace("$DIR", &objects.display().to_string());
        let script = write(dir.join("objects.sh"), &script)?;
        let config = format!(
            "agentaddress udp:127.0.0.1:{PORT}\nrocommunity {}\npass_persist .{} /bin/sh {}\n",
            Snmpd::COMMUNITY,
            Snmpd::ROOT,
            script.display()
        );
        let config = write(dir.join("snmpd.conf"), &config)?;
        let state = format!("SNMP_PERSISTENT_DIR={}", dir.display());
        let config = config.display().to_string();
        let args = [&state, "MIBS=", "snmpd", "-f", "-Lo", "-C", "-c", &config];
        let mut agent = Daemon::start(sandbox, "snmpd", "env", &args)?;
        agent.wait_for("its version", START_LIMIT, |output| {
            output.contains("NET-SNMP version").then_some(())
        })?;
        Ok(Snmpd {
            objects,
            _agent: agent,
            sandbox: Arc::clone(sandbox),
        })
    }

    /// The address on which it listens, in the sandbox's network.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, PORT).into()
    }

    /// Sets the value of an object under [`Snmpd::ROOT`]; the type is one of `integer`,
    /// `gauge`, `counter`, `counter64`, `string`, `octet`. `None` removes the object.
    ///
    /// # Errors
    ///
    /// When its file cannot be written.
    pub fn set(&self, oid: &str, value: Option<(&str, &str)>) -> Result<()> {
        let file = self.objects.join(format!(".{oid}"));
        let Some((kind, value)) = value else {
            return std::fs::remove_file(&file).map_err(Error::path("remove", &file));
        };
        // Replaced atomically: the agent may read at any moment.
        let new = write(self.objects.join("new"), &format!("{kind}\n{value}\n"))?;
        std::fs::rename(&new, &file).map_err(Error::path("rename", &new))
    }

    /// The namespaces it runs in.
    #[must_use]
    pub fn sandbox(&self) -> &Arc<Sandbox> {
        &self.sandbox
    }
}
