//! The agent's end of the link: one thread reads orders, another writes reports.

use filermark_link::frame::{self, Deframer, MAGIC};
use filermark_link::message::{Order, Report};
use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, channel, sync_channel};

/// Reports that may wait for the link.
const REPORTS_MAX: usize = 4096;

/// The inputs of the agent's main loop.
pub(super) enum AgentInput {
    Order(Box<Order>),
    LinkEnded,
    Done(Box<Report>),
}

/// Starts a thread; returns whether it could be started.
pub(super) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> bool {
    let builder = std::thread::Builder::new().name(name.into());
    builder.spawn(work).is_ok()
}

/// Reads orders until the link ends.
pub(super) fn read_orders(mut stream: impl Read, inputs: &SyncSender<AgentInput>) {
    let mut deframer = Deframer::of_prime();
    let mut bytes = vec![0; 64 << 10];
    'link: loop {
        match stream.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => deframer.push(&bytes[..count]),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        }
        loop {
            let order = match deframer.next_frame() {
                Ok(Some(frame)) => frame.decode::<Order>(),
                Ok(None) => break,
                Err(e) => Err(e),
            };
            match order {
                Ok(order) => {
                    if inputs.send(AgentInput::Order(Box::new(order))).is_err() {
                        return;
                    }
                }
                Err(e) => {
                    tracing::warn!(target: "filermark_clients", "the prime: {e}");
                    break 'link;
                }
            }
        }
    }
    let _ = inputs.send(AgentInput::LinkEnded);
}

/// Sends to the prime without waiting for it.
#[derive(Clone)]
pub(crate) struct Reports(SyncSender<Vec<u8>>);

impl Reports {
    /// Begins to write on a thread; the receiver is disconnected when everything is written.
    pub(super) fn to(
        mut stream: impl Write + Send + 'static,
        inputs: SyncSender<AgentInput>,
    ) -> (Self, Receiver<()>) {
        let (sender, frames) = sync_channel::<Vec<u8>>(REPORTS_MAX);
        let (writing, written) = channel::<()>();
        spawn("agent-reports", move || {
            let _writing = writing;
            let mut write = |bytes: &[u8]| stream.write_all(bytes).and_then(|()| stream.flush());
            let mut link = write(MAGIC);
            while let Ok(frame) = frames.recv() {
                link = link.and_then(|()| write(&frame));
                if link.is_err() {
                    let _ = inputs.try_send(AgentInput::LinkEnded);
                    return;
                }
            }
        });
        (Self(sender), written)
    }

    /// Sends a report. Returns `false` if the link does not accept it any more.
    pub fn send(&self, report: &Report) -> bool {
        let frame = frame::encode(report).or_else(|e| {
            frame::encode(&Report::Failed {
                reason: format!("the report cannot be sent: {e}"),
                stopped: false,
            })
        });
        match frame.map(|frame| self.0.try_send(frame)) {
            Ok(Ok(())) => true,
            Ok(Err(TrySendError::Full(_) | TrySendError::Disconnected(_))) | Err(_) => false,
        }
    }
}
