//! netmist's command lines: as the manual prints them, and wrong ones.

use crate::host;
use filermark_config::netmist::{NetmistArgs, netmist_registry, resolve_netmist, unexpected_args};
use filermark_config::{InputLog, Resolved, Sources};
use filermark_model::composite::DataSet;
use filermark_model::launch::{HostPlan, LauncherKind};
use filermark_model::plan::{DriverPlan, IpChoice};
use filermark_model::{Nanos, RunPlan, Severity};
use std::path::Path;

/// A command line as the manual writes it, in a folder; `-o` and `--exact-time` are ours.
fn args(folder: &Path, line: &str) -> NetmistArgs {
    let mut sources = Sources {
        rc: None,
        overrides: Vec::new(),
        defaults: Vec::new(),
        host: host(),
        inputs: InputLog::default(),
    };
    let mut given = Vec::new();
    let mut exact_time = false;
    let mut words = line.split_whitespace().peekable();
    assert_eq!(words.next(), Some("netmist"));
    while let Some(word) = words.next() {
        match word {
            "--exact-time" => exact_time = true,
            "-o" => sources.set_option(words.next().unwrap()).unwrap(),
            _ => {
                let letter = word.strip_prefix('-').unwrap().chars().next().unwrap();
                let takes = filermark_config::netmist::Flag::find(letter).unwrap();
                let value = match takes.value {
                    "" => String::new(),
                    _ => words.next().unwrap().to_owned(),
                };
                // Files are in the test's folder.
                let value = match letter {
                    'g' | 'I' => folder.join(value).display().to_string(),
                    _ => value,
                };
                given.push((letter, value));
            }
        }
    }
    NetmistArgs {
        given,
        exact_time,
        sources,
    }
}

pub fn resolved(tokens: &str, line: &str) -> Result<Resolved, Vec<String>> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("client_list"), tokens).unwrap();
    let folder = format!("{}/", dir.path().display());
    resolve_netmist(&args(dir.path(), line)).map_err(|errors| {
        let text = |e: &dyn std::fmt::Display| e.to_string().replace(&folder, "");
        errors.iter().map(|e| text(e)).collect()
    })
}

fn good(tokens: &str, line: &str) -> RunPlan {
    match resolved(tokens, line) {
        Ok(resolved) => resolved.plan,
        Err(errors) => panic!("{line}: {errors:#?}"),
    }
}

fn bad(tokens: &str, line: &str) -> Vec<String> {
    match resolved(tokens, line) {
        Ok(_) => panic!("resolved: {line}"),
        Err(errors) => errors,
    }
}

fn texts_of(plan: &RunPlan, severity: Severity) -> Vec<&str> {
    let of = plan.findings.iter().filter(|f| f.severity == severity);
    of.map(|f| f.message.as_str()).collect()
}

const ONE: &str =
    "Clientname=localhost  Username= root Workdir= /tmp Execpath=/tmp/netmist Workload=METADATA\n";

fn seconds(s: u64) -> Nanos {
    Nanos::from_secs(s)
}

/// Manual N, section 10: the first command line.
#[test]
fn no_rate_limit() {
    let plan = good(ONE, "netmist -d 1 -b 1g -B 1g -g client_list");
    assert_eq!(
        (plan.phases.runtime, plan.phases.warmup),
        (seconds(300), seconds(300))
    );
    assert_eq!(plan.phases.runtime_max, Some(seconds(14_400)));
    assert_eq!(plan.procs.len(), 1);
    assert_eq!(plan.procs[0].ops_per_sec, None);
    assert_eq!(plan.procs[0].mount.to_string(), "localhost:/tmp");
    let point = plan.points[0];
    assert_eq!(
        (
            point.number,
            point.requested.0,
            point.units,
            point.proc_count
        ),
        (1, 0.0, 0.0, 1)
    );
    let c = &plan.benchmark.composite().unwrap().components[0];
    // 1 GiB over 10 x 100 files, rounded up to 8 KiB.
    assert_eq!(
        (c.file_bytes, c.dir_count, c.files_per_dir),
        (1056 << 10, 10, 100)
    );
    assert_eq!(
        (plan.benchmark.name.as_str(), plan.benchmark.unit.as_str()),
        ("netmist", "PROC")
    );
    assert_eq!(plan.benchmark.title, "METADATA");
    assert!(plan.fileset.touch_all && !plan.fileset.keep && !plan.fileset.reuse);
    let l = plan.limits;
    assert_eq!(
        (l.proc_pcnt_min, l.achieved_pcnt_min, l.response_ms),
        (75.0, 95.0, 0.0)
    );
    assert_eq!(plan.heartbeat, None);
    assert_eq!(texts_of(&plan, Severity::Warning), [""; 0]);
    let notes = texts_of(&plan, Severity::Note);
    let want = "RUN takes 300 s and continues until the data set of 5.0 GiB has been read and written once, 14400 s at most";
    assert!(notes.iter().any(|n| n.starts_with(want)), "{notes:?}");
}

/// The second: with a rate, which lengthens RUN so that the data set is touched.
#[test]
fn a_rate_limit() {
    let plan = good(ONE, "netmist -d 1 -b 1g -B 1g -O 1000 -g client_list");
    assert_eq!(plan.points[0].requested.0, 1000.0);
    assert_eq!(plan.procs[0].ops_per_sec.unwrap().0, 1000.0);
    let notes = texts_of(&plan, Severity::Note);
    assert!(
        notes[0].contains("instead of 300 s: the data set of 5.0 GiB"),
        "{notes:?}"
    );
    // 5 x 1000 x 1056 KiB over 950 op/s of some 6 KB each, and a little for random deviations.
    let s = plan.phases.runtime.as_secs_f64();
    assert!((900.0..1000.0).contains(&s), "{s}");
    let exact = good(ONE, "netmist --exact-time -O 1000 -g client_list");
    assert_eq!(exact.phases.runtime, seconds(300));
    assert!(!exact.fileset.touch_all);
}

/// The third: two procs on one client.
#[test]
fn two_procs() {
    let line = "Clientname=localhost  Username=root  Workdir=/tmp  Execpath=/tmp/netmist  Workload=METADATA\n";
    let plan = good(
        &line.repeat(2),
        "netmist -d 2 -b 1g -B 1g -O 1000 -t 600 -g client_list",
    );
    assert_eq!((plan.procs.len(), plan.procs_per_client), (2, 2));
    assert_eq!(plan.procs[1].ops_per_sec.unwrap().0, 500.0);
    assert_eq!(plan.procs[1].instance, 1);
    assert_eq!(plan.benchmark.composite().unwrap().components.len(), 1);
    // Section 13's size for 512 MiB per process.
    assert_eq!(
        plan.benchmark.composite().unwrap().components[0].file_bytes,
        528 << 10
    );
    assert_eq!(plan.clients[0].mounts.len(), 1);
    assert!(plan.phases.runtime >= seconds(600));
}

/// The fourth and fifth: two clients, which are both this host here.
#[test]
fn two_clients() {
    let tokens = "\
Clientname=localhost   Username=root  Workdir=/tmp1   Execpath=/tmp/netmist  Workload=METADATA
Clientname=127.0.0.1   Username=root  Workdir=/tmp2   Execpath=/tmp/netmist  Workload=METADATA
";
    let plan = good(
        tokens,
        "netmist -d 1 -b 1g -B 1g -O 1000 -t 600 -w 600 -g client_list",
    );
    assert_eq!(plan.phases.warmup, seconds(600));
    assert_eq!((plan.clients.len(), plan.procs_per_client), (2, 1));
    assert_eq!(plan.procs[1].mount.to_string(), "127.0.0.1:/tmp2");
    let four = good(
        &tokens.repeat(2),
        "netmist -d 2 -b 1g -B 1g -O 1000 -t 600 -w 600 -g client_list",
    );
    let clients: Vec<u32> = four.procs.iter().map(|p| p.client).collect();
    assert_eq!(clients, [0, 1, 0, 1], "in the order of the lines");
    // One name for both: then -d 1 does not fit, which is a warning.
    let same = tokens.replace("127.0.0.1", "localhost");
    let plan = good(
        &same,
        "netmist -d 1 -b 1g -B 1g -O 1000 -t 600 -w 600 -g client_list",
    );
    assert!(texts_of(&plan, Severity::Warning)[0].contains("-d 1, but the token file has 2 procs"));
}

/// The plans of these command lines with the token files as printed.
#[test]
fn the_plans_of_the_manuals_command_lines() {
    let two = "Clientname=localhost  Username=root  Workdir=/tmp  Execpath=/tmp/netmist  Workload=METADATA\n";
    let other = two.replace("/tmp ", "/tmp1 ");
    let cases = [
        (
            "1",
            ONE.to_owned(),
            "netmist -d 1 -b 1g -B 1g -g client_list",
        ),
        (
            "2",
            ONE.to_owned(),
            "netmist -d 1 -b 1g -B 1g -O 1000 -g client_list",
        ),
        (
            "3",
            two.repeat(2),
            "netmist -d 2 -b 1g -B 1g -O 1000 -t 600 -g client_list",
        ),
        (
            "4",
            two.to_owned() + &other,
            "netmist -d 1 -b 1g -B 1g -O 1000 -t 600 -w 600 -g client_list",
        ),
    ];
    for (number, tokens, line) in cases {
        let text = filermark_config::explain(&resolved(&tokens, line).unwrap(), None);
        crate::golden::golden(&format!("plan_netmist_{number}.txt"), &text);
    }
}

/// Section 10's fourth and fifth examples with the clients that they print.
#[test]
fn the_plans_of_the_manuals_two_clients() {
    let one = |client, dir| {
        format!(
            "Clientname={client}   Username=root  Workdir={dir}   Execpath=/tmp/netmist  Workload=METADATA\n"
        )
    };
    let fourth = one("client1", "/tmp1") + &one("client2", "/tmp2");
    let fifth = (one("client1", "/tmp1") + &one("client2", "/tmp1")).repeat(2);
    let cases = [
        (
            "5",
            fourth,
            "netmist -d 1 -b 1g -B 1g -O 1000 -t 600 -w 600 -g client_list",
        ),
        (
            "6",
            fifth,
            "netmist -d 2 -b 1g -B 1g -O 1000 -t 600 -w 600 -g client_list",
        ),
    ];
    for (number, tokens, line) in cases {
        let found = resolved(&tokens, line).unwrap();
        let hosts = &found.launch.hosts;
        assert_eq!((hosts.len(), found.plan.clients.len()), (2, 2));
        for (host, name) in hosts.iter().zip(["client1", "client2"]) {
            assert_eq!(
                (host.client.as_str(), host.launcher),
                (name, LauncherKind::Ssh)
            );
            assert_eq!(host.user.as_deref(), Some("root"));
            assert_eq!(host.program.as_deref(), Some("/tmp/netmist"));
        }
        let text = filermark_config::explain(&found, None);
        crate::golden::golden(&format!("plan_netmist_{number}.txt"), &text);
    }
}

/// Section 13: ten procs, two on each of five clients of 1 GiB.
#[test]
fn file_sizes_count_the_procs_of_a_client_not_those_of_the_run() {
    let tokens = "Clientname=client[1-5] Workdir=/mnt Workload=METADATA\n".repeat(2);
    let plan = good(&tokens, "netmist -d 2 -b 1g -B 1g -g client_list");
    assert_eq!((plan.procs.len(), plan.procs_per_client), (10, 2));
    let work = plan.benchmark.composite().unwrap();
    assert_eq!(work.components[0].file_bytes, 528 << 10);
    assert_eq!(texts_of(&plan, Severity::Warning), [""; 0]);
    let set = plan.data_set(plan.points[0]);
    // "Total initial file space 25781 MiBytes, total max file space 30937 MiBytes": five
    // kinds of files with data, of which those of append may double.
    assert_eq!(set.start_bytes, 10 * 5 * 1000 * (528 << 10));
    assert_eq!(
        (
            DataSet::mib(set.client_bytes),
            DataSet::mib(set.start_bytes),
            DataSet::mib(set.max_bytes)
        ),
        (5156, 25_781, 30_937)
    );
    assert_eq!(set.client_bytes, set.start_bytes / 5);
    // A -B that asks for more than the clients' memory counts all procs.
    let plan = good(&tokens, "netmist -d 2 -b 1g -B 100g -g client_list");
    let work = plan.benchmark.composite().unwrap();
    assert_eq!(
        work.components[0].file_bytes,
        (10u64 << 30).div_ceil(1000).div_ceil(8192) * 8192
    );
}

#[test]
fn who_works_on_a_client_is_taken_from_its_lines() {
    let tokens = "\
Clientname=a Workdir=/m Workload=METADATA
Clientname=b Workdir=/m Workload=METADATA Username=DOM\\me Password=geheim
Clientname=A Workdir=/n Workload=METADATA Execpath=~/bin/filermark
Clientname=localhost Workdir=/m Workload=METADATA Username=root
";
    let line = "netmist -g client_list -y 6 -k -D -o USER=all -o SSH_COMMAND=ssh_-F_x";
    let found = resolved(tokens, line).unwrap();
    let hosts: Vec<_> = found
        .launch
        .hosts
        .iter()
        .map(|h| (h.client.as_str(), h.user.as_deref(), h.program.as_deref()))
        .collect();
    let want = [
        ("a", Some("all"), Some("~/bin/filermark")),
        ("b", Some("DOM\\me"), None),
        ("localhost", None, None),
    ];
    assert_eq!(hosts, want);
    assert_eq!(found.launch.ip, IpChoice::V6);
    let notes = texts_of(&found.plan, Severity::Note).join("\n");
    assert!(
        notes.contains(
            "/client_list:2:1) has no effect and is not kept: clients are reached with SSH"
        ),
        "{notes}"
    );
    assert!(!format!("{found:?}").contains("geheim"));
    // The options of the binary are still there to ask for.
    let given = args(Path::new("/nowhere"), line);
    assert!(given.has('k') && given.has('D') && !given.has('u'));
}

#[test]
fn slurm_in_a_token_file_is_the_allocation() {
    let dir = tempfile::tempdir().unwrap();
    let tokens = "Clientname=slurm Workdir=/m Workload=METADATA Instances=2\n";
    std::fs::write(dir.path().join("client_list"), tokens).unwrap();
    let mut slurm = args(dir.path(), "netmist -g client_list -o LAUNCHER=slurm");
    let wrong = resolve_netmist(&slurm).unwrap_err();
    assert!(
        wrong[0]
            .message
            .contains("'slurm' stands for the nodes of a Slurm allocation"),
        "{wrong:?}"
    );
    slurm.sources.host.slurm_nodes = Some("n[1-3]".into());
    let found = resolve_netmist(&slurm).unwrap();
    assert_eq!((found.plan.clients.len(), found.plan.procs.len()), (3, 6));
    let slurm_only = |h: &HostPlan| h.launcher == LauncherKind::Slurm && h.user.is_none();
    assert!(found.launch.hosts.iter().all(slurm_only));
}

#[test]
fn the_streams_of_the_appendix() {
    let tokens = "\
Clientname=localhost Username=me Workdir=/mnt Execpath=/usr/local/bin/netmist Workload=VDA1 Oprate=2 Instances= 3
Clientname=localhost Username=me Workdir=/mnt Execpath=/usr/local/bin/netmist Workload=VDA2 Oprate=0.22 Instances= 3
Clientname=localhost Workdir=/mnt Workload=stream_vod
";
    let line = "netmist -b 3g -B 3g -g client_list -d 3 -K -N -Q 1 -T 1 -t 300 -w 300 -O 5";
    let plan = good(tokens, line);
    let work = plan.benchmark.composite().unwrap();
    let parts: Vec<_> = work
        .components
        .iter()
        .map(|c| (c.workload.name.as_str(), c.instances, c.ops_per_proc))
        .collect();
    let want = [
        ("VDA1", 3, Some(2.0)),
        ("VDA2", 3, Some(0.22)),
        ("VDS", 1, Some(5.0)),
    ];
    assert_eq!(parts, want);
    assert_eq!(work.components[0].file_bytes, 1 << 30);
    assert!((plan.points[0].requested.0 - 11.66).abs() < 1e-9);
    assert!(plan.fileset.keep && plan.fileset.reuse);
    assert!(matches!(&plan.driver, DriverPlan::Posix(p) if p.reuse_kept));
    // VDA1 writes in sequence only: 2 buckets; VDA2 has 4, VDS 5. At some 4 MB/s.
    let set = plan.data_set(plan.points[0]);
    assert_eq!(set.start_bytes, (3 * 2 + 3 * 4 + 5) << 30);
    assert!(plan.phases.runtime > seconds(4_000) && plan.phases.runtime < seconds(15_000));
}

#[test]
fn a_data_set_that_takes_more_than_a_day() {
    let plan = good(ONE, "netmist -O 1 -g client_list");
    assert_eq!(plan.phases.runtime, seconds(86_400));
    assert!(texts_of(&plan, Severity::Warning)[0].contains("will not count"));
    // A longer requested time is kept.
    let plan = good(ONE, "netmist -O 1 -t 100000 -g client_list");
    assert_eq!(plan.phases.runtime, seconds(100_000));
}

#[test]
fn every_other_flag_has_its_field() {
    let line = "netmist -G -F -Y -X -H clock -S 77 -q beats -l log -U logs -r 8 -u -y 6 -N -g client_list \
                -o FILE_SIZE=4k -o SUFFIX=mine -o VERIFY=on -o LOAD=5 -o PROCS=3";
    let found = resolved(ONE, line).unwrap();
    let plan = &found.plan;
    assert!(matches!(&plan.driver, DriverPlan::Posix(p) if p.no_fsync));
    assert!(plan.fileset.access_list && plan.fileset.sharing && plan.fileset.verify);
    assert_eq!(plan.heartbeat, Some(seconds(60)));
    assert_eq!(plan.clock_service.as_ref().unwrap().port, 77);
    assert_eq!(
        plan.benchmark.composite().unwrap().components[0].file_bytes,
        4096
    );
    let output = found.netmist.unwrap();
    assert_eq!(output.log.unwrap().to_str(), Some("log"));
    assert_eq!(output.heartbeat_log.unwrap().to_str(), Some("beats"));
    assert_eq!(output.client_log_dir.unwrap().to_str(), Some("logs"));
    assert!(output.bands);
    assert_eq!(found.suffix, "mine");
    assert_eq!(found.launch.ip, IpChoice::V6);
    let notes = texts_of(plan, Severity::Note).join("\n");
    for want in [
        "-r (Record size; deprecated",
        "-u (Use rsh and rcp; without effect): SSH is used instead",
        "LOAD=5 has no effect: the token file defines",
        "PROCS=3 has no effect with netmist",
    ] {
        assert!(notes.contains(want), "{want}: {notes}");
    }
}

#[test]
fn wrong_command_lines_give_one_message() {
    let cases = [
        ("netmist", "netmist: -g is not given; name a token file"),
        (
            "netmist -g nowhere",
            "-g: the token file nowhere does not exist",
        ),
        (
            "netmist -g client_list -O fast",
            "-O: 'fast' is not valid for -O; give operations per second",
        ),
        ("netmist -g client_list -O 0", "-O: '0' is not valid for -O"),
        (
            "netmist -g client_list -d 0",
            "-d: '0' is not valid for -d; give a whole number from 1 on",
        ),
        (
            "netmist -g client_list -b 1",
            "-b: CLIENT_MEM=1 is not an amount of data; write a number and k, m, g or t",
        ),
        (
            "netmist -g client_list -t 5k",
            "-t: RUNTIME=5k is not a number",
        ),
        (
            "netmist -g client_list -Q 0",
            "-Q: FILES_PER_DIR=0 is out of bounds",
        ),
        (
            "netmist -g client_list -I nowhere",
            "-I: the file nowhere does not exist",
        ),
        (
            "netmist -g client_list -o RUNTIM=5",
            "-o RUNTIM: there is no parameter RUNTIM; did you mean RUNTIME?",
        ),
        (
            "netmist -g client_list -y 5",
            "-y: '5' is not valid for -y; give 6 (or 4)",
        ),
        (
            "netmist -g client_list -H c -S nosuchservice",
            "-S: PIT_PORT=nosuchservice is not a TCP service",
        ),
    ];
    for (line, want) in cases {
        let got = bad(ONE, line);
        assert_eq!(got.len(), 1, "{line}: {got:#?}");
        assert!(got[0].starts_with(want), "{line}: {}", got[0]);
    }
}

#[test]
fn token_lines_that_cannot_be_used_are_reported_by_line() {
    let tokens = "\
Clientname=client1 Workdir=/tmp Workload=METADATA
Clientname=client1 Workdir=/tmp Workload=METADTA
Clientname=localhost Workdir=/tmp Workload=METADTA
Clientname=localhost Workdir=/tmp Workload=Zzzzzzz
";
    let got = bad(tokens, "netmist -g client_list");
    assert_eq!(got.len(), 2, "{got:#?}");
    assert!(
        got[0].starts_with(
            "client_list:2:33: there is no workload 'METADTA'; did you mean METADATA?"
        ),
        "{}",
        got[0]
    );
    assert!(
        got[1].starts_with("client_list:4:35: there is no workload 'Zzzzzzz'; known: METADATA")
    );
}

#[test]
fn a_load_that_is_all_in_the_background_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let shipped = filermark_model::Registry::shipped();
    let mut object = shipped.workload("METADATA").unwrap().clone();
    object.attributes.background = true;
    let text = filermark_config::netmist_text::export([&object]);
    std::fs::write(dir.path().join("objects"), text).unwrap();
    let found = |tokens: &str| {
        std::fs::write(dir.path().join("client_list"), tokens).unwrap();
        let line = "netmist -g client_list -I objects";
        resolve_netmist(&args(dir.path(), line)).map_err(|e| e[0].to_string())
    };
    let error = found(ONE).err().unwrap_or_default();
    assert_eq!(
        error,
        "-g: all workloads are in the background: nothing would be measured; \
         set 'Background 0' in one of them at least"
    );
    // One that counts is enough.
    let other = ONE.replace("METADATA", "DB_LOG");
    assert!(found(&format!("{ONE}{other}")).is_ok());
}

#[test]
fn dashes_of_word_processors_are_recognized() {
    let errors = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
        let errors = unexpected_args(&words);
        errors.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let got = errors(&["\u{2013}K", "\u{2013}N", "x"]);
    assert_eq!(got.len(), 2);
    assert!(
        got[0].contains("begins with a typographical dash; type -K"),
        "{got:?}"
    );
    assert_eq!(errors(&["x"]).len(), 1);
    assert_eq!(errors(&[]).len(), 0);
}

#[test]
fn objects_for_export_are_those_that_ship() {
    let registry = netmist_registry(&args(Path::new("/nowhere"), "netmist -E")).unwrap();
    assert!(registry.workload_names().contains(&"SWBUILD"));
}

/// Mistakes of the workloads and of the token file, all at once: unknown workloads together
/// with other mistakes, but not where the file that may define them is wrong.
#[test]
fn mistakes_of_all_kinds_are_reported_together() {
    let tokens = "\
Clientname=a Workdir=mnt Workload=METADTA
Clientname=b Workdir=/mnt Workload=METADATA Oprate=x
Clientname=c Workdir=/mnt Workload=METADTA
";
    let got = bad(tokens, "netmist -d x -g client_list");
    let with = |what: &str| got.iter().filter(|t| t.contains(what)).count();
    assert_eq!(with("client_list:1:"), 2, "{got:#?}");
    assert_eq!(with("there is no workload 'METADTA'"), 1, "{got:#?}");
    assert_eq!(with("client_list:2:"), 1, "{got:#?}");
    assert_eq!(with("'x' is not valid for -d"), 1, "{got:#?}");
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    file(
        "client_list",
        "Clientname=a Workdir=/mnt Workload=MINE\nx\n",
    );
    file("mine", "Workload name MINE\nPercent read 99\n");
    let line = "netmist -I mine -g client_list";
    let got = resolve_netmist(&args(dir.path(), line)).unwrap_err();
    let got: Vec<String> = got.iter().map(ToString::to_string).collect();
    assert!(got.iter().any(|t| t.contains("mine:1:1:")), "{got:#?}");
    assert!(got.iter().any(|t| t.contains("client_list:2:")), "{got:#?}");
    assert!(!got.iter().any(|t| t.contains("no workload")), "{got:#?}");
}
