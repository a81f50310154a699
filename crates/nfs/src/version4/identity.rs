//! Who the client is, and who the server states to be.

use filermark_onc::nfs4::{ClientOwner4, ExchangeIdOk, Verf};
use std::hash::{BuildHasher, RandomState};

/// Name and verifier of a client (`client_owner4`, RFC 8881 section 2.4). Two clients with one name would
/// end each other's sessions, therefore every name has a random part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientIdentity {
    ownerid: Vec<u8>,
    verifier: Verf,
}

impl ClientIdentity {
    /// The longest purpose in the name, in bytes; more is cut.
    pub const MAX_PURPOSE: usize = 256;

    /// A client that no other one is equal to. `purpose` can be read in the server's list of clients.
    pub fn new(purpose: &str) -> Self {
        let random = RandomState::new();
        let (first, second) = (random.hash_one(1), random.hash_one(2));
        let mut ownerid = b"filermark ".to_vec();
        ownerid.extend(purpose.bytes().take(Self::MAX_PURPOSE));
        ownerid.extend_from_slice(format!(" {}-{first:016x}", std::process::id()).as_bytes());
        let verifier = second.to_be_bytes();
        Self { ownerid, verifier }
    }

    /// The same name as after a restart of the client: the server drops what was opened before.
    pub(crate) fn restart(&mut self) {
        self.verifier = RandomState::new().hash_one(2).to_be_bytes();
    }

    /// The name (`co_ownerid`).
    pub fn ownerid(&self) -> &[u8] {
        &self.ownerid
    }

    /// As EXCHANGE_ID sends it.
    pub fn client_owner(&self) -> ClientOwner4<'_> {
        ClientOwner4 {
            verifier: self.verifier,
            ownerid: &self.ownerid,
        }
    }
}

/// What a server states about itself in the answer to EXCHANGE_ID.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerIdentity {
    /// Name and version of the implementation (`nii_name`); empty if it is not stated.
    pub name: String,
    /// Domain of its maker (`nii_domain`); empty if it is not stated.
    pub domain: String,
    /// Connections to servers with equal names may share a session (`so_major_id`).
    pub major_id: Vec<u8>,
    /// Part of that server (`so_minor_id`).
    pub minor_id: u64,
    /// Servers of one scope know each other's file handles (`eir_server_scope`).
    pub scope: Vec<u8>,
    /// Its roles: bits of `filermark_onc::nfs4::exchgid`.
    pub flags: u32,
}

impl ServerIdentity {
    pub(super) fn of(ok: &ExchangeIdOk<'_>) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let implementation = ok.server_impl_id.as_ref();
        Self {
            name: implementation.map_or_else(String::new, |id| text(id.name)),
            domain: implementation.map_or_else(String::new, |id| text(id.domain)),
            major_id: ok.server_owner.major_id.to_vec(),
            minor_id: ok.server_owner.minor_id,
            scope: ok.server_scope.to_vec(),
            flags: ok.flags,
        }
    }
}
