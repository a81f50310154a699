//! Which runs are meant.

use crate::entry::Entry;
use filermark_results::Timestamp;

/// Conditions, all of which have to hold. The default holds for every run.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// The benchmark's name.
    pub benchmark: Option<String>,
    /// A part of a target's name: host, export, share, directory or port.
    pub target: Option<String>,
    /// A part of the run's suffix.
    pub suffix: Option<String>,
    /// Begun at this time or later.
    pub since: Option<Timestamp>,
    /// Begun before this time.
    pub until: Option<Timestamp>,
    /// It has all of these tags.
    pub tags: Vec<String>,
    /// The result counts.
    pub is_valid: bool,
}

impl Filter {
    /// Whether they hold for a run.
    pub fn holds(&self, entry: &Entry) -> bool {
        let is = |wanted: &Option<String>, found: &str| {
            wanted
                .as_ref()
                .is_none_or(|wanted| wanted.eq_ignore_ascii_case(found))
        };
        let has = |part: &Option<String>, texts: &[String]| {
            part.as_ref()
                .is_none_or(|part| texts.iter().any(|text| text.contains(part.as_str())))
        };
        is(&self.benchmark, &entry.benchmark)
            && has(&self.target, &entry.targets)
            && has(&self.suffix, std::slice::from_ref(&entry.suffix))
            && self.since.is_none_or(|since| entry.started >= since)
            && self.until.is_none_or(|until| entry.started < until)
            && self.tags.iter().all(|tag| entry.tags.contains(tag))
            && (!self.is_valid || entry.is_valid)
    }
}

/// A day, or a time: `2026-11-27`, `2026-11-27T08:30:00Z`. A day begins at 00:00 UTC.
///
/// # Errors
/// The text is neither; the sentence says what to write.
pub fn parse_day(text: &str) -> Result<Timestamp, String> {
    let day = text.parse::<jiff::civil::Date>().ok();
    let day = day.and_then(|day| day.to_zoned(jiff::tz::TimeZone::UTC).ok());
    let time = match day {
        // A text with a time is also a date to the parser.
        Some(day) if text.len() <= 10 => Some(day.timestamp()),
        _ => text.parse::<jiff::Timestamp>().ok(),
    };
    time.map(|t| Timestamp::from_unix_seconds(t.as_microsecond() as f64 / 1e6))
        .ok_or_else(|| "give a day or a time in UTC: 2026-11-27 or 2026-11-27T08:30:00Z".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tags::Tags;
    use filermark_results::testing;
    use std::path::Path;

    #[test]
    fn every_condition_is_applied() {
        let record = testing::record();
        let tags = Tags {
            tags: ["a".to_owned()].into(),
            note: None,
        };
        let entry = Entry::of(Path::new("x.run.jsonl"), &record, tags);
        let begun = entry.started;
        let holds = |change: &dyn Fn(&mut Filter)| {
            let mut filter = Filter::default();
            change(&mut filter);
            filter.holds(&entry)
        };
        assert!(holds(&|_| {}));
        assert!(holds(
            &|f| f.benchmark = Some(entry.benchmark.to_uppercase())
        ));
        assert!(!holds(&|f| f.benchmark = Some("other".into())));
        assert!(holds(&|f| f.target = Some(entry.targets[0][..3].into())));
        assert!(!holds(&|f| f.target = Some("elsewhere".into())));
        assert!(holds(&|f| f.suffix = Some(entry.suffix[1..].into())));
        assert!(!holds(&|f| f.suffix = Some(format!("{}-mix", entry.suffix))));
        assert!(holds(&|f| f.since = Some(begun)));
        assert!(!holds(&|f| f.since = Some(begun.plus_seconds(1.0))));
        assert!(!holds(&|f| f.until = Some(begun)));
        assert!(holds(&|f| f.tags = vec!["a".into()]));
        assert!(!holds(&|f| f.tags = vec!["a".into(), "b".into()]));
        assert_eq!(holds(&|f| f.is_valid = true), entry.is_valid);
    }

    #[test]
    fn days_and_times_are_read() {
        let day = parse_day("2026-11-27").expect("a day");
        assert_eq!(day.to_string(), "2026-11-27T00:00:00.000000Z");
        let time = parse_day("2026-11-27T10:30:00+02:00").expect("a time");
        assert_eq!(time.to_string(), "2026-11-27T08:30:00.000000Z");
        for bad in ["", "27.11.2026", "yesterday", "2026-13-01", "2026-11-27 x"] {
            assert!(parse_day(bad).is_err(), "{bad}");
        }
    }
}
