//! Starts smbd: its users, its files, its process.

use super::{SMALL_MIB, START_LIMIT, Samba};
use crate::daemon::Daemon;
use crate::tools::{log_tail, wait_until, write};
use crate::{Error, Kdc, Result, Sandbox};
use std::io::Write;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

/// Starts smbd and waits until its port answers; returns its pid in the machine's namespace.
pub(super) fn start_server(
    sandbox: &Arc<Sandbox>,
    name: &str,
    config: &Path,
    log: &Path,
    port: u16,
    kdc: Option<&Kdc>,
) -> Result<(Daemon, u32)> {
    let config = config.display().to_string();
    let realm = kdc.map(|kdc| {
        let (name, value) = kdc.environment();
        format!("{name}={}", value.display())
    });
    let mut args: Vec<&str> = realm.as_deref().into_iter().collect();
    // Without --no-process-group smbd makes its own process group: when it ends it sends
    // SIGTERM to its group, which would otherwise be the test's.
    args.extend(["smbd", "-F", "-s", &config]);
    let mut server = Daemon::start(sandbox, name, "env", &args)?;
    let pid = wait_until("smbd", START_LIMIT, log, || {
        if let Err(error) = server.check() {
            return Err(Error::failed("smbd", error.to_string(), log_tail(log)));
        }
        let answers = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
        let up = sandbox.run(answers) && has_notify_daemon(sandbox, name)?;
        Ok(if up { server.inner_pid() } else { None })
    })?;
    Ok((server, pid))
}

/// Whether smbd's process for change notifications has registered its name. Until then
/// TREE_CONNECT fails with STATUS_NO_MEMORY ("No notify daemon around"), although the port
/// answers.
fn has_notify_daemon(sandbox: &Sandbox, name: &str) -> Result<bool> {
    let output = sandbox
        .inner_command("grep")
        .args([
            "-q",
            "notify-daemon",
            &format!("/run/{name}/lock/names.tdb"),
        ])
        .output()
        .map_err(Error::io("grep"))?;
    Ok(output.status.success())
}

/// Settings with which smbd accepts tickets without being a member of a domain: its role
/// stays `standalone`, its key is in a file. The tickets must have no PAC, see `kdc.rs`.
pub(super) fn kerberos_lines(kdc: &Kdc) -> String {
    format!(
        "    realm = {}\n    kerberos method = dedicated keytab\n    \
         dedicated keytab file = {}\n",
        Kdc::REALM,
        kdc.keytab().display()
    )
}

/// Adds a user with `smbpasswd -a`, which reads the password from standard input.
pub(super) fn add_user(sandbox: &Sandbox, config: &Path, user: &str, password: &str) -> Result<()> {
    let what = format!("smbpasswd -a {user}");
    let mut child = sandbox
        .inner_command("smbpasswd")
        .arg("-c")
        .arg(config)
        .args(["-s", "-a", user])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(Error::io(&what))?;
    if let Some(mut input) = child.stdin.take() {
        let _ = write!(input, "{password}\n{password}\n");
    }
    let output = child.wait_with_output().map_err(Error::io(&what))?;
    if output.status.success() {
        return Ok(());
    }
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    Err(Error::failed(what, output.status.to_string(), text))
}

/// An smb.conf for smbclient, which runs with the host's files, and next to it the file
/// with user and password.
pub(super) fn client_configuration(sandbox: &Sandbox, name: &str) -> Result<PathBuf> {
    let base = sandbox.dir().join(format!("{name}-client"));
    std::fs::create_dir_all(&base).map_err(Error::path("make", &base))?;
    let text = [
        "private dir",
        "lock directory",
        "state directory",
        "cache directory",
    ]
    .map(|parameter| format!("    {parameter} = {}\n", base.display()))
    .concat();
    let config = write(
        base.with_extension("conf"),
        &format!("[global]\n    workgroup = {}\n{text}", Samba::DOMAIN),
    )?;
    let login = format!(
        "username = {}\npassword = {}\n",
        Samba::USER,
        Samba::PASSWORD
    );
    write(config.with_extension("auth"), &login)?;
    Ok(config)
}

/// Makes the directories of the shares, by `PREPARE`.
pub(super) fn make_shares(sandbox: &Sandbox, run: &str, space_mib: Option<u32>) -> Result<()> {
    let (size, small) = (space(space_mib), space(Some(SMALL_MIB)));
    let files = sandbox.dir().display().to_string();
    sandbox.set_up("prepare for smbd", PREPARE, &[run, &size, &small, &files])
}

/// The size of a tmpfs, for mount.
fn space(mib: Option<u32>) -> String {
    mib.map_or_else(|| "100%".to_owned(), |mib| format!("{mib}m"))
}

/// `$1`: smbd's directory; `$2`, `$3`: sizes of the large and the small shares; `$4`:
/// the sandbox's directory on the host. The system users that smbd's users are mapped to
/// are added to /etc/passwd and /etc/group of the sandbox, once.
const PREPARE: &str = r#"
if ! grep -q '^alice:' /etc/passwd; then
    cp /etc/passwd "$4/passwd"
    cp /etc/group "$4/group"
    for user in alice:64701 bob:64702; do
        echo "${user%:*}:x:${user#*:}:${user#*:}::/:/usr/sbin/nologin" >>"$4/passwd"
        echo "${user%:*}:x:${user#*:}:" >>"$4/group"
    done
    mount --bind "$4/passwd" /etc/passwd
    mount --bind "$4/group" /etc/group
fi
mkdir -p "$1"
cd "$1"
mkdir private lock state cache pid ncalrpc winbindd data second bob small dfs guest
chmod 700 private
mount -t tmpfs -o "mode=777,size=$2" tmpfs data
mount -t tmpfs -o "mode=777,size=$2" tmpfs second
mount -t tmpfs -o "mode=777,size=$3" tmpfs small
chmod 777 bob dfs guest
ln -s 'msdfs:127.0.0.1\data' dfs/elsewhere
"#;
