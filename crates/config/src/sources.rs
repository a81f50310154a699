//! The sources of parameters: an rc file, the command line, this host.

use crate::error::{ConfigError, SourceLocation};
use crate::params::{Kind, Parameter};
use crate::rc::Assignment;
use crate::text::secret_file::password_of_environment;
use filermark_model::input::{InputFile, RC_OPTION};
use filermark_model::secret::Secret;
use std::cell::RefCell;
use std::fmt;
use std::io::Read;
use std::net::{IpAddr, UdpSocket};
use std::path::{Path, PathBuf};

/// The most that is read of any file; valid files are far smaller.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// The user and the group of calls on systems without numbers for users, unless SFS_NFS_USER_ID
/// and SFS_NFS_GROUP_ID say otherwise: the one that NFS servers give to users without rights.
const NO_USER: u32 = 65_534;
/// The variable in which Slurm names the nodes of an allocation.
pub(crate) const SLURM_VARIABLE: &str = "SLURM_JOB_NODELIST";

/// Everything that a run's parameters come from.
#[derive(Clone, Debug)]
pub struct Sources {
    /// The rc file; `None`: everything is on the command line.
    pub rc: Option<RcFile>,
    /// Parameters set on the command line, in order; they have precedence over the rc file.
    pub overrides: Vec<Assignment>,
    /// Values that apply where neither of the two gives a value.
    pub defaults: Vec<Assignment>,
    /// This host and the user who runs us.
    pub host: Host,
    /// Which files the resolution has read.
    pub inputs: InputLog,
}

/// The files that a resolution reads, each once.
#[derive(Clone, Debug, Default)]
pub struct InputLog(RefCell<Vec<InputFile>>);

impl InputLog {
    fn note(&self, file: InputFile) {
        let mut files = self.0.borrow_mut();
        if !files.contains(&file) {
            files.push(file);
        }
    }
}

/// An rc file, read.
#[derive(Clone)]
pub struct RcFile {
    /// Its name in messages: the name that the user gave.
    pub name: String,
    /// Its folder; mount point files and the like are looked for there.
    pub folder: PathBuf,
    /// Its text, which may have a password in it.
    pub text: String,
    /// Whether users who are not its owner can read it.
    pub others_can_read: bool,
}

impl fmt::Debug for RcFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("RcFile");
        fields.field("name", &self.name);
        fields.finish_non_exhaustive()
    }
}

/// This host and the user, as far as needed for defaults.
#[derive(Clone, Debug)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// The user's id.
    pub uid: u32,
    /// The user's group.
    pub gid: u32,
    /// Its memory, in bytes, where it can be known.
    pub mem_bytes: Option<u64>,
    /// The password that the environment holds (FILERMARK_PASSWORD).
    pub password: Secret,
    /// The nodes of the Slurm allocation that we are in, as Slurm writes them.
    pub slurm_nodes: Option<String>,
}

impl Sources {
    /// An rc file, or none.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn from_rc(path: Option<&Path>) -> Result<Self, ConfigError> {
        Ok(Self {
            rc: path.map(RcFile::read).transpose()?,
            overrides: Vec::new(),
            defaults: Vec::new(),
            host: Host::detect(),
            inputs: InputLog::default(),
        })
    }

    /// Adds a `-o NAME=VALUE`; quotes around the value, as in an rc file, are not part of it.
    ///
    /// # Errors
    /// There is no `=` in it, or it is a password.
    pub fn set_option(&mut self, text: &str) -> Result<(), ConfigError> {
        let Some((name, value)) = text.split_once('=') else {
            let shown = match crate::rc::may_be_secret(text) {
                true => "...".to_owned(),
                false => crate::error::quoted(text),
            };
            return Err(ConfigError::new(
                SourceLocation::Option(format!("-o {shown}")),
                "there is no '='",
                "write -o NAME=VALUE, e.g. -o RUNTIME=60",
            ));
        };
        let (name, value) = (name.trim(), without_quotes(value));
        let is_secret = Parameter::find(name).is_some_and(|p| p.kind == Kind::Secret);
        if is_secret && !value.trim().is_empty() {
            return Err(ConfigError::new(
                SourceLocation::Option(format!("-o {name}")),
                "a password on the command line is in the list of processes, where all users can see it",
                "set PASSWORD_FILE, write PASSWORD to the rc file, or put it into the environment: \
                 FILERMARK_PASSWORD",
            ));
        }
        self.set(&format!("-o {}", crate::error::quoted(name)), name, value);
        Ok(())
    }

    /// Sets a parameter from another option, e.g. `set("-s", "SUFFIX", "mine")`.
    pub fn set(&mut self, option: &str, name: &str, value: &str) {
        self.overrides.push(Assignment {
            name: name.to_owned(),
            value: value.to_owned(),
            location: SourceLocation::Option(option.to_owned()),
        });
    }

    /// Gives a default to a parameter that is optional for a subcommand; the rc
    /// file and the command line have precedence over it.
    pub fn set_default(&mut self, name: &str, value: &str) {
        self.defaults.push(Assignment {
            name: name.to_owned(),
            value: value.to_owned(),
            location: SourceLocation::Missing,
        });
    }

    /// Starts a new resolution, which has read nothing but the rc file.
    pub(crate) fn begin_inputs(&self) {
        let rc = self.rc.iter();
        let rc = rc.map(|rc| InputFile::of(RC_OPTION, Path::new(&rc.name), &rc.text));
        self.inputs.0.replace(rc.collect());
    }

    /// The files that were read since it began.
    pub(crate) fn take_inputs(&self) -> Vec<InputFile> {
        self.inputs.0.take()
    }

    /// Reads the first of `folders` joined with `name` that exists: its path and text.
    /// `option` is the parameter that named the file.
    pub(crate) fn read_beside(
        &self,
        option: &str,
        name: &str,
        folders: &[&Path],
    ) -> Result<(String, String), String> {
        let (path, text) = read_beside(name, folders)?;
        self.inputs
            .note(InputFile::of(option, Path::new(&path), &text));
        Ok((path, text))
    }

    /// The folder for files next to the rc file.
    pub(crate) fn folder(&self) -> &Path {
        self.rc.as_ref().map_or(Path::new(""), |rc| &rc.folder)
    }
}

impl RcFile {
    /// Reads one.
    ///
    /// # Errors
    /// The file cannot be read, is too large, or is not UTF-8.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let name = path.display().to_string();
        let text = read_text(path).map_err(|why| {
            ConfigError::new(
                SourceLocation::File(name.clone()),
                format!("the rc file {why}"),
                "'filermark template' prints one to start from",
            )
        })?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Self {
            name,
            folder,
            text,
            others_can_read: filermark_system::others_may_read(path),
        })
    }

    /// A text that is already there, e.g. in tests.
    pub fn from_text(name: &str, folder: &Path, text: &str) -> Self {
        Self {
            name: name.to_owned(),
            folder: folder.to_owned(),
            text: text.to_owned(),
            others_can_read: false,
        }
    }
}

impl Host {
    /// This one.
    pub fn detect() -> Self {
        let user = filermark_system::user();
        Self {
            name: filermark_system::host_name(),
            uid: user.map_or(NO_USER, |user| user.uid),
            gid: user.map_or(NO_USER, |user| user.gid),
            mem_bytes: filermark_system::mem_bytes(),
            password: password_of_environment(),
            slurm_nodes: std::env::var(SLURM_VARIABLE).ok(),
        }
    }

    /// Whether a client's name or address is one of this host.
    pub(crate) fn is_this_host(&self, client: &str) -> bool {
        let short = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
        if client.eq_ignore_ascii_case("localhost")
            || client.eq_ignore_ascii_case(&self.name)
            || client.eq_ignore_ascii_case(&short(&self.name))
        {
            return true;
        }
        let bare = client.trim_start_matches('[').trim_end_matches(']');
        bare.parse().is_ok_and(is_own_address)
    }
}

/// Whether an address is one of this host's. Nothing is sent.
fn is_own_address(ip: IpAddr) -> bool {
    let binds = |ip: IpAddr| UdpSocket::bind((ip, 0)).is_ok();
    // Addresses for documentation (RFC 5737, RFC 3849) belong to no host. A host that may
    // bind to them (net.ipv4.ip_nonlocal_bind) may bind to all.
    let for_documentation = match ip {
        IpAddr::V4(_) => IpAddr::from([192, 0, 2, 1]),
        IpAddr::V6(_) => IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1]),
    };
    if !binds(ip) || ip == for_documentation {
        return false;
    }
    !binds(for_documentation) || ip.is_loopback() || is_own_source(ip)
}

/// Whether packets to an address come from it, which is true for most own addresses.
fn is_own_source(ip: IpAddr) -> bool {
    let any: IpAddr = match ip {
        IpAddr::V4(_) => [0; 4].into(),
        IpAddr::V6(_) => [0u16; 8].into(),
    };
    let source = || {
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect((ip, 9))?;
        socket.local_addr()
    };
    source().is_ok_and(|from| from.ip() == ip)
}

/// Reads a text file; the error continues "the file ...".
pub(crate) fn read_text(path: &Path) -> Result<String, String> {
    let file = std::fs::File::open(path).map_err(|e| format!("cannot be opened: {e}"))?;
    let found = file.metadata();
    let is_file = found.as_ref().is_ok_and(|m| !m.is_dir());
    if !is_file {
        return Err("is a directory".into());
    }
    // Allocated for all of it: a growing buffer leaves copies behind, and it may be a password.
    let len = found.map_or(0, |m| m.len()).min(FILE_BYTES_MAX);
    let mut bytes = Vec::with_capacity(len as usize + 1);
    file.take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| format!("cannot be read: {e}"))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("is larger than {} MiB", FILE_BYTES_MAX >> 20));
    }
    String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".into())
}

fn read_beside(name: &str, folders: &[&Path]) -> Result<(String, String), String> {
    let paths: Vec<PathBuf> = folders.iter().map(|f| f.join(name)).collect();
    let Some(path) = paths.iter().find(|p| p.exists()) else {
        let mut tried: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
        tried.dedup();
        return Err(format!(
            "does not exist (looked for {})",
            tried.join(" and ")
        ));
    };
    Ok((path.display().to_string(), read_text(path)?))
}

/// The value inside a pair of quotes that encloses it.
fn without_quotes(value: &str) -> &str {
    let text = value.trim();
    ['"', '\'']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
        .filter(|inner| !inner.contains(['"', '\'']))
        .unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_addresses_are_known_from_others() {
        for ip in ["127.0.0.1", "127.0.0.9", "::1"] {
            let ip: IpAddr = ip.parse().unwrap();
            // A machine may have no IPv6 at all.
            let has = ip.is_ipv4() || UdpSocket::bind((ip, 0)).is_ok();
            assert_eq!(is_own_address(ip), has, "{ip}");
        }
        assert!(is_own_source([127, 0, 0, 1].into()));
        for ip in ["192.0.2.1", "192.0.2.7", "2001:db8::1", "2001:db8::7"] {
            assert!(!is_own_address(ip.parse().unwrap()), "{ip}");
            assert!(!is_own_source(ip.parse().unwrap()), "{ip}");
        }
    }
}
