//! COMPOUND (RFC 8881 section 16.2) and CB_COMPOUND (section 20.2): lists of operations and of results,
//! written and read one by one, without allocation.

use std::marker::PhantomData;
use std::ops::RangeInclusive;

use super::callback;
use super::operation::Operation;
use super::session::SequenceArgs;
use super::status::Nfsstat4;
use super::{MAX_OPERATIONS, MAX_OWNER};
use crate::xdr::{Decode, DecodeError, Decoder, Encode, Encoder};

/// The arguments of COMPOUND up to those of SEQUENCE, in bytes, if the tag is empty.
const SESSION_FRONT: usize = 48;

/// The operations of a direction: [`Operation`] or [`callback::Operation`].
pub trait OperationSet: Copy + Eq + std::fmt::Debug + 'static {
    /// Arguments of any of them.
    type Args<'a>: Encode;
    /// Results of any of them.
    type Results<'r>: Encode;
    /// What stands for an operation that does not exist.
    const ILLEGAL: Self;

    /// The operation with this number.
    fn from_u32(number: u32) -> Option<Self>;
    /// The number on the wire.
    fn to_u32(self) -> u32;
    /// The RFC's name.
    fn name(self) -> &'static str;
    /// The minor versions that have it.
    fn minor_versions(self) -> RangeInclusive<u32>;
    /// Reads its arguments.
    ///
    /// # Errors
    /// What is wrong with them.
    fn decode_args<'a>(self, d: &mut Decoder<'a>) -> Result<Self::Args<'a>, DecodeError>;
    /// Reads its results.
    ///
    /// # Errors
    /// What is wrong with them.
    fn decode_results<'r>(self, d: &mut Decoder<'r>) -> Result<Self::Results<'r>, DecodeError>;
    /// Whose arguments these are.
    fn of_args(args: &Self::Args<'_>) -> Self;
    /// Whose results these are.
    fn of_results(results: &Self::Results<'_>) -> Self;
}

/// The arguments of one operation: ties them to its number and to its results.
pub trait Arguments: Encode {
    /// The direction.
    type Operation: OperationSet;
    /// The operation.
    const OPERATION: Self::Operation;
    /// Its results, borrowing from the reply.
    type Res<'r>: Encode + Decode<'r>;
}

/// Appends the arguments of COMPOUND or CB_COMPOUND, operation by operation.
#[derive(Debug)]
pub struct CompoundWriter<'o, O> {
    out: &'o mut Vec<u8>,
    count_at: usize,
    count: u32,
    kind: PhantomData<fn() -> O>,
}

impl<'o> CompoundWriter<'o, Operation> {
    /// Begins a COMPOUND behind what is in `out`: a call's header.
    #[inline]
    pub fn begin(out: &'o mut Vec<u8>, tag: &[u8], minorversion: u32) -> Self {
        let mut e = Encoder::new(out);
        e.opaque(tag);
        e.u32(minorversion);
        Self::count_here(out)
    }

    /// Begins a COMPOUND of a session, without a tag: with SEQUENCE, in one piece.
    #[inline]
    pub fn begin_in_session(
        out: &'o mut Vec<u8>,
        minorversion: u32,
        sequence: &SequenceArgs,
    ) -> Self {
        let start = out.len();
        let mut front = [0; SESSION_FRONT];
        let mut put = |at: usize, word: u32| {
            front[at..at + 4].copy_from_slice(&word.to_be_bytes());
        };
        put(4, minorversion);
        put(12, Operation::Sequence.to_u32());
        put(32, sequence.sequenceid);
        put(36, sequence.slotid);
        put(40, sequence.highest_slotid);
        put(44, u32::from(sequence.cachethis));
        front[16..32].copy_from_slice(&sequence.sessionid);
        out.extend_from_slice(&front);
        Self {
            out,
            count_at: start + 8,
            count: 1,
            kind: PhantomData,
        }
    }
}

impl<'o> CompoundWriter<'o, callback::Operation> {
    /// Begins a CB_COMPOUND. `callback_ident` is that of SETCLIENTID; 0 in minor version 1 and later.
    pub fn begin_callback(
        out: &'o mut Vec<u8>,
        tag: &[u8],
        minorversion: u32,
        callback_ident: u32,
    ) -> Self {
        let mut e = Encoder::new(out);
        e.opaque(tag);
        e.u32(minorversion);
        e.u32(callback_ident);
        Self::count_here(out)
    }
}

impl<'o, O: OperationSet> CompoundWriter<'o, O> {
    #[inline]
    fn count_here(out: &'o mut Vec<u8>) -> Self {
        let count_at = out.len();
        Encoder::new(out).u32(0);
        Self {
            out,
            count_at,
            count: 0,
            kind: PhantomData,
        }
    }

    /// Appends an operation.
    #[inline]
    pub fn op<A: Arguments<Operation = O>>(&mut self, args: &A) -> &mut Self {
        self.append(A::OPERATION, args)
    }

    /// Appends an operation that is known only when the program runs.
    pub fn any(&mut self, args: &O::Args<'_>) -> &mut Self {
        self.append(O::of_args(args), args)
    }

    /// Appends an operation whose arguments `write` appends: for data that is made in place.
    #[inline]
    pub fn with(&mut self, operation: O, write: impl FnOnce(&mut Vec<u8>)) -> &mut Self {
        Encoder::new(self.out).u32(operation.to_u32());
        write(self.out);
        self.count += 1;
        self
    }

    #[inline]
    fn append(&mut self, operation: O, args: &impl Encode) -> &mut Self {
        self.with(operation, |out| args.encode(&mut Encoder::new(out)))
    }

    /// Ends the COMPOUND: writes how many operations it has, and returns that.
    #[inline]
    pub fn finish(self) -> u32 {
        Encoder::new(self.out).set_u32(self.count_at, self.count);
        self.count
    }
}

/// Why an operation of a COMPOUND cannot be executed. It ends the COMPOUND.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OperationError {
    /// The minor version does not have the operation.
    #[error("operation {number} does not exist in this minor version")]
    Illegal {
        /// Its number.
        number: u32,
    },
    /// The minor version no longer has the operation (RFC 8881 section 17).
    #[error("operation {number} exists in earlier minor versions only")]
    Removed {
        /// Its number.
        number: u32,
    },
    /// The arguments are not what the standard says.
    #[error("arguments of {name}: {error}")]
    Malformed {
        /// The operation's number, to be sent in the result.
        number: u32,
        /// The operation's name.
        name: &'static str,
        /// What is wrong with them.
        error: DecodeError,
    },
    /// The COMPOUND ends before its count of operations.
    #[error("number of an operation: {0}")]
    Truncated(DecodeError),
}

impl OperationError {
    /// The status that a server answers.
    pub const fn status(&self) -> Nfsstat4 {
        match self {
            Self::Illegal { .. } => Nfsstat4::OpIllegal,
            Self::Removed { .. } => Nfsstat4::Notsupp,
            Self::Malformed { .. } | Self::Truncated(_) => Nfsstat4::Badxdr,
        }
    }

    /// The number of the operation that a server answers.
    pub fn resop<O: OperationSet>(&self) -> O {
        match self {
            Self::Malformed { number, .. } | Self::Removed { number } => {
                O::from_u32(*number).unwrap_or(O::ILLEGAL)
            }
            Self::Illegal { .. } | Self::Truncated(_) => O::ILLEGAL,
        }
    }
}

/// The arguments of COMPOUND or CB_COMPOUND: what is in front of the operations, and an iterator over them.
/// The first error ends it.
#[derive(Debug, Clone, Copy)]
pub struct CompoundArgs<'a, O> {
    /// To be sent back.
    pub tag: &'a [u8],
    /// The minor version.
    pub minorversion: u32,
    /// Of CB_COMPOUND: what SETCLIENTID asked for. 0 of COMPOUND.
    pub callback_ident: u32,
    left: usize,
    ops: Decoder<'a>,
    kind: PhantomData<fn() -> O>,
}

impl<'a> CompoundArgs<'a, Operation> {
    /// Reads what is in front of the operations. They take the rest of the message.
    ///
    /// # Errors
    /// What is wrong with it: a server answers GARBAGE_ARGS.
    #[inline]
    pub fn decode(d: &mut Decoder<'a>) -> Result<Self, DecodeError> {
        let tag = d.opaque(MAX_OWNER, "COMPOUND4args.tag")?;
        let minorversion = d.u32("COMPOUND4args.minorversion")?;
        Self::rest(d, tag, minorversion, 0)
    }
}

impl<'a> CompoundArgs<'a, callback::Operation> {
    /// Reads what is in front of the operations. They take the rest of the message.
    ///
    /// # Errors
    /// What is wrong with it: a client answers GARBAGE_ARGS.
    pub fn decode_callback(d: &mut Decoder<'a>) -> Result<Self, DecodeError> {
        let tag = d.opaque(MAX_OWNER, "CB_COMPOUND4args.tag")?;
        let minorversion = d.u32("CB_COMPOUND4args.minorversion")?;
        let callback_ident = d.u32("CB_COMPOUND4args.callback_ident")?;
        Self::rest(d, tag, minorversion, callback_ident)
    }
}

impl<'a, O: OperationSet> CompoundArgs<'a, O> {
    fn rest(
        d: &mut Decoder<'a>,
        tag: &'a [u8],
        minorversion: u32,
        callback_ident: u32,
    ) -> Result<Self, DecodeError> {
        Ok(Self {
            tag,
            minorversion,
            callback_ident,
            left: d.length(MAX_OPERATIONS, "COMPOUND4args.argarray")?,
            ops: d.take_rest(),
            kind: PhantomData,
        })
    }

    /// How many operations are left.
    pub const fn left(&self) -> usize {
        self.left
    }

    /// Checks that nothing follows the last operation.
    ///
    /// # Errors
    /// [`crate::xdr::Problem::Trailing`] when something does, also operations that were not read.
    pub fn end(&self) -> Result<(), DecodeError> {
        self.ops.end()
    }

    fn advance(&mut self) -> Result<O::Args<'a>, OperationError> {
        let number = self
            .ops
            .u32("nfs_argop4.argop")
            .map_err(OperationError::Truncated)?;
        let illegal = OperationError::Illegal { number };
        let operation = O::from_u32(number).ok_or(illegal)?;
        let versions = operation.minor_versions();
        if operation == O::ILLEGAL || self.minorversion < *versions.start() {
            return Err(illegal);
        }
        if self.minorversion > *versions.end() {
            return Err(OperationError::Removed { number });
        }
        let name = operation.name();
        operation
            .decode_args(&mut self.ops)
            .map_err(|error| OperationError::Malformed {
                number,
                name,
                error,
            })
    }
}

impl<'a, O: OperationSet> Iterator for CompoundArgs<'a, O> {
    type Item = Result<O::Args<'a>, OperationError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let next = self.advance();
        if next.is_err() {
            self.left = 0;
        }
        Some(next)
    }
}
