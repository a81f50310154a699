//! What the NFS driver counts beside the operations.

use crate::counter::{
    COMMIT_FAILURES, CounterDecl, DATA_SERVER_READS, DATA_SERVER_WRITES, DELEGATIONS_RETURNED,
    DELEGATIONS_REVOKED, DUPLICATE_REPLIES, END_COMMITS, END_LOST_WRITES, LAYOUTS_REFUSED,
    LAYOUTS_UNUSABLE, LOST_WRITES, READ_COMMITS, RETRANSMITS, SEND_ERRORS, SLOT_WAIT_US,
    SLOT_WAITS, UNCOMMITTED_WRITES, UNSTABLE_WRITES, WINDOW_WAIT_US, WINDOW_WAITS, WRITE_COMMITS,
    counters, shared,
};

const fn c(name: &'static str, text: &'static str) -> CounterDecl {
    CounterDecl::new(name, text)
}

counters! {
    /// What the NFS driver counts beside the operations.
    NfsCounter {
        Retransmits = c(RETRANSMITS, "Calls sent again with the same xid.")
            .warns("calls were sent again: their reply did not come in time (over UDP: call or reply was lost; each waits UDP_TIMEOUT_MS at least), or their connection was lost");
        LateReplies = c("late_replies", "UDP: replies to calls that had timed out.")
            .warns("replies came after their operation had timed out");
        PortUnreachable = c(
            "port_unreachable",
            "UDP: answers of the network that the server cannot be reached, or that nothing listens on its port.",
        )
        .warns("times the network answered that nothing listens on the server's port")
        .explains_shortfall(3);
        SendErrors = c(
            SEND_ERRORS,
            "UDP: datagrams that this host did not send: no buffer space, or a local firewall rule.",
        )
        .warns("datagrams were not sent by this host: no buffer space, or a local firewall rule");
        DuplicateReplies = c(
            DUPLICATE_REPLIES,
            "UDP: replies to calls that had been answered already.",
        )
        .notes("replies came to calls that had been answered: an earlier sending was late, not lost, or the network made two of one");
        Reconnects = shared::RECONNECTS;
        VerifierChanges = c(
            "verifier_changes",
            "Changes of a file system's write verifier that were seen.",
        )
        .warns("times a load-making thread saw the server's write verifier change (it restarted, or lost unstable data); writes under the old one went again");
        LostWrites = c(
            LOST_WRITES,
            "Writes that the server had answered UNSTABLE and lost before their COMMIT; they went again.",
        )
        .warns("writes that the server had answered UNSTABLE were lost before their COMMIT, and went again");
        ExcusedReads = c(
            "excused_reads",
            "READ replies that showed what was there before writes that the server had lost, and that had not gone again yet.",
        )
        .notes("reads showed what was there before writes that the server had lost and that had not gone again yet");
        CommitFailures = c(
            COMMIT_FAILURES,
            "COMMITs of what was written, and WRITEs of lost data, that were refused or not answered.",
        )
        .warns("COMMITs of what was written, or WRITEs of lost data, were refused or not answered; the data goes into the next COMMIT of its file");
        LessStable = c(
            "less_stable",
            "WRITE replies that were less stable than FILE_SYNC, which was requested.",
        )
        .warns("WRITE replies were less stable than FILE_SYNC, which was requested, against RFC 1813 (section 3.3.7); a COMMIT followed");
        Timeouts = shared::TIMEOUTS;
        BadReplies = shared::BAD_REPLIES;
        StreamErrors = shared::STREAM_ERRORS;
        ReaddirRestarts = c(
            "readdir_restarts",
            "Listings restarted because the cookie was stale.",
        )
        .notes("listings restarted because the server's cookie was stale");
        JukeboxWaits = c(
            "jukebox_waits",
            "Waits after NFS3ERR_JUKEBOX; NFSv4: after NFS4ERR_DELAY.",
        )
        .notes("times the server asked to try later (NFS3ERR_JUKEBOX, NFSv4: NFS4ERR_DELAY)");
        GraceWaits = c(
            "grace_waits",
            "NFSv4: waits for the end of the server's grace period (NFS4ERR_GRACE).",
        )
        .warns("waits for the end of the server's grace period: it has restarted");
        ClientIds = c(
            "client_ids",
            "NFSv4: client IDs that the load had at its end.",
        );
        Sessions = c(
            "sessions",
            "NFSv4.1: sessions that the load had at its end.",
        );
        Connections = c(
            "connections",
            "NFSv4: connections over which calls could be sent at the end of the load.",
        );
        SlotWaits = c(
            SLOT_WAITS,
            "NFSv4.1: calls that waited until a slot of their session was free.",
        );
        SlotWaitTime = c(
            SLOT_WAIT_US,
            "NFSv4.1: the time of these waits together, in microseconds. Waits of an operation's first call are before its service time.",
        );
        BoundSessions = c(
            "bound_sessions",
            "NFSv4.1: connections that were bound to a session that there was already (BIND_CONN_TO_SESSION).",
        );
        LostSessions = c(
            "lost_sessions",
            "NFSv4.1: sessions that the server had lost, or that could not be used any more; others were created.",
        )
        .warns("sessions were lost and created again");
        LostClients = c(
            "lost_clients",
            "NFSv4: client IDs that the server had lost with all opens, after a restart or an expired lease.",
        )
        .warns("client IDs were lost by the server with all opens: it has restarted, or the lease had expired");
        LostOpens = c(
            "lost_opens",
            "NFSv4: open files whose state the server had lost; they were opened again when they were needed.",
        )
        .warns("open files were lost by the server, and opened again when they were needed");
        RefusedCloses = c(
            "refused_closes",
            "NFSv4: CLOSEs that the server refused, of files that were not open any more.",
        );
        UncachedReplies = c(
            "uncached_replies",
            "NFSv4.1: retransmitted calls that had been executed and whose reply the server had not kept (NFS4ERR_RETRY_UNCACHED_REP); they were sent as new calls.",
        );
        LeaseRenewals = c(
            "lease_renewals",
            "NFSv4: SEQUENCEs (4.0: RENEWs) sent alone, because a connection was idle for a third of the lease.",
        );
        StatusFlags = c(
            "status_flags",
            "NFSv4.1: times that a session showed another flag in the status of SEQUENCE.",
        )
        .notes("times the status of SEQUENCE showed another flag");
        RevokedStates = c(
            "revoked_states",
            "NFSv4.1: of these, flags that state was revoked or is to be reclaimed.",
        )
        .warns("times the status of SEQUENCE reported that state was revoked or is to be reclaimed");
        DelegationsRead = c(
            "delegations_read",
            "NFSv4.1, DELEGATIONS=keep: delegations granted for reading.",
        );
        DelegationsWrite = c(
            "delegations_write",
            "NFSv4.1, DELEGATIONS=keep: delegations granted for writing.",
        );
        DelegationsNone = c(
            "delegations_none",
            "NFSv4.1, DELEGATIONS=keep: of the OPENs in RUN, those that the server answered without a delegation.",
        )
        .notes("OPENs in RUN were answered without a delegation (DELEGATIONS=keep)");
        DelegationsRecalled = c(
            "delegations_recalled",
            "NFSv4.1: delegations that the server has recalled.",
        )
        .notes("delegations were recalled by the server, and returned");
        DelegationsReturned = c(
            DELEGATIONS_RETURNED,
            "NFSv4.1: delegations returned, also those at the end of the run.",
        );
        DelegationsRevoked = c(
            DELEGATIONS_REVOKED,
            "NFSv4.1: delegations that the server did not know any more when they were used or returned.",
        )
        .warns("delegations were revoked or forgotten by the server");
        LayoutsRead = c(
            "layouts_read",
            "NFSv4.1, LAYOUTS=use: layouts granted for reading.",
        );
        LayoutsWrite = c(
            "layouts_write",
            "NFSv4.1, LAYOUTS=use: layouts granted for reading and writing.",
        );
        LayoutsRecalled = c(
            "layouts_recalled",
            "NFSv4.1: files whose layouts the server has recalled.",
        )
        .notes("files had their layouts recalled by the server; these were returned");
        LayoutsReturned = c(
            "layouts_returned",
            "NFSv4.1: files whose layouts were returned (one LAYOUTRETURN each), also those at the end of the run.",
        );
        LayoutsLost = c(
            "layouts_lost",
            "NFSv4.1: files whose layouts the server did not know any more when they were returned.",
        )
        .warns("files had layouts that were revoked or forgotten by the server");
        DataServerReads = c(
            DATA_SERVER_READS,
            "LAYOUTS=use: of the READs, those sent to data servers (NFSv3). There is also a count for each data server.",
        );
        DataServerWrites = c(
            DATA_SERVER_WRITES,
            "LAYOUTS=use: of the WRITEs, those sent to data servers.",
        );
        DataServerCommits = c(
            "data_server_commits",
            "LAYOUTS=use: of the COMMITs, those sent to data servers.",
        );
        LayoutsRefused = c(
            LAYOUTS_REFUSED,
            "LAYOUTS=use: LAYOUTGETs that the server refused, and files on servers without layouts of flexible files; their transfers go to the metadata server.",
        )
        .warns("open files got no layout: their transfers went to the metadata server");
        LayoutsUnusable = c(
            LAYOUTS_UNUSABLE,
            "LAYOUTS=use: layouts that this client cannot use (stripes, several copies to be written, no NFSv3, tight coupling, no address); their transfers go to the metadata server.",
        )
        .warns("open files had a layout that this client cannot use (stripes, several copies to be written, data servers without NFSv3 or tightly coupled): their transfers went to the metadata server");
        DataServersGone = c(
            "data_servers_gone",
            "LAYOUTS=use: calls that went to the metadata server because their data server could not be reached or did not answer.",
        )
        .warns("calls went to the metadata server because their data server could not be reached or did not answer");
        DataServerErrors = c(
            "data_server_errors",
            "LAYOUTS=use: calls that a data server refused; the error was reported with LAYOUTRETURN, and the calls went to the metadata server.",
        )
        .warns("calls were refused by data servers, and went to the metadata server");
        NewContexts = c(
            "new_contexts",
            "Kerberos: contexts that were established again, before their ticket expired or because the server had lost them.",
        )
        .notes("contexts of Kerberos were established again: their ticket was about to expire, or the server had lost them");
        ContextFailures = c(
            "context_failures",
            "Kerberos: attempts to establish a context again that failed; calls waited.",
        )
        .warns("attempts to establish a context of Kerberos again failed, and calls waited: the log of the client host says why");
        WindowWaits = c(
            WINDOW_WAITS,
            "Kerberos: calls that waited because the sequence window of their context was full.",
        );
        WindowWaitTime = c(
            WINDOW_WAIT_US,
            "Kerberos: the time of these waits together, in microseconds. Waits of an operation's first call are before its service time.",
        );
        Callbacks = c("callbacks", "NFSv4.1: calls of the server; all were answered.");
        ShortReads = shared::SHORT_READS;
        ShortWrites = shared::SHORT_WRITES;
        ConnectFailures = shared::CONNECT_FAILURES;
        EarlyEofs = shared::EARLY_EOF_READS;
        Rewrites = c(
            "rewrites",
            "WRITEs that went again because a write verifier had changed.",
        );
        WriteCommits = c(
            WRITE_COMMITS,
            "COMMITs of what was written, as against those that the mix asks for.",
        );
        EndCommits = c(
            END_COMMITS,
            "Of these, those for what was left when all operations of RUN were over.",
        );
        ReadCommits = c(
            READ_COMMITS,
            "COMMITs of reads that showed something wrong and asked for the verifier.",
        );
        UnstableWrites = c(
            UNSTABLE_WRITES,
            "Logical writes that the server answered UNSTABLE.",
        );
        EndLostWrites = c(
            END_LOST_WRITES,
            "Writes that the server lost before their COMMIT, when all operations of RUN were over.",
        );
        UncommittedWrites = c(
            UNCOMMITTED_WRITES,
            "Writes that the server had answered UNSTABLE and that no COMMIT confirmed.",
        );
        ReplaysAccepted = c(
            "replays_accepted",
            "Retransmitted calls whose refusal shows that they had been executed.",
        );
        StaleReplies = shared::STALE_REPLIES;
        CheckedBytes = shared::CHECKED;
        UndecidedBytes = shared::UNDECIDED;
        VerifyErrors = shared::WRONG_READS;
    }
}
