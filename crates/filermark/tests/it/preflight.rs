//! `preflight`: on this host alone, on client hosts with a filer, and on faulty hosts. No files are
//! left.

use crate::client_hosts::Field;
use crate::load_guard::beside_others;
use crate::sweep::{Ended, Started, Sweep};
use filermark_server::{Server, ServerOptions};
use filermark_testbed::Hosts;
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;

/// Time limit for an agent to clean up when its prime has ended.
const ALONE_MAX: Duration = Duration::from_secs(30);

/// The report of a preflight.
pub struct PreflightOutput {
    /// How it ended.
    pub ended: Ended,
    /// The checks.
    pub checks: Vec<Value>,
}

impl PreflightOutput {
    /// Instead of a run.
    pub fn by(sweep: &Sweep) -> Self {
        Self::of_ended(sweep.clone().command("preflight").arg("--json").run())
    }

    fn of_ended(ended: Ended) -> Self {
        ended.assert_sanitized();
        let json = ended.json();
        assert_eq!(json["preflight"], 1);
        let checks = json["checks"].as_array().expect("checks").clone();
        let count = |verdict| checks.iter().filter(|c| c["verdict"] == verdict).count();
        assert_eq!(json["ok"], count("ok"));
        assert_eq!(json["warnings"], count("warning"));
        assert_eq!(json["failures"], count("failure"));
        assert_eq!(ended.code, i32::from(count("failure") > 0), "{json:#}");
        Self { ended, checks }
    }

    fn of(&self, host: &str, what: &str) -> Vec<&Value> {
        let is = |c: &&Value| c["host"] == host && c["what"] == what;
        self.checks.iter().filter(is).collect()
    }

    /// Asserts that there are lines about it, and that all have this verdict.
    #[track_caller]
    pub fn assert(&self, host: &str, what: &str, verdict: &str) {
        let found = self.of(host, what);
        let all = !found.is_empty() && found.iter().all(|c| c["verdict"] == verdict);
        assert!(all, "{host} {what}: {found:#?}\nof {:#?}", self.checks);
    }

    /// Asserts that the one line about it fails, with this text and a command with the other text.
    #[track_caller]
    fn assert_fails(&self, host: &str, what: &str, words: &[&str], command: &str) {
        self.assert(host, what, "failure");
        let [check] = self.of(host, what)[..] else {
            panic!("{host} {what}: {:#?}", self.checks);
        };
        let sentence = check["sentence"].as_str().expect("a sentence");
        for word in words {
            assert!(sentence.contains(word), "no {word:?} in: {sentence}");
        }
        let actual = check["command"].as_str().unwrap_or("");
        assert!(actual.contains(command), "no {command:?} in: {check}");
    }

    fn hosts(&self) -> Vec<&str> {
        let mut hosts: Vec<&str> = self
            .checks
            .iter()
            .filter_map(|c| c["host"].as_str())
            .collect();
        hosts.dedup();
        hosts
    }
}

#[test]
fn this_host_alone_needs_no_ssh() {
    let _turn = beside_others();
    let server = Server::start(ServerOptions::default()).expect("the embedded server");
    let sweep = Sweep::on(&server);
    let actual = PreflightOutput::by(&sweep);
    assert_eq!(actual.ended.code, 0, "{:#?}", actual.checks);
    assert_eq!(actual.hosts()[0], "prime");
    let client = actual.hosts()[1];
    for what in ["name", "version", "server", "mount", "memory", "files"] {
        actual.assert(client, what, "ok");
    }
    assert!(actual.of(client, "ssh").is_empty());
    actual.assert("all", "space", "ok");
    let text = sweep.clone().command("preflight").run();
    assert_eq!(text.code, 0, "{}", text.stdout);
    assert!(!text.stdout.contains('\x1b'), "no colours in a file");
    let (lines, summary) = text.stdout.split_once("\n\n").expect("a summary");
    for line in lines.lines() {
        let known = ["ok   ", "warn "].iter().any(|v| line.starts_with(v));
        assert!(known, "{line}");
    }
    assert!(summary.contains(" 0 failures"), "{summary}");
    assert!(!text.path("").exists(), "no result directory is made");
}

#[test]
fn a_server_that_does_not_let_us_in_is_reported() {
    let _turn = beside_others();
    let server = Server::start(ServerOptions {
        refuse_mount: true,
        ..ServerOptions::default()
    });
    let server = server.expect("the embedded server");
    let preflight = PreflightOutput::by(&Sweep::on(&server));
    let client = preflight.hosts()[1];
    preflight.assert(client, "server", "ok");
    preflight.assert_fails(client, "mount", &["/export"], "showmount");
    let gone = Sweep::on(&server).set("NFS_PORT", 1);
    drop(server);
    let checks = PreflightOutput::by(&gone);
    checks.assert_fails(client, "server", &["refused"], "rpcinfo");
}

#[test]
fn three_hosts_and_their_filer_are_ready() {
    let _turn = beside_others();
    let Some(field) = Field::with_ganesha(3) else {
        return;
    };
    let preflight = PreflightOutput::by(&field.sweep("h1 h2 h3"));
    assert_eq!(preflight.hosts(), ["prime", "h1", "h2", "h3", "all"]);
    for host in ["h1", "h2", "h3"] {
        for what in ["name", "ssh", "version", "clock", "server", "mount"] {
            preflight.assert(host, what, "ok");
        }
        let host_is = preflight.of(host, "host")[0]["sentence"].as_str().unwrap();
        assert!(
            host_is.starts_with(&format!("host name {host}; 10.77.0.")),
            "{host_is}"
        );
    }
    assert_eq!(preflight.ended.code, 0, "{:#?}", preflight.checks);
    field.assert_clean();
}

#[test]
fn failed_hosts_are_reported_with_what_fixes_them_and_the_others_continue() {
    let _turn = beside_others();
    let Some(field) = Field::with_ganesha(4) else {
        return;
    };
    field.hosts.ask_password("h2").expect("no key any more");
    field.hosts.wrong_host_key("h3").expect("another key");
    field.hosts.cut("h4").expect("cut");
    let sweep = field.sweep("h1 h2 h3 h4").set("START_TIMEOUT", 20);
    let preflight = PreflightOutput::by(&sweep.into_rc());
    for what in ["name", "ssh", "version", "server", "mount"] {
        preflight.assert("h1", what, "ok");
    }
    let rc = preflight.of("h2", "ssh")[0]["command"]
        .as_str()
        .unwrap_or("");
    assert!(
        rc.starts_with("filermark keys -r /") && rc.ends_with("/sfs_rc"),
        "{rc}"
    );
    preflight.assert_fails("h2", "ssh", &["without a password"], "filermark keys");
    preflight.assert_fails("h3", "ssh", &["host key", "differs"], "ssh-keygen");
    preflight.assert_fails("h4", "ssh", &["cannot be reached"], "");
    for host in ["h2", "h3", "h4"] {
        assert!(
            preflight.of(host, "agent").is_empty(),
            "it is not tried again"
        );
    }
    assert!(
        preflight.ended.elapsed < Duration::from_secs(40),
        "{:?}",
        preflight.ended.elapsed
    );
    field.hosts.fix("h4").expect("fix");
    field.assert_clean();
}

#[test]
fn a_program_that_is_missing_is_reported_with_the_command_that_brings_it() {
    let _turn = beside_others();
    let Some(field) = Field::with_ganesha(2) else {
        return;
    };
    // h1 has the installed program, h2 does not.
    let sweep = field.sweep("h1 h2").unset("EXEC_PATH").set("INSTALL", "on");
    let installed = sweep
        .clone()
        .command("install")
        .set("CLIENTS", "h1")
        .set("INSTALL", "on")
        .run();
    assert_eq!(installed.code, 0, "{}", installed.stderr);
    let checks = PreflightOutput::by(&sweep);
    checks.assert("h1", "version", "ok");
    checks.assert("h2", "ssh", "ok");
    checks.assert_fails("h2", "agent", &["missing there"], "filermark install");
    assert!(field.new_files("h2").is_empty(), "preflight brings nothing");
    field.assert_clean();
}

/// Three hosts with one directory name; the last one has another file system there.
fn one_apart() -> Option<Field> {
    let mut field = Field::bare(3)?;
    field.small_disk("h3", Hosts::SHARED, 4096);
    Some(field)
}

fn shared() -> String {
    ["h1", "h2", "h3"]
        .map(|h| format!("{h}:{}", Hosts::SHARED))
        .join(" ")
}

#[test]
fn a_client_that_sees_another_file_system_is_reported() {
    let _turn = beside_others();
    let Some(field) = one_apart() else { return };
    let sweep = field.composite("VDA", &shared()).set("SPACE_CHECK", "off");
    let preflight = PreflightOutput::by(&sweep);
    preflight.assert("h2", "same", "ok");
    preflight.assert("h3", "same", "warning");
    for host in ["h1", "h2", "h3"] {
        preflight.assert(host, "mount", "ok");
    }
    field.assert_clean();
    // That is an error if all use one tree.
    let checks = PreflightOutput::by(&sweep.set("SHARING_MODE", 1));
    checks.assert_fails("h3", "same", &["share one tree"], "");
    field.assert_clean();
}

#[test]
fn a_directory_that_is_missing_full_or_read_only_is_reported() {
    let _turn = beside_others();
    let Some(field) = Field::bare(3) else { return };
    for (host, script) in [
        (
            "h1",
            "mkdir /mnt/own/d && mount -t tmpfs -o size=64k tmpfs /mnt/own/d && (cat /dev/zero >/mnt/own/d/full || true)",
        ),
        (
            "h2",
            "mkdir /mnt/own/d && mount -t tmpfs -o ro tmpfs /mnt/own/d",
        ),
    ] {
        let done = field.hosts.run_on(host, script).expect("a script");
        assert_eq!(done.status, 0, "{}", done.output);
    }
    let mounts = ["h1", "h2", "h3"]
        .map(|h| format!("{h}:/mnt/own/d"))
        .join(" ");
    let preflight = PreflightOutput::by(&field.composite("VDA", &mounts).set("SPACE_CHECK", "off"));
    preflight.assert_fails("h1", "mount", &["/mnt/own/d", "No space left"], "");
    preflight.assert_fails(
        "h2",
        "mount",
        &["Read-only"],
        "mount -o remount,rw /mnt/own/d",
    );
    preflight.assert_fails("h3", "mount", &["/mnt/own/d", "mounted on this client"], "");
    assert_eq!(field.below("h1", "/mnt/own/d"), ["/full"]);
    field
        .hosts
        .wait_clean(Duration::from_secs(10))
        .expect("clean");
}

/// Preflight at the moment when a probe file of h1 is in the shared directory.
fn while_a_probe_lies_there(field: &Field) -> Started {
    let sweep = field.composite("VDA", &shared()).set("SPACE_CHECK", "off");
    let mut started = sweep.command("preflight").arg("--json").start();
    // h3 looks for the file for some seconds; the check whether a directory is writable takes
    // much less.
    let mut last = (Vec::new(), 0);
    started.wait_until("a probe file that stays", |_| {
        let seen = field.below("h1", Hosts::SHARED);
        let probe = seen.iter().any(|n| n.starts_with("/.filermark-probe-"));
        last = match probe && seen == last.0 {
            true => (seen, last.1 + 1),
            false => (seen, 0),
        };
        last.1 > 100
    });
    started
}

#[test]
fn a_host_that_freezes_is_reported_and_another_removes_its_probe_file() {
    let _turn = beside_others();
    let Some(field) = one_apart() else { return };
    let started = while_a_probe_lies_there(&field);
    field.hosts.freeze("h1").expect("freeze");
    let preflight = PreflightOutput::of_ended(started.wait());
    assert_eq!(field.below("h2", Hosts::SHARED), [""; 0]);
    preflight.assert_fails("h1", "agent", &["no message"], "");
    preflight.assert("h2", "same", "ok");
    preflight.assert("h3", "mount", "ok");
    field.hosts.thaw("h1").expect("thaw");
    field.assert_clean_within(ALONE_MAX);
}

#[test]
fn without_waiting_the_findings_are_reported() {
    let _turn = beside_others();
    let Some(field) = one_apart() else { return };
    let started = while_a_probe_lies_there(&field);
    started.signal(Signal::INT);
    let ended = started.wait();
    ended.assert_sanitized();
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    let json = ended.json();
    assert_eq!(json["stopped"], true);
    assert!(json["ok"].as_u64().expect("a count") > 10, "{json:#}");
    field.assert_clean();
}

#[test]
fn a_prime_that_is_killed_leaves_no_probe_file() {
    let _turn = beside_others();
    let Some(field) = one_apart() else { return };
    let started = while_a_probe_lies_there(&field);
    started.signal(Signal::KILL);
    drop(started);
    field.assert_clean_within(ALONE_MAX);
}

/// RESVPORT=on without the capability, like a copy of a program with `setcap`.
#[test]
fn a_program_that_may_not_use_low_ports_is_reported_with_what_to_type() {
    let _turn = beside_others();
    let server = Server::start(ServerOptions::default()).expect("server");
    let sweep = Sweep::on(&server).set("RESVPORT", "on");
    PreflightOutput::by(&sweep).assert("localhost", "ports", "ok");
    let front = ["setpriv", "--bounding-set", "-net_bind_service"];
    let preflight = PreflightOutput::by(&sweep.clone().through(front));
    let words = ["RESVPORT=on", "source ports below 1024"];
    let command = "sudo setcap cap_net_bind_service=+ep ";
    preflight.assert_fails("localhost", "ports", &words, command);
    // Without the option they are not reported.
    let checks = PreflightOutput::by(&sweep.unset("RESVPORT").through(front));
    assert!(checks.of("localhost", "ports").is_empty());
}
