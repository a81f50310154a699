//! Errors of datagrams.

use filermark_xdr::{DecodeError, Problem};
use std::fmt;

/// An invalid field of a datagram, with its name in the standard; the offset counts from the
/// beginning of the datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireError(pub DecodeError);

impl From<DecodeError> for WireError {
    fn from(error: DecodeError) -> Self {
        Self(error)
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DecodeError {
            offset,
            what: field,
            problem,
        } = self.0;
        write!(f, "sFlow datagram, byte {offset}: {field} ")?;
        match problem {
            Problem::Truncated { needed, left } => {
                write!(f, "has {needed} bytes, but {left} are left")
            }
            Problem::TooLong { len, max } => write!(f, "is {len}; at most {max} is accepted"),
            Problem::Unexpected { value } => write!(f, "is {value}, which is not known here"),
            Problem::Trailing { left } => write!(f, "is followed by {left} bytes"),
        }
    }
}

impl std::error::Error for WireError {}
