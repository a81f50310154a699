//! Points in wall-clock time, as records and reports write them.
//!
//! Always UTC: a record reads the same wherever it is rendered.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A point in wall-clock time; RFC 3339 with microseconds in records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    /// The present.
    pub fn now() -> Self {
        Self(jiff::Timestamp::now())
    }

    /// From seconds since 1970-01-01T00:00:00Z; values outside the calendar give its first or
    /// last instant.
    pub fn from_unix_seconds(seconds: f64) -> Self {
        let micros = (seconds * 1e6) as i64;
        let nearest = if micros < 0 {
            jiff::Timestamp::MIN
        } else {
            jiff::Timestamp::MAX
        };
        Self(jiff::Timestamp::from_microsecond(micros).unwrap_or(nearest))
    }

    /// Seconds since 1970-01-01T00:00:00Z.
    pub fn unix_seconds(self) -> f64 {
        self.0.as_microsecond() as f64 / 1e6
    }

    /// Seconds from `earlier` to here; negative where `earlier` is later.
    pub fn seconds_since(self, earlier: Self) -> f64 {
        self.unix_seconds() - earlier.unix_seconds()
    }

    /// So many seconds later (earlier, where they are negative).
    pub fn plus_seconds(self, seconds: f64) -> Self {
        Self::from_unix_seconds(self.unix_seconds() + seconds)
    }

    /// As the classical logs write it, `Tue Jan 22 02:41:36 2008`, in UTC.
    pub fn classical(self) -> String {
        self.0.strftime("%a %b %e %H:%M:%S %Y").to_string()
    }

    /// For people, to the second: `2026-11-21 09:30:05 UTC`.
    pub fn readable(self) -> String {
        self.0.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}", self.0)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_one_instant() {
        let t = Timestamp::from_unix_seconds(1_200_969_696.25);
        assert_eq!(t.to_string(), "2008-01-22T02:41:36.250000Z");
        assert_eq!(t.classical(), "Tue Jan 22 02:41:36 2008");
        assert_eq!(t.readable(), "2008-01-22 02:41:36 UTC");
        let json = serde_json::to_string(&t).unwrap();
        assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), t);
        assert!(serde_json::from_str::<Timestamp>("\"yesterday\"").is_err());
        assert!(Timestamp::from_unix_seconds(f64::MAX) > t);
        assert_eq!(
            t.seconds_since(Timestamp::from_unix_seconds(1_200_969_696.0)),
            0.25
        );
    }
}
