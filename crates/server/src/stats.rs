//! Exact counts of what was served, per procedure.

use crate::lateness::Recorder;
use filermark_onc::nfs3::Procedure;
use filermark_onc::{mount, nfs2};
use std::sync::atomic::{AtomicU64, Ordering};

/// A counter that one thread writes and any thread reads: no locked instruction.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    #[inline]
    pub(crate) fn add(&self, n: u64) {
        self.0.store(
            self.0.load(Ordering::Relaxed).wrapping_add(n),
            Ordering::Relaxed,
        );
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The counts of one thread.
        #[derive(Debug, Default)]
        #[repr(align(128))]
        pub(crate) struct Counters {
            pub(crate) nfs: [Counter; Procedure::COUNT],
            pub(crate) nfs2: [Counter; nfs2::Procedure::COUNT],
            pub(crate) mount: [Counter; mount::Procedure::COUNT],
            $(pub(crate) $name: Counter,)*
            /// How late the replies left that were held back.
            pub(crate) lateness: Recorder,
        }

        /// What a server has done so far. Counts are of requests received: repeated ones count
        /// again, as they do at a client that sends them again.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct ServerStats {
            /// Requests by number of the NFSv3 procedure.
            pub nfs: [u64; Procedure::COUNT],
            /// Requests by number of the NFSv2 procedure.
            pub nfs2: [u64; nfs2::Procedure::COUNT],
            /// Requests by number of the MOUNT procedure.
            pub mount: [u64; mount::Procedure::COUNT],
            $($(#[$doc])* pub $name: u64,)*
        }

        impl ServerStats {
            pub(crate) fn add(&mut self, counters: &Counters) {
                for (sum, counter) in self.nfs.iter_mut().zip(&counters.nfs) {
                    *sum += counter.get();
                }
                for (sum, counter) in self.nfs2.iter_mut().zip(&counters.nfs2) {
                    *sum += counter.get();
                }
                for (sum, counter) in self.mount.iter_mut().zip(&counters.mount) {
                    *sum += counter.get();
                }
                $(self.$name += counters.$name.get();)*
            }
        }
    };
}

counters! {
    /// Requests to the portmapper and rpcbind.
    portmap,
    /// Records and datagrams that were no request this server has: garbage, unknown programs and procedures.
    refused,
    /// Connections taken.
    connections,
    /// Connections closed at once, since there were too many.
    connections_refused,
    /// Connections closed since requests that had come in part took too much memory.
    connections_stalled,
    /// Connections whose TLS handshake is complete.
    connections_tls,
    /// Connections on which TLS was to begin and did not.
    tls_failures,
    /// Changes refused for want of space.
    no_space,
    /// Datagrams received.
    datagrams,
    /// Bytes of file data sent with READ.
    bytes_read,
    /// Bytes of file data taken with WRITE.
    bytes_written,
    /// Requests answered with an injected error.
    errors_injected,
    /// Replies held back.
    replies_delayed,
    /// Calls lost on purpose before anything was done; they are counted nowhere else.
    calls_dropped,
    /// Replies sent twice on purpose.
    replies_repeated,
    /// Replies lost on purpose.
    replies_dropped,
    /// Connections closed on purpose.
    connections_dropped,
    /// READs and WRITEs that were shortened by `--short`.
    transfers_cut,
    /// Changes of the write verifier.
    verifier_changes,
    /// WRITEs that were lost with them, on purpose.
    writes_lost,
    /// Repeated requests that got the first one's reply.
    duplicates_answered,
}

impl ServerStats {
    /// Requests for one procedure of NFSv2.
    pub fn of2(&self, procedure: nfs2::Procedure) -> u64 {
        self.nfs2[procedure as usize]
    }

    /// Requests for one NFSv3 procedure.
    pub fn of(&self, procedure: Procedure) -> u64 {
        self.nfs[procedure as usize]
    }

    /// Requests for all NFS procedures, of both versions.
    pub fn nfs_total(&self) -> u64 {
        self.nfs.iter().chain(&self.nfs2).sum()
    }
}
