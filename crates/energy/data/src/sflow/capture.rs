//! Reads datagrams from packet captures, pcap and pcapng.
//!
//! Reads a stream once, in bounded memory: one block at a time. The times are those of the
//! packets. Packets that are not a whole datagram to the port are counted by reason.

use super::packet::{self, LinkType, PacketKind};
use filermark_results::Timestamp;
use pcap_parser::pcapng::Block;
use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{PcapBlockOwned, PcapError, PcapHeader, create_reader};
use std::io::Read;
use std::net::IpAddr;

/// Bytes of the reader's buffer. No block may be longer.
const BUFFER: usize = 1 << 20;
/// Interfaces in one section of a pcapng file that are remembered.
const INTERFACES_MAX: usize = 1024;

/// Packets so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packets {
    /// All.
    pub read: u64,
    /// Datagrams to the port; these were passed on.
    pub datagrams: u64,
    /// Packets that were not captured completely: the snapshot length was too short.
    pub cut: u64,
    /// Fragments of datagrams; they are not reassembled.
    pub fragments: u64,
    /// Other packets.
    pub other: u64,
    /// Packets of layers below IP that are not known here, without a time, or of an interface that
    /// was not described.
    pub unknown: u64,
    /// Whether the file ends within a block: the capture was not closed. All before it is read.
    pub ends_early: bool,
}

/// Why a capture cannot be read (any further).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CaptureError {
    /// It is neither pcap nor pcapng.
    #[error("not a packet capture: neither pcap nor pcapng; decompress a compressed one first")]
    NoCapture,
    /// It cannot be read.
    #[error("the packet capture cannot be read beyond packet {0}")]
    Read(u64),
    /// A block is invalid.
    #[error("the packet capture is damaged after packet {0}")]
    Damaged(u64),
    /// A block is too long.
    #[error("the packet capture has a block of more than {BUFFER} bytes after packet {0}")]
    BlockTooLong(u64),
}

/// An interface of the capture.
#[derive(Clone, Copy)]
struct Interface {
    link: Option<LinkType>,
    /// Units of time in a second; `None` if invalid.
    units: Option<u64>,
    /// Seconds to add to times.
    offset: i64,
}

/// Reads a capture to its end; `sink` gets each UDP datagram to `port`: time, sender, payload.
///
/// # Errors
///
/// It is not a capture, or damaged. Packets before are in `packets` and went to `sink`.
pub fn read(
    input: impl Read + Send,
    port: u16,
    packets: &mut Packets,
    sink: &mut impl FnMut(Timestamp, IpAddr, &[u8]),
) -> Result<(), CaptureError> {
    let mut reader = create_reader(BUFFER, input).map_err(|_| CaptureError::NoCapture)?;
    let mut interfaces: Vec<Interface> = Vec::new();
    let mut refilled = 0;
    loop {
        match reader.next() {
            Ok((length, block)) => {
                take(&block, &mut interfaces, port, packets, sink);
                reader.consume(length);
                refilled = 0;
            }
            Err(PcapError::Eof) => return Ok(()),
            Err(PcapError::UnexpectedEof) => {
                packets.ends_early = true;
                return Ok(());
            }
            Err(PcapError::Incomplete(_)) => {
                // A pipe returns few bytes at a time, but each read returns at least one: after
                // as many reads as the buffer has bytes, the block must be complete.
                refilled += 1;
                if refilled > BUFFER {
                    return Err(CaptureError::Damaged(packets.read));
                }
                refill(&mut *reader, packets)?;
            }
            Err(PcapError::BufferTooSmall) => return Err(CaptureError::BlockTooLong(packets.read)),
            Err(PcapError::ReadError) => return Err(CaptureError::Read(packets.read)),
            Err(_) => return Err(CaptureError::Damaged(packets.read)),
        }
    }
}

fn refill(reader: &mut dyn PcapReaderIterator, packets: &Packets) -> Result<(), CaptureError> {
    reader.refill().map_err(|error| match error {
        PcapError::BufferTooSmall => CaptureError::BlockTooLong(packets.read),
        _ => CaptureError::Read(packets.read),
    })
}

fn take(
    block: &PcapBlockOwned<'_>,
    interfaces: &mut Vec<Interface>,
    port: u16,
    packets: &mut Packets,
    sink: &mut impl FnMut(Timestamp, IpAddr, &[u8]),
) {
    match block {
        PcapBlockOwned::LegacyHeader(header) => *interfaces = vec![legacy(header)],
        PcapBlockOwned::Legacy(record) => {
            let Some(interface) = interfaces.first() else {
                return;
            };
            let units = interface.units.unwrap_or(1_000_000);
            let fraction = f64::from(record.ts_usec) / units as f64;
            let at = Timestamp::from_unix_seconds(f64::from(record.ts_sec) + fraction);
            let packet = Packet {
                at: Some(at),
                link: interface.link,
                bytes: record.data,
                whole: record.caplen >= record.origlen,
            };
            packet.take(port, packets, sink);
        }
        PcapBlockOwned::NG(Block::SectionHeader(_)) => interfaces.clear(),
        PcapBlockOwned::NG(Block::InterfaceDescription(described)) => {
            if interfaces.len() < INTERFACES_MAX {
                interfaces.push(Interface {
                    link: LinkType::from_number(described.linktype.0),
                    units: described.ts_resolution().filter(|units| *units > 0),
                    offset: described.ts_offset(),
                });
            }
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
            let interface = interfaces.get(packet.if_id as usize);
            let time = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
            let length = packet.data.len().min(packet.caplen as usize);
            let packet = Packet {
                at: interface.and_then(|interface| interface.time(time)),
                link: interface.and_then(|interface| interface.link),
                bytes: &packet.data[..length],
                whole: packet.caplen >= packet.origlen,
            };
            packet.take(port, packets, sink);
        }
        PcapBlockOwned::NG(Block::SimplePacket(_)) => {
            // It has no time.
            packets.read += 1;
            packets.unknown += 1;
        }
        PcapBlockOwned::NG(_) => {}
    }
}

fn legacy(header: &PcapHeader) -> Interface {
    let nanoseconds = header.is_nanosecond_precision();
    Interface {
        link: LinkType::from_number(header.network.0),
        units: Some(if nanoseconds {
            1_000_000_000
        } else {
            1_000_000
        }),
        offset: 0,
    }
}

impl Interface {
    fn time(&self, time: u64) -> Option<Timestamp> {
        let units = self.units?;
        let seconds = (time / units) as f64 + (time % units) as f64 / units as f64;
        Some(Timestamp::from_unix_seconds(seconds + self.offset as f64))
    }
}

/// A packet of a capture.
struct Packet<'a> {
    at: Option<Timestamp>,
    link: Option<LinkType>,
    bytes: &'a [u8],
    /// Whether all its bytes were captured.
    whole: bool,
}

impl Packet<'_> {
    fn take(
        &self,
        port: u16,
        packets: &mut Packets,
        sink: &mut impl FnMut(Timestamp, IpAddr, &[u8]),
    ) {
        packets.read += 1;
        let (Some(at), Some(link)) = (self.at, self.link) else {
            packets.unknown += 1;
            return;
        };
        match packet::udp(link, self.bytes, port) {
            PacketKind::Datagram { from, payload } => {
                packets.datagrams += 1;
                sink(at, from, payload);
            }
            PacketKind::Fragment => packets.fragments += 1,
            PacketKind::Cut if self.whole => packets.other += 1,
            PacketKind::Cut => packets.cut += 1,
            PacketKind::Other => packets.other += 1,
        }
    }
}
