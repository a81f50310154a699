//! The plans of all shipped benchmarks, and of runs that set nearly every parameter: kept
//! whole, with their fingerprints, so that no default and no order of findings changes
//! unnoticed.

use crate::{golden::golden, good, netmist, sources};
use filermark_config::{Resolved, resolve};
use filermark_model::benchmark::SHIPPED;
use filermark_model::plan::{DriverPlan, NfsPlan, SmbPlan};
use filermark_model::{Registry, RunPlan};
use filermark_results::record::fingerprint;
use std::fmt::Write;
use std::path::Path;

/// A resolution, member by member. The benchmark and the procs are in the fingerprint only.
fn shown(name: &str, resolved: &Resolved) -> String {
    let Resolved {
        plan,
        launch,
        suffix,
        work_dir,
        debug,
        stop_command,
        inputs: _,
        netmist,
    } = resolved;
    let mut text = format!("== {name}\nfingerprint {}\n", fingerprint(plan));
    let json = serde_json::to_value(plan).unwrap();
    let members = json.as_object().unwrap().iter();
    for (member, value) in members.filter(|(m, _)| !["benchmark", "procs"].contains(&m.as_str())) {
        match (member.as_str(), value) {
            ("findings", serde_json::Value::Array(all)) => {
                for finding in all {
                    writeln!(text, "finding {finding}").unwrap();
                }
            }
            ("driver" | "phases" | "limits" | "fileset", serde_json::Value::Object(all)) => {
                for (field, value) in all {
                    writeln!(text, "{member}.{field} {value}").unwrap();
                }
            }
            _ => writeln!(text, "{member} {value}").unwrap(),
        }
    }
    writeln!(text, "launch {launch:?}").unwrap();
    writeln!(
        text,
        "work_dir {} suffix {suffix} debug {debug:?}",
        work_dir.display()
    )
    .unwrap();
    writeln!(text, "stop {stop_command}\nnetmist {netmist:?}\n").unwrap();
    text
}

fn of_rc(name: &str, rc: &str) -> String {
    match resolve(&sources(Path::new("/nowhere"), rc, &[])) {
        Ok(resolved) => shown(name, &resolved),
        Err(errors) => panic!("{name}: {errors:#?}"),
    }
}

#[test]
fn the_plans_of_all_shipped_benchmarks() {
    let mut text = String::new();
    let load = "LOAD=80\nINCR_LOAD=80\nNUM_RUNS=3\nPROCS=4\n";
    for (name, _) in SHIPPED {
        let target = match name.contains("smb") {
            true => "MNT_POINTS=\\\\srv\\share\nUSERNAME=me\nPASSWORD=geheim\n",
            false => "MNT_POINTS=srv:/export\n",
        };
        text += &of_rc(name, &format!("BENCHMARK={name}\n{load}{target}"));
    }
    for name in Registry::shipped().composite_names() {
        let rc = format!(
            "BENCHMARK={name}\nLOAD=2\nINCR_LOAD=2\nNUM_RUNS=3\n\
             CLIENT_MOUNTPOINTS=testhost:/mnt/a other:/mnt/b\n"
        );
        text += &of_rc(name, &rc);
    }
    golden("pinned_benchmarks.txt", &text);
}

/// Parameters that every kind of run reads, with values other than the defaults.
const EVERYWHERE: &str = "SUFFIX=mine
WORK_DIR=there
PRIME_MON_SCRIPT=monitor
PRIME_MON_ARGS=\"--password x\"
PRIME_MON_MODE=phases
SCRIPT_LIMIT_S=33
INIT_TIMEOUT=77
RUNTIME=61
DEBUG=3
SEED=36
VERIFY=on
SPACE_CHECK=off
SPACE_RESERVE=6
SERVER_MEMORY=1000t
KEEP=on
PACING=open
ARRIVALS=poisson
BACKLOG_MAX=38
SHARDS=3
INIT_WINDOW=39
RESPONSE_LIMIT_MS=41
ACHIEVED_PCNT_MIN=42
PROC_PCNT_MIN=43
MIX_DEVIATION_MAX=44
ERROR_PCNT_MAX=45
STALL_PCNT_MAX=46
COMPONENT_VARIANCE_MAX=47
STOP_IF=\"p99>2s\"
USER=tester
EXEC_PATH=/opt/filermark
SSH_COMMAND=\"ssh -v\"
SRUN_COMMAND=\"srun -v\"
INSTALL=on
ON_LOST=continue
START_TIMEOUT=63
SECRET_FILE=key
AGENT_PORT=2052
PRIME_LISTEN=127.0.0.1:2053
PRIME_ADDRESS=[::1]
IGNORE_UNKNOWN=on
NOTHING=1
RUNTIME=62
LAT_GRAPH=1
SFS_DIR=/x
PASSWORD_FILE=/nowhere/password
";
/// What runs of classical benchmarks read.
const CLASSIC: &str = "LOAD=800
INCR_LOAD=160
NUM_RUNS=3
PROCS=8
CLIENTS=\"a b\"
LAUNCHER=connect
BIOD_MAX_WRITES=5
BIOD_MAX_READS=7
BLOCK_SIZE=64
ACCESS_PCNT=31
APPEND_PCNT=32
DIR_COUNT=33
FILE_COUNT=34
SYMLINK_COUNT=35
REUSE=off
FILESET_MB_PER_OP=2
CONNECTIONS=4
RPC_TIMEOUT_MS=40001
UDP_TIMEOUT_MS=402
RPC_RETRIES=6
CONNECT_TIMEOUT_MS=4003
JUKEBOX_DELAY_MS=104
JUKEBOX_RETRIES=11
WARMUP_TIME=auto
WARMUP_TIME_MAX=62
DISABLE_FSYNCS=on
";
/// What runs of composites read.
const COMPOSITE: &str = "WARMUP_TIME=9
IPV6_ENABLE=on
CLIENT_MEM=2g
AGGR_CAP=3g
DIR_COUNT=3
FILES_PER_DIR=4
UNLINK_FILES=on
SHARING_MODE=on
DISABLE_FSYNCS=on
MAX_FD=400
HEARTBEAT_NOTIFICATIONS=on
HEARTBEAT_S=48
FILE_ACCESS_LIST=on
NETMIST_LOGS=/logs
PIT_SERVER=clock
PIT_PORT=2054
DROP_CACHES=off
CUSTOM1_CMD=\"/bin/true a\"
CUSTOM2_CMD=/bin/false
SCRIPTS=on
PROCS=3
";

/// [`EVERYWHERE`] without the parameters that `name` sets and without the missing file.
fn everywhere() -> String {
    let lines = EVERYWHERE.lines();
    let lines = lines.filter(|l| !l.starts_with("PASSWORD_FILE") && !l.starts_with("SECRET_FILE"));
    lines.map(|l| format!("{l}\n")).collect()
}

#[test]
fn the_plans_of_runs_that_set_nearly_everything() {
    let all = everywhere();
    let classic = CLASSIC.replace("connect\n", "ssh\n");
    let nfs = "MNT_POINTS=srv:/export\nIPV6_ENABLE=off\nSFS_NFS_USER_ID=501\nSFS_NFS_GROUP_ID=502\n\
               TCP=off\nNFS_VERSION=3\nNFS_PORT=2050\nMOUNT_PORT=2051\nPORTMAP_PORT=112\nRESVPORT=on\n\
               NFS_GROUPS=\"1 2\"\nMACHINE_NAME=me\nUSERNAME=me\n";
    let mut text = of_rc("NFS", &format!("{all}{classic}{nfs}"));
    let smb = "MNT_POINTS=\\\\srv\\share\nIPV6_ENABLE=on\nFS_PROTOCOL=smb\nUSERNAME=me\nDOMAIN=there\n\
               PASSWORD=geheim\nSMB_DIALECT=2.1-3.1.1\nSMB_SIGNING=aes-gmac\nSMB_ENCRYPTION=required\n\
               SMB_PORT=446\nSFS_NFS_USER_ID=501\n";
    text += &of_rc("SMB", &format!("{all}{classic}{smb}"));
    let guest = "MNT_POINTS=\\\\srv\\share\nFS_PROTOCOL=cifs\nSMB_AUTH=guest\nDOMAIN=there\nLOAD=80\nPROCS=4\n\
                 NUM_RUNS=2\n";
    text += &of_rc("guest", guest);
    let null = "DRIVER=null\nLOAD=80\nPROCS=4\nLAUNCHER=local\nCLIENTS=\"a b\"\nINSTALL=off\n";
    text += &of_rc("null", null);
    let mounts = "CLIENT_MOUNTPOINTS=testhost:/mnt/a other:/mnt/b\n";
    let rest = format!("{all}{COMPOSITE}{mounts}");
    text += &of_rc(
        "VDI",
        &format!("BENCHMARK=VDI\nLOAD=2 4\nNUM_RUNS=3\nOPRATE_MULTIPLIER=2\n{rest}"),
    );
    text += &of_rc(
        "METADATA",
        &format!("BENCHMARK=METADATA\nLOAD=2\nLAUNCHER=local\n{rest}"),
    );
    text += &of_rc(
        "file size",
        &format!("BENCHMARK=SWBUILD\nLOAD=1\nFILE_SIZE=5m\nDRIVER=null\n{mounts}"),
    );
    golden("pinned_parameters.txt", &text);
}

#[test]
fn the_plans_of_netmists_command_lines() {
    let all: String = format!("{}{COMPOSITE}", everywhere())
        .lines()
        .filter(|l| !l.contains(['"', ' ']) && !l.starts_with("HEARTBEAT_NOTIFICATIONS"))
        .map(|l| format!(" -o {l}"))
        .collect();
    let one = "Clientname=localhost  Username=root  Workdir=/tmp  Execpath=/tmp/netmist  Workload=METADATA\n";
    let two =
        one.replace("localhost", "client1") + &one.replace("METADATA", "VDI Instances=3 Oprate=5");
    let password = two.replace("Workdir", "Password=x Workdir");
    let cases = [
        ("1", one, "netmist -d 1 -b 1g -B 1g -g client_list".to_owned()),
        ("2", &two, "netmist -d 1 -b 1g -B 1g -O 1000 -t 600 -w 9 -g client_list".to_owned()),
        ("3", &password, "netmist -d 2 -O 10 -t 600 --exact-time -g client_list".to_owned()),
        (
            "4",
            one,
            "netmist -G -F -Y -X -H clock -S 77 -q beats -l log -U logs -r 8 -u -y 6 -N -g client_list \
             -o FILE_SIZE=4k -o SUFFIX=mine -o VERIFY=on -o LOAD=5 -o PROCS=3"
                .to_owned(),
        ),
        ("5", &two, format!("netmist -O 100 -g client_list{all}")),
    ];
    let mut text = String::new();
    for (name, tokens, line) in cases {
        let mut resolved = netmist::resolved(tokens, &line).unwrap();
        resolved.plan.parameters.retain(|(name, _)| name != "-g");
        text += &shown(name, &resolved);
    }
    golden("pinned_netmist.txt", &without_folders(&text));
}

/// The text with the token file as it was typed, whose folder is another one each time.
fn without_folders(text: &str) -> String {
    const FILE: &str = "/client_list";
    let parts: Vec<&str> = text.split(FILE).collect();
    let folder = |part: &str| part.rfind([' ', '(', '"']).map_or(0, |at| at + 1);
    let last = parts.len() - 1;
    let shown = parts.iter().enumerate().map(|(i, part)| match i == last {
        true => *part,
        false => &part[..folder(part)],
    });
    shown.collect::<Vec<_>>().join(&FILE[1..])
}

/// The defaults of the plan's types are those of the parameters.
#[test]
fn the_defaults_of_the_plan_are_those_of_the_parameters() {
    let driver = |rc: &str| good(&format!("LOAD=80\nPROCS=4\n{rc}"), &[]).plan;
    let plan = driver("BENCHMARK=nfs3-2001\nMNT_POINTS=srv:/export\n");
    let DriverPlan::Nfs(nfs) = &plan.driver else {
        panic!("{:?}", plan.driver);
    };
    let benchmark = plan.benchmark.clone();
    let standard = NfsPlan {
        uid: nfs.uid,
        gid: nfs.gid,
        machine_name: nfs.machine_name.clone(),
        block_size_max: nfs.block_size_max,
        commit: benchmark.classic().and_then(|c| c.commit).unwrap(),
        ..NfsPlan::default()
    };
    let whole = RunPlan {
        points: plan.points.clone(),
        clients: plan.clients.clone(),
        procs_per_client: plan.procs_per_client,
        findings: plan.findings.clone(),
        parameters: plan.parameters.clone(),
        ..RunPlan::of(benchmark, DriverPlan::Nfs(standard))
    };
    assert_eq!(plan, whole);
    let rc = "FS_PROTOCOL=smb\nMNT_POINTS=\\\\srv\\share\nUSERNAME=me\nPASSWORD=geheim\n";
    let DriverPlan::Smb(smb) = driver(rc).driver else {
        panic!("no SMB");
    };
    let standard = SmbPlan {
        auth: smb.auth.clone(),
        password: smb.password.clone(),
        ..SmbPlan::default()
    };
    assert_eq!(smb, standard);
}
