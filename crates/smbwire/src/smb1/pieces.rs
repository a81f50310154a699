//! Answers to transactions: in one message nearly always, else put together from
//! several (MS-CIFS 3.2.5.1.4). Parts are within the message, and the whole is bounded.

use super::header::Command;
use super::reply::Reply;
use crate::bytes::ByteReader;
use crate::error::DecodeError;

/// The answer to a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transaction<'a> {
    /// Parameters.
    pub parameters: &'a [u8],
    /// Data.
    pub data: &'a [u8],
}

/// What one message carries of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    parameters: Piece<'a>,
    data: Piece<'a>,
}

/// A piece of either.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Piece<'a> {
    /// Bytes of the whole.
    total: usize,
    /// Where this goes.
    at: usize,
    bytes: &'a [u8],
}

impl<'a> Piece<'a> {
    fn new(
        reply: &Reply<'a>,
        total: usize,
        [count, offset, at]: [usize; 3],
    ) -> Result<Self, DecodeError> {
        let bytes = match count {
            0 => &[][..],
            _ if offset < reply.bytes_at() => {
                return Err(DecodeError::Bad("the offset of a transaction's part"));
            }
            _ => ByteReader::new(reply.message).at(offset, count)?,
        };
        match at.checked_add(count) {
            Some(end) if end <= total => Ok(Self { total, at, bytes }),
            _ => Err(DecodeError::Bad("the displacement of a transaction's part")),
        }
    }

    const fn is_whole(&self) -> bool {
        self.bytes.len() == self.total
    }
}

impl<'a> Part<'a> {
    /// Reads an answer to TRANSACTION2 or NT_TRANSACT.
    ///
    /// # Errors
    /// It is cut short, or its parts are not within the message or the whole.
    pub fn read(reply: &Reply<'a>) -> Result<Self, DecodeError> {
        const TRANS2: u8 = Command::Transaction2.code();
        const NT: u8 = Command::NtTransact.code();
        match reply.header.command {
            TRANS2 => {
                let mut r = reply.words(10)?;
                let mut next = || r.u16().map(usize::from);
                let totals = [next()?, next()?];
                next()?;
                let parameters = [next()?, next()?, next()?];
                let data = [next()?, next()?, next()?];
                Self::new(reply, totals, parameters, data)
            }
            NT => {
                let mut r = reply.words(18)?;
                r.take(3)?;
                let mut next = || r.u32().map(|n| n as usize);
                let totals = [next()?, next()?];
                let parameters = [next()?, next()?, next()?];
                let data = [next()?, next()?, next()?];
                Self::new(reply, totals, parameters, data)
            }
            _ => Err(DecodeError::Bad("the command of a transaction's answer")),
        }
    }

    fn new(
        reply: &Reply<'a>,
        totals: [usize; 2],
        parameters: [usize; 3],
        data: [usize; 3],
    ) -> Result<Self, DecodeError> {
        Ok(Self {
            parameters: Piece::new(reply, totals[0], parameters)?,
            data: Piece::new(reply, totals[1], data)?,
        })
    }

    /// Bytes that this message carries, and bytes of the whole answer.
    pub const fn counts(&self) -> (usize, usize) {
        (
            self.parameters.bytes.len() + self.data.bytes.len(),
            self.parameters.total + self.data.total,
        )
    }

    /// The whole answer, if this message carries all of it.
    pub const fn whole(&self) -> Option<Transaction<'a>> {
        if self.parameters.is_whole() && self.data.is_whole() {
            return Some(Transaction {
                parameters: self.parameters.bytes,
                data: self.data.bytes,
            });
        }
        None
    }
}

/// Puts an answer together that comes in several messages.
#[derive(Debug)]
pub struct Pieces {
    max: usize,
    parameters: Side,
    data: Side,
}

#[derive(Debug, Default)]
struct Side {
    bytes: Vec<u8>,
    /// Bytes of the whole: totals may shrink later, never grow.
    total: Option<usize>,
}

impl Side {
    fn add(&mut self, piece: &Piece<'_>, max: usize) -> Result<(), DecodeError> {
        let before = self.total.unwrap_or(piece.total);
        if piece.total > before || piece.total > max {
            return Err(DecodeError::Bad("the size of a transaction's answer"));
        }
        self.total = Some(piece.total);
        // Pieces come in their order; anything else is nothing that a server does.
        if !piece.bytes.is_empty() {
            if piece.at != self.bytes.len() {
                return Err(DecodeError::Bad("the order of a transaction's parts"));
            }
            self.bytes.extend_from_slice(piece.bytes);
        }
        Ok(())
    }

    fn is_whole(&self) -> bool {
        self.total.is_some_and(|total| self.bytes.len() >= total)
    }
}

impl Pieces {
    /// Nothing yet; takes parameters and data of so many bytes each at most.
    pub fn new(max: usize) -> Self {
        Self {
            max,
            parameters: Side::default(),
            data: Side::default(),
        }
    }

    /// Adds what a message carries; the answer, once it is whole.
    ///
    /// # Errors
    /// It is larger than allowed, has nothing new, or its pieces are not in order.
    pub fn add(&mut self, part: &Part<'_>) -> Result<Option<Transaction<'_>>, DecodeError> {
        let before = self.parameters.bytes.len() + self.data.bytes.len();
        self.parameters.add(&part.parameters, self.max)?;
        self.data.add(&part.data, self.max)?;
        if self.parameters.is_whole() && self.data.is_whole() {
            return Ok(Some(Transaction {
                parameters: &self.parameters.bytes,
                data: &self.data.bytes,
            }));
        }
        // A server that says nothing again and again would never come to an end.
        match self.parameters.bytes.len() + self.data.bytes.len() > before {
            true => Ok(None),
            false => Err(DecodeError::Bad("an empty part of a transaction")),
        }
    }

    /// Forgets what has come, for another answer.
    pub fn clear(&mut self) {
        for side in [&mut self.parameters, &mut self.data] {
            side.bytes.clear();
            side.total = None;
        }
    }
}
