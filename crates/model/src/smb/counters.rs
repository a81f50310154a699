//! What the SMB driver counts beside the operations.

use crate::counter::{CounterDecl, counters, shared};

counters! {
    /// What the SMB driver counts beside the operations.
    SmbCounter {
        Reconnects = shared::RECONNECTS;
        Timeouts = shared::TIMEOUTS;
        BadReplies = shared::BAD_REPLIES;
        StreamErrors = shared::STREAM_ERRORS;
        ShortReads = shared::SHORT_READS;
        ShortWrites = shared::SHORT_WRITES;
        ConnectFailures = shared::CONNECT_FAILURES;
        SessionRenewals = CounterDecl::new(
            "session_renewals",
            "Times that a session had expired and was authenticated again.",
        );
        PendingReplies = CounterDecl::new("pending_replies", "Interim replies (STATUS_PENDING).");
        CreditWaits = CounterDecl::new(
            "credit_waits",
            "Times that a call waited because the server had granted too few credits.",
        );
        EarlyEofs = shared::EARLY_EOF_READS;
        OplockBreaks = CounterDecl::new(
            "oplock_breaks",
            "Oplock and lease breaks without a request.",
        );
        StaleReplies = shared::STALE_REPLIES;
        BadSignatures = CounterDecl::new(
            "bad_signatures",
            "Messages whose signature or encryption was wrong.",
        );
        CheckedBytes = shared::CHECKED;
        UndecidedBytes = shared::UNDECIDED;
        VerifyErrors = shared::WRONG_READS;
    }
}
