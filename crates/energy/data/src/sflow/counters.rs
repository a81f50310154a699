//! The records of a counter sample.
//!
//! Structures may grow at their end: what is longer than known here is read as far as it is
//! known. What is shorter is an error; the records after it are still read.

use super::datagram::{Tag, next_structure};
use super::error::WireError;
use filermark_xdr::{Decode, Decoder};

/// Bytes of a host's name, and of its system's release (sFlow Host Structures).
const NAME_MAX: usize = 64;
const RELEASE_MAX: usize = 32;

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

impl<'a> Iterator for CounterRecords<'a> {
    type Item = Result<CounterRecord<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        let structure = next_structure(&mut self.at, &mut self.left, "counter_data")?;
        Some(structure.and_then(|(tag, body)| CounterRecord::decode(tag, body)))
    }
}

/// A group of counters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CounterRecord<'a> {
    /// Of any interface (0:1).
    Interface(InterfaceCounters),
    /// Of an Ethernet interface (0:2).
    Ethernet(EthernetCounters),
    /// What a host is (0:2000).
    Host(HostDescription<'a>),
    /// A host's processors (0:2003).
    Cpu(HostCpu),
    /// A host's memory (0:2004).
    Memory(HostMemory),
    /// A host's disks (0:2005).
    Disk(HostDisk),
    /// A host's network (0:2006).
    Network(HostNetwork),
    /// Something else, skipped.
    Other {
        /// What it calls itself.
        tag: Tag,
        /// Its length, in bytes.
        length: usize,
    },
}

impl<'a> CounterRecord<'a> {
    fn decode(tag: Tag, mut at: Decoder<'a>) -> Result<Self, WireError> {
        let at = &mut at;
        Ok(match (tag.enterprise, tag.format) {
            (0, 1) => Self::Interface(InterfaceCounters::decode(at)?),
            (0, 2) => Self::Ethernet(EthernetCounters::decode(at)?),
            (0, 2000) => Self::Host(HostDescription::decode(at)?),
            (0, 2003) => Self::Cpu(HostCpu::decode(at)?),
            (0, 2004) => Self::Memory(HostMemory::decode(at)?),
            (0, 2005) => Self::Disk(HostDisk::decode(at)?),
            (0, 2006) => Self::Network(HostNetwork::decode(at)?),
            _ => Self::Other {
                tag,
                length: at.rest().len(),
            },
        })
    }
}

/// Declares a structure of words together with its reader, so that the order is told once.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ident = $wire:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl $name {
            fn decode(at: &mut Decoder<'_>) -> Result<Self, WireError> {
                Ok(Self { $($field: words!(@read at, $type, $wire),)* })
            }
        }
    };
    (@read $at:ident, u32, $wire:literal) => { $at.u32($wire)? };
    (@read $at:ident, u64, $wire:literal) => { $at.u64($wire)? };
    (@read $at:ident, f32, $wire:literal) => { f32::from_bits($at.u32($wire)?) };
}

words! {
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

words! {
    /// Counters of an Ethernet interface, 52 bytes (0:2; the names are those of
    /// EtherLike-MIB, RFC 3635).
    EthernetCounters {
        /// Frames that are no whole number of bytes.
        alignment_errors: u32 = "dot3StatsAlignmentErrors",
        /// Frames whose check sequence is wrong.
        fcs_errors: u32 = "dot3StatsFCSErrors",
        /// Frames sent after one collision.
        single_collisions: u32 = "dot3StatsSingleCollisionFrames",
        /// Frames sent after more than one.
        multiple_collisions: u32 = "dot3StatsMultipleCollisionFrames",
        /// Failed tests of the signal quality.
        sqe_test_errors: u32 = "dot3StatsSQETestErrors",
        /// Frames that had to wait.
        deferred: u32 = "dot3StatsDeferredTransmissions",
        /// Collisions after 512 bits.
        late_collisions: u32 = "dot3StatsLateCollisions",
        /// Frames given up after collisions.
        excessive_collisions: u32 = "dot3StatsExcessiveCollisions",
        /// Frames not sent for reasons of the device.
        transmit_errors: u32 = "dot3StatsInternalMacTransmitErrors",
        /// Frames without carrier.
        carrier_errors: u32 = "dot3StatsCarrierSenseErrors",
        /// Frames longer than allowed.
        too_long: u32 = "dot3StatsFrameTooLongs",
        /// Frames not received for reasons of the device.
        receive_errors: u32 = "dot3StatsInternalMacReceiveErrors",
        /// Symbols that were none.
        symbol_errors: u32 = "dot3StatsSymbolErrors",
    }
}

words! {
    /// A host's processors, 68 bytes or more (0:2003, sFlow Host Structures).
    HostCpu {
        /// Load over a minute; negative where it is not known.
        load_one: f32 = "load_one",
        /// Over five minutes.
        load_five: f32 = "load_five",
        /// Over fifteen.
        load_fifteen: f32 = "load_fifteen",
        /// Processes that run or could.
        running: u32 = "proc_run",
        /// All processes.
        processes: u32 = "proc_total",
        /// Processors.
        cpus: u32 = "cpu_num",
        /// MHz.
        speed_mhz: u32 = "cpu_speed",
        /// Seconds since the start.
        uptime_s: u32 = "uptime",
        /// Milliseconds in user mode.
        user_ms: u32 = "cpu_user",
        /// Milliseconds in user mode at low priority.
        nice_ms: u32 = "cpu_nice",
        /// Milliseconds in the kernel.
        system_ms: u32 = "cpu_system",
        /// Milliseconds idle.
        idle_ms: u32 = "cpu_idle",
        /// Milliseconds waiting for devices.
        wait_ms: u32 = "cpu_wio",
        /// Milliseconds in interrupts.
        interrupt_ms: u32 = "cpu_intr",
        /// Milliseconds in soft interrupts.
        soft_interrupt_ms: u32 = "cpu_sintr",
        /// Interrupts.
        interrupts: u32 = "interrupts",
        /// Context switches.
        contexts: u32 = "contexts",
    }
}

words! {
    /// A host's memory in bytes, 72 bytes on the wire (0:2004).
    HostMemory {
        /// All.
        total: u64 = "mem_total",
        /// Free.
        free: u64 = "mem_free",
        /// Shared.
        shared: u64 = "mem_shared",
        /// Of buffers.
        buffers: u64 = "mem_buffers",
        /// Of the page cache.
        cached: u64 = "mem_cached",
        /// Swap, all.
        swap_total: u64 = "swap_total",
        /// Swap, free.
        swap_free: u64 = "swap_free",
        /// Pages read.
        page_in: u32 = "page_in",
        /// Pages written.
        page_out: u32 = "page_out",
        /// Pages read from swap.
        swap_in: u32 = "swap_in",
        /// Pages written to swap.
        swap_out: u32 = "swap_out",
    }
}

words! {
    /// A host's disks, 52 bytes (0:2005).
    HostDisk {
        /// Bytes, all.
        total: u64 = "disk_total",
        /// Bytes, free.
        free: u64 = "disk_free",
        /// The fullest partition, in hundredths of a percent.
        fullest: u32 = "part_max_used",
        /// Reads.
        reads: u32 = "reads",
        /// Bytes read.
        bytes_read: u64 = "bytes_read",
        /// Milliseconds reading.
        read_ms: u32 = "read_time",
        /// Writes.
        writes: u32 = "writes",
        /// Bytes written.
        bytes_written: u64 = "bytes_written",
        /// Milliseconds writing.
        write_ms: u32 = "write_time",
    }
}

words! {
    /// A host's network over all its interfaces, 40 bytes (0:2006).
    HostNetwork {
        /// Bytes received.
        bytes_in: u64 = "bytes_in",
        /// Packets received.
        packets_in: u32 = "pkts_in",
        /// Errors of receiving.
        errors_in: u32 = "errs_in",
        /// Received packets thrown away.
        drops_in: u32 = "drops_in",
        /// Bytes sent.
        bytes_out: u64 = "bytes_out",
        /// Packets sent.
        packets_out: u32 = "pkts_out",
        /// Errors of sending.
        errors_out: u32 = "errs_out",
        /// Packets to be sent and thrown away.
        drops_out: u32 = "drops_out",
    }
}

/// What a host is (0:2000).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostDescription<'a> {
    /// Its name, in bytes that need not be UTF-8.
    pub name: &'a [u8],
    /// Its UUID; all zeros where it is not known.
    pub uuid: [u8; 16],
    /// Kind of processor, by the numbers of the standard (3 is x86_64).
    pub machine: u32,
    /// Kind of system, by the numbers of the standard (2 is Linux).
    pub system: u32,
    /// Its release.
    pub release: &'a [u8],
}

impl<'a> HostDescription<'a> {
    fn decode(at: &mut Decoder<'a>) -> Result<Self, WireError> {
        Ok(Self {
            name: at.opaque_short_padding(NAME_MAX, "hostname")?,
            uuid: <[u8; 16]>::decode_as(at, "uuid")?,
            machine: at.u32("machine_type")?,
            system: at.u32("os_name")?,
            release: at.opaque_short_padding(RELEASE_MAX, "os_release")?,
        })
    }
}
