//! What the driver counts beside the operations themselves.

use crate::version2;
use filermark_driver_kit::tallies;
use filermark_driver_kit::tally::take_counts;
use filermark_model::plan::NfsVersion;
use filermark_onc::nfs3::Procedure;
use std::collections::BTreeMap;

tallies! {
    Retransmits = "retransmits", "Calls sent again with the same xid.";
    DuplicateReplies = "duplicate_replies", "UDP: replies to calls that had been answered already.";
    LateReplies = "late_replies", "UDP: replies to calls that had been given up.";
    PortUnreachable = "port_unreachable", "UDP: answers of the network that the server cannot be reached, or that nobody listens on its port.";
    SendErrors = "send_errors", "UDP: datagrams that this host did not send: no room, or a firewall rule of its own.";
    Reconnects = "reconnects", "Connections made anew after the first time.";
    ConnectFailures = "connect_failures", "Attempts to connect that failed.";
    Timeouts = "timeouts", "Times that a connection was given up because a reply was late.";
    JukeboxWaits = "jukebox_waits", "Waits after NFS3ERR_JUKEBOX.";
    ShortReads = "short_reads", "READ replies with less than was asked, before the end of the file.";
    EarlyEofs = "early_eofs", "READ replies that met the end of the file before bytes that had been written.";
    ShortWrites = "short_writes", "WRITE replies that took less than was sent.";
    VerifierChanges = "verifier_changes", "Changes of a file system's write verifier that were seen.";
    Rewrites = "rewrites", "WRITEs that went again because of that.";
    WriteCommits = "write_commits", "COMMITs of what was written, as against those that the mix asks for.";
    EndCommits = "end_commits", "Of these, those for what was left when all operations of RUN were over.";
    ReadCommits = "read_commits", "COMMITs of reads that showed something wrong and asked for the verifier.";
    CommitFailures = "commit_failures", "COMMITs of what was written, and WRITEs of lost data, that were refused or not answered.";
    UnstableWrites = "unstable_writes", "Logical writes that the server answered UNSTABLE.";
    LessStable = "less_stable", "WRITE replies that were less stable than FILE_SYNC, which was asked for.";
    LostWrites = "lost_writes", "Writes that the server had answered UNSTABLE and lost before their COMMIT; they went again.";
    EndLostWrites = "end_lost_writes", "The same when all operations of RUN were over.";
    UncommittedWrites = "uncommitted_writes", "Writes that the server had answered UNSTABLE and that no COMMIT confirmed.";
    ExcusedReads = "excused_reads", "READ replies that showed what was there before writes that the server had lost, and that had not gone again yet.";
    ReaddirRestarts = "readdir_restarts", "Listings begun anew because the cookie was stale.";
    ReplaysAccepted = "replays_accepted", "Retransmitted calls whose refusal shows that they had been executed.";
    StaleReplies = "stale_replies", "Replies that nobody waited for any more.";
    BadReplies = "bad_replies", "Replies that could not be decoded.";
    StreamErrors = "stream_errors", "Streams out of step: not record marking any more.";
    CheckedBytes = "checked_bytes", "Bytes of READ replies that were compared with what had been written.";
    UndecidedBytes = "undecided_bytes", "Bytes that were to be compared and do not show whether they are right.";
    VerifyErrors = "verify_errors", "READ replies whose data was not what had been written.";
}

/// The counters of one shard.
#[derive(Debug)]
pub(crate) struct Counters {
    version: NfsVersion,
    procedures: [u64; Procedure::COUNT],
    tallies: [u64; NAMES.len()],
}

/// The figures of [`Counters`] at some time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    procedures: [u64; Procedure::COUNT],
    tallies: [u64; NAMES.len()],
}

impl Counters {
    /// Procedures are called what `version` calls them.
    pub(crate) fn new(version: NfsVersion) -> Self {
        Self {
            version,
            procedures: [0; Procedure::COUNT],
            tallies: [0; NAMES.len()],
        }
    }

    /// A call went out for the first time.
    #[inline]
    pub(crate) fn call(&mut self, procedure: Procedure) {
        self.procedures[procedure as usize] += 1;
    }

    #[inline]
    pub(crate) fn add(&mut self, tally: Tally) {
        self.add_many(tally, 1);
    }

    #[inline]
    pub(crate) fn add_many(&mut self, tally: Tally, count: u64) {
        self.tallies[tally as usize] += count;
    }

    /// What was counted so far.
    pub(crate) fn so_far(&self) -> Counted {
        Counted {
            procedures: self.procedures,
            tallies: self.tallies,
        }
    }

    /// RUN was over at `before`: of what was counted since, only the fate of its writes is
    /// kept.
    pub(crate) fn keep_of_end(&mut self, before: &Counted) {
        let since = std::mem::replace(&mut self.tallies, before.tallies);
        let commits = self.procedures[Procedure::Commit as usize];
        self.procedures = before.procedures;
        self.procedures[Procedure::Commit as usize] = commits;
        for kept in [
            Tally::WriteCommits,
            Tally::EndCommits,
            Tally::CommitFailures,
            Tally::UncommittedWrites,
        ] {
            self.tallies[kept as usize] = since[kept as usize];
        }
        let lost = Tally::LostWrites as usize;
        self.add_many(Tally::EndLostWrites, since[lost] - before.tallies[lost]);
    }

    /// Adds everything that is not zero to `into`, and begins anew.
    pub(crate) fn take(&mut self, into: &mut BTreeMap<String, u64>) {
        let version = self.version;
        let procedures = Procedure::ALL.iter();
        let procedures = procedures.map(|p| version2::procedure_name(version, *p));
        take_counts(procedures, &mut self.procedures, into);
        take_counts(NAMES.iter().copied(), &mut self.tallies, into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_taken_once() {
        let mut counters = Counters::new(NfsVersion::V3);
        counters.call(Procedure::Commit);
        counters.add(Tally::VerifyErrors);
        counters.add(Tally::VerifyErrors);
        let mut all = BTreeMap::from([("COMMIT".to_owned(), 2)]);
        counters.take(&mut all);
        counters.take(&mut all);
        assert_eq!(all["COMMIT"], 3);
        assert_eq!(all["verify_errors"], 2);
        assert_eq!(all.len(), 2);
        let mut counters = Counters::new(NfsVersion::V2);
        counters.call(Procedure::Fsstat);
        counters.take(&mut all);
        assert_eq!(all["STATFS"], 1);
    }
}
