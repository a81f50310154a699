//! What drivers count beside the operations of a mix. A driver declares each counter once, in
//! the file of its settings: its name, its text, and what a count above zero means for a load
//! point. Rules and renderings go through the declarations of the plan's driver.

use crate::finding::{Rule, Severity};

/// A counter of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterDecl {
    /// Its name in the record.
    pub name: &'static str,
    /// What it counts.
    pub text: &'static str,
    /// The finding of a load point where it is above zero; `None`: it is only a figure.
    pub finding: Option<CounterFinding>,
    /// A count above zero explains, whatever its size, that a load point is below its rate:
    /// connections were lost, refused or given up. The cause with the lowest rank is named.
    pub shortfall_rank: Option<u8>,
}

/// The finding that a counter above zero leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterFinding {
    /// The rule.
    pub rule: Rule,
    /// How much it matters.
    pub severity: Severity,
    /// What the count is a number of.
    pub message: &'static str,
}

impl CounterDecl {
    /// A counter that is only a figure.
    pub const fn new(name: &'static str, text: &'static str) -> Self {
        Self {
            name,
            text,
            finding: None,
            shortfall_rank: None,
        }
    }

    /// It counts events on the server's side that may mislead the reader of the figures.
    #[must_use]
    pub const fn warns(self, message: &'static str) -> Self {
        self.with(Rule::ServerEvent, Severity::Warning, message)
    }

    /// It counts events on the server's side that are worth knowing.
    #[must_use]
    pub const fn notes(self, message: &'static str) -> Self {
        self.with(Rule::ServerEvent, Severity::Note, message)
    }

    /// It counts what the platform or the file system lacks.
    #[must_use]
    pub const fn lacks(self, message: &'static str) -> Self {
        self.with(Rule::Lacking, Severity::Warning, message)
    }

    /// It explains that a load point is below its rate.
    #[must_use]
    pub const fn explains_shortfall(mut self, rank: u8) -> Self {
        self.shortfall_rank = Some(rank);
        self
    }

    const fn with(mut self, rule: Rule, severity: Severity, message: &'static str) -> Self {
        self.finding = Some(CounterFinding {
            rule,
            severity,
            message,
        });
        self
    }
}

// Names that rules and renderings read. A driver that counts the same gives its counter this
// name.

/// Bytes read that were compared with what had been written.
pub const CHECKED_BYTES: &str = "checked_bytes";
/// Bytes read that were to be compared and that cannot be judged right or wrong.
pub const UNDECIDED_BYTES: &str = "undecided_bytes";
/// Reads whose data was not what had been written.
pub const VERIFY_ERRORS: &str = "verify_errors";
/// Reads that met the end of the file before bytes that had been written.
pub const EARLY_EOFS: &str = "early_eofs";
/// Calls that were sent again.
pub const RETRANSMITS: &str = "retransmits";
/// Replies to calls that had been answered already.
pub const DUPLICATE_REPLIES: &str = "duplicate_replies";
/// Datagrams that this host did not send.
pub const SEND_ERRORS: &str = "send_errors";
/// Calls of COMMIT, whatever for.
pub const COMMITS: &str = "COMMIT";
/// COMMITs of what was written, as against those that the mix asks for.
pub const WRITE_COMMITS: &str = "write_commits";
/// Of these, those after all operations of RUN were over.
pub const END_COMMITS: &str = "end_commits";
/// COMMITs of reads that asked for the verifier.
pub const READ_COMMITS: &str = "read_commits";
/// COMMITs of what was written that were refused or not answered.
pub const COMMIT_FAILURES: &str = "commit_failures";
/// Logical writes that the server answered UNSTABLE.
pub const UNSTABLE_WRITES: &str = "unstable_writes";
/// Writes answered UNSTABLE that the server lost before their COMMIT.
pub const LOST_WRITES: &str = "lost_writes";
/// Of these, those that were noticed after all operations of RUN were over.
pub const END_LOST_WRITES: &str = "end_lost_writes";
/// Writes answered UNSTABLE that no COMMIT confirmed.
pub const UNCOMMITTED_WRITES: &str = "uncommitted_writes";

/// COMPOUNDs of NFSv4.
pub const COMPOUNDS: &str = "COMPOUND";
/// OPENs of NFSv4.
pub const OPENS: &str = "OPEN";
/// Calls of READ of NFS.
pub const READS: &str = "READ";
/// Calls of WRITE of NFS.
pub const WRITES: &str = "WRITE";
/// Delegations returned, also those at the end of the run.
pub const DELEGATIONS_RETURNED: &str = "delegations_returned";
/// Delegations that the server did not know any more.
pub const DELEGATIONS_REVOKED: &str = "delegations_revoked";
/// Of the READs, those sent to data servers.
pub const DATA_SERVER_READS: &str = "data_server_reads";
/// Of the WRITEs, those sent to data servers.
pub const DATA_SERVER_WRITES: &str = "data_server_writes";
/// Open files for which the server granted no layout.
pub const LAYOUTS_REFUSED: &str = "layouts_refused";
/// Layouts that the client cannot use.
pub const LAYOUTS_UNUSABLE: &str = "layouts_unusable";
/// Calls that waited for a slot of their session.
pub const SLOT_WAITS: &str = "slot_waits";
/// The time of these waits together, in microseconds.
pub const SLOT_WAIT_US: &str = "slot_wait_us";

/// Calls that waited for the window of a context of Kerberos.
pub const WINDOW_WAITS: &str = "window_waits";
/// The time of these waits together, in microseconds.
pub const WINDOW_WAIT_US: &str = "window_wait_us";

/// Counters that more than one driver has.
pub(crate) mod shared {
    use super::{CHECKED_BYTES, CounterDecl, EARLY_EOFS, UNDECIDED_BYTES, VERIFY_ERRORS};

    pub(crate) const RECONNECTS: CounterDecl = CounterDecl::new("reconnects", "Reconnects.")
        .warns("connections were lost and made again")
        .explains_shortfall(1);
    pub(crate) const CONNECT_FAILURES: CounterDecl = CounterDecl::new(
        "connect_failures",
        "Attempts to connect, or to set a session up, that failed.",
    )
    .explains_shortfall(2);
    pub(crate) const TIMEOUTS: CounterDecl = CounterDecl::new(
        "timeouts",
        "Times that a connection was closed because a reply was late.",
    )
    .warns("times a reply was so late that its connection was closed")
    .explains_shortfall(4);
    pub(crate) const STREAM_ERRORS: CounterDecl = CounterDecl::new(
        "stream_errors",
        "Streams out of step: the length in front of a message was no length any more.",
    )
    .warns("connections whose record marking fell out of step")
    .explains_shortfall(5);
    pub(crate) const BAD_REPLIES: CounterDecl =
        CounterDecl::new("bad_replies", "Replies that could not be decoded.")
            .warns("replies that could not be decoded");
    pub(crate) const STALE_REPLIES: CounterDecl = CounterDecl::new(
        "stale_replies",
        "Replies that no call was waiting for any more.",
    );
    pub(crate) const SHORT_READS: CounterDecl = CounterDecl::new(
        "short_reads",
        "Reads that returned less than requested, before the end of the file.",
    )
    .notes("reads that returned less than requested, and were continued");
    pub(crate) const SHORT_WRITES: CounterDecl =
        CounterDecl::new("short_writes", "Writes that took less than was sent.")
            .notes("writes that took less than offered, and were continued");
    pub(crate) const EARLY_EOF_READS: CounterDecl = CounterDecl::new(
        EARLY_EOFS,
        "Reads that met the end of the file before bytes that had been written.",
    );
    pub(crate) const CHECKED: CounterDecl = CounterDecl::new(
        CHECKED_BYTES,
        "Bytes read that were compared with what had been written.",
    );
    pub(crate) const UNDECIDED: CounterDecl = CounterDecl::new(
        UNDECIDED_BYTES,
        "Bytes that were to be compared and do not show whether they are right.",
    );
    pub(crate) const WRONG_READS: CounterDecl = CounterDecl::new(
        VERIFY_ERRORS,
        "Reads whose data was not what had been written.",
    );
}

/// Declares the counters of a driver: an enum, by whose values the driver counts, and `ALL`,
/// their declarations in the same order. Findings come in this order.
macro_rules! counters {
    ($(#[$meta:meta])* $name:ident { $($variant:ident = $decl:expr;)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the declaration of a counter has its text")]
        pub enum $name { $($variant,)+ }

        impl $name {
            /// Their declarations, in the order of the values.
            pub const ALL: &'static [$crate::counter::CounterDecl] = &[$($decl,)+];
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();

            /// Its name in the record.
            pub const fn name(self) -> &'static str {
                Self::ALL[self as usize].name
            }
        }
    };
}
pub(crate) use counters;
