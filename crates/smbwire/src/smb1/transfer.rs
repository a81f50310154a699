//! READ_ANDX, WRITE_ANDX and LOCKING_ANDX (MS-SMB 2.2.4.2, 2.2.4.3; MS-CIFS 2.2.4.32).

use super::header::Command;
use super::writer::{Head, Request, Writer, patch};

/// READ_ANDX with a 64-bit offset and up to 4 GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadAndx {
    /// FID.
    pub fid: u16,
    /// From where.
    pub offset: u64,
    /// How many bytes at most.
    pub count: u32,
}

impl Request for ReadAndx {
    const COMMAND: Command = Command::ReadAndx;

    fn encode(&self, w: &mut Writer<'_>) {
        w.no_andx();
        w.u16(self.fid);
        w.u32(self.offset as u32);
        w.u16(self.count as u16);
        // MinCountOfBytesToReturn is for pipes.
        w.u16(0);
        // MaxCountHigh (MS-SMB 2.2.4.2.1).
        w.u32(self.count >> 16);
        w.u16(0);
        w.u32((self.offset >> 32) as u32);
        w.end_words();
    }
}

/// WRITE_ANDX with a 64-bit offset. The caller appends the data: [`begin`](Self::begin),
/// the data, [`finish`](WriteMark::finish).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteAndx {
    /// FID.
    pub fid: u16,
    /// To where.
    pub offset: u64,
    /// Whether the server is to answer only when the data are on stable storage.
    pub write_through: bool,
}

/// Where a WRITE_ANDX is in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a request that is not finished has the data length 0"]
pub struct WriteMark {
    start: usize,
    bytes_at: usize,
}

/// Where WRITE_ANDX has DataLengthHigh, DataLength and DataOffset.
const LENGTHS_AT: usize = 33 + 18;
/// Where its data begin.
const DATA_AT: usize = 64;

impl WriteAndx {
    /// Appends all but the data, which go to the end of the buffer.
    pub fn begin(&self, head: &Head, out: &mut Vec<u8>) -> WriteMark {
        let mut w = Writer::new(out, head, Command::WriteAndx);
        w.no_andx();
        w.u16(self.fid);
        w.u32(self.offset as u32);
        w.u32(0);
        w.u16(self.write_through.into());
        w.u16(0);
        w.u32(0);
        w.u16(DATA_AT as u16);
        w.u32((self.offset >> 32) as u32);
        w.end_words();
        w.u8(0);
        let (start, bytes_at) = w.leave_open();
        WriteMark { start, bytes_at }
    }
}

impl WriteMark {
    /// Says how much was appended; it comes back.
    pub fn finish(self, out: &mut [u8]) -> usize {
        let data = out.len().saturating_sub(self.start + DATA_AT);
        let at = self.start + LENGTHS_AT;
        patch(out, at, &((data >> 16) as u16).to_le_bytes());
        patch(out, at + 2, &(data as u16).to_le_bytes());
        patch(out, self.bytes_at, &((data + 1) as u16).to_le_bytes());
        data
    }
}

/// TypeOfLock.
pub mod lock_type {
    /// Shared, not exclusive.
    pub const SHARED: u8 = 0x01;
    /// About an oplock.
    pub const OPLOCK: u8 = 0x02;
    /// Takes a waiting lock back.
    pub const CANCEL: u8 = 0x08;
    /// Ranges of 64 bits.
    pub const LARGE: u8 = 0x10;
}

/// A range of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// From where.
    pub offset: u64,
    /// How many.
    pub length: u64,
}

/// LOCKING_ANDX: gives ranges back first, then takes others, of the request's own process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Locking<'a> {
    /// FID.
    pub fid: u16,
    /// Whether the locks are shared.
    pub shared: bool,
    /// How long the server may wait for them, in milliseconds; 0: not at all.
    pub timeout_ms: u32,
    /// The process the ranges belong to: the request's own.
    pub pid: u16,
    /// Ranges to give back.
    pub unlocks: &'a [Range],
    /// Ranges to take.
    pub locks: &'a [Range],
}

impl Request for Locking<'_> {
    const COMMAND: Command = Command::LockingAndx;

    fn encode(&self, w: &mut Writer<'_>) {
        let limits = (self.shared, self.timeout_ms);
        let (unlocks, locks) = (self.unlocks.iter().copied(), self.locks.iter().copied());
        put_locks(w, self.fid, limits, self.pid, unlocks, locks);
    }
}

/// Writes a LOCKING_ANDX; `how`: whether the locks are shared, and how long the server
/// may wait for them, in milliseconds.
pub(super) fn put_locks(
    w: &mut Writer<'_>,
    fid: u16,
    how: (bool, u32),
    pid: u16,
    unlocks: impl Iterator<Item = Range> + Clone,
    locks: impl Iterator<Item = Range> + Clone,
) {
    w.no_andx();
    w.u16(fid);
    let shared = if how.0 { lock_type::SHARED } else { 0 };
    w.u8(lock_type::LARGE | shared);
    w.u8(0);
    w.u32(how.1);
    w.u16(unlocks.clone().count() as u16);
    w.u16(locks.clone().count() as u16);
    w.end_words();
    for range in unlocks.chain(locks) {
        w.u16(pid);
        w.u16(0);
        for value in [range.offset, range.length] {
            w.u32((value >> 32) as u32);
            w.u32(value as u32);
        }
    }
}

/// LOCKING_ANDX that acknowledges the break of an oplock; it has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OplockAck {
    /// FID.
    pub fid: u16,
    /// What remains: 0 nothing, 1 level II.
    pub level: u8,
}

impl Request for OplockAck {
    const COMMAND: Command = Command::LockingAndx;

    fn encode(&self, w: &mut Writer<'_>) {
        w.no_andx();
        w.u16(self.fid);
        w.u8(lock_type::OPLOCK);
        w.u8(self.level);
        w.u32(0);
        w.u32(0);
        w.end_words();
    }
}
