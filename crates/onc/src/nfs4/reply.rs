//! The results of COMPOUND and CB_COMPOUND (RFC 8881 sections 16.2 and 20.2): written and read one by one.

use std::marker::PhantomData;

use super::attribute::Bitmap4;
use super::callback;
use super::compound::{Arguments, OperationSet};
use super::data::ReadHead4;
use super::operation::Operation;
use super::status::{Nfsstat4, Res};
use super::{MAX_OPERATIONS, MAX_OWNER};
use crate::xdr::{Decode, DecodeError, Decoder, Encode, Encoder};

/// Appends the results of COMPOUND or CB_COMPOUND, one by one. The status of the whole is that of the last
/// result; after one that is not [`Nfsstat4::Ok`] none may follow.
#[derive(Debug)]
pub struct CompoundResWriter<'o, O> {
    out: &'o mut Vec<u8>,
    status_at: usize,
    count_at: usize,
    count: u32,
    status: Nfsstat4,
    kind: PhantomData<fn() -> O>,
}

/// A place in the results to which [`CompoundResWriter::reset`] goes back.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    len: usize,
    count: u32,
    status: Nfsstat4,
}

impl<'o, O: OperationSet> CompoundResWriter<'o, O> {
    /// Begins the results behind what is in `out`: a reply's header. `tag` is the call's.
    pub fn begin(out: &'o mut Vec<u8>, tag: &[u8]) -> Self {
        let status_at = out.len();
        let mut e = Encoder::new(out);
        e.put(&Nfsstat4::Ok);
        e.opaque(tag);
        let count_at = e.position();
        e.u32(0);
        Self {
            out,
            status_at,
            count_at,
            count: 0,
            status: Nfsstat4::Ok,
            kind: PhantomData,
        }
    }

    /// Appends the results of an operation and returns their status.
    #[inline]
    pub fn result<A: Arguments<Operation = O>>(&mut self, results: &A::Res<'_>) -> Nfsstat4 {
        self.with(A::OPERATION, |out| results.encode(&mut Encoder::new(out)))
    }

    /// Appends the results of an operation that is known only when the program runs.
    pub fn any(&mut self, results: &O::Results<'_>) -> Nfsstat4 {
        let operation = O::of_results(results);
        self.with(operation, |out| results.encode(&mut Encoder::new(out)))
    }

    /// Appends the results that `write` appends, the status first: for lists and data that are made in
    /// place.
    #[inline]
    pub fn with(&mut self, operation: O, write: impl FnOnce(&mut Vec<u8>)) -> Nfsstat4 {
        debug_assert!(self.status == Nfsstat4::Ok, "a failure ends the COMPOUND");
        Encoder::new(self.out).u32(operation.to_u32());
        let at = self.out.len();
        write(self.out);
        let status = Decoder::new(self.out.get(at..).unwrap_or_default()).u32("nfsstat4");
        debug_assert!(status.is_ok(), "results begin with their status");
        self.status = status.map_or(Nfsstat4::Serverfault, Nfsstat4::from_u32);
        self.count += 1;
        self.status
    }

    fn status_and(&mut self, operation: O, status: Nfsstat4, more: impl Encode) -> Nfsstat4 {
        self.with(operation, |out| {
            let mut e = Encoder::new(out);
            e.put(&status);
            e.put(&more);
        })
    }

    /// Length of `out`, in bytes: a server compares it with the longest reply of the session.
    pub const fn len(&self) -> usize {
        self.out.len()
    }

    /// Whether there are no results yet.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The status so far.
    pub const fn status(&self) -> Nfsstat4 {
        self.status
    }

    /// The present place.
    pub const fn mark(&self) -> Mark {
        Mark {
            len: self.out.len(),
            count: self.count,
            status: self.status,
        }
    }

    /// Takes back what was appended since `mark`: results that are too long for the session.
    pub fn reset(&mut self, mark: Mark) {
        self.out.truncate(mark.len);
        self.count = mark.count;
        self.status = mark.status;
    }

    /// The results of the operation that was appended at `mark`, behind its number.
    pub fn since(&self, mark: Mark) -> &[u8] {
        self.out.get(mark.len + 4..).unwrap_or_default()
    }

    /// Ends the COMPOUND: writes status and count, and returns the status.
    pub fn finish(self) -> Nfsstat4 {
        let status = self.status;
        self.finish_as(status)
    }

    /// Ends the COMPOUND and returns what is in `out` from `from` on: with the place at which the results
    /// began, the results, to be kept.
    pub fn finish_from(self, from: usize) -> &'o [u8] {
        let mut e = Encoder::new(self.out);
        e.set_u32(self.status_at, self.status.to_u32());
        e.set_u32(self.count_at, self.count);
        self.out.get(from..).unwrap_or_default()
    }

    /// Ends the COMPOUND with results that were kept, in place of what is in `out` from `from` on.
    pub fn replace(self, from: usize, kept: &[u8]) {
        self.out.truncate(from);
        self.out.extend_from_slice(kept);
    }

    /// Ends the COMPOUND with a status of its own: an error before the first operation
    /// (NFS4ERR_MINOR_VERS_MISMATCH).
    pub fn finish_as(self, status: Nfsstat4) -> Nfsstat4 {
        let mut e = Encoder::new(self.out);
        e.set_u32(self.status_at, status.to_u32());
        e.set_u32(self.count_at, self.count);
        status
    }
}

impl CompoundResWriter<'_, Operation> {
    /// Appends a failure with nothing beside the status. (Of SETATTR: nothing was set.)
    pub fn fail(&mut self, operation: Operation, status: Nfsstat4) -> Nfsstat4 {
        match operation {
            Operation::Setattr => self.status_and(operation, status, Bitmap4::EMPTY),
            _ => self.status_and(operation, status, ()),
        }
    }
}

impl CompoundResWriter<'_, callback::Operation> {
    /// Appends a failure with nothing beside the status.
    pub fn fail(&mut self, operation: callback::Operation, status: Nfsstat4) -> Nfsstat4 {
        self.status_and(operation, status, ())
    }
}

/// The results of COMPOUND or CB_COMPOUND: what is in front of them, and an iterator over them. The first
/// error ends it.
#[derive(Debug, Clone, Copy)]
pub struct CompoundRes<'r, O> {
    /// The status of the last result.
    pub status: Nfsstat4,
    /// The call's tag.
    pub tag: &'r [u8],
    left: usize,
    results: Decoder<'r>,
    kind: PhantomData<fn() -> O>,
}

impl<'r, O: OperationSet> CompoundRes<'r, O> {
    /// Reads what is in front of the results. They take the rest of the message.
    ///
    /// # Errors
    /// What is wrong with it.
    #[inline]
    pub fn decode(d: &mut Decoder<'r>) -> Result<Self, DecodeError> {
        Ok(Self {
            status: Nfsstat4::decode_as(d, "COMPOUND4res.status")?,
            tag: d.opaque(MAX_OWNER, "COMPOUND4res.tag")?,
            left: d.length(MAX_OPERATIONS, "COMPOUND4res.resarray")?,
            results: d.take_rest(),
            kind: PhantomData,
        })
    }

    /// How many results are left. A server sends none after the first failure.
    pub const fn left(&self) -> usize {
        self.left
    }

    /// The status of the next results, which stay to be read. `None`: there are none, or they are cut off.
    pub fn next_status(&self) -> Option<Nfsstat4> {
        self.left.checked_sub(1)?;
        let mut results = self.results;
        results.u32("nfs_resop4.resop").ok()?;
        Nfsstat4::decode_as(&mut results, "nfs_resop4.status").ok()
    }

    /// Reads the next results, which must be of this operation.
    ///
    /// # Errors
    /// When there are none, when they are of another operation, or what is wrong with them.
    #[inline]
    pub fn read<A: Arguments<Operation = O>>(&mut self) -> Result<A::Res<'r>, DecodeError> {
        self.expect(A::OPERATION)?;
        A::Res::decode(&mut self.results)
    }

    /// Checks that nothing follows the last result.
    ///
    /// # Errors
    /// [`crate::xdr::Problem::Trailing`] when something does, also results that were not read.
    pub fn end(&self) -> Result<(), DecodeError> {
        self.results.end()
    }

    #[inline]
    fn expect(&mut self, operation: O) -> Result<(), DecodeError> {
        let at = self.results.offset();
        let number = self.number(operation.name())?;
        if number == operation.to_u32() {
            Ok(())
        } else {
            Err(DecodeError::unexpected(at, operation.name(), number))
        }
    }

    #[inline]
    fn number(&mut self, what: &'static str) -> Result<u32, DecodeError> {
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                self.results.u32(what)
            }
            None => Err(DecodeError::truncated(self.results.offset(), what, 4, 0)),
        }
    }

    fn advance(&mut self) -> Result<O::Results<'r>, DecodeError> {
        let at = self.results.offset();
        let number = self.number("nfs_resop4.resop")?;
        let operation = O::from_u32(number)
            .ok_or_else(|| DecodeError::unexpected(at, "nfs_resop4.resop", number))?;
        operation.decode_results(&mut self.results)
    }
}

impl<'r> CompoundRes<'r, Operation> {
    /// Reads the front of a READ's results, and returns it with a decoder at the data, which need not be in
    /// the message yet.
    ///
    /// # Errors
    /// As [`CompoundRes::read`].
    pub fn read_head(mut self) -> Result<(Res<ReadHead4>, Decoder<'r>), DecodeError> {
        self.expect(Operation::Read)?;
        let head = ReadHead4::decode_front(&mut self.results)?;
        Ok((head, self.results))
    }
}

impl<'r, O: OperationSet> Iterator for CompoundRes<'r, O> {
    type Item = Result<O::Results<'r>, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let next = self.advance();
        if next.is_err() {
            self.left = 0;
        }
        Some(next)
    }
}
