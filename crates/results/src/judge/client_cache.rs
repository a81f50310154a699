//! Whether it was the file system that was measured, or the client's own memory.

use super::{OWN, percent_of};
use filermark_model::client_reads::{ClientReads, ReadCounter};
use filermark_model::{Bytes, Finding, Rule, Severity};
use std::collections::BTreeMap;

/// Share of the bytes read that may come from the client's memory, in percent.
const MEMORY_PCNT_MAX: f64 = 10.0;
/// Mount points that a finding names.
const NAMED_MAX: usize = 3;

/// What is to be said of where the bytes came from that were read.
pub fn judge_client_reads(reads: &[ClientReads]) -> Vec<Finding> {
    let all = by_counter(reads);
    let reads = || all.iter().filter(|r| r.read_bytes > 0);
    let known: Vec<(u64, &ClientReads)> = reads()
        .filter_map(|r| Some((r.memory_bytes()?, r)))
        .collect();
    let unknown: Vec<&ClientReads> = reads().filter(|r| r.fetched_bytes.is_none()).collect();
    cached(known).into_iter().chain(untold(&unknown)).collect()
}

/// One entry for each counter: clients on one host may share it, and each of them sees
/// what all have fetched.
fn by_counter(reads: &[ClientReads]) -> Vec<ClientReads> {
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
        one.client = format!("{}, {}", one.client, entry.client);
        one.mounts.extend_from_slice(&entry.mounts);
        one.read_bytes = one.read_bytes.saturating_add(entry.read_bytes);
        // A figure of one client holds for all.
        one.fetched_bytes = one.fetched_bytes.max(entry.fetched_bytes);
    }
    all
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
        "{pcnt:.0} % of the {:.1} MiB that were read came from the clients' own memory, not from the file system: {}{}; the most is {MEMORY_PCNT_MAX} %",
        Bytes(read).as_mib_f64(),
        named.collect::<Vec<_>>().join("; "),
        more(known.len()),
    );
    let finding = Finding::new(Rule::ClientCache, Severity::Warning, message);
    Some(finding.with_limit(pcnt, MEMORY_PCNT_MAX, OWN))
}

fn place(memory: u64, reads: &ClientReads) -> String {
    let share = percent_of(memory as f64, reads.read_bytes as f64);
    let by = match reads.counter {
        ReadCounter::Nfs => "by the NFS client's count",
        ReadCounter::Cifs => "by the SMB client's count",
        ReadCounter::Block => "by the block device's count",
        ReadCounter::Memory => "the file system itself is in memory",
        ReadCounter::Unknown => "not counted",
    };
    format!("{}, {share:.0} % ({by})", whose(reads))
}

fn untold(unknown: &[&ClientReads]) -> Option<Finding> {
    let named = unknown.iter().take(NAMED_MAX).map(|r| {
        let why = r.unknown.as_deref();
        format!(
            "{}: {}",
            whose(r),
            why.unwrap_or("nothing counts that there")
        )
    });
    let named: Vec<String> = named.collect();
    let message = format!(
        "it is not known how much of what was read came from the clients' own memory: {}{}",
        named.join("; "),
        more(unknown.len()),
    );
    (!unknown.is_empty()).then(|| Finding::new(Rule::ClientCache, Severity::Note, message))
}

fn whose(reads: &ClientReads) -> String {
    let mount = reads.mounts.first().map_or("", String::as_str);
    let others = match reads.mounts.len() {
        0 | 1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    let file_system = &reads.file_system;
    format!("client {}, {mount}{others} ({file_system})", reads.client)
}

fn more(all: usize) -> String {
    match all.saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!("; and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

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
    fn above_a_tenth_from_memory_the_point_says_so() {
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
            "75 % of the 100.0 MiB that were read came from the clients' own memory, not from the file system: client h1, localhost:/mnt (nfs4), 75 % (by the NFS client's count); the most is 10 %"
        );
    }

    #[test]
    fn memory_is_memory_and_unknown_is_a_note() {
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
        // 100 MiB came for both together, and each sees all of it.
        let client = |name: &str, source: &str, fetched| ClientReads {
            client: name.into(),
            source: source.into(),
            ..reads(ReadCounter::Nfs, 100 * MIB, fetched)
        };
        let same = [
            client("h1", "a", Some(100 * MIB)),
            client("h2", "a", Some(99 * MIB)),
        ];
        let found = judge_client_reads(&same);
        assert_eq!((found.len(), found[0].value), (1, Some(50.0)));
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
        // One of them could not read it.
        let half = [client("h1", "a", None), client("h2", "a", Some(100 * MIB))];
        assert_eq!(judge_client_reads(&half)[0].value, Some(50.0));
    }

    #[test]
    fn what_is_not_known_has_its_reason() {
        let mut unread = reads(ReadCounter::Block, MIB, None);
        unread.unknown = Some("the counter went back".into());
        let found = judge_client_reads(&[unread, reads(ReadCounter::Unknown, MIB, None)]);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].message,
            "it is not known how much of what was read came from the clients' own memory: client h1, localhost:/mnt (nfs4): the counter went back; client h1, localhost:/mnt (nfs4): nothing counts that there"
        );
    }

    #[test]
    fn who_reads_nothing_hears_nothing() {
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
