//! Direct TCP: four bytes before every message, a zero and its length (MS-SMB2 2.1).

/// Bytes of the mark before a message.
pub const MARK: usize = 4;
/// The longest message that the mark can announce.
pub const LENGTH_MAX: usize = 0x00FF_FFFF;

/// A stream that is not made of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The first byte of the mark is not zero.
    #[error("the server does not use SMB over direct TCP: a message begins with {0:#04x}")]
    Mark(u8),
    /// It is longer than anything that was asked for.
    #[error("the server announces a message of {length} bytes; at most {max} were expected")]
    TooLong {
        /// As announced.
        length: usize,
        /// What is taken.
        max: usize,
    },
}

/// Leaves space for the mark; [`finish`] fills it.
pub fn begin(out: &mut Vec<u8>) -> usize {
    let at = out.len();
    out.extend_from_slice(&[0; MARK]);
    at
}

/// Fills the mark of the message that began at `at` and ends with `out`.
pub fn finish(out: &mut [u8], at: usize) {
    let length = (out.len() - at).saturating_sub(MARK).min(LENGTH_MAX) as u32;
    if let Some(mark) = out.get_mut(at..at + MARK) {
        mark.copy_from_slice(&length.to_be_bytes());
    }
}

/// What is at the front of bytes of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Front {
    /// A whole message: so many bytes behind its mark.
    Complete(usize),
    /// At least so many bytes are missing.
    Incomplete(usize),
}

/// Looks at the front of a stream's bytes.
///
/// # Errors
/// It is no mark, or announces more than `max` bytes.
pub fn front(bytes: &[u8], max: usize) -> Result<Front, FrameError> {
    let Some(mark) = bytes.first_chunk::<MARK>() else {
        return Ok(Front::Incomplete(MARK - bytes.len()));
    };
    if mark[0] != 0 {
        return Err(FrameError::Mark(mark[0]));
    }
    let length = u32::from_be_bytes(*mark) as usize;
    if length > max {
        return Err(FrameError::TooLong { length, max });
    }
    let whole = MARK + length;
    Ok(match bytes.len() >= whole {
        true => Front::Complete(length),
        false => Front::Incomplete(whole - bytes.len()),
    })
}
