//! What is wrong with a datagram: where, which field, and what was found.

use std::fmt;

/// Something in a datagram that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireError {
    /// Byte in the datagram, from 0, where the field begins.
    pub offset: usize,
    /// The field, by its name in the standard.
    pub field: &'static str,
    /// What was found there.
    pub what: What,
}

/// What was found instead of something sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The bytes end before the field does.
    Short {
        /// Bytes that the field has.
        wanted: usize,
        /// Bytes that are left.
        left: usize,
    },
    /// A count or length above what is believed.
    TooLarge {
        /// The figure.
        found: u32,
        /// The largest that is believed.
        limit: u32,
    },
    /// A value that this reader does not know.
    Unknown {
        /// The value.
        found: u32,
    },
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            offset,
            field,
            what,
        } = self;
        write!(f, "sFlow datagram, byte {offset}: {field} ")?;
        match what {
            What::Short { wanted, left } => {
                write!(f, "has {wanted} bytes, but {left} are left")
            }
            What::TooLarge { found, limit } => {
                write!(f, "is {found}; at most {limit} is believed")
            }
            What::Unknown { found } => write!(f, "is {found}, which is not known here"),
        }
    }
}

impl std::error::Error for WireError {}
