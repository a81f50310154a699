//! What a test may ask of smbd, and the smb.conf that says so.

use std::fmt::Write as _;

/// Not the standard port, so that a client that ignores what it was told is found out.
pub(super) const PORT: u16 = 12445;

/// What [`super::Samba`] is to be like. The default is a server as most people run it,
/// but that speaks SMB1 as well: NT1 to 3.1.1, signing and encryption by whoever asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SambaOptions {
    /// TCP port, on every address of the sandbox: [`super::Samba::PORT`], or
    /// [`super::Samba::STANDARD_PORT`] where tshark is to read messages beyond 128 KiB.
    pub port: u16,
    /// Lowest and highest dialect, as smb.conf names them (`NT1`, `SMB2_02`, `SMB2_10`,
    /// `SMB3_00`, `SMB3_02`, `SMB3_11`).
    pub dialects: (&'static str, &'static str),
    /// Whether messages are signed.
    pub signing: SmbSigning,
    /// Whether sessions are encrypted.
    pub encryption: SmbEncryption,
    /// Who gets in without a password.
    pub guests: SmbGuests,
    /// Space of [`super::Samba::DATA`] in MiB; `None`: as much as the machine allows.
    pub space_mib: Option<u32>,
    /// Further lines of smb.conf's `[global]`: parameter and value. They come last and
    /// win. Those that tests have wanted: `server smb3 encryption algorithms`,
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
    /// The same with one more line in `[global]`.
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
    /// When the client asks. (SMB2 and later can always be signed.)
    Auto,
    /// Always.
    Mandatory,
    /// Never with SMB1; with SMB2 as `Auto`, which is all that the protocol allows.
    Disabled,
}

/// `server smb encrypt` of smb.conf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmbEncryption {
    /// The server says that it cannot.
    Off,
    /// When the client asks.
    Offered,
    /// With every client that can.
    Desired,
    /// Always; clients that cannot are refused.
    Required,
}

/// `map to guest` of smb.conf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmbGuests {
    /// Nobody; anonymous sessions reach `IPC$` only.
    Refused,
    /// Users that the server does not know; also anonymous ones, on
    /// [`super::Samba::GUEST`].
    UnknownUsers,
    /// Also users that it knows, with a wrong password.
    WrongPasswords,
}

/// Where smbd of a sandbox keeps what, as it sees it itself.
#[derive(Debug)]
pub(super) struct SambaPaths {
    /// State that goes with the sandbox.
    pub(super) run: String,
    /// Its log, on the host: the file that its output goes to as well.
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

/// The shares; all but the first have a purpose of their own.
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
        // To smbd's eyes, an anonymous session does not own even what it has made.
        let _ = write!(
            text,
            "[guest]\n    path = {run}/guest\n    read only = no\n    guest ok = yes\n    \
             force directory mode = 0777\n    force create mode = 0666\n"
        );
    }
    text
}

/// What never changes. Nothing here may reach for the host: no printers, no NetBIOS,
/// no user's shares, no winbind.
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
