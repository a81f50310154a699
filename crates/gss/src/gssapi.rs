//! The system's GSS-API library (RFC 2743, 2744), opened at run time: the calls that
//! Kerberos takes, with handles that release themselves.
#![allow(
    unsafe_code,
    reason = "calls into a C library; the tests of the drivers run all of them against a real KDC \
              (smb/tests/kerberos.rs, filermark/tests/it/kerberos_nfs.rs), the tests below those that \
              need none"
)]

mod calls;
mod handles;

use calls::{Buffer, Functions, Oid, OidSet};
pub use handles::{Context, ContextUse, Credential, Name};
use std::fmt;
use std::ptr::null_mut;
use std::sync::OnceLock;

/// What Linux names it, with the version that all of today have; what macOS's Kerberos
/// from a package manager does.
const NAMES: [&str; 2] = ["libgssapi_krb5.so.2", "libgssapi_krb5.dylib"];

/// 1.2.840.113554.1.2.2: Kerberos.
static KERBEROS: [u8; 9] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 1, 2, 2];
/// 1.2.840.113554.1.2.1.1: a user's name.
static USER: [u8; 10] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 1, 2, 1, 1];
/// 1.2.840.113554.1.2.1.4: a service on a host.
static SERVICE: [u8; 10] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 1, 2, 1, 4];

/// GSS_C_INITIATE.
const INITIATE: i32 = 1;
/// Errors are in the upper half of a major status.
const ERRORS: u32 = 0xFFFF_0000;
/// Lines that are read of an explanation.
const LINES_MAX: usize = 4;

/// Where the library's codes of Kerberos begin: ERROR_TABLE_BASE_krb5, -1765328384. Up to 127 they are
/// those of messages (RFC 4120 7.5.9), above that MIT's own (krb5.h).
const CODES: u32 = 0x96C7_3A00;

/// Why a call failed, in the library's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    text: String,
    /// The mechanism's status.
    minor: u32,
}

/// What a failure means for a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The KDC does not let the user in: unknown, expired, revoked, a wrong password.
    UserRefused,
    /// There are no tickets: no cache, no key table, or nothing for this user in them.
    NoTicket,
    /// The ticket has expired.
    Expired,
    /// The KDC does not know the service.
    UnknownService,
    /// krb5.conf has no KDC of the realm, or the realm does not exist.
    UnknownRealm,
    /// No KDC answers.
    NoKdc,
    /// The clocks of the hosts differ.
    ClockSkew,
    /// Something else; the words of the library are all that is known.
    Other,
}

impl Failure {
    /// With these words.
    pub fn new(words: &str) -> Self {
        Self {
            text: words.into(),
            minor: 0,
        }
    }

    /// What it means.
    pub const fn cause(&self) -> Cause {
        match self.minor.wrapping_sub(CODES) {
            // NAME_EXP, C_PRINCIPAL_UNKNOWN, POLICY, CLIENT_REVOKED, KEY_EXPIRED, PREAUTH_FAILED,
            // and AP_ERR_BAD_INTEGRITY where the answer cannot be read with the password.
            1 | 6 | 12 | 18 | 23 | 24 | 31 => Cause::UserRefused,
            // CC_NOTFOUND, FCC_NOFILE, KT_NOTFOUND.
            141 | 195 | 181 => Cause::NoTicket,
            // AP_ERR_TKT_EXPIRED.
            32 => Cause::Expired,
            // S_PRINCIPAL_UNKNOWN.
            7 => Cause::UnknownService,
            // REALM_UNKNOWN, KDC_ERR_WRONG_REALM, NO_TKT_IN_RLM.
            154 | 68 | 185 => Cause::UnknownRealm,
            // KDC_UNREACH.
            156 => Cause::NoKdc,
            // AP_ERR_SKEW, KDCREP_SKEW.
            37 | 148 => Cause::ClockSkew,
            _ => Cause::Other,
        }
    }

    /// Whether the KDC has refused the user.
    pub fn is_refusal(&self) -> bool {
        self.cause() == Cause::UserRefused
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The library, opened once and for good.
#[derive(Clone, Copy, Debug)]
pub struct Library(&'static Functions);

impl Library {
    /// Opens it.
    ///
    /// # Errors
    /// It is not there; what to do.
    pub fn open() -> Result<Self, NoLibrary> {
        static OPENED: OnceLock<Result<Functions, NoLibrary>> = OnceLock::new();
        let opened = OPENED.get_or_init(|| open(&NAMES, Program::THIS));
        opened.as_ref().map(Self).map_err(NoLibrary::clone)
    }

    /// A user by the principal's name.
    ///
    /// # Errors
    /// The library does not take the name.
    pub fn user(self, principal: &str) -> Result<Name, Failure> {
        self.name(principal, &USER)
    }

    /// A service: `cifs@host`.
    ///
    /// # Errors
    /// The library does not take the name.
    pub fn service(self, service: &str) -> Result<Name, Failure> {
        self.name(service, &SERVICE)
    }

    fn name(self, text: &str, kind: &'static [u8]) -> Result<Name, Failure> {
        let mut name = Name(null_mut(), self);
        let (text, kind) = (Buffer::of(text.as_bytes()), Oid::of(kind));
        // SAFETY: text and kind live beyond the call, which copies them.
        self.call(|f, minor| unsafe { f.import_name(minor, &text, &kind, &mut name.0) })?;
        Ok(name)
    }

    /// The tickets of the caller's cache: those of a user, or of the cache's owner.
    ///
    /// # Errors
    /// There are none, in the library's words.
    pub fn credential(self, user: Option<&Name>) -> Result<Credential, Failure> {
        let mut credential = Credential(null_mut(), self);
        let mut kerberos = Oid::of(&KERBEROS);
        let mechanisms = OidSet::of(&mut kerberos);
        let user = user.map_or(null_mut(), |name| name.0);
        // SAFETY: the handles are the library's own or null, and what is pointed to
        // lives beyond the call.
        self.call(|f, minor| unsafe {
            let (actual, time) = (null_mut(), null_mut());
            let out = &mut credential.0;
            f.acquire_cred(minor, user, 0, &mechanisms, INITIATE, out, actual, time)
        })?;
        Ok(credential)
    }

    /// Tickets that the KDC gives for a password.
    ///
    /// # Errors
    /// No KDC, or it refuses.
    pub fn credential_with_password(
        self,
        user: &Name,
        password: &str,
    ) -> Result<Credential, Failure> {
        let mut credential = Credential(null_mut(), self);
        let mut kerberos = Oid::of(&KERBEROS);
        let mechanisms = OidSet::of(&mut kerberos);
        let password = Buffer::of(password.as_bytes());
        // SAFETY: as above; the library copies the password.
        self.call(|f, minor| unsafe {
            f.acquire_cred_with_password(
                minor,
                user.0,
                &password,
                0,
                &mechanisms,
                INITIATE,
                &mut credential.0,
                null_mut(),
                null_mut(),
            )
        })?;
        Ok(credential)
    }

    /// A context that has not begun.
    pub const fn context(self, use_as: ContextUse) -> Context {
        Context(null_mut(), self, use_as, handles::INDEFINITE)
    }

    /// Makes a call and says why it failed.
    fn call(self, call: impl FnOnce(&Functions, &mut u32) -> u32) -> Result<u32, Failure> {
        let mut minor = 0;
        let major = call(self.0, &mut minor);
        match major & ERRORS {
            0 => Ok(major),
            _ => Err(self.failure(major, minor)),
        }
    }

    /// The words for a status: the mechanism's, and the general ones where it has none.
    fn failure(self, major: u32, minor: u32) -> Failure {
        const GENERAL: i32 = 1;
        const OF_MECHANISM: i32 = 2;
        let mut words = match minor {
            0 => String::new(),
            _ => self.status_text(minor, OF_MECHANISM),
        };
        if words.is_empty() {
            words = self.status_text(major, GENERAL);
        }
        Failure { text: words, minor }
    }

    fn status_text(self, status: u32, kind: i32) -> String {
        let kerberos = Oid::of(&KERBEROS);
        let mut lines = Vec::new();
        let mut more = 0;
        while lines.len() < LINES_MAX {
            let (mut minor, mut line) = (0, Filled::new(self));
            // SAFETY: everything pointed to lives beyond the call.
            let major = unsafe {
                self.0
                    .display_status(&mut minor, status, kind, &kerberos, &mut more, &mut line.0)
            };
            if major & ERRORS != 0 {
                break;
            }
            lines.push(String::from_utf8_lossy(line.bytes()).into_owned());
            if more == 0 {
                break;
            }
        }
        lines.join("; ")
    }
}

/// How the program was built, as far as it matters for libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    Dynamic,
    /// It has its C library inside: the system's library would bring a second one.
    Static,
    /// Of a system that MIT's library is not part of.
    Windows,
}

impl Program {
    const THIS: Self = if cfg!(windows) {
        Self::Windows
    } else if cfg!(target_feature = "crt-static") {
        Self::Static
    } else {
        Self::Dynamic
    };
}

/// Why there is no library. Its text says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoLibrary {
    /// This is the static program.
    #[error(
        "this is the static program of Filermark, which cannot open the system's GSS-API library: for \
         Kerberos use the .deb, the .rpm or a build from source"
    )]
    Static,
    /// This is a program for Windows.
    #[error(
        "Filermark has no Kerberos on Windows: measure with Kerberos from a client host with Linux or macOS"
    )]
    Windows,
    /// It cannot be opened, in the system's words.
    #[error(
        "Kerberos needs the system's GSS-API library, which cannot be opened ({0}); install \
         libgssapi-krb5-2 (Debian, Ubuntu) or krb5-libs (Fedora, RHEL)"
    )]
    NotFound(String),
}

/// Opens the first of these libraries that is there.
fn open(names: &[&str], program: Program) -> Result<Functions, NoLibrary> {
    match program {
        Program::Static => return Err(NoLibrary::Static),
        Program::Windows => return Err(NoLibrary::Windows),
        Program::Dynamic => {}
    }
    let mut reasons = Vec::new();
    for name in names {
        match Functions::load(name) {
            Ok(functions) => return Ok(functions),
            // What the system says is behind what the crate says.
            Err(error) => reasons.push(match std::error::Error::source(&error) {
                Some(source) => source.to_string(),
                None => format!("{name}: {error}"),
            }),
        }
    }
    Err(NoLibrary::NotFound(reasons.join("; ")))
}

/// Bytes that the library has returned. They go back to it when this is dropped.
pub struct Filled(Buffer, Library);

impl fmt::Debug for Filled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({} bytes)", self.bytes().len())
    }
}

impl Filled {
    const fn new(library: Library) -> Self {
        Self(Buffer::EMPTY, library)
    }

    /// What it contains.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the library filled it, or it is empty; it lives as long as this.
        unsafe { self.0.bytes() }
    }
}

impl Drop for Filled {
    fn drop(&mut self) {
        // SAFETY: what is in it is the library's, and is not used again.
        unsafe { self.1.0.release_buffer(&mut 0, &mut self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_an_error_with_the_package_to_install() {
        let missing = open(&["libno-such-thing.so.9"], Program::Dynamic).expect_err("missing");
        let message = missing.to_string();
        // Windows' reason does not name the file; a static program of musl opens no library at all.
        let is_named = message.contains("libno-such-thing.so.9");
        let has_no_name = cfg!(windows) || cfg!(target_env = "musl");
        assert!(is_named || has_no_name, "{message}");
        assert!(message.contains("install libgssapi-krb5-2"), "{message}");
    }

    #[test]
    fn the_static_program_names_what_to_use_instead() {
        let message = open(&NAMES, Program::Static).expect_err("static");
        assert!(message.to_string().contains("use the .deb, the .rpm"));
    }

    #[test]
    fn on_windows_no_packages_of_linux_are_named() {
        let message = open(&NAMES, Program::Windows).expect_err("windows");
        let message = message.to_string();
        assert!(message.contains("no Kerberos on Windows"), "{message}");
        assert!(!message.contains("libgssapi") && !message.contains(".deb"));
    }

    #[test]
    fn only_answers_of_the_kdc_about_the_user_are_refusals() {
        let is_refusal = |code: i32| {
            let minor = code as u32;
            let words = String::new();
            Failure { text: words, minor }.is_refusal()
        };
        // Preauthentication failed, unknown, revoked, expired.
        for code in [-1765328360, -1765328378, -1765328366, -1765328361] {
            assert!(is_refusal(code), "{code}");
        }
        // No KDC, none of the realm, no cache, a service that is unknown, a clock.
        for code in [
            -1765328228,
            -1765328230,
            -1765328189,
            -1765328377,
            -1765328347,
            0,
        ] {
            assert!(!is_refusal(code), "{code}");
        }
        assert!(!Failure::new("Preauthentication failed").is_refusal());
    }

    #[test]
    fn causes_follow_from_the_codes() {
        let cause = |code: i32| {
            let minor = code as u32;
            let text = String::new();
            Failure { text, minor }.cause()
        };
        // The numbers are those of MIT's krb5.h.
        assert_eq!(cause(-1765328377), Cause::UnknownService);
        assert_eq!(cause(-1765328352), Cause::Expired);
        assert_eq!(cause(-1765328347), Cause::ClockSkew);
        assert_eq!(cause(-1765328228), Cause::NoKdc);
        assert_eq!(cause(-1765328230), Cause::UnknownRealm);
        assert_eq!(cause(-1765328189), Cause::NoTicket);
        assert_eq!(cause(-1765328203), Cause::NoTicket);
        assert_eq!(cause(-1765328360), Cause::UserRefused);
        assert_eq!(cause(0), Cause::Other);
    }

    /// Runs where the library is; elsewhere there is nothing to try.
    #[test]
    fn names_and_failures_come_and_go() {
        let Ok(library) = Library::open() else {
            return;
        };
        let user = library.user("unknown@NOWHERE.EXAMPLE").expect("a name");
        let failed = library.credential(Some(&user)).expect_err("no ticket");
        assert!(!failed.to_string().is_empty());
        let mut context = library.context(ContextUse::Rpc);
        assert!(context.session_key().is_err() && context.sign(b"x").is_err());
        assert!(context.verify(b"x", b"y").is_err());
        assert!(context.wrap(b"x").is_err() && context.unwrap(b"y").is_err());
    }
}
