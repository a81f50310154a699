//! The records of a counter sample.
//!
//! Structures may grow at their end: what is longer than known here is read as far as it is
//! known. What is shorter is an error; the records after it are still read.

use super::datagram::{Tag, next_structure};
use super::error::WireError;
use filermark_xdr::Decoder;

/// The records of a counter sample, in its order.
#[derive(Clone, Debug)]
pub struct CounterRecords<'a> {
    at: Decoder<'a>,
    left: u32,
}

impl<'a> CounterRecords<'a> {
    pub(super) fn new(at: Decoder<'a>, left: u32) -> Self {
        Self { at, left }
    }
}

impl Iterator for CounterRecords<'_> {
    type Item = Result<CounterRecord, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        let structure = next_structure(&mut self.at, &mut self.left, "counter_data")?;
        Some(structure.and_then(|(tag, body)| CounterRecord::decode(tag, body)))
    }
}

/// A group of counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterRecord {
    /// Of any interface (0:1).
    Interface(InterfaceCounters),
    /// Something else, skipped.
    Other {
        /// What it calls itself.
        tag: Tag,
        /// Its length, in bytes.
        length: usize,
    },
}

impl CounterRecord {
    fn decode(tag: Tag, mut at: Decoder<'_>) -> Result<Self, WireError> {
        match (tag.enterprise, tag.format) {
            (0, 1) => Ok(Self::Interface(InterfaceCounters::decode(&mut at)?)),
            _ => Ok(Self::Other {
                tag,
                length: at.rest().len(),
            }),
        }
    }
}

/// Declares the counters in their order on the wire, with their reader.
macro_rules! counters {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ident = $wire:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl $name {
            fn decode(at: &mut Decoder<'_>) -> Result<Self, WireError> {
                Ok(Self { $($field: at.$type($wire)?,)* })
            }
        }
    };
}

counters! {
    /// Counters of any interface, 88 bytes (0:1; the names are those of IF-MIB, RFC 2863). All
    /// ones means that the agent does not know.
    InterfaceCounters {
        /// Which interface.
        if_index: u32 = "ifIndex",
        /// What kind of interface; 6 is Ethernet.
        if_type: u32 = "ifType",
        /// Bits per second.
        speed: u64 = "ifSpeed",
        /// 0 unknown, 1 full duplex, 2 half duplex, 3 in, 4 out.
        direction: u32 = "ifDirection",
        /// Bit 0: to be up; bit 1: is up.
        status: u32 = "ifStatus",
        /// Bytes received.
        in_octets: u64 = "ifInOctets",
        /// Packets received for one station.
        in_unicast: u32 = "ifInUcastPkts",
        /// Packets received for a group.
        in_multicast: u32 = "ifInMulticastPkts",
        /// Packets received for all.
        in_broadcast: u32 = "ifInBroadcastPkts",
        /// Sound packets received and thrown away.
        in_discards: u32 = "ifInDiscards",
        /// Unsound packets received.
        in_errors: u32 = "ifInErrors",
        /// Packets received of protocols that are not known.
        in_unknown_protocols: u32 = "ifInUnknownProtos",
        /// Bytes sent.
        out_octets: u64 = "ifOutOctets",
        /// Packets sent to one station.
        out_unicast: u32 = "ifOutUcastPkts",
        /// Packets sent to a group.
        out_multicast: u32 = "ifOutMulticastPkts",
        /// Packets sent to all.
        out_broadcast: u32 = "ifOutBroadcastPkts",
        /// Sound packets to be sent and thrown away.
        out_discards: u32 = "ifOutDiscards",
        /// Packets that could not be sent.
        out_errors: u32 = "ifOutErrors",
        /// 1: it takes packets for anybody.
        promiscuous: u32 = "ifPromiscuousMode",
    }
}
