//! netmist's `-D`, `-k` and `-y` over SSH, on hosts that a token file names (manual N,
//! section 10).

use crate::hosts::{Agent, SOON, agents, detail, hosts, output_text, states};
use crate::load_guard::beside_others;
use filermark_testbed::Hosts;
use serde_json::Value;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// `netmist` on the prime, with a token file for these names of clients.
struct Netmist<'h> {
    hosts: &'h Hosts,
    dir: TempDir,
}

impl<'h> Netmist<'h> {
    fn new(hosts: &'h Hosts, names: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let line = |name: &&str| {
            format!(
                "Clientname={name} Username=root Workdir={} Workload=METADATA\n",
                Hosts::OWN
            )
        };
        let lines: String = names.iter().map(line).collect();
        std::fs::write(dir.path().join("client_list"), lines).expect("a token file");
        Self { hosts, dir }
    }

    fn command(&self, words: &str) -> Command {
        let mut command = self.hosts.command(env!("CARGO_BIN_EXE_filermark"));
        command
            .args(["netmist", "-g", "client_list"])
            .args(words.split(' '))
            .env_remove("RUST_LOG")
            .current_dir(self.dir.path())
            .stdin(Stdio::null());
        command
    }

    fn run(&self, words: &str) -> Output {
        self.command(words).output().expect("it starts")
    }

    /// The report on each host, and the exit code.
    fn host_rows(&self, words: &str) -> (Vec<Value>, Option<i32>) {
        let done = self.run(&format!("{words} --json"));
        let value: Value =
            serde_json::from_slice(&done.stdout).unwrap_or_else(|e| panic!("{e}: {done:?}"));
        let hosts = value["hosts"].as_array().expect("hosts").clone();
        (hosts, done.status.code())
    }
}

const HOSTS: [&str; 2] = ["h1", "h2"];

#[test]
fn d_installs_on_the_clients_of_the_token_file_and_nowhere_else() {
    let _turn = beside_others();
    let Some(hosts) = hosts(3) else { return };
    let netmist = Netmist::new(&hosts, &HOSTS);
    for state in ["done", "nothing"] {
        let (rows, code) = netmist.host_rows("-D");
        assert_eq!(states(&rows), [state; 2], "{rows:?}");
        assert_eq!(code, Some(0));
    }
    for host in HOSTS {
        let version = output_text(&hosts, host, "~/.cache/filermark/*/filermark --version");
        assert!(version.starts_with("filermark "), "{version}");
    }
    assert_eq!(
        output_text(&hosts, "h3", "ls -A ~/.cache 2>/dev/null | wc -l"),
        "0"
    );
    hosts.wait_clean(SOON).expect("no session is left");
}

/// -y 6 reaches the clients over IPv6 alone, -y 4 over IPv4 alone.
#[test]
fn y_chooses_how_the_clients_are_reached() {
    let _turn = beside_others();
    let Some(hosts) = hosts(2) else { return };
    let six = HOSTS.map(Hosts::name_of_ipv6);
    let by_six = Netmist::new(&hosts, &[&six[0], &six[1]]);
    let (rows, code) = by_six.host_rows("-y 6 -D");
    assert_eq!(
        (states(&rows), code),
        (vec!["done"; 2], Some(0)),
        "{rows:?}"
    );
    let by_four = Netmist::new(&hosts, &HOSTS);
    let (rows, code) = by_four.host_rows("-y 4 -D");
    assert_eq!(
        (states(&rows), code),
        (vec!["nothing"; 2], Some(0)),
        "{rows:?}"
    );
    for (netmist, words) in [(&by_six, "-y 4 -D"), (&by_four, "-y 6 -D")] {
        let (rows, code) = netmist.host_rows(words);
        assert_eq!(states(&rows), ["failed"; 2], "{words}: {rows:?}");
        assert_eq!(code, Some(1));
        assert!(!detail(&rows[0]).is_empty());
    }
    // A run, too: the agents' link is the SSH session.
    let short = "-y 6 -d 1 -O 20 -N --exact-time -t 1 -w 0 -o FILE_SIZE=8k -o DIR_COUNT=2 -o FILES_PER_DIR=3 -o STALL_PCNT_MAX=100";
    let done = by_six.run(short);
    let rows = String::from_utf8_lossy(&done.stderr);
    assert!(
        by_six.dir.path().join("result/netmist.run.jsonl").exists(),
        "{rows}"
    );
    let host = format!("Host: {}", six[1]);
    assert!(rows.contains(&host), "{rows}");
    hosts.wait_clean(SOON).expect("no session is left");
}

/// The files in the directories of the runs on a host.
fn left(hosts: &Hosts, host: &str) -> usize {
    let script = format!("find {} -mindepth 1 | wc -l", Hosts::OWN);
    output_text(hosts, host, &script).parse().expect("a number")
}

#[test]
fn k_ends_what_is_left_on_the_clients_and_with_force_what_was_kept() {
    let _turn = beside_others();
    let Some(hosts) = hosts(2) else { return };
    let netmist = Netmist::new(&hosts, &HOSTS);
    assert_eq!(netmist.host_rows("-D").1, Some(0));
    let mut mine = Agent::on(&hosts, "h2", "netmist");
    let mut other = Agent::on(&hosts, "h2", "other");
    let (rows, code) = netmist.host_rows("-k");
    assert_eq!(
        (states(&rows), code),
        (vec!["nothing", "done"], Some(0)),
        "{rows:?}"
    );
    assert!(detail(&rows[1]).starts_with("ended process "), "{rows:?}");
    assert!(mine.wait().success());
    let alive = agents(&hosts, "h2");
    assert!(
        alive.len() == 1 && alive[0].ends_with("--run other"),
        "{alive:?}"
    );

    // -K keeps the files, on each host's own disk.
    let before = HOSTS.map(|host| left(&hosts, host));
    let keep = "-K -d 1 -O 20 -N --exact-time -t 1 -w 0 -o FILE_SIZE=8k -o DIR_COUNT=2 -o FILES_PER_DIR=3 -o STALL_PCNT_MAX=100";
    let done = netmist.run(keep);
    for (host, before) in HOSTS.iter().zip(before) {
        assert!(left(&hosts, host) > before, "{host}: {done:?}");
    }
    let plain = netmist.run(&format!("{keep} -k"));
    assert_eq!(plain.status.code(), Some(1), "{plain:?}");
    let words = [&plain.stdout[..], &plain.stderr[..]].concat();
    let words = String::from_utf8_lossy(&words);
    assert!(words.contains("--force"), "{words}");
    let forced = netmist.run(&format!("{keep} -k --force"));
    assert_eq!(forced.status.code(), Some(0), "{forced:?}");
    for (host, before) in HOSTS.iter().zip(before) {
        assert_eq!(left(&hosts, host), before, "{host}: {forced:?}");
    }
    hosts_end(&mut other, &netmist);
    hosts.wait_clean(SOON).expect("nothing is left");
}

/// The agent of the other run is ended like by its own run.
fn hosts_end(other: &mut Agent, netmist: &Netmist<'_>) {
    let (rows, _) = netmist.host_rows("-k --suffix other");
    assert_eq!(states(&rows), ["nothing", "done"], "{rows:?}");
    other.wait();
}
