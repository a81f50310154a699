//! The datagram and its samples.

use super::counters::CounterRecords;
use super::error::WireError;
use filermark_xdr::{Decode, DecodeError, Decoder};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The only version read here.
pub const VERSION: u32 = 5;
/// Samples that one datagram may announce. A sample has at least 8 bytes, so 64 KiB hold no more.
pub const SAMPLES_MAX: u32 = 8192;
/// Records that one sample may announce. The longest real ones have some ten.
pub const RECORDS_MAX: u32 = 1024;

/// The kind of a structure: the enterprise that defines it, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag {
    /// SMI private enterprise number; 0 for the standard's own structures.
    pub enterprise: u32,
    /// Number of the structure.
    pub format: u32,
}

impl Tag {
    /// From the word on the wire: 20 bits of enterprise, 12 of format.
    pub const fn from_word(word: u32) -> Self {
        Self {
            enterprise: word >> 12,
            format: word & 0xfff,
        }
    }
}

/// A datagram of version 5, borrowed from the bytes it came in.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// The agent's own address; `None` if it is marked as unknown.
    pub agent: Option<IpAddr>,
    /// The part of the agent that sent it. Sequence numbers belong to this part.
    pub sub_agent: u32,
    /// Rises by one with each datagram of this part of the agent.
    pub sequence: u32,
    /// Milliseconds since the agent started, modulo 2^32.
    pub uptime_ms: u32,
    /// Samples that it announces.
    pub sample_count: u32,
    samples: Decoder<'a>,
}

impl<'a> Datagram<'a> {
    /// Reads the head of a datagram.
    ///
    /// # Errors
    ///
    /// When it is too short, of another version, has an unknown kind of address, or
    /// announces more samples than [`SAMPLES_MAX`].
    pub fn decode(bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut at = Decoder::new(bytes);
        let version = at.u32("version")?;
        if version != VERSION {
            return Err(DecodeError::unexpected(0, "version", version).into());
        }
        Ok(Self {
            agent: address(&mut at)?,
            sub_agent: at.u32("sub_agent_id")?,
            sequence: at.u32("sequence_number")?,
            uptime_ms: at.u32("uptime")?,
            sample_count: count(&mut at, SAMPLES_MAX, "samples")?,
            samples: at,
        })
    }

    /// Its samples. They end at an invalid length.
    pub fn samples(&self) -> Samples<'a> {
        Samples {
            at: self.samples,
            left: self.sample_count,
        }
    }
}

fn address(at: &mut Decoder<'_>) -> Result<Option<IpAddr>, WireError> {
    let start = at.offset();
    Ok(match at.u32("address_type")? {
        0 => None,
        1 => Some(Ipv4Addr::from(<[u8; 4]>::decode_as(at, "agent_address")?).into()),
        2 => Some(Ipv6Addr::from(<[u8; 16]>::decode_as(at, "agent_address")?).into()),
        found => return Err(DecodeError::unexpected(start, "address_type", found).into()),
    })
}

/// A count of structures to follow.
fn count(at: &mut Decoder<'_>, limit: u32, field: &'static str) -> Result<u32, WireError> {
    Ok(at.length(limit as usize, field)? as u32)
}

/// The next of consecutive structures, each a tag, a length and that many bytes.
pub(super) fn next_structure<'a>(
    at: &mut Decoder<'a>,
    left: &mut u32,
    field: &'static str,
) -> Option<Result<(Tag, Decoder<'a>), WireError>> {
    *left = left.checked_sub(1)?;
    let structure = structure(at, field);
    if structure.is_err() {
        // The beginning of the next one is unknown.
        *left = 0;
    }
    Some(structure)
}

fn structure<'a>(
    at: &mut Decoder<'a>,
    field: &'static str,
) -> Result<(Tag, Decoder<'a>), WireError> {
    let tag = Tag::from_word(at.u32(field)?);
    let start = at.offset();
    let length = at.u32(field)? as usize;
    let left = at.rest().len();
    if length > left {
        return Err(DecodeError::truncated(start, field, length, left).into());
    }
    Ok((tag, at.part(length, field)?))
}

/// The samples of a datagram, in its order.
#[derive(Clone, Debug)]
pub struct Samples<'a> {
    at: Decoder<'a>,
    left: u32,
}

impl<'a> Iterator for Samples<'a> {
    type Item = Result<Sample<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        let structure = next_structure(&mut self.at, &mut self.left, "sample_data")?;
        Some(structure.and_then(|(tag, body)| Sample::decode(tag, body)))
    }
}

/// One sample.
#[derive(Clone, Copy, Debug)]
pub enum Sample<'a> {
    /// Counters that were read (formats 2 and 4).
    Counters(CounterSample<'a>),
    /// A packet that was sampled (formats 1 and 3) or discarded (format 5); not used, since
    /// traffic is made of counters.
    Packet,
    /// Something else, skipped.
    Other {
        /// Its tag.
        tag: Tag,
        /// Its length, in bytes.
        length: usize,
    },
}

impl<'a> Sample<'a> {
    fn decode(tag: Tag, mut at: Decoder<'a>) -> Result<Self, WireError> {
        let at = &mut at;
        Ok(match (tag.enterprise, tag.format) {
            (0, 2) => Self::Counters(CounterSample::decode(at, false)?),
            (0, 4) => Self::Counters(CounterSample::decode(at, true)?),
            (0, 1 | 3 | 5) => Self::Packet,
            _ => Self::Other {
                tag,
                length: at.rest().len(),
            },
        })
    }
}

/// The source of a sample: an interface (class 0, the index is its ifIndex), a VLAN (1), an
/// entity of the device (2), or a logical entity (3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// What the index counts.
    pub class: u32,
    /// Which one.
    pub index: u32,
}

impl Source {
    fn decode(at: &mut Decoder<'_>, expanded: bool) -> Result<Self, WireError> {
        if expanded {
            return Ok(Self {
                class: at.u32("source_id_type")?,
                index: at.u32("source_id_index")?,
            });
        }
        let word = at.u32("source_id")?;
        Ok(Self {
            class: word >> 24,
            index: word & 0x00ff_ffff,
        })
    }
}

/// Counters that were read at a source.
#[derive(Clone, Copy, Debug)]
pub struct CounterSample<'a> {
    /// Rises by one with each counter sample of the source; restarts when the source resets any
    /// of its counters.
    pub sequence: u32,
    /// The source of the counters.
    pub source: Source,
    record_count: u32,
    records: Decoder<'a>,
}

impl<'a> CounterSample<'a> {
    fn decode(at: &mut Decoder<'a>, expanded: bool) -> Result<Self, WireError> {
        Ok(Self {
            sequence: at.u32("sequence_number")?,
            source: Source::decode(at, expanded)?,
            record_count: count(at, RECORDS_MAX, "counters_records")?,
            records: *at,
        })
    }

    /// The groups of counters.
    pub fn records(&self) -> CounterRecords<'a> {
        CounterRecords::new(self.records, self.record_count)
    }
}
