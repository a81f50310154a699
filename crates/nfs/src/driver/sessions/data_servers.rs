//! The data servers of a shard, and the credentials for them.

use crate::driver::core::KnownVerf;
use filermark_model::Nanos;
use filermark_onc::nfs3::{self, PROGRAM, Procedure, Verf};
use filermark_onc::rpc::AuthSys;
use filermark_onc::template::CallTemplate;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

/// Most data servers of a shard, and most users of them.
const SERVERS_MAX: usize = 256;
const CREDENTIALS_MAX: usize = 256;
/// The procedures that are counted for each data server.
const COUNTED: [Procedure; 3] = [Procedure::Read, Procedure::Write, Procedure::Commit];

/// A data server.
#[derive(Debug)]
pub(super) struct DataServer {
    pub(super) address: SocketAddr,
    pub(super) verf: KnownVerf,
    /// No call is sent to it before.
    pub(super) gone_until: Nanos,
    counts: [u64; COUNTED.len()],
}

/// The data servers of a shard. Their connections have numbers behind those of the clients.
#[derive(Debug, Default)]
pub(crate) struct DataServers {
    machine_name: String,
    servers: Vec<DataServer>,
    /// Those whose connections are to be made.
    new: VecDeque<SocketAddr>,
    /// Users and groups of layouts, with the headers of their calls.
    credentials: Vec<((u32, u32), CallTemplate)>,
}

impl DataServers {
    /// None is known yet.
    pub(crate) fn new(machine_name: &str) -> Self {
        Self {
            machine_name: machine_name.to_owned(),
            ..Self::default()
        }
    }

    /// The data server at this address; `add_connection` makes the queue of a new one. `None`: there are too
    /// many.
    pub(super) fn server_at(
        &mut self,
        address: SocketAddr,
        add_connection: impl FnOnce() -> u32,
    ) -> Option<u32> {
        let mut known = self.servers.iter();
        if let Some(place) = known.position(|server| server.address == address) {
            return Some(place as u32);
        }
        if self.servers.len() >= SERVERS_MAX {
            return None;
        }
        add_connection();
        self.servers.push(DataServer {
            address,
            verf: KnownVerf::default(),
            gone_until: Nanos::ZERO,
            counts: [0; COUNTED.len()],
        });
        self.new.push_back(address);
        Some(self.servers.len() as u32 - 1)
    }

    /// The next one whose connection is to be made.
    pub(super) fn next_new(&mut self) -> Option<SocketAddr> {
        self.new.pop_front()
    }

    /// The number of a user's credential; `None`: there are too many.
    pub(super) fn credential(&mut self, user: (u32, u32)) -> Option<u32> {
        let mut known = self.credentials.iter();
        if let Some(place) = known.position(|(of, _)| *of == user) {
            return Some(place as u32);
        }
        if self.credentials.len() >= CREDENTIALS_MAX {
            return None;
        }
        let name = self.machine_name.as_bytes();
        let body = AuthSys::new(0, name, user.0, user.1, &[]).to_body();
        let template = CallTemplate::new(PROGRAM, nfs3::VERSION, body.as_auth());
        self.credentials.push((user, template));
        Some(self.credentials.len() as u32 - 1)
    }

    pub(super) fn get_mut(&mut self, server: u32) -> Option<&mut DataServer> {
        self.servers.get_mut(server as usize)
    }

    /// Whether there is this one.
    pub(super) fn has(&self, server: u32) -> bool {
        (server as usize) < self.servers.len()
    }

    /// The latest known write verifier of a data server that there is.
    pub(super) fn verf(&mut self, server: u32) -> &mut KnownVerf {
        &mut self.servers[server as usize].verf
    }

    /// The latest known write verifier of a data server; `None`: none is known.
    pub(super) fn known_verf(&self, server: u32) -> Option<Verf> {
        let verf = self.servers.get(server as usize)?.verf;
        (verf.number > 0).then_some(verf.verf)
    }

    /// Counts a call to a data server.
    pub(super) fn count(&mut self, server: u32, procedure: Procedure) {
        let place = COUNTED.iter().position(|of| *of == procedure);
        if let (Some(place), Some(server)) = (place, self.get_mut(server)) {
            server.counts[place] += 1;
        }
    }

    /// The header of the calls with this credential.
    pub(super) fn template(&self, credential: u32) -> Option<&CallTemplate> {
        let known = self.credentials.get(credential as usize);
        known.map(|(_, template)| template)
    }

    /// Adds the calls to each data server, and resets them.
    pub(super) fn take_counts(&mut self, into: &mut BTreeMap<String, u64>) {
        for server in &mut self.servers {
            let counts = std::mem::take(&mut server.counts);
            for (procedure, count) in COUNTED.iter().zip(counts) {
                if count > 0 {
                    let name = format!("{} to {}", procedure.name(), server.address);
                    *into.entry(name).or_default() += count;
                }
            }
        }
    }
}
