//! Local times of files, which need a time zone.

use filermark_results::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use std::str::FromStr;

/// A time zone: `UTC`, `+01:00`, `Europe/Berlin`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(TimeZone);

/// A name that is not a time zone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is not a time zone; give UTC, an offset as +01:00, or a name of the tz database as Europe/Berlin"
)]
pub struct UnknownZone(String);

impl Zone {
    /// Coordinated universal time.
    pub const UTC: Self = Self(TimeZone::UTC);
}

impl FromStr for Zone {
    type Err = UnknownZone;

    fn from_str(text: &str) -> Result<Self, UnknownZone> {
        if text == "Z" || text.eq_ignore_ascii_case("utc") {
            return Ok(Self::UTC);
        }
        // An offset: parsed as a part of a time.
        let offset = text.starts_with(['+', '-']);
        let zone = if offset {
            let at = format!("2000-01-01T00:00{text}[{text}]");
            at.parse::<jiff::Zoned>()
                .map(|zoned| zoned.time_zone().clone())
        } else {
            TimeZone::get(text)
        };
        zone.map(Self).map_err(|_| UnknownZone(text.to_owned()))
    }
}

/// Reads local times in their order.
#[derive(Clone, Debug)]
pub(crate) struct LocalTimes {
    zone: Option<Zone>,
    last: Option<Timestamp>,
}

impl LocalTimes {
    pub(crate) fn new(zone: Option<Zone>) -> Self {
        Self { zone, last: None }
    }

    /// Whether times without an offset can be converted.
    pub(crate) fn has_zone(&self) -> bool {
        self.zone.is_some()
    }

    /// The instant of `2018-03-04 19:10:36`, or with an offset `...T19:10:36-0600`, which needs
    /// no zone. Where clocks were set back and an hour occurs twice, the one that follows the
    /// last time. `None` for text that is not a time, or a time in an hour that was skipped.
    pub(crate) fn read(&mut self, text: &str) -> Option<Timestamp> {
        if let Ok(at) = text.parse::<jiff::Timestamp>() {
            return Some(Timestamp::from_unix_seconds(
                at.as_microsecond() as f64 / 1e6,
            ));
        }
        self.place(text.parse().ok()?)
    }

    /// The instant of a local time, as [`read`](Self::read) returns it.
    pub(crate) fn place(&mut self, local: DateTime) -> Option<Timestamp> {
        let instants = self.zone.as_ref()?.0.to_ambiguous_timestamp(local);
        let at = match instants.offset() {
            AmbiguousOffset::Gap { .. } => return None,
            AmbiguousOffset::Unambiguous { offset } => stamp(offset, local)?,
            AmbiguousOffset::Fold { before, after } => {
                let first = stamp(before, local)?;
                match self.last {
                    Some(last) if first < last => stamp(after, local)?,
                    _ => first,
                }
            }
        };
        self.last = Some(at);
        Some(at)
    }
}

fn stamp(offset: jiff::tz::Offset, local: DateTime) -> Option<Timestamp> {
    let at = offset.to_timestamp(local).ok()?;
    Some(Timestamp::from_unix_seconds(
        at.as_microsecond() as f64 / 1e6,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(zone: &str, times: &[&str]) -> Vec<Option<String>> {
        let mut local = LocalTimes::new(Some(zone.parse().expect("a zone")));
        let mut one = |time: &&str| local.read(time).map(|at| at.readable());
        times.iter().map(&mut one).collect()
    }

    fn utc(text: &str) -> Option<String> {
        Some(format!("{text} UTC"))
    }

    #[test]
    fn zones_by_name_and_offset() {
        let time = ["2018-03-04 19:10:36"];
        assert_eq!(read("UTC", &time), [utc("2018-03-04 19:10:36")]);
        assert_eq!(read("-06:00", &time), [utc("2018-03-05 01:10:36")]);
        assert_eq!(read("America/Chicago", &time), [utc("2018-03-05 01:10:36")]);
        for bad in ["", "Mars/Olympus", "+99:00", "12"] {
            let error = bad.parse::<Zone>().expect_err("no zone").to_string();
            assert!(
                error.starts_with(&format!("\"{bad}\" is not a time zone")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_time_with_its_offset_needs_no_zone() {
        let mut local = LocalTimes::new(None);
        for time in [
            "2018-03-04T19:10:36-0600",
            "2018-03-05T01:10:36Z",
            "2018-03-04T19:10:36-06:00",
        ] {
            assert_eq!(
                local.read(time).map(|at| at.readable()),
                utc("2018-03-05 01:10:36"),
                "{time}"
            );
        }
        assert_eq!(local.read("2018-03-04 19:10:36"), None);
    }

    #[test]
    fn an_hour_that_occurs_twice_and_one_that_was_skipped() {
        let autumn = [
            "2018-10-28 02:30:00",
            "2018-10-28 02:59:59",
            "2018-10-28 02:00:00",
            "2018-10-28 02:30:00",
        ];
        let wanted = [
            "2018-10-28 00:30:00",
            "2018-10-28 00:59:59",
            "2018-10-28 01:00:00",
            "2018-10-28 01:30:00",
        ];
        assert_eq!(read("Europe/Berlin", &autumn), wanted.map(utc));
        assert_eq!(
            read("Europe/Berlin", &["2018-03-25 02:30:00", "yesterday"]),
            [None, None]
        );
    }
}
