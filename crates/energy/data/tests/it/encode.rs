//! Encodes sFlow datagrams for the tests.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use filermark_energy_data::sflow::counters::*;
use filermark_energy_data::sflow::datagram::Source;
use std::net::IpAddr;

/// Words as they go over the wire.
#[derive(Clone, Default)]
pub struct Words(pub Vec<u8>);

impl Words {
    pub fn u32(mut self, word: u32) -> Self {
        self.0.extend(word.to_be_bytes());
        self
    }

    pub fn u64(mut self, word: u64) -> Self {
        self.0.extend(word.to_be_bytes());
        self
    }

    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    pub fn opaque(self, bytes: &[u8]) -> Self {
        let padding = bytes.len().wrapping_neg() & 3;
        self.u32(bytes.len() as u32)
            .bytes(bytes)
            .bytes(&[0; 3][..padding])
    }

    /// A structure: tag, length, body.
    pub fn structure(self, format: u32, body: Words) -> Self {
        self.u32(format).opaque(&body.0)
    }
}

pub struct Head {
    pub agent: Option<IpAddr>,
    pub sub_agent: u32,
    pub sequence: u32,
    pub uptime_ms: u32,
}

pub fn head(sequence: u32, uptime_ms: u32) -> Head {
    Head {
        agent: Some([10, 0, 0, 248].into()),
        sub_agent: 0,
        sequence,
        uptime_ms,
    }
}

/// A datagram of these samples, each a format and a body.
pub fn datagram(head: &Head, samples: &[(u32, Words)]) -> Vec<u8> {
    let words = Words::default().u32(5);
    let words = match head.agent {
        None => words.u32(0),
        Some(IpAddr::V4(ip)) => words.u32(1).bytes(&ip.octets()),
        Some(IpAddr::V6(ip)) => words.u32(2).bytes(&ip.octets()),
    };
    let mut words = words
        .u32(head.sub_agent)
        .u32(head.sequence)
        .u32(head.uptime_ms)
        .u32(samples.len() as u32);
    for (format, body) in samples {
        words = words.structure(*format, body.clone());
    }
    words.0
}

fn records(words: Words, records: &[(u32, Words)]) -> Words {
    let words = words.u32(records.len() as u32);
    records.iter().fold(words, |words, (format, body)| {
        words.structure(*format, body.clone())
    })
}

fn source(words: Words, source: Source, expanded: bool) -> Words {
    if expanded {
        words.u32(source.class).u32(source.index)
    } else {
        words.u32(source.class << 24 | source.index)
    }
}

/// An interface by its ifIndex.
fn interface(words: Words, if_index: u32, expanded: bool) -> Words {
    match expanded {
        true => words.u32(0).u32(if_index),
        false => words.u32(if_index),
    }
}

pub fn counter_sample(
    sequence: u32,
    from: Source,
    expanded: bool,
    groups: &[(u32, Words)],
) -> (u32, Words) {
    let words = source(Words::default().u32(sequence), from, expanded);
    (if expanded { 4 } else { 2 }, records(words, groups))
}

pub struct Flow {
    pub sequence: u32,
    pub source: Source,
    pub sampling_rate: u32,
    pub sample_pool: u32,
    pub drops: u32,
    pub input: u32,
    pub output: u32,
}

pub fn flow_sample(flow: &Flow, expanded: bool, groups: &[(u32, Words)]) -> (u32, Words) {
    let words = source(Words::default().u32(flow.sequence), flow.source, expanded)
        .u32(flow.sampling_rate)
        .u32(flow.sample_pool)
        .u32(flow.drops);
    let words = interface(words, flow.input, expanded);
    let words = interface(words, flow.output, expanded);
    (if expanded { 3 } else { 1 }, records(words, groups))
}

pub fn discarded(input: u32, output: u32, reason: u32, groups: &[(u32, Words)]) -> (u32, Words) {
    let words = Words::default()
        .u32(1)
        .u32(0)
        .u32(input)
        .u32(0)
        .u32(input)
        .u32(output)
        .u32(reason);
    (5, records(words, groups))
}

pub fn header(frame_length: u32, bytes: &[u8]) -> (u32, Words) {
    (
        1,
        Words::default()
            .u32(1)
            .u32(frame_length)
            .u32(4)
            .opaque(bytes),
    )
}

pub fn interface_record(c: &InterfaceCounters) -> (u32, Words) {
    let words = Words::default()
        .u32(c.if_index)
        .u32(c.if_type)
        .u64(c.speed)
        .u32(c.direction)
        .u32(c.status)
        .u64(c.in_octets)
        .u32(c.in_unicast)
        .u32(c.in_multicast)
        .u32(c.in_broadcast)
        .u32(c.in_discards)
        .u32(c.in_errors)
        .u32(c.in_unknown_protocols)
        .u64(c.out_octets)
        .u32(c.out_unicast)
        .u32(c.out_multicast)
        .u32(c.out_broadcast)
        .u32(c.out_discards)
        .u32(c.out_errors)
        .u32(c.promiscuous);
    (1, words)
}

/// A counter sample with the generic counters of one interface.
pub fn port_sample(sequence: u32, counters: &InterfaceCounters) -> (u32, Words) {
    let source = Source {
        class: 0,
        index: counters.if_index,
    };
    counter_sample(sequence, source, false, &[interface_record(counters)])
}

/// Bytes from the hex digits of a text; `#` begins a comment.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .lines()
        .flat_map(|line| line.split('#').next().unwrap_or_default().bytes())
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(|byte| (byte as char).to_digit(16).expect("a hex digit") as u8)
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}
