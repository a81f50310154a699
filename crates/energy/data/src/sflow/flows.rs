//! Estimates traffic from picked packets: each stands for as many as the sampling rate says.
//!
//! This is a second, rougher opinion beside the counters: one that does not add up with them
//! tells of a wrong interface, a wrong sampling rate or lost samples.

use super::datagram::{FlowSample, Interface};
use super::flow::{FlowRecord, SampledHeader};
use super::lru::Lru;
use super::ports::AgentKey;

/// Interfaces that are remembered, over all agents, unless told otherwise.
pub const INTERFACES_MAX: usize = 16_384;

/// Packets that were picked in one direction of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampledPackets {
    /// Samples.
    pub samples: u64,
    /// Packets that they stand for.
    pub packets: u64,
    /// Bytes that they stand for: lengths on the wire with the check sequence.
    pub bytes: u64,
}

impl SampledPackets {
    fn add(&mut self, frame_length: u32, rate: u32) {
        self.samples += 1;
        self.packets = self.packets.saturating_add(rate.into());
        let bytes = u64::from(frame_length) * u64::from(rate);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// How far off the number of packets may be, as a share of it, 19 times out of 20
    /// (sFlow.org, "Packet Sampling Basics": 196 % over the root of the samples). `None` without samples.
    pub fn error(&self) -> Option<f64> {
        (self.samples > 0).then(|| 1.96 / (self.samples as f64).sqrt())
    }
}

/// What the picked packets say of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEstimate {
    /// Whose interface.
    pub key: AgentKey,
    /// Which.
    pub if_index: u32,
    /// What came in.
    pub input: SampledPackets,
    /// What went out.
    pub output: SampledPackets,
}

/// A packet that passes from one interface to another may be picked at either. An interface
/// that picks in a direction itself is believed for it; only for one that does not, what the
/// others say counts. So nothing is counted twice.
#[derive(Clone, Copy, Debug, Default)]
struct SamplingDirections {
    own: SampledPackets,
    others: SampledPackets,
}

impl SamplingDirections {
    fn add(&mut self, own: bool, frame_length: u32, rate: u32) {
        let side = if own { &mut self.own } else { &mut self.others };
        side.add(frame_length, rate);
    }

    fn best(&self) -> SampledPackets {
        if self.own.samples > 0 {
            self.own
        } else {
            self.others
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Port {
    input: SamplingDirections,
    output: SamplingDirections,
}

/// Sums of picked packets, since the beginning or the last [`Flows::restart`].
#[derive(Debug)]
pub struct Flows {
    ports: Lru<(AgentKey, u32), Port>,
    /// Samples that were taken.
    samples: u64,
    /// Samples without a length or a sampling rate.
    unusable: u64,
    dropped: u64,
}

impl Flows {
    /// Remembers at most so many interfaces.
    pub fn new(interfaces_max: usize) -> Self {
        Self {
            ports: Lru::new(interfaces_max),
            samples: 0,
            unusable: 0,
            dropped: 0,
        }
    }

    /// Takes a sample in.
    pub fn sample(&mut self, key: AgentKey, sample: &FlowSample<'_>) {
        let header = sample.records().find_map(|record| match record {
            Ok(FlowRecord::Header(header)) => Some(header),
            _ => None,
        });
        let Some(SampledHeader { frame_length, .. }) = header else {
            self.unusable += 1;
            return;
        };
        let at = |interface| match interface {
            Interface::Index(index) => Some(index),
            _ => None,
        };
        let (input, output) = (at(sample.input), at(sample.output));
        let packet = Packet {
            source: sample.source.if_index(),
            input,
            output,
            frame_length,
            sampling_rate: sample.sampling_rate,
        };
        self.packet(key, &packet);
    }

    /// Takes a picked packet in, wherever it comes from.
    pub fn packet(&mut self, key: AgentKey, packet: &Packet) {
        if packet.sampling_rate == 0 || packet.frame_length == 0 {
            self.unusable += 1;
            return;
        }
        self.samples += 1;
        let (length, rate) = (packet.frame_length, packet.sampling_rate);
        if let Some(index) = packet.input {
            let own = packet.source == Some(index);
            self.port(key, index).input.add(own, length, rate);
        }
        if let Some(index) = packet.output {
            let own = packet.source == Some(index);
            self.port(key, index).output.add(own, length, rate);
        }
    }

    fn port(&mut self, key: AgentKey, if_index: u32) -> &mut Port {
        let (port, dropped) = self.ports.entry((key, if_index), Port::default);
        self.dropped += u64::from(dropped);
        port
    }

    /// What is known, in no order that means something.
    pub fn estimates(&self) -> impl Iterator<Item = FlowEstimate> {
        self.ports
            .iter()
            .map(|((key, if_index), port)| FlowEstimate {
                key,
                if_index,
                input: port.input.best(),
                output: port.output.best(),
            })
    }

    /// Forgets the sums; the counts of samples stay.
    pub fn restart(&mut self) {
        self.ports.clear();
    }

    /// Samples that were taken, that had no length or rate, and interfaces forgotten to make
    /// room.
    pub fn counts(&self) -> (u64, u64, u64) {
        (self.samples, self.unusable, self.dropped)
    }
}

/// What matters of a picked packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// ifIndex of the interface that picked it, if one did.
    pub source: Option<u32>,
    /// Where it came in, if that is one interface.
    pub input: Option<u32>,
    /// Where it went out, if that is one interface.
    pub output: Option<u32>,
    /// Bytes on the wire.
    pub frame_length: u32,
    /// One in so many is picked.
    pub sampling_rate: u32,
}
