//! How a request is put together: header, words, bytes (MS-CIFS 2.2.3.2, 2.2.3.3).

use super::header::{Command, HEADER, Header, flags, flags2};
use crate::bytes::Put;

/// What the header of a request says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Tree.
    pub tid: u16,
    /// Session.
    pub uid: u16,
    /// Process, to which locks belong.
    pub pid: u32,
    /// Which of the requests under way; not 0xFFFF.
    pub mid: u16,
    /// Flags2 beyond those of every message.
    pub flags2: u16,
}

impl Head {
    /// Appends a request, without a mark and unsigned.
    pub fn put<R: Request>(&self, out: &mut Vec<u8>, request: &R) {
        let mut writer = Writer::new(out, self, R::COMMAND);
        request.encode(&mut writer);
        writer.end();
    }
}

/// A request.
pub trait Request {
    /// Its command.
    const COMMAND: Command;

    /// Writes its words, ends them, and writes its bytes.
    fn encode(&self, w: &mut Writer<'_>);
}

/// A path below the tree's root: `\dir\name`, either part may be empty; `dir` may have
/// backslashes within.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path<'a> {
    /// The directory, without a backslash in front.
    pub dir: &'a str,
    /// The name in it, or a pattern.
    pub name: &'a str,
}

impl<'a> Path<'a> {
    /// A whole path without a backslash in front.
    pub const fn of(name: &'a str) -> Self {
        Self { dir: "", name }
    }
}

/// Writes one message at the end of a buffer.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    bytes_at: usize,
}

impl<'a> Writer<'a> {
    /// Begins with the header and space for the count of words.
    pub(super) fn new(out: &'a mut Vec<u8>, head: &Head, command: Command) -> Self {
        let start = out.len();
        Header {
            command: command.code(),
            flags: flags::CASE_INSENSITIVE | flags::CANONICAL,
            flags2: flags2::OURS | head.flags2,
            pid: head.pid,
            tid: head.tid,
            uid: head.uid,
            mid: head.mid,
            ..Header::default()
        }
        .put(out);
        out.push(0);
        Self {
            out,
            start,
            bytes_at: 0,
        }
    }

    /// A byte.
    #[inline]
    pub fn u8(&mut self, value: u8) {
        self.out.push(value);
    }
    /// Two bytes.
    #[inline]
    pub fn u16(&mut self, value: u16) {
        self.out.put_u16(value);
    }
    /// Four bytes.
    #[inline]
    pub fn u32(&mut self, value: u32) {
        self.out.put_u32(value);
    }
    /// Eight bytes.
    #[inline]
    pub fn u64(&mut self, value: u64) {
        self.out.put_u64(value);
    }
    /// Bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// The end of a chain, where another command could follow.
    pub fn no_andx(&mut self) {
        self.bytes(&[0xFF, 0, 0, 0]);
    }

    /// How far from the header it is.
    pub fn here(&self) -> usize {
        self.out.len() - self.start
    }

    /// Zeros up to a multiple of `to` (a power of two) from the header.
    pub fn align(&mut self, to: usize) {
        let missing = self.here().wrapping_neg() & (to - 1);
        self.bytes(&[0; 8][..missing.min(8)]);
    }

    /// Text in UTF-16, aligned, without an end mark.
    pub fn text(&mut self, text: &str) {
        self.align(2);
        self.out.put_utf16(text);
    }

    /// A path with its end mark, aligned.
    pub fn path(&mut self, path: &Path<'_>) {
        self.path_part(path);
        self.u16(0);
    }

    /// A path without its end mark; its length in bytes comes back.
    pub fn path_part(&mut self, path: &Path<'_>) -> usize {
        self.align(2);
        let from = self.out.len();
        for part in [path.dir, path.name] {
            if !part.is_empty() {
                self.out.put_utf16("\\");
                self.out.put_utf16(part);
            }
        }
        self.out.len() - from
    }

    /// Overwrites two bytes so far from the header.
    pub fn patch_u16(&mut self, at: usize, value: usize) {
        patch(self.out, self.start + at, &(value as u16).to_le_bytes());
    }

    /// Overwrites four bytes so far from the header.
    pub fn patch_u32(&mut self, at: usize, value: usize) {
        patch(self.out, self.start + at, &(value as u32).to_le_bytes());
    }

    /// The words are all there; bytes follow.
    pub fn end_words(&mut self) {
        let words = (self.here() - HEADER) / 2;
        patch(self.out, self.start + HEADER, &[words as u8]);
        self.bytes_at = self.out.len();
        self.u16(0);
    }

    /// All bytes are written. Of a count beyond 16 bits the lower ones are sent, as
    /// large writes have it (MS-SMB 2.2.4.3.1).
    pub(super) fn end(self) {
        let count = self.out.len() - self.bytes_at - 2;
        patch(self.out, self.bytes_at, &(count as u16).to_le_bytes());
    }

    /// Where the message begins in the buffer, and where its count of bytes is; for
    /// requests whose bytes the caller writes.
    pub(super) const fn leave_open(self) -> (usize, usize) {
        (self.start, self.bytes_at)
    }
}

/// Overwrites bytes; what is not there stays so.
pub(super) fn patch(out: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = out.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}
