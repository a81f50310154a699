//! The records of a counter sample.
//!
//! Structures may grow at their end: of a longer one the known part is read. A shorter one is
//! an error; the records after it are still read.

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
        /// Its tag.
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
    /// ones means unknown.
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
        /// Unicast packets received.
        in_unicast: u32 = "ifInUcastPkts",
        /// Multicast packets received.
        in_multicast: u32 = "ifInMulticastPkts",
        /// Broadcast packets received.
        in_broadcast: u32 = "ifInBroadcastPkts",
        /// Packets received without errors and discarded.
        in_discards: u32 = "ifInDiscards",
        /// Packets received with errors.
        in_errors: u32 = "ifInErrors",
        /// Packets received of unknown protocols.
        in_unknown_protocols: u32 = "ifInUnknownProtos",
        /// Bytes sent.
        out_octets: u64 = "ifOutOctets",
        /// Unicast packets sent.
        out_unicast: u32 = "ifOutUcastPkts",
        /// Multicast packets sent.
        out_multicast: u32 = "ifOutMulticastPkts",
        /// Broadcast packets sent.
        out_broadcast: u32 = "ifOutBroadcastPkts",
        /// Packets to be sent without errors and discarded.
        out_discards: u32 = "ifOutDiscards",
        /// Packets that could not be sent.
        out_errors: u32 = "ifOutErrors",
        /// 1: promiscuous mode.
        promiscuous: u32 = "ifPromiscuousMode",
    }
}
