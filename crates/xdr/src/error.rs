//! What a decoder says about bytes it refuses.

use std::fmt;

/// Why bytes are not the message they should be: where, which field, and what is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeError {
    /// Offset of the field in the decoded message, in bytes.
    pub offset: usize,
    /// The field or structure that was expected there, by its RFC name ("Fattr3.size").
    pub what: &'static str,
    /// What was found.
    pub problem: Problem,
}

/// What is wrong with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// The message ends before the field does.
    Truncated {
        /// Bytes the field needs, padding included.
        needed: usize,
        /// Bytes that are left.
        left: usize,
    },
    /// A length or a count above its limit.
    TooLong {
        /// The length that the peer announced, in bytes (or items of a list).
        len: usize,
        /// The limit, in the same unit.
        max: usize,
    },
    /// A number that this field cannot have.
    Unexpected {
        /// The number found.
        value: u32,
    },
    /// Bytes after the end of the message.
    Trailing {
        /// How many.
        left: usize,
    },
}

impl DecodeError {
    /// The message ends too early.
    #[cold]
    pub const fn truncated(offset: usize, what: &'static str, needed: usize, left: usize) -> Self {
        Self {
            offset,
            what,
            problem: Problem::Truncated { needed, left },
        }
    }

    /// A length above its limit.
    #[cold]
    pub const fn too_long(offset: usize, what: &'static str, len: usize, max: usize) -> Self {
        Self {
            offset,
            what,
            problem: Problem::TooLong { len, max },
        }
    }

    /// A number the field cannot have.
    #[cold]
    pub const fn unexpected(offset: usize, what: &'static str, value: u32) -> Self {
        Self {
            offset,
            what,
            problem: Problem::Unexpected { value },
        }
    }

    /// Bytes after the end.
    #[cold]
    pub const fn trailing(offset: usize, left: usize) -> Self {
        Self {
            offset,
            what: "end of message",
            problem: Problem::Trailing { left },
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            offset,
            what,
            problem,
        } = self;
        write!(f, "byte {offset}: {what}: ")?;
        match problem {
            Problem::Truncated { needed, left } => {
                write!(f, "needs {needed} bytes, the message has {left} left")
            }
            Problem::TooLong { len, max } => write!(f, "length {len} is above the limit of {max}"),
            Problem::Unexpected { value } => write!(f, "unexpected value {value}"),
            Problem::Trailing { left } => write!(f, "{left} bytes follow it"),
        }
    }
}

impl std::error::Error for DecodeError {}
