//! What the driver counts beside the operations themselves.

use super::calls::Kind;
use filermark_driver_kit::tallies;
use filermark_driver_kit::tally::take_counts;
use std::collections::BTreeMap;

tallies! {
    Reconnects = "reconnects", "Connections made anew after the first time.";
    ConnectFailures = "connect_failures", "Attempts to connect, or to set a session up, that failed.";
    Timeouts = "timeouts", "Times that a connection was given up because a reply was late.";
    SessionRenewals = "session_renewals", "Times that a session had expired and was proved anew.";
    PendingReplies = "pending_replies", "Interim replies (STATUS_PENDING).";
    CreditWaits = "credit_waits", "Times that a call waited because the server had granted too few credits.";
    ShortReads = "short_reads", "READ replies with less than was asked, before the end of the file.";
    EarlyEofs = "early_eofs", "READ replies that met the end of the file before bytes that had been written.";
    ShortWrites = "short_writes", "WRITE replies that took less than was sent.";
    OplockBreaks = "oplock_breaks", "Oplock and lease breaks that nobody had asked for.";
    StaleReplies = "stale_replies", "Replies that nobody waited for.";
    BadReplies = "bad_replies", "Replies that could not be decoded.";
    BadSignatures = "bad_signatures", "Messages whose signature or encryption was wrong.";
    StreamErrors = "stream_errors", "Streams out of step: not direct TCP any more.";
    CheckedBytes = "checked_bytes", "Bytes of READ replies that were compared with what had been written.";
    UndecidedBytes = "undecided_bytes", "Bytes that were to be compared and do not show whether they are right.";
    VerifyErrors = "verify_errors", "READ replies whose data was not what had been written.";
}

/// Names of the kinds of calls, in the order of the enum.
const KINDS: [&str; 18] = [
    "ECHO",
    "OPEN",
    "CLOSE",
    "READ",
    "WRITE",
    "FLUSH",
    "LOCK",
    "QUERY_FILE",
    "QUERY_SECURITY",
    "SET_TIMES",
    "SET_SIZE",
    "SET_DELETE",
    "QUERY_PATH",
    "QUERY_FS",
    "FIND",
    "MAKE_DIR",
    "REMOVE_FILE",
    "REMOVE_DIR",
];

/// The counters of one shard.
#[derive(Debug)]
pub(crate) struct Counters {
    kinds: [u64; KINDS.len()],
    tallies: [u64; NAMES.len()],
}

impl Counters {
    pub(crate) fn new() -> Self {
        Self {
            kinds: [0; KINDS.len()],
            tallies: [0; NAMES.len()],
        }
    }

    /// A call went out.
    #[inline]
    pub(crate) fn call(&mut self, kind: Kind) {
        self.kinds[kind as usize] += 1;
    }

    #[inline]
    pub(crate) fn add(&mut self, tally: Tally) {
        self.add_many(tally, 1);
    }

    #[inline]
    pub(crate) fn add_many(&mut self, tally: Tally, count: u64) {
        self.tallies[tally as usize] += count;
    }

    /// Adds everything that is not zero to `into`, and begins anew.
    pub(crate) fn take(&mut self, into: &mut BTreeMap<String, u64>) {
        take_counts(KINDS, &mut self.kinds, into);
        take_counts(NAMES.iter().copied(), &mut self.tallies, into);
    }
}
