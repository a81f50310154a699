//! A client of SFTP version 3 (draft-ietf-secsh-filexfer-02), for hosts whose shell passes no
//! binary data: reads and writes one file at a time. Knows streams, not ssh.

#[cfg(test)]
pub(super) mod fake_server;
mod fields;
mod file;

use fields::{Field, Fields, append_field};
pub(super) use file::RemoteFile;
use std::io::{self, Read, Write};

/// Version of the protocol.
const VERSION: u32 = 3;
/// Longest packet that is accepted, in bytes: what OpenSSH's client accepts.
const PACKET_LEN_MAX: u32 = 256 << 10;
/// Bytes of one read or write: what every server takes.
const CHUNK_LEN: usize = 32 << 10;
/// Reads or writes that are sent before the first answer.
const WINDOW: usize = 32;
/// Entries of a directory that are read.
const ENTRIES_MAX: usize = 1000;

const OPEN_READ: u32 = 1;
/// Write, create, and fail if it exists.
const OPEN_NEW: u32 = 2 | 8 | 32;
const NO_SUCH_FILE: u32 = 2;
/// SSH_FX_OP_UNSUPPORTED: the server does not have the extension.
const NOT_SUPPORTED: u32 = 8;
const END_OF_FILE: u32 = 1;

/// What a file is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Attributes {
    /// Its length in bytes.
    pub len: u64,
    /// It is a directory.
    pub is_dir: bool,
    /// When it was changed, in seconds since 1970.
    pub changed_at: u32,
}

/// An answer of the server.
enum Answer {
    Status(u32, String),
    Handle(Vec<u8>),
    Data(Vec<u8>),
    Names(Vec<(String, Attributes)>),
    Attributes(Attributes),
}

/// A connection to a server.
pub(super) struct Sftp<R, W> {
    from: R,
    to: W,
    next: u32,
}

type SftpResult<T> = Result<T, String>;

impl<R: Read, W: Write> Sftp<R, W> {
    /// Agrees with the server on the version.
    ///
    /// # Errors
    /// A message, as everywhere here: no SFTP server answers.
    pub fn connect(from: R, to: W) -> SftpResult<Self> {
        let mut sftp = Self { from, to, next: 0 };
        sftp.send(1, &VERSION.to_be_bytes())?;
        let (kind, _) = sftp.packet()?;
        match kind {
            2 => Ok(sftp),
            _ => Err("no SFTP server answers (Subsystem sftp in sshd_config)".into()),
        }
    }

    /// What is at a path; `None`: nothing.
    pub fn attributes(&mut self, path: &str) -> SftpResult<Option<Attributes>> {
        match self.call(17, &[Field::Text(path)])? {
            Answer::Attributes(found) => Ok(Some(found)),
            Answer::Status(NO_SUCH_FILE, _) => Ok(None),
            other => Err(refused(path, other)),
        }
    }

    /// Makes a directory that is missing.
    pub fn make_dir(&mut self, path: &str) -> SftpResult<()> {
        if self.attributes(path)?.is_some_and(|found| found.is_dir) {
            return Ok(());
        }
        let made = self.call(14, &[Field::Text(path), Field::Number(0)])?;
        self.done(path, made)
    }

    /// Writes a new file; `sent` is called with the bytes so far.
    pub fn write_new(
        &mut self,
        path: &str,
        mut source: impl Read,
        sent: &dyn Fn(u64),
    ) -> SftpResult<()> {
        let handle = self.open(path, OPEN_NEW)?;
        let written = self.write_all(path, &handle, &mut source, sent);
        let closed = self.close(path, &handle);
        written.and(closed)
    }

    /// Writes to an open file. All answers to its requests have arrived when it returns, unless
    /// the connection is lost.
    fn write_all(
        &mut self,
        path: &str,
        handle: &[u8],
        source: &mut impl Read,
        sent: &dyn Fn(u64),
    ) -> SftpResult<()> {
        let mut result = Ok(());
        let mut chunk = vec![0; CHUNK_LEN];
        let mut at = 0_u64;
        let mut waiting = std::collections::VecDeque::new();
        loop {
            // After an error nothing more is written.
            let read = match result.is_ok() {
                true => read_full(source, &mut chunk).map_err(|e| format!("the program: {e}")),
                false => Ok(0),
            };
            let n = read.unwrap_or_else(|why| {
                result = Err(why);
                0
            });
            if n > 0 {
                let fields = [
                    Field::Bytes(handle),
                    Field::Long(at),
                    Field::Bytes(&chunk[..n]),
                ];
                waiting.push_back(self.request(6, &fields)?);
                at += n as u64;
            }
            while waiting.len() > if n > 0 { WINDOW } else { 0 } {
                let Some(id) = waiting.pop_front() else { break };
                let written = self.answer(id)?;
                result = result.and(self.done(path, written));
            }
            sent(at);
            if n == 0 {
                return result;
            }
        }
    }

    /// Gives a file another name, whose file is replaced. A server without posix-rename has no
    /// call that replaces: the old file then gets the name `aside`, which is free, first, and
    /// its own name again if the new file cannot have it. Returns whether the old file has the
    /// name `aside` now.
    ///
    /// # Errors
    /// A message: the new file does not have the name. The old file has it, or the message says
    /// where it is.
    pub fn rename(&mut self, from: &str, to: &str, aside: &str) -> SftpResult<bool> {
        let fields = [
            Field::Text("posix-rename@openssh.com"),
            Field::Text(from),
            Field::Text(to),
        ];
        match self.call(200, &fields)? {
            Answer::Status(0, _) => return Ok(false),
            Answer::Status(NOT_SUPPORTED, _) => {}
            other => return Err(refused(to, other)),
        }
        let has_old = match self.call_rename(to, aside)? {
            Answer::Status(0, _) => true,
            Answer::Status(NO_SUCH_FILE, _) => false,
            other => return Err(refused(to, other)),
        };
        let Err(why) = self.rename_to_free(from, to) else {
            return Ok(has_old);
        };
        if !has_old {
            return Err(why);
        }
        match self.put_back(aside, to) {
            Ok(()) => Err(why),
            Err(place) => Err(format!("{why}; {place}")),
        }
    }

    /// Gives an old file its name again.
    ///
    /// # Errors
    /// A message that says where the old file is.
    pub fn put_back(&mut self, aside: &str, to: &str) -> SftpResult<()> {
        if self.rename_to_free(aside, to).is_ok() {
            return Ok(());
        }
        // Another prime may have put its program there meanwhile.
        Err(match self.attributes(to) {
            Ok(None) => format!("the old file is now {aside}: rename it there to {to}"),
            _ => format!("the old file is now {aside}; look there whether {to} exists, too"),
        })
    }

    /// Gives a file another name, which must be free.
    pub fn rename_to_free(&mut self, from: &str, to: &str) -> SftpResult<()> {
        let renamed = self.call_rename(from, to)?;
        self.done(to, renamed)
    }

    /// SSH_FXP_RENAME.
    fn call_rename(&mut self, from: &str, to: &str) -> SftpResult<Answer> {
        self.call(18, &[Field::Text(from), Field::Text(to)])
    }

    /// Removes a file, if there is one.
    pub fn remove(&mut self, path: &str) -> SftpResult<()> {
        match self.call(13, &[Field::Text(path)])? {
            Answer::Status(NO_SUCH_FILE, _) => Ok(()),
            other => self.done(path, other),
        }
    }

    /// Removes an empty directory.
    pub fn remove_dir(&mut self, path: &str) -> SftpResult<()> {
        let removed = self.call(15, &[Field::Text(path)])?;
        self.done(path, removed)
    }

    /// The first entries of a directory.
    pub fn entries(&mut self, path: &str) -> SftpResult<Vec<(String, Attributes)>> {
        let handle = match self.call(11, &[Field::Text(path)])? {
            Answer::Handle(handle) => handle,
            other => return Err(refused(path, other)),
        };
        let mut all = Vec::new();
        while all.len() < ENTRIES_MAX {
            match self.call(12, &[Field::Bytes(&handle)])? {
                Answer::Names(more) if !more.is_empty() => {
                    all.extend(
                        more.into_iter()
                            .filter(|(name, _)| name != "." && name != ".."),
                    );
                }
                Answer::Names(_) | Answer::Status(END_OF_FILE, _) => break,
                other => return Err(refused(path, other)),
            }
        }
        self.close(path, &handle)?;
        Ok(all)
    }

    fn open(&mut self, path: &str, flags: u32) -> SftpResult<Vec<u8>> {
        let fields = [Field::Text(path), Field::Number(flags), Field::Number(0)];
        match self.call(3, &fields)? {
            Answer::Handle(handle) => Ok(handle),
            other => Err(refused(path, other)),
        }
    }

    fn close(&mut self, path: &str, handle: &[u8]) -> SftpResult<()> {
        let closed = self.call(4, &[Field::Bytes(handle)])?;
        self.done(path, closed)
    }

    fn done(&self, path: &str, answer: Answer) -> SftpResult<()> {
        match answer {
            Answer::Status(0, _) => Ok(()),
            other => Err(refused(path, other)),
        }
    }

    fn call(&mut self, kind: u8, fields: &[Field<'_>]) -> SftpResult<Answer> {
        let id = self.request(kind, fields)?;
        self.answer(id)
    }

    fn request(&mut self, kind: u8, fields: &[Field<'_>]) -> SftpResult<u32> {
        let id = self.next;
        self.next = self.next.wrapping_add(1);
        let mut body = id.to_be_bytes().to_vec();
        for field in fields {
            append_field(&mut body, field);
        }
        self.send(kind, &body)?;
        Ok(id)
    }

    fn send(&mut self, kind: u8, body: &[u8]) -> SftpResult<()> {
        let mut packet = (body.len() as u32 + 1).to_be_bytes().to_vec();
        packet.push(kind);
        packet.extend_from_slice(body);
        let sent = self.to.write_all(&packet).and_then(|()| self.to.flush());
        sent.map_err(|e| format!("the SFTP server takes no data: {e}"))
    }

    /// The answer to a request; servers answer in order.
    fn answer(&mut self, id: u32) -> SftpResult<Answer> {
        let (kind, body) = self.packet()?;
        let mut fields = Fields(&body);
        if fields.number()? != id {
            return Err(malformed());
        }
        match kind {
            101 => Ok(Answer::Status(
                fields.number()?,
                fields.text().unwrap_or_default(),
            )),
            102 => Ok(Answer::Handle(fields.bytes()?.to_vec())),
            103 => Ok(Answer::Data(fields.bytes()?.to_vec())),
            104 => {
                let count = fields.number()?;
                let mut names = Vec::new();
                for _ in 0..count {
                    let name = fields.text()?;
                    fields.bytes()?;
                    names.push((name, fields.attributes()?));
                }
                Ok(Answer::Names(names))
            }
            105 => Ok(Answer::Attributes(fields.attributes()?)),
            _ => Err(malformed()),
        }
    }

    fn packet(&mut self) -> SftpResult<(u8, Vec<u8>)> {
        let lost = |e: io::Error| match e.kind() {
            io::ErrorKind::UnexpectedEof => "the SFTP server ended the connection".to_owned(),
            _ => format!("the SFTP server: {e}"),
        };
        let mut len = [0; 4];
        self.from.read_exact(&mut len).map_err(lost)?;
        let len = u32::from_be_bytes(len);
        if len == 0 || len > PACKET_LEN_MAX {
            // Mostly the text of a login shell.
            return Err(malformed());
        }
        let mut packet = vec![0; len as usize];
        self.from.read_exact(&mut packet).map_err(lost)?;
        let body = packet.split_off(1);
        Ok((packet[0], body))
    }
}

fn read_full(source: &mut impl Read, chunk: &mut [u8]) -> io::Result<usize> {
    let mut len = 0;
    while len < chunk.len() {
        match source.read(&mut chunk[len..]) {
            Ok(0) => break,
            Ok(n) => len += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(len)
}

fn malformed() -> String {
    "the answer is not SFTP; does a login script there print text?".into()
}

fn refused(path: &str, answer: Answer) -> String {
    let Answer::Status(code, text) = answer else {
        return malformed();
    };
    let text = filermark_model::text::sanitize(text.trim(), 120);
    match (code, text.is_empty()) {
        (3, _) => format!("{path}: permission denied"),
        (_, true) => format!("{path}: the SFTP server refused it (status {code})"),
        (_, false) => format!("{path}: {text}"),
    }
}

#[cfg(test)]
mod tests;
