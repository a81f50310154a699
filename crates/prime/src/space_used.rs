//! How INIT changed the free space of the servers, compared with what it wrote.
//!
//! A server that stores far less than was written compresses, deduplicates, or allocates
//! later; one that loses far more free space has other users. Either affects the meaning
//! of a result, so it is in the record and, if the difference is large, a finding.

use filermark_model::units::counted;
use filermark_model::{Bytes, Finding, Rule, Severity};
use filermark_results::record::{SpaceChange, SpaceUse};

/// Smaller writes are not judged: file systems round, and reserve space for journals.
const WRITTEN_BYTES_MIN: u64 = 64 << 20;
/// Expected loss of free space, in percent of the bytes written.
const STORED_PCNT_MIN: f64 = 80.0;
const STORED_PCNT_MAX: f64 = 150.0;
const SOURCE: &str = "Filermark, docs/src/reference/rules.md";

/// Adds the values of one client. All clients begin and end INIT at about the same time,
/// so the largest value before and the smallest value after are kept.
pub(crate) fn merge(all: &mut Vec<SpaceChange>, seen: Vec<SpaceChange>) {
    for change in seen {
        match all.iter_mut().find(|c| c.file_system == change.file_system) {
            Some(known) => {
                known.before_bytes = known.before_bytes.max(change.before_bytes);
                known.after_bytes = known.after_bytes.min(change.after_bytes);
            }
            None => all.push(change),
        }
    }
}

/// A note, if the loss of free space is not as expected.
pub(crate) fn judge(space: &SpaceUse) -> Option<Finding> {
    let written = space.written_bytes;
    if written < WRITTEN_BYTES_MIN || space.file_systems.is_empty() {
        return None;
    }
    let total = |of: fn(&SpaceChange) -> u64| -> u64 {
        let all = space.file_systems.iter().map(of);
        all.fold(0, u64::saturating_add)
    };
    let (before, after) = (total(|c| c.before_bytes), total(|c| c.after_bytes));
    let stored = before.saturating_sub(after);
    let pcnt = 100.0 * stored as f64 / written as f64;
    let (limit, meaning) = if pcnt < STORED_PCNT_MIN {
        (
            STORED_PCNT_MIN,
            "the server compresses, deduplicates or allocates later, or others freed space",
        )
    } else if pcnt > STORED_PCNT_MAX {
        (
            STORED_PCNT_MAX,
            "others wrote meanwhile, or the server stores more than one copy",
        )
    } else {
        return None;
    };
    let place = match space.file_systems.as_slice() {
        [one] => one.file_system.clone(),
        several => counted(several.len() as u64, "file system"),
    };
    let message = format!(
        "INIT wrote {}, the free space of {place} fell by {} (from {} to {}), {pcnt:.0} % of it: {meaning}",
        Bytes(written),
        Bytes(stored),
        Bytes(before),
        Bytes(after),
    );
    let finding = Finding::new(Rule::SpaceUsed, Severity::Note, message);
    Some(finding.with_limit(pcnt, limit, SOURCE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(name: &str, before: u64, after: u64) -> SpaceChange {
        SpaceChange {
            file_system: name.into(),
            total_bytes: 1 << 40,
            before_bytes: before << 20,
            after_bytes: after << 20,
        }
    }

    fn used(written_mib: u64, file_systems: Vec<SpaceChange>) -> SpaceUse {
        SpaceUse {
            written_bytes: written_mib << 20,
            file_systems,
        }
    }

    #[test]
    fn values_of_one_file_system_are_merged() {
        let mut all = vec![change("nas:/a", 100, 60)];
        merge(
            &mut all,
            vec![change("nas:/a", 110, 50), change("nas:/b", 9, 8)],
        );
        assert_eq!(all, [change("nas:/a", 110, 50), change("nas:/b", 9, 8)]);
    }

    #[test]
    fn stored_bytes_are_compared_with_written_bytes() {
        let of =
            |written, before, after| judge(&used(written, vec![change("nas:/a", before, after)]));
        assert_eq!(of(1_000, 5_000, 4_000), None);
        assert_eq!(of(1_000, 5_000, 4_150), None);
        let less = of(1_000, 5_000, 4_700).expect("30 % were stored");
        assert!(
            less.message.contains("30 %") && less.message.contains("nas:/a"),
            "{less}"
        );
        assert_eq!(less.severity, Severity::Note);
        assert_eq!(of(1_000, 5_000, 5_500).expect("it grew").value, Some(0.0));
        assert!(
            of(1_000, 5_000, 3_000)
                .expect("others")
                .message
                .contains("others wrote")
        );
        // Little was written, or no free space is known.
        assert_eq!(of(10, 5_000, 5_000), None);
        assert_eq!(judge(&used(1_000, Vec::new())), None);
    }
}
