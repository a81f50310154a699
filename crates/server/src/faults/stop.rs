//! `--stop`: a server that periodically stops serving for a fixed time.
//!
//! While it is stopped no reply leaves, and no delay passes: a reply that was held back for 2 of its
//! 5 ms when the stop began leaves 3 ms after its end. So response times under a stop can be
//! calculated.

use super::spec::{Item, SpecError};
use std::str::FromStr;

/// `--stop 3s/60s`: 60 s after its start the server stops for 3 s, and again every 60 s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopSpec {
    /// How long a stop lasts, in ns; above 0 and below `every_ns`.
    pub length_ns: u64,
    /// From the start of the server to that of the first stop, and from one stop to the next, in ns.
    pub every_ns: u64,
}

impl FromStr for StopSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<StopSpec, SpecError> {
        let item = Item {
            text: text.trim(),
            hint: "write for example 3s/60s (a stop of 3 s every 60 s)",
        };
        let (length, every) = item
            .text
            .split_once('/')
            .ok_or_else(|| item.error("LENGTH/PERIOD is missing"))?;
        let (length_ns, every_ns) = (item.time_ns(length)?, item.time_ns(every)?);
        if length_ns == 0 || length_ns >= every_ns {
            return Err(item.error("the length must be above 0 and below the period"));
        }
        Ok(StopSpec {
            length_ns,
            every_ns,
        })
    }
}

impl StopSpec {
    /// How much of the time since the start, in ns, the server was not stopped.
    fn active_ns(&self, since_start_ns: u64) -> u64 {
        let stops = since_start_ns / self.every_ns;
        if stops == 0 {
            return since_start_ns;
        }
        let of_the_last = (since_start_ns % self.every_ns).min(self.length_ns);
        since_start_ns - (stops - 1) * self.length_ns - of_the_last
    }

    /// When so many ns without stops have passed; where that is the beginning of a stop, its end.
    fn when_active_ns(&self, active_ns: u64) -> u64 {
        let Some(later) = active_ns.checked_sub(self.every_ns) else {
            return active_ns;
        };
        let between = self.every_ns - self.length_ns;
        let stops = 1 + later / between;
        stops
            .saturating_mul(self.every_ns)
            .saturating_add(self.length_ns + later % between)
    }

    /// When work of so many ns that begins at `from_ns` is done; both since the start.
    pub(super) fn done_ns(&self, from_ns: u64, work_ns: u64) -> u64 {
        self.when_active_ns(self.active_ns(from_ns).saturating_add(work_ns))
    }
}
