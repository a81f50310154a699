//! Exact counts of what was served, per procedure.

use crate::lateness::Recorder;
use filermark_onc::nfs3::Procedure;
use filermark_onc::{mount, nfs2, nfs4};
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

/// One more than the highest number of an operation; 0 stands for what does not exist.
const OPERATIONS: usize = 76;

/// A figure for each operation of NFSv4, by its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerOperation<T>([T; OPERATIONS]);

impl<T: Default> Default for PerOperation<T> {
    fn default() -> Self {
        PerOperation(std::array::from_fn(|_| T::default()))
    }
}

impl<T> PerOperation<T> {
    fn of(&self, operation: nfs4::Operation) -> &T {
        let number = operation.to_u32() as usize;
        self.0.get(number).unwrap_or(&self.0[0])
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
            pub(crate) nfs4: PerOperation<Counter>,
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
            /// Operations of NFSv4, in COMPOUNDs that were executed or refused.
            pub nfs4: PerOperation<u64>,
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
                for (sum, counter) in self.nfs4.0.iter_mut().zip(&counters.nfs4.0) {
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
    /// Requests for NULL of NFSv4.
    nfs4_null,
    /// Requests for COMPOUND of NFSv4.
    compounds,
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
    /// Delegations granted for reading.
    delegations_read,
    /// Delegations granted for writing.
    delegations_write,
    /// Delegations recalled; each once.
    delegations_recalled,
    /// Delegations that clients have returned.
    delegations_returned,
    /// Delegations revoked, since clients did not return them in time.
    delegations_revoked,
}

impl Counters {
    /// Counts one operation of NFSv4.
    #[inline]
    pub(crate) fn count4(&self, operation: nfs4::Operation) {
        self.nfs4.of(operation).add(1);
    }
}

impl ServerStats {
    /// How often one operation of NFSv4 was in a COMPOUND.
    pub fn of4(&self, operation: nfs4::Operation) -> u64 {
        *self.nfs4.of(operation)
    }

    /// Requests for one procedure of NFSv2.
    pub fn of2(&self, procedure: nfs2::Procedure) -> u64 {
        self.nfs2[procedure as usize]
    }

    /// Requests for one NFSv3 procedure.
    pub fn of(&self, procedure: Procedure) -> u64 {
        self.nfs[procedure as usize]
    }

    /// Requests for all NFS procedures, of all versions.
    pub fn nfs_total(&self) -> u64 {
        let version4 = [self.nfs4_null, self.compounds];
        self.nfs.iter().chain(&self.nfs2).chain(&version4).sum()
    }
}
