//! Renumbers sources and ports of several logs.

use crate::log::{Port, Source};
use std::collections::BTreeMap;

/// The numbers of one log, with those in the merged one.
#[derive(Debug, Default)]
pub(super) struct DeclaredIds {
    /// Number in the log -> number in the merged log, seconds to add to its times.
    sources: BTreeMap<u32, (u32, f64)>,
    ports: BTreeMap<u32, u32>,
}

/// The next free numbers of the merged log.
#[derive(Debug, Default)]
pub(super) struct NextIds {
    source: u32,
    port: u32,
}

impl DeclaredIds {
    /// Registers a source; returns it for the merged log. `shift_s` is added to its offset.
    pub(super) fn source(&mut self, source: Source, shift_s: f64, next: &mut NextIds) -> Source {
        let seconds = source.clock.offset_s + shift_s;
        self.sources.insert(source.id, (next.source, seconds));
        let mut merged = source;
        merged.id = next.source;
        merged.clock.added_s = Some(merged.clock.added_s.unwrap_or(0.0) + seconds);
        merged.clock.offset_s = 0.0;
        next.source += 1;
        merged
    }

    /// Registers a port; returns it for the merged log.
    pub(super) fn port(&mut self, port: Port, next: &mut NextIds) -> Port {
        self.ports.insert(port.port, next.port);
        let merged = Port {
            port: next.port,
            source: self.source_of(port.source).0,
            ..port
        };
        next.port += 1;
        merged
    }

    /// Number in the merged log, and seconds to add. The reader has refused what was not
    /// declared.
    pub(super) fn source_of(&self, id: u32) -> (u32, f64) {
        self.sources.get(&id).copied().unwrap_or((0, 0.0))
    }

    /// Number in the merged log.
    pub(super) fn port_of(&self, port: u32) -> u32 {
        self.ports.get(&port).copied().unwrap_or(0)
    }
}
