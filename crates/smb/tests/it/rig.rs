//! A shard of the driver and a server to drive it against.

use filermark_engine::clock::Clock;
use filermark_engine::data::{DataSource, VerifyLevel};
use filermark_engine::driver::*;
use filermark_engine::name::{Name, NameKind};
use filermark_engine::session_action::{HandleId, OpenFor, ProcPath, SessionAction};
use filermark_model::plan::{IpChoice, MountPoint, SmbPlan};
use filermark_model::smb::{Auth, Dialect};
use filermark_model::{Nanos, Secret};
use filermark_smb::driver::SmbDriver;
use filermark_testbed::{Samba, SambaOptions, available};
use std::collections::BTreeMap;
use std::sync::Arc;

pub const RUN_DIR: &str = "filermark.test";
/// A directory of the proc, and the object that the engine knows it by.
pub const DIR: ObjectId = ObjectId(1);

/// Samba, with an empty run directory on its share.
pub fn samba(options: SambaOptions) -> Option<Samba> {
    let samba = available(Samba::start(options))?;
    make_run_dir(&samba);
    Some(samba)
}

fn make_run_dir(samba: &Samba) {
    let dir = samba.files(Samba::DATA).join(RUN_DIR);
    std::fs::create_dir_all(&dir).expect("the run's directory");
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o777)).expect("open to all");
}

pub fn plan(samba: &Samba, dialect: Dialect) -> SmbPlan {
    SmbPlan {
        dialects: (dialect, dialect),
        auth: Auth::Ntlm {
            username: Samba::USER.into(),
            domain: Samba::DOMAIN.into(),
        },
        password: Secret::new(Samba::PASSWORD),
        port: samba.port(),
        ip: IpChoice::V4,
        reply_timeout_ms: 5_000,
        connect_timeout_ms: 5_000,
        ..SmbPlan::default()
    }
}

pub fn mount() -> MountPoint {
    MountPoint {
        host: "127.0.0.1".into(),
        path: format!(r"\{}", Samba::DATA),
    }
}

pub fn setup(procs: u32) -> ShardSetup {
    let proc = |number| ProcSetup {
        number,
        mount: mount(),
        tree: None,
    };
    ShardSetup {
        shard: 0,
        shard_count: 1,
        clock: Clock::real(),
        data: Arc::new(DataSource::new(1, VerifyLevel::All)),
        procs: (0..procs).map(proc).collect(),
        claim: Claim {
            dir_name: RUN_DIR.into(),
            run_id: "test".into(),
        },
        stop: StopFlag::new(),
    }
}

pub fn file(number: u32) -> ProcPath {
    ProcPath {
        dir: DIR,
        name: Some(Name::new(NameKind::File, number)),
    }
}

/// A shard, one operation at a time or many.
pub struct ShardFixture {
    pub shard: Box<dyn ShardDriver>,
    clock: Clock,
    next_token: u32,
}

impl ShardFixture {
    pub fn open(plan: SmbPlan, procs: u32) -> Result<Self, DriverError> {
        let driver = SmbDriver::new(plan);
        let setup = setup(procs);
        let clock = setup.clock.clone();
        Ok(Self {
            shard: driver.open_shard(setup)?,
            clock,
            next_token: 0,
        })
    }

    /// With the proc's directory and one in it.
    pub fn ready(plan: SmbPlan) -> Self {
        let mut rig = Self::open(plan, 1).expect("a session");
        let name = Name::new(NameKind::ProcDir, 0);
        assert_eq!(rig.status(Action::MakeProcDir { name }), Status::Ok);
        let name = Name::new(NameKind::Dir, 0);
        let made = rig.status(Action::Mkdir {
            dir: PROC_DIR,
            name,
            object: DIR,
        });
        assert_eq!(made, Status::Ok);
        rig
    }

    pub fn submit(&mut self, proc: u32, action: Action) -> Result<u32, Outcome> {
        let token = self.next_token;
        self.next_token += 1;
        let request = Request {
            token,
            proc,
            action,
        };
        match self.shard.submit(&request) {
            Submit::Done(outcome) => Err(outcome),
            Submit::Queued => Ok(token),
            Submit::Busy => panic!("capacity for one more"),
        }
    }

    /// Waits until so many have ended; in the order of their ends.
    pub fn wait(&mut self, count: usize) -> Vec<Completion> {
        let mut done = Vec::new();
        let limit = self.clock.now() + Nanos::from_secs(30);
        while done.len() < count {
            self.shard.flush();
            let until = self.clock.now() + Nanos::from_millis(100);
            self.shard.poll(until, &mut done).expect("a shard of use");
            assert!(self.clock.now() < limit, "{} of {count}", done.len());
        }
        done
    }

    pub fn run(&mut self, action: Action) -> Outcome {
        match self.submit(0, action) {
            Err(outcome) => outcome,
            Ok(_) => self.wait(1)[0].outcome,
        }
    }

    pub fn status(&mut self, action: Action) -> Status {
        self.run(action).status
    }

    pub fn session(&mut self, action: SessionAction) -> Outcome {
        self.run(Action::Session(action))
    }

    /// One that has to work.
    pub fn good(&mut self, action: SessionAction) -> Outcome {
        let outcome = self.session(action);
        assert_eq!(outcome.status, Status::Ok, "{action:?}");
        assert!(outcome.done >= outcome.sent);
        // With SMB2 these are compounds of three messages: one frame, one round trip.
        let is_compound = matches!(
            action,
            SessionAction::QueryPath { .. } | SessionAction::QueryFs | SessionAction::Find { .. }
        );
        let physical = outcome.physical;
        assert!(
            physical == 1 || !is_compound && physical > 1,
            "{action:?}: {physical}"
        );
        outcome
    }

    pub fn fill(&mut self, number: u32, size: u64) {
        let filled = self.run(Action::Fill {
            dir: DIR,
            name: Name::new(NameKind::File, number),
            object: None,
            file: u64::from(number),
            size,
        });
        assert_eq!(filled.status, Status::Ok);
        assert_eq!(filled.written_bytes, size);
    }

    pub fn open_file(&mut self, number: u32, handle: u32, how: OpenFor) {
        self.good(SessionAction::Open {
            place: file(number),
            handle: HandleId(handle),
            how,
        });
    }

    pub fn counters(&mut self) -> BTreeMap<String, u64> {
        let mut counters = BTreeMap::new();
        self.shard.take_counters(&mut counters);
        counters
    }
}
