//! Plans that have every field, of every driver.

use super::{plan, smb_plan};
use filermark_model::benchmark::{CommitPolicy, Deferral};
use filermark_model::plan::{
    ClientIds, ClockServicePlan, DelegationUse, DriverPlan, LayoutUse, MonitorMode, MonitorPlan,
    NfsPlan, NfsSecurity, PosixPlan, RunPlan, ScriptsPlan, SearchLoad, SearchPlan, TlsCertificate,
    TlsPlan,
};
use filermark_model::{Nanos, Op, stop_if};

/// The synthetic plan with every field that may be left out, once for each driver.
pub fn plans_with_every_field() -> Vec<RunPlan> {
    let second = Nanos::from_secs(1);
    let mut whole = plan();
    whole.phases.warmup_until_steady = true;
    whole.phases.runtime_max = Some(second);
    whole.limits.stall_pcnt_max = 7.5;
    whole.fileset.mib = 1;
    whole.space.server_memory_bytes = Some(1);
    whole.shards = Some(1);
    whole.monitor = Some(MonitorPlan {
        script: "monitor".into(),
        args: vec!["-v".into()],
        mode: MonitorMode::Program,
        limit: Some(second),
    });
    whole.scripts = Some(ScriptsPlan {
        dir: ".".into(),
        limit: second,
    });
    whole.clock_service = Some(ClockServicePlan {
        host: "clock".into(),
        port: 2010,
    });
    whole.search = Some(SearchPlan {
        load: SearchLoad::Units {
            name: "BUILD".into(),
            ops_per_unit: 500.0,
            procs_per_unit: 5,
        },
        first: 100,
        step: 4,
        max: 1_000_000,
        tolerance_pcnt: 3.0,
        achieved_pcnt_min: 98.0,
        probe_warmup: second,
        probe_runtime: second,
        sweep: true,
        goal: Some("p99<5ms".into()),
    });
    whole.heartbeat = Some(second);
    whole.stop_if = vec![stop_if::StopCondition {
        figure: stop_if::StopFigure::Percentile { percent: 99.0 },
        limit: 1e9,
        seconds: 10,
    }];
    let nfs = NfsPlan {
        security: NfsSecurity::Krb5p,
        delegations: DelegationUse::Keep,
        client_ids: ClientIds::Shared,
        nconnect: 2,
        layouts: LayoutUse::Use,
        username: "user".into(),
        realm: "REALM".into(),
        gids: vec![1],
        block_size_max: Some(8192),
        commit: CommitPolicy::Deferred(Deferral {
            writes: 2,
            mib: 2,
            files: 2,
        }),
        optional_ops: vec![Op::Copy],
        nfs_port: Some(2049),
        mount_port: Some(2050),
        tls: Some(TlsPlan {
            authorities: "/ca.pem".into(),
            own: Some(TlsCertificate {
                certificate: "/client.pem".into(),
                key: "/client.key".into(),
            }),
            server_name: Some("nas".into()),
        }),
        ..NfsPlan::default()
    };
    let mut smb = smb_plan("password");
    smb.block_size_max = Some(8192);
    smb.channels = 2;
    smb.fewer_channels = true;
    let posix = PosixPlan {
        open_files_max: Some(1),
        drop_caches: true,
        custom: [vec!["/bin/true".into()], vec!["/bin/false".into()]],
        ..PosixPlan::default()
    };
    let drivers = [
        DriverPlan::Nfs(nfs),
        DriverPlan::Smb(smb),
        DriverPlan::Posix(posix),
        DriverPlan::NULL,
    ];
    let of = |driver| RunPlan {
        driver,
        ..whole.clone()
    };
    drivers.into_iter().map(of).collect()
}
