//! MIT's KDC, with a realm for tests, in a sandbox.

use crate::daemon::Daemon;
use crate::tools::{BUSY_LIMIT, need, search_path, wait_until, write};
use crate::{Error, Result, Samba, Sandbox};
use std::io::Write;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// Not the standard port, to detect programs that ignore the configuration.
const PORT: u16 = 10088;

/// It takes some ten milliseconds on an idle machine.
const START_LIMIT: Duration = BUSY_LIMIT;

/// A running KDC. It has the users of [`Samba`], with the same passwords, and SMB
/// and NFS services under the names by which a server in the sandbox is reached.
#[derive(Debug)]
pub struct Kdc {
    dir: PathBuf,
    _server: Daemon,
    sandbox: Arc<Sandbox>,
}

impl Kdc {
    /// The realm.
    pub const REALM: &'static str = "TESTBED.EXAMPLE";

    /// The names for which services have a key, as `cifs/NAME`. `testbed` does not
    /// resolve: it is for smbclient with `-I`, since smbclient requests no tickets for
    /// addresses and for `localhost`.
    pub const HOSTS: [&'static str; 4] = ["testbed", "localhost", "127.0.0.1", "::1"];

    /// The name of the host whose NFS server has a key, as `nfs/NAME`.
    pub const NFS_HOST: &'static str = "localhost";

    /// Starts a KDC in a sandbox that other fixtures share.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when not root or a package is missing; otherwise what
    /// failed.
    pub fn start_in(sandbox: &Arc<Sandbox>) -> Result<Kdc> {
        need(&[
            ("krb5kdc", "krb5-kdc"),
            ("kdb5_util", "krb5-kdc"),
            ("kadmin.local", "krb5-admin-server"),
            ("kinit", "krb5-user"),
        ])?;
        let dir = sandbox.dir().join("kdc");
        std::fs::create_dir_all(&dir).map_err(Error::path("make", &dir))?;
        write(dir.join("krb5.conf"), &client_configuration())?;
        write(dir.join("kdc.conf"), &server_configuration(&dir))?;
        let create = ["create", "-s", "-r", Kdc::REALM];
        tool(&dir, "kdb5_util", &create, "master\nmaster\n")?;
        let text = tool(&dir, "kadmin.local", &["-r", Kdc::REALM], &principals(&dir))?;
        // kadmin.local continues after an error, and exits with status 0.
        if !keytab(&dir).is_file() || text.contains("rror") {
            return Err(Error::failed("kadmin.local", "no keytab", text));
        }
        let server = start_server(sandbox, &dir)?;
        Ok(Kdc {
            dir,
            _server: server,
            sandbox: Arc::clone(sandbox),
        })
    }

    /// The environment variable that a program in the realm needs.
    #[must_use]
    pub fn environment(&self) -> (&'static str, PathBuf) {
        ("KRB5_CONFIG", self.dir.join("krb5.conf"))
    }

    /// The key table of a user, for `KRB5_CLIENT_KTNAME`.
    #[must_use]
    pub fn user_keytab(&self, user: &str) -> PathBuf {
        self.dir.join(format!("{user}.keytab"))
    }

    /// The services' keys.
    #[must_use]
    pub fn keytab(&self) -> PathBuf {
        keytab(&self.dir)
    }

    /// Gives the NFS server with this name or address a key, as `nfs/NAME`.
    pub(crate) fn add_nfs_server(&self, host: &str) -> Result<()> {
        let lines = service(&self.dir, &format!("nfs/{host}"));
        self.administer("no key", &lines)
    }

    /// Lets the tickets of a user live for so many seconds only, from its next login on.
    ///
    /// # Errors
    /// When kadmin.local refuses that.
    pub fn limit_tickets(&self, user: &str, seconds: u32) -> Result<()> {
        let line = format!("modprinc -maxlife \"{seconds} seconds\" {user}\n");
        self.administer("no limit", &line)
    }

    fn administer(&self, missing: &'static str, lines: &str) -> Result<()> {
        let text = tool(&self.dir, "kadmin.local", &["-r", Kdc::REALM], lines)?;
        match text.contains("rror") {
            true => Err(Error::failed("kadmin.local", missing, text)),
            false => Ok(()),
        }
    }

    /// krb5.conf of a machine that accepts tickets and asks no KDC.
    pub(crate) fn realm_only_configuration() -> String {
        client_configuration()
    }

    /// The namespaces it runs in.
    #[must_use]
    pub fn sandbox(&self) -> &Arc<Sandbox> {
        &self.sandbox
    }

    /// Logs a user in (kinit, the password by standard input) and returns a value for
    /// `KRB5CCNAME`: a cache with the user's ticket.
    ///
    /// # Errors
    ///
    /// When the KDC refuses the password, with kinit's message.
    pub fn log_in(&self, user: &str, password: &str) -> Result<String> {
        let number = self.sandbox.next_number();
        let cache = format!(
            "FILE:{}",
            self.dir.join(format!("cache-{number}")).display()
        );
        let (name, value) = self.environment();
        let mut kinit = self.sandbox.command("timeout");
        kinit
            .args(["120", "kinit", user])
            .env(name, value)
            .env("KRB5CCNAME", &cache);
        finish("kinit", &mut kinit, &format!("{password}\n")).map(|_| cache)
    }
}

fn keytab(dir: &Path) -> PathBuf {
    dir.join("keytab")
}

/// Starts krb5kdc and waits until its port answers.
fn start_server(sandbox: &Arc<Sandbox>, dir: &Path) -> Result<Daemon> {
    let [config, profile] = environment(dir).map(|(name, path)| format!("{name}={path}"));
    let program = ["krb5kdc", "-n", "-r", Kdc::REALM];
    let args = [&[config.as_str(), profile.as_str()], &program[..]].concat();
    let mut server = Daemon::start(sandbox, "krb5kdc", "env", &args)?;
    let log = server.log().to_owned();
    wait_until("krb5kdc", START_LIMIT, &log, || {
        server.check()?;
        let up = sandbox.run(|| TcpStream::connect((Ipv4Addr::LOCALHOST, PORT)).is_ok());
        Ok(up.then_some(()))
    })?;
    Ok(server)
}

/// The environment of the KDC's own programs.
fn environment(dir: &Path) -> [(&'static str, String); 2] {
    [
        ("KRB5_CONFIG", "krb5.conf"),
        ("KRB5_KDC_PROFILE", "kdc.conf"),
    ]
    .map(|(name, file)| (name, dir.join(file).display().to_string()))
}

/// Runs one of the KDC's tools, which needs no network.
fn tool(dir: &Path, program: &str, args: &[&str], input: &str) -> Result<String> {
    let mut command = Command::new(program);
    command
        .args(args)
        .env("PATH", search_path())
        .envs(environment(dir));
    let output = finish(program, &mut command, input)?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    Ok(text)
}

/// Runs a command with input and waits for its end. Secrets are passed in the input, not on
/// the command line.
fn finish(what: &str, command: &mut Command, input: &str) -> Result<Output> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(Error::io(format!("start {what}")))?;
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(Error::io(what))?;
    match output.status.success() {
        true => Ok(output),
        false => {
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(Error::failed(what, output.status.to_string(), stderr))
        }
    }
}

/// The users and their passwords.
const USERS: [(&str, &str); 2] = [
    (Samba::USER, Samba::PASSWORD),
    (Samba::OTHER_USER, Samba::OTHER_PASSWORD),
];

/// The input of kadmin.local.
fn principals(dir: &Path) -> String {
    let mut lines = String::new();
    for (user, password) in USERS {
        lines.push_str(&format!("addprinc -pw {password} {user}\n"));
    }
    let services = Kdc::HOSTS.iter().map(|host| format!("cifs/{host}"));
    for service in services.chain([format!("nfs/{}", Kdc::NFS_HOST)]) {
        lines.push_str(&self::service(dir, &service));
    }
    // The users have key tables too; their passwords stay valid.
    for (user, _) in USERS {
        let table = dir.join(format!("{user}.keytab"));
        lines.push_str(&format!("ktadd -norandkey -k {} {user}\n", table.display()));
    }
    lines
}

/// The input of kadmin.local for a service with a key.
fn service(dir: &Path, name: &str) -> String {
    let keytab = keytab(dir);
    format!(
        "addprinc -randkey {name}\nktadd -k {} {name}\n",
        keytab.display()
    )
}

/// krb5.conf, without DNS: there is no name server.
fn client_configuration() -> String {
    let realm = Kdc::REALM;
    format!(
        "[libdefaults]\n    default_realm = {realm}\n    dns_lookup_kdc = false\n    \
         dns_lookup_realm = false\n    dns_canonicalize_hostname = false\n    rdns = false\n\
         [realms]\n    {realm} = {{\n        kdc = 127.0.0.1:{PORT}\n    }}\n"
    )
}

/// kdc.conf. Without `disable_pac`, a standalone smbd refuses the ticket
/// (STATUS_BAD_TOKEN_TYPE): a PAC is for members of a domain.
fn server_configuration(dir: &Path) -> String {
    let (realm, dir) = (Kdc::REALM, dir.display());
    format!(
        "[kdcdefaults]\n    kdc_ports = {PORT}\n    kdc_tcp_ports = {PORT}\n\
         [realms]\n    {realm} = {{\n        database_name = {dir}/principal\n        \
         key_stash_file = {dir}/stash\n        acl_file = {dir}/acl\n        \
         disable_pac = true\n    }}\n"
    )
}
