//! Messages that never were on a network, as a capture: tshark decodes what a codec wrote.

use super::{Decoder, Pcap};
use crate::{Error, Result, Sandbox};
use std::sync::Arc;

/// pcap's link type of packets that begin with the header of IPv4 or IPv6.
const LINKTYPE_RAW: u32 = 101;
/// Headers of IPv4 and TCP without options.
const HEADERS: usize = 40;
/// The client's port on the first connection.
const FIRST_CLIENT: u16 = 10_000;

impl Pcap {
    /// Writes a capture in which each call, with its record mark, is sent to `port` on a connection
    /// of its own, and is answered by the reply beside it.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] without tshark; a message that does not fit a packet, more messages
    /// than there are ports, or the error of writing the file.
    pub fn of_messages(
        sandbox: &Arc<Sandbox>,
        port: u16,
        exchanges: &[(Vec<u8>, Vec<u8>)],
    ) -> Result<Pcap> {
        crate::tools::need(&[("tshark", "tshark")])?;
        let mut bytes = Vec::new();
        let words = [
            0xa1b2_c3d4_u32,
            0x0002_0004,
            0,
            0,
            0x0004_0000,
            LINKTYPE_RAW,
        ];
        bytes.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        let mut packets = 0;
        for (client, (call, reply)) in (FIRST_CLIENT..).zip(exchanges) {
            append(&mut bytes, packets, (client, port), (1, 1), call)?;
            let answered = 1 + call.len() as u32;
            append(
                &mut bytes,
                packets + 1,
                (port, client),
                (1, answered),
                reply,
            )?;
            packets += 2;
        }
        if packets as usize != 2 * exchanges.len() {
            let count = exchanges.len().to_string();
            return Err(Error::failed("pcap", "more messages than ports", count));
        }
        let file = sandbox
            .dir()
            .join(format!("written-{}.pcap", sandbox.next_number()));
        std::fs::write(&file, bytes).map_err(Error::path("write", &file))?;
        Ok(Pcap {
            file,
            ports: vec![port],
            decoder: Decoder::Rpc,
            preferences: None,
            packets: u64::from(packets),
            dropped: 0,
            sandbox: Arc::clone(sandbox),
        })
    }
}

/// Appends a packet of TCP over IPv4, at the second `number`. Checksums are 0: tshark does not
/// check them unless it is asked to.
fn append(
    out: &mut Vec<u8>,
    number: u32,
    (from, to): (u16, u16),
    (sequence, acknowledged): (u32, u32),
    message: &[u8],
) -> Result<()> {
    let Ok(len) = u16::try_from(HEADERS + message.len()) else {
        let len = format!("{} bytes", message.len());
        return Err(Error::failed("pcap", "a message longer than a packet", len));
    };
    let words = [number, 0, u32::from(len), u32::from(len)];
    out.extend(words.iter().flat_map(|word| word.to_be_bytes()));
    out.extend([0x45, 0]);
    out.extend(len.to_be_bytes());
    // No fragments, 64 hops, TCP.
    out.extend([0, 0, 0, 0, 64, 6, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1]);
    out.extend(from.to_be_bytes());
    out.extend(to.to_be_bytes());
    out.extend(sequence.to_be_bytes());
    out.extend(acknowledged.to_be_bytes());
    // Five words of header, PSH and ACK, the largest window.
    out.extend([0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0]);
    out.extend(message);
    Ok(())
}
