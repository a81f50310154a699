//! Keys and configuration of the hosts' SSH servers and of the user's client.

use super::six;
use crate::tools::{search_path, write};
use crate::{Error, Result};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The user's SSH files on the prime: a key, the hosts' keys, a configuration.
#[derive(Debug)]
pub(super) struct Client {
    key: PathBuf,
    known_hosts: PathBuf,
    config: PathBuf,
}

impl Client {
    /// Makes a key pair and a configuration in a directory; the list of known hosts is empty.
    pub(super) fn new(dir: &Path) -> Result<Client> {
        let key = dir.join("id_ed25519");
        make_key(&key, "the user of the test")?;
        let known_hosts = write(dir.join("known_hosts"), "")?;
        let text = format!(
            "Host *\n\
             \x20   User root\n\
             \x20   IdentityFile {key}\n\
             \x20   IdentitiesOnly yes\n\
             \x20   UserKnownHostsFile {known}\n\
             \x20   GlobalKnownHostsFile /dev/null\n\
             \x20   StrictHostKeyChecking yes\n\
             \x20   UpdateHostKeys no\n",
            key = key.display(),
            known = known_hosts.display()
        );
        let config = write(dir.join("ssh_config"), &text)?;
        Ok(Client {
            key,
            known_hosts,
            config,
        })
    }

    /// The configuration, for `ssh -F`.
    pub(super) fn config(&self) -> &Path {
        &self.config
    }

    /// The user's public key, a line for `authorized_keys`.
    pub(super) fn public_key(&self) -> Result<String> {
        read(&self.key.with_extension("pub"))
    }

    /// Adds the key of a host to the known hosts, under its names and addresses,
    /// or replaces it. `key` is the path of the private key.
    pub(super) fn add_known_host(&self, name: &str, address: Ipv4Addr, key: &Path) -> Result<()> {
        let public = read(&key.with_extension("pub"))?;
        let (name6, address6) = (six::name(name), six::address(address));
        let start = format!("{name},{address},{name6},{address6} ");
        let mut text: String = read(&self.known_hosts)?
            .lines()
            .filter(|line| !line.starts_with(&start))
            .flat_map(|line| [line, "\n"])
            .collect();
        text.push_str(&start);
        text.push_str(&public);
        write(self.known_hosts.clone(), &text).map(|_| ())
    }
}

/// The server's configuration, with the host's own paths.
pub(super) fn server_config(address: Ipv4Addr) -> String {
    let address6 = six::address(address);
    // UsePAM no: PAM would use services of the machine, and log there.
    format!(
        "ListenAddress {address}\n\
         ListenAddress {address6}\n\
         Port 22\n\
         HostKey /run/testbed/host_key\n\
         PidFile /run/sshd/sshd.pid\n\
         AuthorizedKeysFile .ssh/authorized_keys\n\
         PermitRootLogin yes\n\
         PubkeyAuthentication yes\n\
         PasswordAuthentication yes\n\
         KbdInteractiveAuthentication no\n\
         UsePAM no\n\
         UseDNS no\n\
         StrictModes yes\n\
         PrintMotd no\n\
         PrintLastLog no\n\
         Subsystem sftp internal-sftp\n"
    )
}

/// Makes an ed25519 key pair without a passphrase: `path` and `path.pub`.
pub(super) fn make_key(path: &Path, comment: &str) -> Result<()> {
    let done = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", comment, "-f"])
        .arg(path)
        .env("PATH", search_path())
        .stdin(Stdio::null())
        .output()
        .map_err(Error::io("start ssh-keygen"))?;
    if done.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
    Err(Error::failed("ssh-keygen", done.status.to_string(), stderr))
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(Error::path("read", path))
}
