//! Whether reads were answered by the file system or by the client's own memory.

use super::case::{OWN, percent_of};
use filermark_model::client_reads::{ClientReads, ReadCounter};
use filermark_model::{Bytes, Finding, Rule, Severity};
use std::collections::{BTreeMap, BTreeSet};

/// Share of the bytes read that may come from the client's memory, in percent.
const MEMORY_PCNT_MAX: f64 = 10.0;
/// Mount points that a finding names.
const NAMED_MAX: usize = 3;

/// Findings on the source of the bytes that were read. `here`: the names of the clients that
/// the prime itself has started on its own host.
pub fn judge_client_reads(reads: &[ClientReads], here: &BTreeSet<&str>) -> Vec<Finding> {
    let (all, disagreeing) = by_counter(&of_one_host(reads, here));
    let known: Vec<(u64, &ClientReads)> = all
        .iter()
        .filter(|r| r.read_bytes > 0)
        .filter_map(|r| Some((r.memory_bytes()?, r)))
        .collect();
    let cached = cached(known);
    // Also if another client could read the same counter. A counter that was read late gives the
    // most that was fetched: what it shows to be cached is.
    let is_late_only = |r: &ClientReads| r.fetched_bytes.is_some() && cached.is_some();
    let is_unknown = |r: &&ClientReads| {
        let is_known = r.fetched_bytes.is_some() && r.unknown.is_none();
        r.read_bytes > 0 && !is_known && !is_late_only(r)
    };
    let unknown: Vec<&ClientReads> = reads.iter().filter(is_unknown).collect();
    let findings = [
        cached,
        unknown_source(&unknown),
        disagreement(&all, &disagreeing),
    ];
    findings.into_iter().flatten().collect()
}

/// The entries of clients on the prime's host, one for each counter. Each client reads it on
/// a thread of its own, and misses what was fetched before a late first reading: so the
/// largest value of them is used.
fn of_one_host(reads: &[ClientReads], here: &BTreeSet<&str>) -> Vec<ClientReads> {
    let mut all: Vec<ClientReads> = Vec::with_capacity(reads.len());
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in reads {
        let is_here = here.contains(entry.client.as_str()) && !entry.source.is_empty();
        let known = places.get(entry.source.as_str()).filter(|_| is_here);
        if let Some(one) = known.and_then(|at| all.get_mut(*at)) {
            merge(one, entry, u64::max);
            continue;
        }
        if is_here {
            places.insert(&entry.source, all.len());
        }
        all.push(entry.clone());
    }
    all
}

/// Adds the reads of another client to those of one counter. `choose` selects one of the
/// two values of fetched bytes.
fn merge(one: &mut ClientReads, other: &ClientReads, choose: fn(u64, u64) -> u64) {
    one.client = format!("{}, {}", one.client, other.client);
    one.mounts.extend_from_slice(&other.mounts);
    one.read_bytes = one.read_bytes.saturating_add(other.read_bytes);
    let fetched = [one.fetched_bytes, other.fetched_bytes];
    one.fetched_bytes = fetched.into_iter().flatten().reduce(choose);
}

/// One entry for each counter: clients on one host may share it, and each of them counts
/// what all have fetched. Also the counters for which clients report different values.
///
/// The name of the counter comes from the client, and a client that names another's must
/// not reduce that client's cached share. So the smallest value of fetched bytes is used:
/// an additional client can only raise the cached share.
fn by_counter(reads: &[ClientReads]) -> (Vec<ClientReads>, Vec<Disagreement>) {
    let mut most: BTreeMap<usize, u64> = BTreeMap::new();
    let mut all: Vec<ClientReads> = Vec::with_capacity(reads.len());
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in reads {
        let known = match entry.source.as_str() {
            "" => None,
            source => places.get(source).copied(),
        };
        let Some(one) = known.and_then(|at| all.get_mut(at)) else {
            places.insert(&entry.source, all.len());
            all.push(entry.clone());
            continue;
        };
        let fetched = [one.fetched_bytes, entry.fetched_bytes];
        merge(one, entry, u64::min);
        if let (Some(at), Some(largest)) = (known, fetched.into_iter().flatten().max()) {
            let most = most.entry(at).or_default();
            *most = largest.max(*most);
        }
    }
    let disagree = |(at, most): (usize, u64)| {
        let one = all.get(at)?;
        let apart = most.saturating_sub(one.fetched_bytes?);
        let is_far = percent_of(apart as f64, one.read_bytes as f64) > MEMORY_PCNT_MAX;
        is_far.then_some((at, most))
    };
    let disagreeing = most.into_iter().filter_map(disagree).collect();
    (all, disagreeing)
}

/// A counter by its place, and the largest value that a client reports.
type Disagreement = (usize, u64);

/// Clients that name one counter and report different values of it.
fn disagreement(all: &[ClientReads], which: &[Disagreement]) -> Option<Finding> {
    let (at, most) = which.first()?;
    let one = all.get(*at)?;
    let message = format!(
        "clients report different values of the same counter, {:.1} MiB and {:.1} MiB: {}{}; the smaller value is used",
        Bytes(one.fetched_bytes?).as_mib_f64(),
        Bytes(*most).as_mib_f64(),
        whose(one),
        more(which.len(), 1),
    );
    Some(Finding::new(Rule::ClientCache, Severity::Note, message))
}

fn cached(mut known: Vec<(u64, &ClientReads)>) -> Option<Finding> {
    let sum =
        |of: fn(&(u64, &ClientReads)) -> u64| known.iter().map(of).fold(0, u64::saturating_add);
    let (memory, read) = (sum(|(memory, _)| *memory), sum(|(_, r)| r.read_bytes));
    let pcnt = percent_of(memory as f64, read as f64);
    if pcnt <= MEMORY_PCNT_MAX {
        return None;
    }
    known.sort_by_key(|(memory, _)| std::cmp::Reverse(*memory));
    let named = known
        .iter()
        .take(NAMED_MAX)
        .map(|(memory, r)| place(*memory, r));
    let message = format!(
        "{pcnt:.0} % of the {:.1} MiB that were read came from the clients' own memory, not from the file system: {}{}; limit {MEMORY_PCNT_MAX} %",
        Bytes(read).as_mib_f64(),
        named.collect::<Vec<_>>().join("; "),
        more(known.len(), NAMED_MAX),
    );
    let finding = Finding::new(Rule::ClientCache, Severity::Warning, message);
    Some(finding.with_limit(pcnt, MEMORY_PCNT_MAX, OWN))
}

fn place(memory: u64, reads: &ClientReads) -> String {
    let share = percent_of(memory as f64, reads.read_bytes as f64);
    let by = match reads.counter {
        ReadCounter::Nfs => "counted by the NFS client",
        ReadCounter::Cifs => "counted by the SMB client",
        ReadCounter::Block => "counted by the block device",
        ReadCounter::Memory => "the file system itself is in memory",
        ReadCounter::Unknown => "not counted",
    };
    format!("{}, {share:.0} % ({by})", whose(reads))
}

fn unknown_source(unknown: &[&ClientReads]) -> Option<Finding> {
    let named = unknown.iter().take(NAMED_MAX).map(|r| {
        let why = r.unknown.as_deref();
        format!(
            "{}: {}",
            whose(r),
            why.unwrap_or("no counter for this file system")
        )
    });
    let named: Vec<String> = named.collect();
    let message = format!(
        "it is not known how much of what was read came from the clients' own memory: {}{}",
        named.join("; "),
        more(unknown.len(), NAMED_MAX),
    );
    (!unknown.is_empty()).then(|| Finding::new(Rule::ClientCache, Severity::Note, message))
}

fn whose(reads: &ClientReads) -> String {
    let mount = reads.mounts.first().map_or("", String::as_str);
    let others = match reads.mounts.len() {
        0 | 1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    let file_system = match reads.file_system.is_empty() {
        true => String::new(),
        false => format!(" ({})", reads.file_system),
    };
    format!("client {}, {mount}{others}{file_system}", reads.client)
}

fn more(all: usize, named: usize) -> String {
    match all.saturating_sub(named) {
        0 => String::new(),
        more => format!("; and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// No client is on the prime's host.
    fn judge_client_reads(reads: &[ClientReads]) -> Vec<Finding> {
        super::judge_client_reads(reads, &BTreeSet::new())
    }

    fn reads(counter: ReadCounter, read: u64, fetched: Option<u64>) -> ClientReads {
        ClientReads {
            client: "h1".into(),
            mounts: vec!["localhost:/mnt".into()],
            file_system: "nfs4".into(),
            counter,
            read_bytes: read,
            fetched_bytes: fetched,
            source: String::new(),
            unknown: None,
        }
    }

    #[test]
    fn reads_above_a_tenth_from_memory_are_reported() {
        let nfs = |fetched| vec![reads(ReadCounter::Nfs, 100 * MIB, Some(fetched))];
        assert_eq!(judge_client_reads(&nfs(90 * MIB)), []);
        assert_eq!(judge_client_reads(&nfs(300 * MIB)), [], "read ahead");
        let found = judge_client_reads(&nfs(25 * MIB));
        assert_eq!(found.len(), 1);
        let f = &found[0];
        assert_eq!((f.rule, f.severity), (Rule::ClientCache, Severity::Warning));
        assert_eq!((f.value, f.limit), (Some(75.0), Some(10.0)));
        assert_eq!(
            f.message,
            "75 % of the 100.0 MiB that were read came from the clients' own memory, not from the file system: client h1, localhost:/mnt (nfs4), 75 % (counted by the NFS client); limit 10 %"
        );
    }

    #[test]
    fn file_systems_in_memory_are_cached_and_unknown_is_a_note() {
        let found = judge_client_reads(&[
            reads(ReadCounter::Memory, MIB, Some(0)),
            reads(ReadCounter::Unknown, MIB, None),
        ]);
        assert_eq!(found[0].value, Some(100.0), "of what is known");
        assert!(found[0].message.contains("itself is in memory"));
        assert_eq!(found[1].severity, Severity::Note);
        assert!(found[1].message.contains("is not known"));
    }

    #[test]
    fn clients_on_one_host_share_a_counter() {
        // Both together fetched 100 MiB, and each counts all of it.
        let client = |name: &str, source: &str, fetched| ClientReads {
            client: name.into(),
            source: source.into(),
            ..reads(ReadCounter::Nfs, 100 * MIB, fetched)
        };
        let same = [
            client("h1", "a", Some(100 * MIB)),
            client("h2", "a", Some(99 * MIB)),
        ];
        let here = BTreeSet::from(["h1", "h2"]);
        let found = super::judge_client_reads(&same, &here);
        assert_eq!((found.len(), found[0].value), (1, Some(50.0)));
        assert_eq!(judge_client_reads(&same)[0].value, Some(50.5), "elsewhere");
        let message = &found[0].message;
        assert!(
            message.contains("client h1, h2, localhost:/mnt and 1 more"),
            "{message}"
        );
        let other = [
            client("h1", "a", Some(100 * MIB)),
            client("h2", "b", Some(100 * MIB)),
            client("h3", "", Some(100 * MIB)),
            client("h4", "", Some(100 * MIB)),
        ];
        assert_eq!(judge_client_reads(&other), []);
        // One of them could not read the counter.
        let half = [client("h1", "a", None), client("h2", "a", Some(100 * MIB))];
        assert_eq!(judge_client_reads(&half)[0].value, Some(50.0));
    }

    /// A counter that was read late gives the most that was fetched: enough memory is reported,
    /// and what is less is not known.
    #[test]
    fn a_late_reading_does_not_replace_cached_by_a_note() {
        let late = |fetched| ClientReads {
            client: "h1".into(),
            mounts: vec!["h:/a".into()],
            file_system: "ext4".into(),
            counter: ReadCounter::Block,
            read_bytes: 1000 * MIB,
            fetched_bytes: Some(fetched * MIB),
            source: "s".into(),
            unknown: Some("its counter was read 0.5 s late".into()),
        };
        for (fetched, severity) in [(250, Severity::Warning), (950, Severity::Note)] {
            let found = judge_client_reads(&[late(fetched)]);
            let severities: Vec<_> = found.iter().map(|f| f.severity).collect();
            assert_eq!(severities, [severity], "{found:?}");
        }
    }

    /// Two correct clients on the prime's host; one of them was 1.5 s of 10 s late with its
    /// first reading. A client on another host gains nothing by naming their counter.
    #[test]
    fn a_late_reading_of_one_client_here_does_not_make_reads_look_cached() {
        let client = |name: &str, read: u64, fetched: u64| ClientReads {
            client: name.into(),
            source: "a".into(),
            ..reads(ReadCounter::Nfs, read * MIB, Some(fetched * MIB))
        };
        let (prompt, late) = (client("h1", 500, 1000), client("h2", 500, 850));
        let here = BTreeSet::from(["h1", "h2"]);
        for both in [
            [prompt.clone(), late.clone()],
            [late.clone(), prompt.clone()],
        ] {
            assert_eq!(super::judge_client_reads(&both, &here), []);
            assert_eq!(judge_client_reads(&both)[0].value, Some(15.0));
        }
        let cached = [client("h1", 500, 300), client("h2", 500, 290)];
        let alone = super::judge_client_reads(&cached, &here);
        assert_eq!(alone[0].value, Some(70.0));
        let [one, two] = cached;
        let wrong = client("wrong", 0, 1 << 30);
        for order in [[one.clone(), two.clone(), wrong.clone()], [wrong, one, two]] {
            let found = super::judge_client_reads(&order, &here);
            assert_eq!(found[0].value, Some(70.0), "{found:?}");
        }
    }

    /// An agent may name any counter.
    #[test]
    fn naming_another_clients_counter_does_not_lower_its_cached_share() {
        let client = |name: &str, read: u64, fetched: Option<u64>| ClientReads {
            client: name.into(),
            source: "a".into(),
            ..reads(ReadCounter::Nfs, read * MIB, fetched.map(|f| f * MIB))
        };
        let cached = client("h1", 100, Some(20));
        let alone = judge_client_reads(std::slice::from_ref(&cached));
        assert_eq!(alone[0].value, Some(80.0));
        for (claimed, value) in [
            (client("wrong", 0, Some(1 << 40)), 80.0),
            (client("wrong", 100, Some(1 << 40)), 90.0),
            (client("wrong", 100, None), 90.0),
        ] {
            let has_figure = claimed.fetched_bytes.is_some();
            for both in [[cached.clone(), claimed.clone()], [claimed, cached.clone()]] {
                let found = judge_client_reads(&both);
                assert_eq!(found[0].severity, Severity::Warning);
                assert_eq!(found[0].value, Some(value));
                let note = found.last().expect("a note");
                assert_eq!((found.len(), note.severity), (2, Severity::Note));
                let is_reported = note
                    .message
                    .contains("values of the same counter, 20.0 MiB and 1099511627776.0 MiB");
                assert_eq!(is_reported, has_figure, "{note}");
            }
        }
        // It is also reported that the client's own value is unknown.
        let unread = [client("h1", 100, None), client("wrong", 1, Some(1 << 40))];
        let found = judge_client_reads(&unread);
        assert!(found[0].message.contains("not known"), "{found:?}");
        assert!(found[0].message.contains("client h1,"), "{found:?}");
    }

    #[test]
    fn what_is_not_known_has_its_reason() {
        let mut unread = reads(ReadCounter::Block, MIB, None);
        unread.unknown = Some("the counter went back".into());
        let found = judge_client_reads(&[unread, reads(ReadCounter::Unknown, MIB, None)]);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].message,
            "it is not known how much of what was read came from the clients' own memory: client h1, localhost:/mnt (nfs4): the counter went back; client h1, localhost:/mnt (nfs4): no counter for this file system"
        );
    }

    #[test]
    fn clients_without_reads_get_no_finding() {
        assert_eq!(judge_client_reads(&[]), []);
        let nothing = [
            reads(ReadCounter::Unknown, 0, None),
            reads(ReadCounter::Block, 0, Some(5)),
        ];
        assert_eq!(judge_client_reads(&nothing), []);
        let many = vec![reads(ReadCounter::Memory, u64::MAX, Some(0)); 5];
        let found = judge_client_reads(&many);
        assert!(found[0].message.contains("; and 2 more"), "{found:?}");
    }
}
