//! A file of an SFTP server as a reader, with a limited number of bytes in memory.

use super::{Answer, CHUNK_LEN, END_OF_FILE, Field, OPEN_READ, Sftp, SftpResult, WINDOW, refused};
use std::collections::VecDeque;
use std::io::{self, Read, Write};

/// An open file. [`RemoteFile::close`] must be called before the connection is used for anything
/// else: answers to its reads may be on their way.
pub(in crate::admin) struct RemoteFile<'a, R, W> {
    sftp: &'a mut Sftp<R, W>,
    path: &'a str,
    handle: Vec<u8>,
    /// Bytes of the file that are read.
    len: u64,
    asked: u64,
    /// Reads without an answer: request and length.
    waiting: VecDeque<(u32, u64)>,
    /// The last answer, and how much of it was taken.
    piece: (Vec<u8>, usize),
}

impl<'a, R: Read, W: Write> RemoteFile<'a, R, W> {
    /// Opens a file to read its first `len` bytes.
    ///
    /// # Errors
    /// A message: the server refuses it.
    pub fn open(sftp: &'a mut Sftp<R, W>, path: &'a str, len: u64) -> SftpResult<Self> {
        let handle = sftp.open(path, OPEN_READ)?;
        Ok(Self {
            sftp,
            path,
            handle,
            len,
            asked: 0,
            waiting: VecDeque::new(),
            piece: (Vec::new(), 0),
        })
    }

    /// Closes it, also before its end.
    ///
    /// # Errors
    /// A message: the connection is lost.
    pub fn close(mut self) -> SftpResult<()> {
        while let Some((id, _)) = self.waiting.pop_front() {
            self.sftp.answer(id)?;
        }
        self.sftp.close(self.path, &self.handle)
    }

    /// The next piece of the file; empty at its end.
    fn next_piece(&mut self) -> SftpResult<Vec<u8>> {
        while self.asked < self.len && self.waiting.len() < WINDOW {
            let want = (self.len - self.asked).min(CHUNK_LEN as u64);
            let fields = [
                Field::Bytes(&self.handle),
                Field::Long(self.asked),
                Field::Number(want as u32),
            ];
            let id = self.sftp.request(5, &fields)?;
            self.waiting.push_back((id, want));
            self.asked += want;
        }
        let Some((id, want)) = self.waiting.pop_front() else {
            return Ok(Vec::new());
        };
        match self.sftp.answer(id)? {
            // A short read before the end would leave a gap.
            Answer::Data(bytes) if bytes.len() as u64 == want => Ok(bytes),
            Answer::Data(_) | Answer::Status(END_OF_FILE, _) => Err(format!(
                "{}: is shorter than the server states; try again",
                self.path
            )),
            other => Err(refused(self.path, other)),
        }
    }
}

impl<R: Read, W: Write> Read for RemoteFile<'_, R, W> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.piece.1 == self.piece.0.len() {
            self.piece = (self.next_piece().map_err(io::Error::other)?, 0);
        }
        let (piece, taken) = &mut self.piece;
        let n = buffer.len().min(piece.len() - *taken);
        buffer[..n].copy_from_slice(&piece[*taken..*taken + n]);
        *taken += n;
        Ok(n)
    }
}
