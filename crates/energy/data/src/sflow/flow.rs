//! The records of a flow sample: of a picked packet only its length matters here.

use super::datagram::{Tag, next_structure};
use super::error::WireError;
use filermark_xdr::Decoder;

/// Bytes of a packet's head that a sample may carry. Agents send 128; jumbo frames are whole
/// at 9 KiB, and nothing fits into a datagram beyond 64 KiB.
const HEADER_MAX: usize = 65_536;

/// The records of a flow sample, in its order.
#[derive(Clone, Debug)]
pub struct FlowRecords<'a> {
    at: Decoder<'a>,
    left: u32,
}

impl<'a> FlowRecords<'a> {
    pub(super) fn new(at: Decoder<'a>, left: u32) -> Self {
        Self { at, left }
    }
}

impl<'a> Iterator for FlowRecords<'a> {
    type Item = Result<FlowRecord<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        let structure = next_structure(&mut self.at, &mut self.left, "flow_data")?;
        Some(structure.and_then(|(tag, body)| FlowRecord::decode(tag, body)))
    }
}

/// Something that is told of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowRecord<'a> {
    /// Its first bytes, and how long it was (0:1).
    Header(SampledHeader<'a>),
    /// Something else, skipped.
    Other {
        /// What it calls itself.
        tag: Tag,
        /// Its length, in bytes.
        length: usize,
    },
}

impl<'a> FlowRecord<'a> {
    fn decode(tag: Tag, mut at: Decoder<'a>) -> Result<Self, WireError> {
        if (tag.enterprise, tag.format) != (0, 1) {
            return Ok(Self::Other {
                tag,
                length: at.rest().len(),
            });
        }
        Ok(Self::Header(SampledHeader {
            protocol: at.u32("header_protocol")?,
            frame_length: at.u32("frame_length")?,
            stripped: at.u32("stripped")?,
            header: at.opaque_short_padding(HEADER_MAX, "header")?,
        }))
    }
}

/// The head of a picked packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampledHeader<'a> {
    /// What the bytes are: 1 Ethernet, 11 IPv4, 12 IPv6 ...
    pub protocol: u32,
    /// Bytes that the packet had on the wire, the check sequence among them.
    pub frame_length: u32,
    /// Bytes that were taken away before the head was copied.
    pub stripped: u32,
    /// The first bytes of the packet.
    pub header: &'a [u8],
}
