//! Text for names and missing answers.

use crate::client::ClientError;
use filermark_driver_kit::checks::Stop;

/// "." or "..".
pub(super) fn is_dot(name: &[u8]) -> bool {
    name == b"." || name == b".."
}

pub(super) fn no_answer(what: &str, error: &ClientError) -> Stop {
    Stop::fail(format!("{what}: an answer"), error)
}

/// A name as text for messages.
pub(super) fn shown(name: &[u8]) -> String {
    const SHOWN: usize = 40;
    let text = name.escape_ascii().to_string();
    match text.get(..SHOWN) {
        Some(front) if text.len() > SHOWN => format!("'{front}...' ({} bytes)", name.len()),
        _ => format!("'{text}'"),
    }
}
