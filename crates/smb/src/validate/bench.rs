//! What a check works with: sessions, a directory of its own, and words for what should
//! have come and what came.

use super::session::{Facts, Open, Opened, Session};
use crate::client::{Client, ConnectError, Failure, session_at};
use crate::login::{Login, LoginRefusals};
use crate::target::Target;
use filermark_driver_kit::checks::{Stop, same, same_bytes};
use filermark_model::plan::SmbPlan;
use filermark_model::smb::Dialect;
use filermark_smbwire::error::SetupError;
use filermark_smbwire::smb2::FileId;
use filermark_smbwire::smb2::file::disposition;
use filermark_smbwire::status;
use std::net::SocketAddr;

/// Judges what came of a call.
pub(super) trait Judge<T> {
    /// It has to succeed; if the space is used up, the check is skipped.
    fn done(self, what: &str) -> Result<T, Stop>;
    /// It has to be refused with one of these.
    fn refused(self, what: &str, wanted: &[u32]) -> Result<u32, Stop>;
    /// Either outcome, for checks that judge themselves.
    fn either(self, what: &str) -> Result<Result<T, u32>, Stop>;
}

impl<T> Judge<T> for Result<T, Failure> {
    fn done(self, what: &str) -> Result<T, Stop> {
        self.either(what)?.map_err(|status| match status {
            status::DISK_FULL | status::QUOTA_EXCEEDED => {
                Stop::skip(format!("{what}: no space, {}", status::text(status)))
            }
            _ => Stop::fail(format!("{what}: STATUS_SUCCESS"), status::text(status)),
        })
    }

    fn refused(self, what: &str, wanted: &[u32]) -> Result<u32, Stop> {
        match self.either(what)? {
            Err(status) if wanted.contains(&status) => Ok(status),
            other => Err(Stop::fail(
                format!("{what}: {}", names_of(wanted)),
                status::text(other.err().unwrap_or(status::SUCCESS)),
            )),
        }
    }

    fn either(self, what: &str) -> Result<Result<T, u32>, Stop> {
        match self {
            Ok(value) => Ok(Ok(value)),
            Err(Failure::Refused { status, .. }) => Ok(Err(status)),
            Err(Failure::ConnectionLost { error, .. }) => {
                Err(Stop::fail(format!("{what}: an answer"), error))
            }
        }
    }
}

/// Statuses as in a sentence.
pub(super) fn names_of(statuses: &[u32]) -> String {
    let names: Vec<String> = statuses
        .iter()
        .map(|status| status::text(*status))
        .collect();
    names.join(" or ")
}

/// The server in front of the checks, by one dialect.
pub struct Bench<'a> {
    pub(super) plan: SmbPlan,
    pub(super) dialect: Dialect,
    pub(super) target: &'a Target,
    pub(super) refusals: LoginRefusals,
    pub(super) address: SocketAddr,
    /// The session that most calls go by.
    pub(super) smb: Session,
    /// Another one, of the same user, once a check has wanted it.
    pub(super) other: Option<Session>,
    /// The run's directory.
    pub(super) run_dir: String,
    /// The present check's own directory, from the share's root.
    pub(super) dir: String,
    pub(super) notes: Vec<String>,
    /// Why there is no session any more.
    pub(super) lost: Option<ConnectError>,
}

impl<'a> Bench<'a> {
    /// Logs in by the plan's one dialect.
    ///
    /// # Errors
    /// There is no session to be had.
    pub(super) fn new(
        plan: SmbPlan,
        target: &'a Target,
        address: SocketAddr,
        run_dir: String,
    ) -> Result<Self, ConnectError> {
        let refusals = LoginRefusals::default();
        let smb = session(address, target, &plan, &refusals)?;
        Ok(Self {
            dialect: plan.dialects.0,
            plan,
            target,
            refusals,
            address,
            smb,
            other: None,
            dir: run_dir.clone(),
            run_dir,
            notes: Vec::new(),
            lost: None,
        })
    }

    /// What was agreed on, in a line.
    pub(super) fn session_facts(&mut self) -> String {
        const SHOWN: [&str; 6] = [
            "signing",
            "encryption",
            "user",
            "max read",
            "max write",
            "capabilities",
        ];
        let facts = self.smb.client().files().server_facts();
        let facts = facts.into_iter();
        let shown = facts.filter(|(name, _)| SHOWN.contains(&name.as_str()));
        let shown: Vec<_> = shown
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        shown.join(", ")
    }

    pub(super) fn is_smb1(&self) -> bool {
        self.dialect == Dialect::Nt1
    }

    /// Both sessions.
    pub(super) fn pair(&mut self) -> Result<(&mut Session, &mut Session), Stop> {
        if self.other.is_none() {
            self.other = Some(self.another(|_| {})?);
        }
        match &mut self.other {
            Some(other) => Ok((&mut self.smb, other)),
            None => Err(Stop::skip("there is no second session")),
        }
    }

    /// The other session.
    pub(super) fn other(&mut self) -> Result<&mut Session, Stop> {
        self.pair().map(|(_, other)| other)
    }

    /// A session of its own, by a plan that is somewhat different. Its end ends it.
    pub(super) fn another(&self, change: impl FnOnce(&mut SmbPlan)) -> Result<Session, Stop> {
        let mut plan = self.plan.clone();
        change(&mut plan);
        let another = session(self.address, self.target, &plan, &self.refusals);
        another.map_err(|error| match error {
            ConnectError::Wire { error, .. } => Stop::fail("another session", error),
            ConnectError::Setup(
                error @ (SetupError::Lacking { .. }
                | SetupError::Requires(_)
                | SetupError::NoDialect),
            ) => Stop::skip(format!("no such session: {error}")),
            ConnectError::Setup(error) => Stop::fail("another session", error),
        })
    }

    /// The path of a name in the check's directory.
    pub(super) fn path(&self, name: &str) -> String {
        format!(r"{}\{name}", self.dir)
    }

    /// Makes a file with these bytes, and leaves it open.
    pub(super) fn make(&mut self, name: &str, data: &[u8]) -> Result<FileId, Stop> {
        let path = self.path(name);
        let open = Open::file(&path).by(disposition::OVERWRITE_IF);
        let file = self.smb.open(&open).done("OPEN of a new file")?.file;
        if !data.is_empty() {
            self.write(file, 0, data)?;
        }
        Ok(file)
    }

    /// The same, and closes it.
    pub(super) fn put(&mut self, name: &str, data: &[u8]) -> Result<(), Stop> {
        let file = self.make(name, data)?;
        self.smb.close(file).done("CLOSE of a new file")
    }

    /// Opens a name with all rights.
    pub(super) fn open(&mut self, name: &str) -> Result<Opened, Stop> {
        let path = self.path(name);
        self.smb.open(&Open::file(&path)).done("OPEN")
    }

    /// Writes all of it, by as many calls as that takes.
    pub(super) fn write(&mut self, file: FileId, offset: u64, data: &[u8]) -> Result<(), Stop> {
        let most = (self.smb.limits().write_max as usize).max(1);
        let mut at = offset;
        for part in data.chunks(most) {
            let count = self.smb.write(file, at, part).done("WRITE")?;
            same("WRITE: bytes written", part.len(), count as usize)?;
            at += part.len() as u64;
        }
        Ok(())
    }

    /// Reads `length` bytes that have to be there, by as many calls as that takes.
    pub(super) fn read(
        &mut self,
        file: FileId,
        offset: u64,
        length: usize,
    ) -> Result<Vec<u8>, Stop> {
        let most = self.smb.limits().read_max as usize;
        let mut all = Vec::new();
        while all.len() < length {
            let wanted = (length - all.len()).min(most) as u32;
            let at = offset + all.len() as u64;
            let part = self.smb.read(file, at, wanted).done("READ")?;
            if part.is_empty() || part.len() > wanted as usize {
                return Err(Stop::fail(
                    format!("READ: up to {wanted} bytes at {at}, one at least"),
                    format!("{} bytes", part.len()),
                ));
            }
            all.extend_from_slice(&part);
        }
        Ok(all)
    }

    /// Reads a range that has to be like this.
    pub(super) fn reads_back(
        &mut self,
        file: FileId,
        offset: u64,
        wanted: &[u8],
    ) -> Result<(), Stop> {
        let got = self.read(file, offset, wanted.len())?;
        same_bytes(offset, wanted, &got)
    }

    pub(super) fn facts(&mut self, file: FileId) -> Result<Facts, Stop> {
        self.smb.calls().query_file(file).done("QUERY_FILE")
    }

    /// The size of an open file, which has to be this.
    pub(super) fn has_size(&mut self, file: FileId, wanted: u64) -> Result<(), Stop> {
        let size = self.facts(file)?.size;
        same("QUERY_FILE: size", wanted, size)
    }

    /// Whether a name of the check's directory is there.
    pub(super) fn is_there(&mut self, name: &str) -> Result<bool, Stop> {
        let path = self.path(name);
        let found = self.smb.client().files().exists(&path);
        found.done("looking up a name")
    }

    /// Adds a note: something to report that is not a failure.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }
}

pub(super) fn session(
    address: SocketAddr,
    target: &Target,
    plan: &SmbPlan,
    refusals: &LoginRefusals,
) -> Result<Session, ConnectError> {
    let login = Login::new(target, plan, refusals);
    let raw = session_at(address, &login, plan)?;
    Ok(Session::new(Client::of(raw)))
}

/// Why there is no session, as text.
pub(super) fn text_of(error: &ConnectError) -> String {
    match error {
        ConnectError::Wire { error, .. } => error.to_string(),
        ConnectError::Setup(error) => error.to_string(),
    }
}
