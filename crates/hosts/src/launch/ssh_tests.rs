//! How ssh is called, and launches through an ssh that is a script.

use super::*;
use crate::admin::fake::FakeHosts;
use filermark_model::launch::LauncherKind;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

fn words(command: &Command) -> Vec<String> {
    let program = std::iter::once(command.get_program());
    let all = program.chain(command.get_args());
    all.map(|w| w.to_string_lossy().into_owned()).collect()
}

fn host(client: &str) -> HostPlan {
    HostPlan {
        client: client.into(),
        launcher: LauncherKind::Ssh,
        user: None,
        program: None,
    }
}

#[test]
fn the_users_own_options_come_first_and_the_host_is_no_option() {
    let mut plan = LaunchPlan::local([]);
    plan.ssh_command = ["/opt/ssh", "-F", "my config", "-p", "2222"]
        .map(String::from)
        .to_vec();
    plan.ip = IpChoice::V6;
    let to = HostPlan {
        user: Some("me".into()),
        ..host("-oProxyCommand=x")
    };
    let words = words(&SshClient::of(&plan).command(&to, "exec 'a b'"));
    assert_eq!(
        words[..6],
        ["/opt/ssh", "-F", "my config", "-p", "2222", "-T"]
    );
    assert_eq!(
        words[words.len() - 6..],
        ["-6", "-l", "me", "--", "-oProxyCommand=x", "exec 'a b'"]
    );
    for option in [
        "BatchMode=yes",
        "ConnectTimeout=10",
        "ServerAliveInterval=5",
        "ServerAliveCountMax=3",
        "ClearAllForwardings=yes",
    ] {
        let at = words.iter().position(|w| w == option).unwrap();
        assert_eq!(words[at - 1], "-o");
    }
}

#[test]
fn brackets_of_an_address_are_not_for_ssh() {
    for (given, told) in [
        ("[::1]", "::1"),
        ("fe80::1%eth0", "fe80::1%eth0"),
        ("[x]", "[x]"),
    ] {
        let words = words(&SshClient::of(&LaunchPlan::local([])).command(&host(given), "true"));
        assert_eq!(words[words.len() - 2], told);
    }
}

#[test]
fn a_shell_sees_one_word() {
    for word in [
        "plain", "a b", "it's", "$(id)", "`id`", "a\"b", "\\", "", "*", "~", "-n", "a;b", "ä", "'",
        "\n",
    ] {
        let out = Command::new("/bin/sh")
            .args(["-c", &format!("printf '%s|' {}", quote(word))])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&out.stdout), format!("{word}|"));
    }
}

#[test]
fn programs_lie_in_the_cache_or_where_the_user_says() {
    let mut to = host("h");
    let place = RemoteProgram::of(&to, "0123456789abcdef");
    assert_eq!(
        place.path,
        "\"$HOME\"/.cache/filermark/0123456789abcdef/filermark"
    );
    assert_eq!(place.shown, "~/.cache/filermark/0123456789abcdef/filermark");
    assert!(place.is_default_path);
    for (given, word) in [
        ("/opt/my bin/filermark", "'/opt/my bin/filermark'"),
        ("~/bin/it's", r"'bin/it'\''s'"),
        ("$HOME/bin/f", "bin/f"),
    ] {
        to.program = Some(given.into());
        let place = RemoteProgram::of(&to, "b");
        let in_home = !given.starts_with('/');
        let expected = match in_home {
            true => format!("\"$HOME\"/{word}"),
            false => word.to_owned(),
        };
        assert_eq!((place.path, place.is_default_path), (expected, false));
    }
}

fn launch(hosts: &FakeHosts, host: &HostPlan) -> LaunchedAgent {
    let plan = hosts.plan(&[]);
    let launcher = SshLauncher::new(&plan, RunTag::new("mine").unwrap());
    launcher.launch(0, host).unwrap()
}

fn with_program(hosts: &FakeHosts, name: &str) -> HostPlan {
    HostPlan {
        program: Some(hosts.path("filermark").display().to_string()),
        ..hosts.host(name)
    }
}

#[test]
fn an_agent_speaks_over_the_connection_and_noise_does_not_hurt() {
    let hosts = FakeHosts::new(&["one"]);
    hosts.rc("one", "echo 'Welcome to one'; echo watched >&2");
    let mut agent = launch(&hosts, &with_program(&hosts, "one"));
    agent.to_agent.write_all(b"ping\n").unwrap();
    drop(agent.to_agent);
    let mut said = String::new();
    agent.from_agent.read_to_string(&mut said).unwrap();
    assert_eq!(said, "Welcome to one\nagent --stdio --run mine\nping\n");
    agent.handle.release(Duration::from_secs(10));
    assert_eq!(agent.handle.final_output(), None);
    assert!(hosts.calls()[0].ends_with("/filermark agent --stdio --run mine"));
}

#[test]
fn what_is_not_filermark_is_not_started() {
    let hosts = FakeHosts::new(&["one"]);
    let ran = hosts.path("ran");
    let netmist = hosts.script("netmist", &format!("#!/bin/sh\ntouch {}\n", ran.display()));
    let host = HostPlan {
        program: Some(netmist.display().to_string()),
        ..hosts.host("one")
    };
    let words = launch(&hosts, &host).handle.final_output().unwrap();
    assert!(
        words.contains("is something else than Filermark"),
        "{words}"
    );
    assert!(words.contains("EXEC_PATH") && !ran.exists(), "{words}");
    let missing = HostPlan {
        program: Some("/none/filermark".into()),
        ..host
    };
    let words = launch(&hosts, &missing).handle.final_output().unwrap();
    assert!(
        words.contains("/none/filermark is missing there"),
        "{words}"
    );
}

#[test]
fn a_missing_program_and_a_refusal_are_explained() {
    let hosts = FakeHosts::new(&["one", "two"]);
    let mut agent = launch(&hosts, &hosts.host("one"));
    let words = agent.handle.final_output().unwrap();
    assert!(words.contains(&format!(
        "~/.cache/filermark/{}/filermark is missing",
        own_build()
    )));
    assert!(words.contains("`filermark install -r RC`"), "{words}");
    hosts.rc(
        "two",
        "echo 'two: Permission denied (publickey).' >&2; exit 255",
    );
    let mut agent = launch(&hosts, &hosts.host("two"));
    let words = agent.handle.final_output().unwrap();
    assert!(words.contains("`filermark keys -r RC`"), "{words}");
}

#[test]
fn a_hanging_ssh_is_let_go() {
    let hosts = FakeHosts::new(&["one"]);
    hosts.rc("one", "trap '' TERM HUP; sleep 600; sleep 600");
    let mut agent = launch(&hosts, &hosts.host("one"));
    let began = Instant::now();
    assert_eq!(agent.handle.final_output(), None);
    agent.handle.release(Duration::from_millis(100));
    assert!(began.elapsed() < Duration::from_secs(15));
    let words = agent.handle.final_output().unwrap();
    assert!(words.contains("ended by signal 9"), "{words}");
}

#[test]
fn a_missing_client_is_named() {
    let mut plan = LaunchPlan::local([]);
    plan.ssh_command = vec!["/nonexistent/ssh".into()];
    let launcher = SshLauncher::new(&plan, RunTag::new("").unwrap());
    let error = launcher.launch(0, &host("h")).err().unwrap();
    assert!(error.contains("no program '/nonexistent/ssh'"), "{error}");
}
