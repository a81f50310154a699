//! Several hosts on one machine, each with an SSH server.

use crate::libnfs;
use filermark_testbed::{
    Capture, Fsal, Ganesha, Hosts, Sandbox, ServerOptions, available, write_program,
};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(10);

fn hosts(count: usize) -> Option<Hosts> {
    let sandbox = available(Sandbox::new())?;
    available(Hosts::start(&sandbox, count))
}

/// Runs a command on a host by SSH, from the prime.
fn ssh(hosts: &Hosts, host: &str, command: &str) -> Output {
    hosts
        .command("timeout")
        .args(["20", "ssh", "-o", "BatchMode=yes", "-F"])
        .arg(hosts.ssh_config())
        .args([host, command])
        .stdin(Stdio::null())
        .output()
        .expect("start ssh")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The output of a command on a host, which must succeed.
fn ssh_output(hosts: &Hosts, host: &str, command: &str) -> String {
    let done = ssh(hosts, host, command);
    assert!(done.status.success(), "{host}: {done:?}");
    text(&done.stdout)
}

#[test]
fn each_host_has_its_own_names_files_and_processes() {
    let start = Instant::now();
    let Some(hosts) = hosts(3) else { return };
    eprintln!("three hosts are up after {:.2?}", start.elapsed());
    assert_eq!(hosts.names().collect::<Vec<_>>(), ["h1", "h2", "h3"]);
    for host in ["h1", "h2", "h3"] {
        assert_eq!(ssh_output(&hosts, host, "hostname"), format!("{host}\n"));
        // Names resolve on all hosts, forward and reverse.
        let address = hosts.address(host).expect("an address").to_string();
        for from in ["h1", "h3"] {
            let line = ssh_output(&hosts, from, &format!("getent hosts {address}"));
            assert!(line.ends_with(&format!(" {host}\n")), "{line}");
        }
        let script = format!("echo {host} >/tmp/it; echo {host} >~/it; echo {host} >/mnt/own/it");
        ssh_output(&hosts, host, &script);
    }
    for host in ["h1", "h2", "h3"] {
        let read = ssh_output(&hosts, host, "cat /tmp/it ~/it /mnt/own/it | uniq");
        assert_eq!(read, format!("{host}\n"));
        let own = hosts.own_dir(host).expect("its own directory");
        let seen = std::fs::read_to_string(own.join("it")).expect("read it from outside");
        assert_eq!(seen, format!("{host}\n"));
        // Other directories, those of the machine's disk, are read-only.
        let refused = ssh(&hosts, host, "touch /usr/it /var/it");
        assert_eq!(text(&refused.stderr).matches("Read-only").count(), 2);
        // The machine's processes are not visible: process 1 is the fixture's.
        let first = ssh_output(&hosts, host, "tr '\\0' ' ' </proc/1/cmdline");
        let start = format!("host-init {host} ");
        assert!(first.contains(&start), "{first}");
        let interfaces = ssh_output(&hosts, host, "ls /sys/class/net");
        assert_eq!(interfaces, "eth0\nlo\n");
    }
    let shared = hosts.shared_dir().join("it");
    ssh_output(&hosts, "h1", "echo from h1 >/mnt/shared/it");
    assert_eq!(ssh_output(&hosts, "h3", "cat /mnt/shared/it"), "from h1\n");
    let seen = std::fs::read_to_string(shared).expect("read it from outside");
    assert_eq!(seen, "from h1\n");
    // The program under test exists there and runs.
    let own = std::env::current_exe().expect("this program");
    let listed = ssh_output(&hosts, "h2", &format!("{} --list", own.display()));
    assert!(listed.contains("each_host_has_its_own_names_files_and_processes"));
    hosts.wait_clean(SOON).expect("no session is left");
}

#[test]
fn the_prime_has_its_own_network_names_and_home() {
    let Some(hosts) = hosts(1) else { return };
    // ssh works with the default configuration.
    let done = hosts
        .command("sh")
        .args([
            "-c",
            "hostname; ls -A ~; cat /mnt/shared/it; exec ssh h1 hostname",
        ])
        .stdin(Stdio::null())
        .output();
    let done = done.expect("start a shell");
    assert_eq!(text(&done.stdout), "prime\n.ssh\nh1\n");
    // Its files and processes are the machine's; its pid is that of the child.
    let mut child = hosts
        .command("sleep")
        .arg("1000")
        .spawn()
        .expect("start sleep");
    let name = format!("/proc/{}/comm", child.id());
    let start = Instant::now();
    while std::fs::read_to_string(&name).expect("its name") != "sleep\n" {
        assert!(start.elapsed() < SOON);
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("kill it");
    child.wait().expect("wait for it");
    // Code of the test can run in its network, with addresses.
    let h1 = hosts.address("h1").expect("an address");
    hosts
        .run(|| std::net::TcpStream::connect((h1, 22)))
        .expect("connect to h1");
}

#[test]
fn hosts_reach_a_server_in_the_sandbox() {
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let options = ServerOptions::default();
    let Some(ganesha) = available(Ganesha::start_in(&sandbox, Fsal::Vfs, options)) else {
        return;
    };
    let hosts = Hosts::start(&sandbox, 2).expect("hosts");
    let export = hosts.export(ganesha.export());
    let capture = Capture::start(&sandbox, hosts.interface(), &[export.nfs_port]);
    let capture = capture.expect("capture");
    let (root, file) = (export.libnfs_url("/"), export.libnfs_url("/from-h1"));
    ssh_output(
        &hosts,
        "h1",
        &format!("timeout 20 nfs-cp /etc/hosts '{file}'"),
    );
    let listing = ssh_output(&hosts, "h2", &format!("timeout 20 nfs-ls '{root}'"));
    assert!(listing.contains("from-h1"), "{listing}");
    // In the sandbox itself the server is still reached.
    libnfs(&sandbox, "nfs-ls", &[&ganesha.export().libnfs_url("/")]);
    let pcap = capture.stop().expect("stop");
    assert_eq!(pcap.malformed().expect("tshark"), 0);
    let writers = [
        "-Y",
        "nfs.procedure_v3 == 7",
        "-T",
        "fields",
        "-e",
        "ip.src",
    ];
    let writers = pcap.tshark(&writers).expect("tshark");
    let h1 = hosts.address("h1").expect("an address").to_string();
    assert!(writers.lines().any(|line| line == h1), "{writers}");
}

#[test]
fn a_cut_link_drops_packets_until_it_is_fixed() {
    let Some(hosts) = hosts(2) else { return };
    // An open connection waits, and continues.
    let mut open = hosts
        .command("ssh")
        .arg("-F")
        .arg(hosts.ssh_config())
        .args(["h1", "echo open; sleep 2; echo after"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("start ssh");
    let start = Instant::now();
    while hosts
        .processes("h1")
        .expect("processes")
        .iter()
        .all(|process| process.name != "sleep")
    {
        assert!(start.elapsed() < SOON, "the session does not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    hosts.cut("h1").expect("cut");
    let start = Instant::now();
    let failed = hosts
        .command("ssh")
        .args(["-o", "BatchMode=yes", "-o", "ConnectTimeout=2", "-F"])
        .arg(hosts.ssh_config())
        .args(["h1", "hostname"])
        .stdin(Stdio::null())
        .output()
        .expect("start ssh");
    assert_eq!(failed.status.code(), Some(255));
    let reason = text(&failed.stderr);
    assert!(
        reason.contains("timed out") || reason.contains("No route"),
        "{reason}"
    );
    assert!(
        start.elapsed() > Duration::from_secs(1),
        "refused at once: {reason}"
    );
    assert_eq!(ssh_output(&hosts, "h2", "hostname"), "h2\n");
    assert_eq!(open.try_wait().expect("look at it"), None);

    hosts.fix("h1").expect("fix");
    assert_eq!(ssh_output(&hosts, "h1", "hostname"), "h1\n");
    let done = open.wait_with_output().expect("its end");
    assert_eq!(text(&done.stdout), "open\nafter\n");
    hosts.wait_clean(SOON).expect("no session is left");
}

#[test]
fn a_frozen_host_hangs_until_it_is_thawed() {
    let Some(hosts) = hosts(2) else { return };
    hosts.freeze("h1").expect("freeze");
    let start = Instant::now();
    let hanging = hosts
        .command("timeout")
        .args(["1", "ssh", "-o", "BatchMode=yes", "-F"])
        .arg(hosts.ssh_config())
        .args(["h1", "hostname"])
        .stdin(Stdio::null())
        .output()
        .expect("start ssh");
    assert_eq!(hanging.status.code(), Some(124), "{hanging:?}");
    assert!(start.elapsed() >= Duration::from_secs(1));
    assert_eq!(ssh_output(&hosts, "h2", "hostname"), "h2\n");
    hosts.thaw("h1").expect("thaw");
    assert_eq!(ssh_output(&hosts, "h1", "hostname"), "h1\n");
    // A frozen host ends as fast as the others.
    hosts.freeze("h2").expect("freeze");
    let start = Instant::now();
    drop(hosts);
    assert!(start.elapsed() < SOON);
}

#[test]
fn processes_are_found_and_killed_on_their_host_only() {
    let Some(hosts) = hosts(2) else { return };
    for host in ["h1", "h2"] {
        // A shell that starts a background process and exits.
        let started = ssh_output(
            &hosts,
            host,
            "sleep 1000 >/dev/null 2>&1 </dev/null & echo $!",
        );
        assert!(started.trim().parse::<u32>().is_ok(), "{started}");
    }
    let names = |host: &str| -> Vec<String> {
        let mut found = hosts.processes(host).expect("processes");
        found.retain(|process| process.name != "sshd");
        found.into_iter().map(|process| process.command).collect()
    };
    assert_eq!(names("h1"), ["sleep 1000"]);
    let error = hosts.wait_clean(Duration::from_millis(300));
    let error = error.expect_err("two sleep").to_string();
    assert!(error.contains("h1:") && error.contains("h2:") && error.contains("sleep 1000"));

    assert_eq!(hosts.stop_processes("h2", "sleep").expect("stop"), 1);
    assert_eq!(hosts.kill_processes("h1", "sleep").expect("kill"), 1);
    assert_eq!(hosts.kill_processes("h1", "no-such").expect("kill"), 0);
    let start = Instant::now();
    while !names("h1").is_empty() {
        assert!(start.elapsed() < SOON);
        std::thread::sleep(Duration::from_millis(5));
    }
    let left = hosts.processes("h2").expect("processes");
    assert!(
        left.iter()
            .any(|process| process.command == "sleep 1000" && process.state == 'T')
    );
    assert_eq!(hosts.kill_processes("h2", "sleep").expect("kill"), 1);
    hosts.wait_clean(SOON).expect("nothing is left");
}

#[test]
fn wrong_keys_and_full_disks_of_a_host_are_reported() {
    let Some(hosts) = hosts(3) else { return };
    hosts.wrong_host_key("h1").expect("another key");
    let refused = ssh(&hosts, "h1", "hostname");
    assert_eq!(refused.status.code(), Some(255));
    let reason = text(&refused.stderr);
    assert!(reason.contains("Host key verification failed"), "{reason}");

    hosts.ask_password("h2").expect("no key any more");
    let refused = ssh(&hosts, "h2", "hostname");
    assert_eq!(refused.status.code(), Some(255));
    let reason = text(&refused.stderr);
    assert!(
        reason.contains("Permission denied (publickey,password)"),
        "{reason}"
    );

    // A login with the password works and can add the key again.
    let askpass = hosts.sandbox().dir().join("askpass");
    let script = format!("#!/bin/sh\necho '{}'\n", Hosts::PASSWORD);
    write_program(&askpass, script).expect("write it");
    let copied = hosts
        .command("timeout")
        .args(["20", "ssh-copy-id", "-i"])
        .arg(hosts.sandbox().dir().join("hosts/id_ed25519.pub"))
        .arg("h2")
        .env("SSH_ASKPASS", &askpass)
        .env("SSH_ASKPASS_REQUIRE", "force")
        .stdin(Stdio::null())
        .output()
        .expect("start ssh-copy-id");
    assert!(copied.status.success(), "{copied:?}");
    assert_eq!(ssh_output(&hosts, "h2", "hostname"), "h2\n");

    hosts
        .small_tmpfs("h3", "/mnt/own/small", 64)
        .expect("a tmpfs");
    let full = ssh(
        &hosts,
        "h3",
        "head -c 100000 /dev/zero >/mnt/own/small/file",
    );
    assert!(text(&full.stderr).contains("No space left"), "{full:?}");
    assert!(hosts.small_tmpfs("h3", "/usr/small", 64).is_err());
    assert!(hosts.run_on("h4", "true").is_err());
}

#[test]
fn two_sets_of_hosts_are_isolated_from_each_other() {
    let Some(one) = hosts(1) else { return };
    let Some(other) = hosts(1) else { return };
    one.cut("h1").expect("cut");
    other.run_on("h1", "echo other >/tmp/it").expect("a file");
    assert_eq!(ssh_output(&other, "h1", "cat /tmp/it"), "other\n");
    assert_eq!(one.run_on("h1", "cat /tmp/it").expect("a script").status, 1);
    other.run_on("h1", "exec sleep 0").expect("sleep");
    let mut sleeper = other.command_on("h1", "sleep").expect("sleep");
    let mut sleeper = sleeper.arg("1000").spawn().expect("start sleep");
    let start = Instant::now();
    while other.kill_processes("h1", "sleep").expect("kill") == 0 {
        assert_eq!(one.kill_processes("h1", "sleep").expect("kill"), 0);
        assert!(start.elapsed() < SOON);
    }
    assert!(!sleeper.wait().expect("its end").success());
    drop(one);
    assert_eq!(ssh_output(&other, "h1", "hostname"), "h1\n");
    other.wait_clean(SOON).expect("nothing is left");
}
