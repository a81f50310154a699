//! Options of smbd, and its smb.conf.

use std::fmt::Write as _;

/// Not the standard port, to detect a client that ignores its configuration.
pub(super) const PORT: u16 = 12445;

/// Options of a [`super::Samba`]. The default is a common configuration with SMB1 added:
/// NT1 to 3.1.1, signing and encryption if the client requests them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SambaOptions {
    /// TCP port, on every address of the sandbox: [`super::Samba::PORT`], or
    /// [`super::Samba::STANDARD_PORT`] if tshark must read messages longer than 128 KiB.
    pub port: u16,
    /// Lowest and highest dialect, by their names in smb.conf (`NT1`, `SMB2_02`, `SMB2_10`,
    /// `SMB3_00`, `SMB3_02`, `SMB3_11`).
    pub dialects: (&'static str, &'static str),
    /// Whether messages are signed.
    pub signing: SmbSigning,
    /// Whether sessions are encrypted.
    pub encryption: SmbEncryption,
    /// Who can log in without a password.
    pub guests: SmbGuests,
    /// Space of [`super::Samba::DATA`] in MiB; `None`: as much as the machine allows.
    pub space_mib: Option<u32>,
    /// Further lines of `[global]` in smb.conf: parameter and value. They come last and
    /// override others. Those that tests use: `server smb3 encryption algorithms`,
    /// `server smb3 signing algorithms` (without HMAC-SHA256 in it, 4.17 refuses 2.1 with
    /// STATUS_INVALID_PARAMETER), `max mux`, `smb2 max credits`,
    /// `smb2 max read`, `smb2 max write`, `smb2 max trans`, `aio read size`, `oplocks`,
    /// `smb2 leases`, `max open files`, `log level`, `server multi channel support`,
    /// `restrict anonymous`, `deadtime`.
    pub settings: Vec<(String, String)>,
}

impl Default for SambaOptions {
    fn default() -> Self {
        Self {
            port: PORT,
            dialects: ("NT1", "SMB3_11"),
            signing: SmbSigning::Auto,
            encryption: SmbEncryption::Offered,
            guests: SmbGuests::Refused,
            space_mib: None,
            settings: Vec::new(),
        }
    }
}

impl SambaOptions {
    /// Adds a line to `[global]`.
    #[must_use]
    pub fn with(mut self, parameter: &str, value: impl ToString) -> Self {
        let line = (parameter.to_owned(), value.to_string());
        self.settings.push(line);
        self
    }
}

/// `server signing` of smb.conf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmbSigning {
    /// When the client requests it. (SMB2 and later can always be signed.)
    Auto,
    /// Always.
    Mandatory,
    /// Never with SMB1; with SMB2 as `Auto`, since SMB2 has no way to disable it.
    Disabled,
}

/// `server smb encrypt` of smb.conf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmbEncryption {
    /// The server does not offer it.
    Off,
    /// When the client requests it.
    Offered,
    /// With every client that supports it.
    Desired,
    /// Always; clients that do not support it are refused.
    Required,
}

/// `map to guest` of smb.conf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmbGuests {
    /// No guests; anonymous sessions have access to `IPC$` only.
    Refused,
    /// Users without an account become guests; also anonymous ones, on
    /// [`super::Samba::GUEST`].
    UnknownUsers,
    /// Also users with an account and a wrong password.
    WrongPasswords,
}

/// Paths of smbd, in the sandbox unless stated otherwise.
#[derive(Debug)]
pub(super) struct SambaPaths {
    /// The directory of its state, removed with the sandbox.
    pub(super) run: String,
    /// Its log, on the host, which its output is written to as well.
    pub(super) log: String,
    /// Lines for Kerberos, or empty.
    pub(super) kerberos: String,
}

/// smb.conf.
pub(super) fn configuration(options: &SambaOptions, places: &SambaPaths) -> String {
    let run = &places.run;
    let mut text = format!("[global]\n{FIXED}{}", places.kerberos);
    for (name, directory) in [
        ("private dir", "private"),
        ("lock directory", "lock"),
        ("state directory", "state"),
        ("cache directory", "cache"),
        ("pid directory", "pid"),
        ("ncalrpc dir", "ncalrpc"),
        ("winbindd socket directory", "winbindd"),
    ] {
        let _ = writeln!(text, "    {name} = {run}/{directory}");
    }
    let (lowest, highest) = options.dialects;
    let _ = writeln!(
        text,
        "    log file = {}\n    smb ports = {}\n    server min protocol = {lowest}\n    \
         server max protocol = {highest}\n    server signing = {}\n    \
         server smb encrypt = {}\n    map to guest = {}",
        places.log,
        options.port,
        options.signing.value(),
        options.encryption.value(),
        options.guests.value(),
    );
    for (parameter, value) in &options.settings {
        let _ = writeln!(text, "    {parameter} = {value}");
    }
    text.push_str(&shares(run, options.guests != SmbGuests::Refused));
    text
}

/// The shares; see the constants of [`super::Samba`].
fn shares(run: &str, guests: bool) -> String {
    let mut text = format!(
        "[data]\n    path = {run}/data\n    read only = no\n\
         [second]\n    path = {run}/second\n    read only = no\n\
         [readonly]\n    path = {run}/data\n    read only = yes\n\
         [bob]\n    path = {run}/bob\n    read only = no\n    valid users = bob\n\
         [sealed]\n    path = {run}/data\n    read only = no\n    server smb encrypt = required\n\
         [small]\n    path = {run}/small\n    read only = no\n\
         [dfs]\n    path = {run}/dfs\n    read only = no\n    msdfs root = yes\n"
    );
    if guests {
        // For smbd, an anonymous session does not own even the files that it has made.
        let _ = write!(
            text,
            "[guest]\n    path = {run}/guest\n    read only = no\n    guest ok = yes\n    \
             force directory mode = 0777\n    force create mode = 0666\n"
        );
    }
    text
}

/// The fixed part. It must not use services of the host: no printers, no NetBIOS, no
/// user shares, no winbind.
const FIXED: &str = "    netbios name = TESTBED
    workgroup = TESTGROUP
    server role = standalone
    disable netbios = yes
    disable spoolss = yes
    load printers = no
    printing = bsd
    printcap name = /dev/null
    usershare max shares = 0
    host msdfs = yes
    ntlm auth = yes
    passdb backend = tdbsam
    guest account = nobody
    max log size = 0
    log level = 1 auth_audit:5
    debug hires timestamp = yes
    debug pid = yes
";

impl SmbSigning {
    fn value(self) -> &'static str {
        match self {
            SmbSigning::Auto => "auto",
            SmbSigning::Mandatory => "mandatory",
            SmbSigning::Disabled => "disabled",
        }
    }
}

impl SmbEncryption {
    fn value(self) -> &'static str {
        match self {
            SmbEncryption::Off => "off",
            SmbEncryption::Offered => "if_required",
            SmbEncryption::Desired => "desired",
            SmbEncryption::Required => "required",
        }
    }
}

impl SmbGuests {
    fn value(self) -> &'static str {
        match self {
            SmbGuests::Refused => "never",
            SmbGuests::UnknownUsers => "bad user",
            SmbGuests::WrongPasswords => "bad password",
        }
    }
}
