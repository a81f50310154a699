//! A link: messages over a pair of byte streams, each behind its length.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, sync_channel};

/// Longest message in bytes: the figures of a client with 100,000 procs and a
/// day of seconds fit.
pub const MESSAGE_LEN_MAX: usize = 256 << 20;
/// Messages that may wait to be read.
const QUEUE: usize = 1024;

/// Why a link ended.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The streams failed or ended.
    #[error("the link ended: {0}")]
    Io(#[from] io::Error),
    /// A message that is none.
    #[error("a message that makes no sense: {0}")]
    Nonsense(String),
    /// A message that is longer than any should be.
    #[error("a message of {0} bytes, more than is allowed")]
    TooLong(usize),
}

/// Writes one message.
///
/// # Errors
/// The stream failed, or the message is too long.
pub fn send<T: Serialize>(stream: &mut impl Write, message: &T) -> Result<(), LinkError> {
    let body = serde_json::to_vec(message).map_err(|e| LinkError::Nonsense(e.to_string()))?;
    if body.len() > MESSAGE_LEN_MAX {
        return Err(LinkError::TooLong(body.len()));
    }
    let mut bytes = Vec::with_capacity(4 + body.len());
    bytes.extend_from_slice(&(body.len() as u32).to_be_bytes());
    bytes.extend_from_slice(&body);
    stream.write_all(&bytes)?;
    stream.flush()?;
    Ok(())
}

/// Reads one message; its length is not believed before the bytes are there.
///
/// # Errors
/// The stream failed or ended, or what came is no message.
pub fn receive<T: DeserializeOwned>(stream: &mut impl Read) -> Result<T, LinkError> {
    let mut len = [0; 4];
    stream.read_exact(&mut len)?;
    let len = u32::from_be_bytes(len) as usize;
    if len > MESSAGE_LEN_MAX {
        return Err(LinkError::TooLong(len));
    }
    let mut body = Vec::new();
    stream.take(len as u64).read_to_end(&mut body)?;
    if body.len() < len {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    serde_json::from_slice(&body).map_err(|e| LinkError::Nonsense(e.to_string()))
}

/// Reads messages on a thread of its own into a bounded queue. The queue ends
/// after the message `Err`.
///
/// # Errors
/// The thread could not be started.
pub fn receive_on_thread<T: DeserializeOwned + Send + 'static>(
    name: &str,
    mut stream: impl Read + Send + 'static,
) -> io::Result<Receiver<Result<T, LinkError>>> {
    let (sender, receiver) = sync_channel(QUEUE);
    std::thread::Builder::new()
        .name(name.into())
        .spawn(move || {
            loop {
                let message = receive(&mut stream);
                let ended = message.is_err();
                if sender.send(message).is_err() || ended {
                    return;
                }
            }
        })?;
    Ok(receiver)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Hello, Order, Report};

    #[test]
    fn messages_come_back_as_they_went() {
        let mut wire = Vec::new();
        send(&mut wire, &Order::Hello(Hello::own())).unwrap();
        send(&mut wire, &Order::Stop).unwrap();
        let mut wire = wire.as_slice();
        assert!(matches!(receive(&mut wire), Ok(Order::Hello(h)) if h == Hello::own()));
        assert!(matches!(receive(&mut wire), Ok(Order::Stop)));
        assert!(matches!(receive::<Order>(&mut wire), Err(LinkError::Io(_))));
    }

    #[test]
    fn nonsense_is_told_from_an_end_and_lengths_are_not_believed() {
        let nonsense = [&[0, 0, 0, 2][..], b"{]"].concat();
        assert!(matches!(
            receive::<Report>(&mut &nonsense[..]),
            Err(LinkError::Nonsense(_))
        ));
        let huge = [0xff; 8];
        assert!(matches!(
            receive::<Report>(&mut &huge[..]),
            Err(LinkError::TooLong(_))
        ));
        let cut = [&[0, 1, 0, 0][..], b"{}"].concat();
        assert!(matches!(
            receive::<Report>(&mut &cut[..]),
            Err(LinkError::Io(_))
        ));
    }
}
