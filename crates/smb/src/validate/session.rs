//! What the checks ask of a server, in terms that SMB1 and SMB2 share.
//!
//! `calls` and `find` make requests of it that both protocols have, `protocol` has what only
//! one of them has. Requests may be under way at once: `send_*` gives a ticket, `wait_*`
//! takes it. Every wait has the limit of the session's replies.

mod calls;
mod find;
mod protocol;
mod types;

pub(super) use types::{
    AttributeSet, ChangeNotification, DirEntry, Facts, FsFacts, Open, Opened, OplockBreakInfo,
};

use crate::client::raw::{Raw, RawSmb1, RawSmb2};
use crate::client::{Client, Failure};
use filermark_model::smb::Dialect;
use filermark_smbwire::settings::TransferLimits;
use filermark_smbwire::smb2::{FileId, LockRange};
use std::time::Duration;

/// A request that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket(pub(super) u64);

/// What both protocols can be asked for.
pub(super) trait Calls {
    /// Sends what opens or makes something.
    fn send_open(&mut self, open: &Open<'_>) -> Result<Ticket, Failure>;
    /// What came of it; `None`: nothing within the limit.
    fn wait_open(&mut self, ticket: Ticket, limit: Duration) -> Result<Option<Opened>, Failure>;
    /// Closes; its facts, if the protocol has them and they are requested.
    fn close(&mut self, file: FileId, with_facts: bool) -> Result<Option<Facts>, Failure>;
    /// One READ, as large as asked for.
    fn send_read(&mut self, file: FileId, offset: u64, length: u32) -> Result<Ticket, Failure>;
    /// What was read.
    fn wait_read(&mut self, ticket: Ticket) -> Result<Vec<u8>, Failure>;
    /// One WRITE of all of the data.
    fn send_write(&mut self, file: FileId, offset: u64, data: &[u8]) -> Result<Ticket, Failure>;
    /// How many bytes were written.
    fn wait_write(&mut self, ticket: Ticket) -> Result<u32, Failure>;
    /// Brings a file to stable storage.
    fn flush(&mut self, file: FileId) -> Result<(), Failure>;
    /// Locks ranges, or unlocks them: all of one kind.
    fn send_lock(&mut self, file: FileId, ranges: &[LockRange]) -> Result<Ticket, Failure>;
    /// The status of what was sent; `None`: no answer within the limit.
    fn wait_status(&mut self, ticket: Ticket, limit: Duration) -> Result<Option<u32>, Failure>;
    /// Whether the server promises an answer, and has not given it yet; `None`: the protocol
    /// knows no promises.
    fn wait_promise(&mut self, ticket: Ticket) -> Result<Option<bool>, Failure>;
    /// Takes a request back.
    fn cancel(&mut self, ticket: Ticket) -> Result<(), Failure>;
    /// Facts about an open file.
    fn query_file(&mut self, file: FileId) -> Result<Facts, Failure>;
    /// The same by path.
    fn query_path(&mut self, path: &str) -> Result<Facts, Failure>;
    /// Facts about the file system that an open file is in.
    fn query_fs(&mut self, file: FileId) -> Result<FsFacts, Failure>;
    /// Parts of a security descriptor.
    fn query_security(&mut self, file: FileId, parts: u32, most: u32) -> Result<Vec<u8>, Failure>;
    /// Asks for facts about an open file that there are not.
    fn query_nonsense(&mut self, file: FileId) -> Result<(), Failure>;
    /// Sets something.
    fn set(&mut self, file: FileId, set: &AttributeSet<'_>) -> Result<(), Failure>;
    /// All names of a directory that a pattern fits, by answers of so many bytes at most;
    /// and how many answers that took.
    fn find(
        &mut self,
        dir: &str,
        pattern: &str,
        most: u32,
    ) -> Result<(Vec<DirEntry>, u32), Failure>;
    /// Nothing, to and fro.
    fn send_echo(&mut self) -> Result<Ticket, Failure>;
    /// A break of an oplock or a lease; `None`: none within the limit.
    fn next_break(&mut self, limit: Duration) -> Result<Option<OplockBreakInfo>, Failure>;
    /// Gives up what a break takes back.
    fn acknowledge(&mut self, broken: &OplockBreakInfo) -> Result<(), Failure>;
    /// Waits for a change of names in an open directory.
    fn send_watch(&mut self, dir: FileId) -> Result<Ticket, Failure>;
    /// What has changed; `None`: nothing within the limit.
    fn wait_watch(
        &mut self,
        ticket: Ticket,
        limit: Duration,
    ) -> Result<Option<Vec<ChangeNotification>>, Failure>;
    /// Replies to no request that waits for one.
    fn unexpected_replies(&self) -> u64;
    /// How long a reply may take.
    fn limit(&self) -> Duration;
}

/// A session, and what is open in it.
#[derive(Debug)]
pub(super) struct Session {
    client: Client,
    open: Vec<FileId>,
}

impl Session {
    pub(super) const fn new(client: Client) -> Self {
        Self {
            client,
            open: Vec::new(),
        }
    }

    pub(super) fn calls(&mut self) -> &mut dyn Calls {
        match self.client.raw() {
            Raw::Smb1(raw) => raw,
            Raw::Smb2(raw) => raw,
        }
    }

    pub(super) const fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    pub(super) const fn smb1(&mut self) -> Option<&mut RawSmb1> {
        self.client.smb1()
    }

    pub(super) const fn smb2(&mut self) -> Option<&mut RawSmb2> {
        self.client.smb2()
    }

    pub(super) const fn limits(&self) -> TransferLimits {
        self.client.limits()
    }

    pub(super) fn limit(&mut self) -> Duration {
        self.calls().limit()
    }

    /// The dialect it speaks.
    pub(super) fn dialect(&mut self) -> Dialect {
        match self.smb2() {
            Some(smb2) => smb2.session().dialect,
            None => Dialect::Nt1,
        }
    }

    pub(super) fn open(&mut self, open: &Open<'_>) -> Result<Opened, Failure> {
        let limit = self.limit();
        let ticket = self.calls().send_open(open)?;
        match self.wait_open(ticket, limit)? {
            Some(opened) => Ok(opened),
            None => Err(self.late("OPEN", limit)),
        }
    }

    pub(super) fn wait_open(
        &mut self,
        ticket: Ticket,
        limit: Duration,
    ) -> Result<Option<Opened>, Failure> {
        let opened = self.calls().wait_open(ticket, limit)?;
        self.open.extend(opened.as_ref().map(|opened| opened.file));
        Ok(opened)
    }

    pub(super) fn close(&mut self, file: FileId) -> Result<(), Failure> {
        self.close_with_attributes(file, false).map(drop)
    }

    pub(super) fn close_with_attributes(
        &mut self,
        file: FileId,
        with_facts: bool,
    ) -> Result<Option<Facts>, Failure> {
        let closed = self.calls().close(file, with_facts)?;
        self.open.retain(|open| *open != file);
        Ok(closed)
    }

    /// Closes what is still open.
    pub(super) fn close_all(&mut self) {
        for file in std::mem::take(&mut self.open) {
            let _ = self.calls().close(file, false);
        }
    }

    pub(super) fn read(
        &mut self,
        file: FileId,
        offset: u64,
        length: u32,
    ) -> Result<Vec<u8>, Failure> {
        let ticket = self.calls().send_read(file, offset, length)?;
        self.calls().wait_read(ticket)
    }

    pub(super) fn write(&mut self, file: FileId, offset: u64, data: &[u8]) -> Result<u32, Failure> {
        let ticket = self.calls().send_write(file, offset, data)?;
        self.calls().wait_write(ticket)
    }

    /// Locks or unlocks; a refusal is a failure.
    pub(super) fn lock(&mut self, file: FileId, ranges: &[LockRange]) -> Result<(), Failure> {
        let ticket = self.calls().send_lock(file, ranges)?;
        self.succeed("LOCK", ticket)
    }

    pub(super) fn echo(&mut self) -> Result<(), Failure> {
        let ticket = self.calls().send_echo()?;
        self.succeed("ECHO", ticket)
    }

    fn succeed(&mut self, step: &'static str, ticket: Ticket) -> Result<(), Failure> {
        let limit = self.limit();
        match self.calls().wait_status(ticket, limit)? {
            Some(0) => Ok(()),
            Some(status) => Err(Failure::Refused { step, status }),
            None => Err(self.late(step, limit)),
        }
    }

    fn late(&mut self, step: &'static str, waited: Duration) -> Failure {
        let address = self.client.files().peer();
        let error = crate::client::ClientError::TimedOut { address, waited };
        Failure::ConnectionLost { step, error }
    }
}
