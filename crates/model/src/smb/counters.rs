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
        ChannelFailovers = CounterDecl::new(
            "channel_failovers",
            "Times that a channel of a session was lost and the others went on with its calls.",
        );
        ChannelsRefused = CounterDecl::new(
            "channels_refused",
            "Connections that the server did not bind to a session.",
        );
        ReplayedCalls = CounterDecl::new(
            "replayed_calls",
            "Calls that were sent again on another channel, since theirs was lost.",
        );
        ReplayUs = CounterDecl::new(
            "replay_us",
            "Time from the loss of the channel to the reply to such calls, in microseconds.",
        );
        ReplayWaits = CounterDecl::new(
            "replay_waits",
            "Times that such a call waited since the server was still working on the one of the lost channel.",
        );
        UnreplayedCalls = CounterDecl::new(
            "unreplayed_calls",
            "Calls that failed with their channel, since they cannot be sent twice or were too often.",
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
