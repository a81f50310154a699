//! The connections of a shard, and which proc uses which.

use super::SmbDriver;
use super::channels::Channels;
use super::core::{Core, Proc, SessionState, Settings};
use super::counters::Counters;
use super::protocol::ConnState;
use crate::login::Login;
use crate::target::Target;
use filermark_driver_kit::marker::OwnerTexts;
use filermark_driver_kit::sockets::{
    Calls, ConnectionAssigner, LoopState, Ops, Shard, SocketSettings,
};
use filermark_engine::data::History;
use filermark_engine::driver::{DriverError, ShardSetup};
use filermark_model::Nanos;
use filermark_model::plan::{MountPoint, SmbPlan, Transport};
use ring::rand::{SecureRandom, SystemRandom};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

/// Largest transfer, even if the server allows more, in bytes: the largest logical one is 256
/// KiB, and files are filled in parts of this size so that other calls are not delayed.
const TRANSFER_MAX: u32 = 1 << 20;

/// A resolved share.
#[derive(Clone, Debug)]
pub(super) struct ShareState {
    pub(super) address: SocketAddr,
    pub(super) login: Arc<Login>,
    /// Path of the run's directory below the share.
    pub(super) run_dir: Arc<str>,
}

impl Settings {
    fn of(plan: &SmbPlan) -> Self {
        Self {
            reads_max: plan.biod_max_reads.max(1),
            writes_max: plan.biod_max_writes.max(1),
            fewer_channels: plan.fewer_channels,
            block_max: plan
                .block_size_max
                .unwrap_or(TRANSFER_MAX)
                .clamp(512, TRANSFER_MAX),
        }
    }
}

impl SmbDriver {
    /// The shard of `setup`, connected.
    pub(super) fn shard(&self, setup: ShardSetup) -> Result<Shard<Core>, DriverError> {
        let mut conns = ConnectionAssigner::new(
            self.plan.connections,
            Transport::Tcp,
            setup.shard,
            setup.shard_count,
        )
        .with_width(self.plan.channels);
        let mut places: HashMap<&MountPoint, ShareState> = HashMap::new();
        let mut procs = Vec::with_capacity(setup.procs.len());
        for proc in &setup.procs {
            let place = match places.get(&proc.mount) {
                Some(known) => known.clone(),
                None => {
                    let place = self.place(&proc.mount, &setup.claim.dir_name)?;
                    places.insert(&proc.mount, place.clone());
                    place
                }
            };
            // A connection has one tree, so procs of different shares do not share one.
            // With several channels it is the first of the session's.
            let state = || ConnState::new(place.login.clone());
            let conn = conns.next(&proc.mount, place.address, state);
            procs.push(Proc::new(proc.number, conn, &place.run_dir));
        }
        let conns = conns.finish();
        let mut core = core(&self.plan, &setup, procs, conns.len());
        core.owners = OwnerTexts::of(&setup, &self.nonces);
        let millis = |ms: u32| Nanos::from_millis(ms.max(1).into());
        let settings = SocketSettings::streams(
            millis(self.plan.connect_timeout_ms),
            millis(self.plan.reply_timeout_ms),
        );
        let mut shard = Shard::new(core, conns, settings)?;
        shard.connect_all()?;
        Ok(shard)
    }

    fn place(&self, mount: &MountPoint, dir_name: &str) -> Result<ShareState, DriverError> {
        let target = Target::of(mount)?;
        let address = self.address(&target)?;
        Ok(ShareState {
            address,
            login: Arc::new(Login::new(&target, &self.plan, &self.refusals)),
            run_dir: target.run_dir(dir_name).into(),
        })
    }
}

fn core(plan: &SmbPlan, setup: &ShardSetup, procs: Vec<Proc>, conns: usize) -> Core {
    let state = LoopState::new(setup.clock.clone(), setup.stop.clone());
    Core {
        filetime_base: filetime_at_zero(state.now),
        state,
        settings: Settings::of(plan),
        history: History::new(setup.data.clone(), setup.procs.len()),
        owners: OwnerTexts::default(),
        procs,
        ops: Ops::default(),
        // Messages have their own ids, so slots may be used again at once.
        calls: Calls::new(conns, 0, 0),
        transfers: vec![(0, 0); conns],
        counters: Counters::new(),
        path: String::new(),
        session: SessionState::Valid,
        channels: Channels::new(conns, plan.channels, random_guid),
        epochs: vec![0; conns],
    }
}

/// An identity of a client. It has to be another one than those of others, not a secret.
fn random_guid() -> [u8; 16] {
    let mut guid = [0; 16];
    // Without random bytes no login is possible either, which says so.
    let _ = SystemRandom::new().fill(&mut guid);
    guid
}

/// The time of day at which the clock was at zero, in 100 ns since 1601.
fn filetime_at_zero(now: Nanos) -> u64 {
    /// From 1601 to 1970 (MS-DTYP 2.3.3).
    const UNIX_EPOCH: u64 = 116_444_736_000_000_000;
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now_100ns = since_1970.map_or(0, |t| (t.as_nanos() / 100) as u64);
    (UNIX_EPOCH + now_100ns).saturating_sub(now.0 / 100)
}
