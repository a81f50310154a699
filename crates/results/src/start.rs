//! The synchronization of the clients' starts at a load point.

use serde::{Deserialize, Serialize};

/// The start of WARMUP on all clients: one instant, as precisely as their clocks are
/// known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartRecord {
    /// Largest possible difference between the starts of two clients, in nanoseconds: the
    /// errors of the two least precise clocks, and the largest delay.
    pub spread_ns: u64,
    /// Each client's clock and delay.
    pub clients: Vec<ClientStart>,
}

/// One client's start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientStart {
    /// Its name.
    pub client: String,
    /// Its clock minus the prime's, in nanoseconds. Each clock counts from an
    /// instant of its own.
    pub offset_ns: i64,
    /// Largest error of this offset, in nanoseconds: half the shortest of several
    /// round trips.
    pub error_ns: u64,
    /// Its time of day minus the prime's, in nanoseconds.
    pub unix_offset_ns: i64,
    /// The delay of the start message after the instant; 0: it arrived before.
    pub late_ns: u64,
}

impl StartRecord {
    /// From the data of each client.
    pub fn of(clients: Vec<ClientStart>) -> Self {
        let mut errors: Vec<u64> = clients.iter().map(|c| c.error_ns).collect();
        errors.sort_unstable_by(|a, b| b.cmp(a));
        let late = clients.iter().map(|c| c.late_ns).max().unwrap_or(0);
        let clocks = match errors[..] {
            [first, second, ..] => first.saturating_add(second),
            // A single client has no spread.
            _ => 0,
        };
        Self {
            spread_ns: clocks.saturating_add(late),
            clients,
        }
    }

    /// For people.
    pub fn describe(&self) -> String {
        let error = self.clients.iter().map(|c| c.error_ns).max().unwrap_or(0);
        let late = self.clients.iter().filter(|c| c.late_ns > 0).count();
        let late = match late {
            0 => "no client was late".to_owned(),
            1 => "1 client was late".to_owned(),
            n => format!("{n} clients were late"),
        };
        format!(
            "{} clients began within {} of each other (clocks known to {}, {late})",
            self.clients.len(),
            span(self.spread_ns),
            span(error),
        )
    }
}

/// A short time for people.
fn span(ns: u64) -> String {
    match ns {
        0..1_000_000 => format!("{:.0} us", ns as f64 / 1e3),
        _ => format!("{:.1} ms", ns as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(error_ns: u64, late_ns: u64) -> ClientStart {
        ClientStart {
            client: "c".into(),
            offset_ns: -7,
            error_ns,
            unix_offset_ns: 3,
            late_ns,
        }
    }

    #[test]
    fn the_spread_is_what_the_two_worst_clocks_allow() {
        assert_eq!(StartRecord::of(vec![client(50, 0)]).spread_ns, 0);
        let three = StartRecord::of(vec![client(50, 0), client(20, 0), client(70, 9)]);
        assert_eq!(three.spread_ns, 129);
        assert!(three.describe().contains("3 clients began within"));
        assert!(three.describe().contains("1 client was late"));
    }
}
