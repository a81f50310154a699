//! The arguments of ssh, and launches through an ssh that is a script.
#![cfg(unix)] // The hosts are shell scripts.

use super::*;
use crate::admin::fake::FakeHosts;
use filermark_model::launch::LauncherKind;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

fn arguments(command: &Command) -> Vec<String> {
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
fn options_of_the_user_come_first_and_the_host_is_not_an_option() {
    let mut plan = LaunchPlan::local([]);
    plan.ssh_command = ["/opt/ssh", "-F", "my config", "-p", "2222"]
        .map(String::from)
        .to_vec();
    plan.ip = IpChoice::V6;
    let to = HostPlan {
        user: Some("me".into()),
        ..host("-oProxyCommand=x")
    };
    let arguments = arguments(&SshClient::of(&plan).command(&to, "exec 'a b'"));
    assert_eq!(
        arguments[..6],
        ["/opt/ssh", "-F", "my config", "-p", "2222", "-T"]
    );
    assert_eq!(
        arguments[arguments.len() - 6..],
        ["-6", "-l", "me", "--", "-oProxyCommand=x", "exec 'a b'"]
    );
    for option in [
        "BatchMode=yes",
        "ConnectTimeout=10",
        "ServerAliveInterval=5",
        "ServerAliveCountMax=3",
        "ClearAllForwardings=yes",
    ] {
        let at = arguments.iter().position(|w| w == option).unwrap();
        assert_eq!(arguments[at - 1], "-o");
    }
}

#[test]
fn ssh_gets_addresses_without_brackets() {
    for (given, argument) in [
        ("[::1]", "::1"),
        ("fe80::1%eth0", "fe80::1%eth0"),
        ("[x]", "[x]"),
    ] {
        let arguments =
            arguments(&SshClient::of(&LaunchPlan::local([])).command(&host(given), "true"));
        assert_eq!(arguments[arguments.len() - 2], argument);
    }
}

#[test]
fn a_quoted_word_is_one_word_for_a_shell() {
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
fn programs_are_in_the_cache_or_at_exec_path() {
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
fn an_agent_uses_the_connection_and_other_output_does_not_matter() {
    let hosts = FakeHosts::new(&["one"]);
    hosts.rc("one", "echo 'Welcome to one'; echo watched >&2");
    let mut agent = launch(&hosts, &with_program(&hosts, "one"));
    agent.to_agent.write_all(b"ping\n").unwrap();
    drop(agent.to_agent);
    let mut output = String::new();
    agent.from_agent.read_to_string(&mut output).unwrap();
    assert_eq!(output, "Welcome to one\nagent --stdio --run mine\nping\n");
    agent.handle.release(Duration::from_secs(10));
    assert_eq!(agent.handle.final_output(), None);
    assert!(hosts.calls()[0].ends_with("/filermark agent --stdio --run mine"));
}

#[test]
fn a_program_that_is_not_filermark_is_not_started() {
    let hosts = FakeHosts::new(&["one"]);
    let ran = hosts.path("ran");
    let netmist = hosts.script("netmist", &format!("#!/bin/sh\ntouch {}\n", ran.display()));
    let host = HostPlan {
        program: Some(netmist.display().to_string()),
        ..hosts.host("one")
    };
    let arguments = launch(&hosts, &host).handle.final_output().unwrap();
    assert!(arguments.contains("is not Filermark"), "{arguments}");
    assert!(
        arguments.contains("EXEC_PATH") && !ran.exists(),
        "{arguments}"
    );
    let missing = HostPlan {
        program: Some("/none/filermark".into()),
        ..host
    };
    let arguments = launch(&hosts, &missing).handle.final_output().unwrap();
    assert!(
        arguments.contains("/none/filermark is missing there"),
        "{arguments}"
    );
}

#[test]
fn a_missing_program_and_a_refused_login_are_explained() {
    let hosts = FakeHosts::new(&["one", "two"]);
    let mut agent = launch(&hosts, &hosts.host("one"));
    let arguments = agent.handle.final_output().unwrap();
    assert!(arguments.contains(&format!(
        "~/.cache/filermark/{}/filermark is missing",
        build_dir(own_build(), &filermark_system::platform())
    )));
    assert!(
        arguments.contains("`filermark install -r RC`"),
        "{arguments}"
    );
    hosts.rc(
        "two",
        "echo 'two: Permission denied (publickey).' >&2; exit 255",
    );
    let mut agent = launch(&hosts, &hosts.host("two"));
    let arguments = agent.handle.final_output().unwrap();
    assert!(arguments.contains("`filermark keys -r RC`"), "{arguments}");
}

#[test]
fn an_agent_on_windows_is_started_by_a_command_line_of_cmd() {
    let hosts = FakeHosts::new(&["win"]);
    hosts.set_windows("win");
    let mut plan = hosts.plan(&["win"]);
    plan.agents_dir = Some(hosts.path("agents"));
    let launcher = SshLauncher::new(&plan, RunTag::new("mine").unwrap());
    // It is asked for its system first.
    let mut missing = launcher.launch(0, &plan.hosts[0]).unwrap();
    let why = missing.handle.final_output().unwrap();
    assert!(why.contains("filermark.exe is missing there"), "{why}");
    let dir = format!("win/.cache/filermark/{}-windows-x86_64", own_build());
    std::fs::create_dir_all(hosts.path(&dir)).unwrap();
    std::fs::copy(
        hosts.path("filermark"),
        hosts.path(&dir).join("filermark.exe"),
    )
    .unwrap();
    let mut agent = launcher.launch(0, &plan.hosts[0]).unwrap();
    agent.to_agent.write_all(b"ping\n").unwrap();
    drop(agent.to_agent);
    let mut output = String::new();
    agent.from_agent.read_to_string(&mut output).unwrap();
    assert_eq!(output, "agent --stdio --run mine\nping\n");
    agent.handle.release(Duration::from_secs(10));
}

/// With INSTALL=off nothing but the start looks at EXEC_PATH.
#[test]
fn a_path_of_windows_is_checked_at_the_start() {
    let hosts = FakeHosts::new(&["win", "unix"]);
    hosts.set_windows("win");
    let plan = hosts.plan(&["win", "unix"]);
    let launcher = SshLauncher::new(&plan, RunTag::new("mine").unwrap());
    let at = |client: &str, path: &str| HostPlan {
        program: Some(path.into()),
        ..hosts.host(client)
    };
    let dir = hosts.path("win/C:/My Tools (x86)");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::copy(hosts.path("filermark"), dir.join("filermark.exe")).unwrap();
    std::fs::write(dir.join("netmist.exe"), "another program").unwrap();

    let own = at("win", r"C:\My Tools (x86)\filermark.exe");
    let mut agent = launcher.launch(0, &own).unwrap();
    agent.to_agent.write_all(b"ping\n").unwrap();
    drop(agent.to_agent);
    let mut output = String::new();
    agent.from_agent.read_to_string(&mut output).unwrap();
    assert_eq!(output, "agent --stdio --run mine\nping\n");
    agent.handle.release(Duration::from_secs(10));

    for (path, expected) in [
        (
            r"C:\My Tools (x86)\netmist.exe",
            "netmist.exe is not Filermark",
        ),
        (r"C:\none\filermark.exe", "filermark.exe is missing there"),
    ] {
        let mut agent = launcher.launch(0, &at("win", path)).unwrap();
        let why = agent.handle.final_output().unwrap();
        assert!(why.contains(expected), "{why}");
    }
    let refused = launcher.launch(0, &at("win", "/opt/filermark.exe")).err();
    assert!(refused.unwrap().contains("no absolute path of Windows"));
    let refused = launcher.launch(1, &at("unix", r"C:\filermark.exe")).err();
    let refused = refused.unwrap();
    assert!(
        refused.contains("is a path of Windows, and the host is "),
        "{refused}"
    );
}

#[test]
fn a_client_with_windows_that_was_not_expected_is_named() {
    let hosts = FakeHosts::new(&["win"]);
    hosts.set_windows("win");
    for host in [hosts.host("win"), with_program(&hosts, "win")] {
        let why = launch(&hosts, &host).handle.final_output().unwrap();
        assert!(why.contains("win has Windows: set AGENTS_DIR"), "{why}");
    }
}

#[test]
fn a_hanging_ssh_is_killed() {
    let hosts = FakeHosts::new(&["one"]);
    hosts.rc("one", "trap '' TERM HUP; sleep 600; sleep 600");
    let mut agent = launch(&hosts, &hosts.host("one"));
    let began = Instant::now();
    assert_eq!(agent.handle.final_output(), None);
    agent.handle.release(Duration::from_millis(100));
    assert!(began.elapsed() < Duration::from_secs(15));
    let arguments = agent.handle.final_output().unwrap();
    assert!(arguments.contains("ended by signal 9"), "{arguments}");
}

#[test]
fn a_missing_ssh_client_is_named() {
    let mut plan = LaunchPlan::local([]);
    plan.ssh_command = vec!["/nonexistent/ssh".into()];
    let launcher = SshLauncher::new(&plan, RunTag::new("").unwrap());
    let error = launcher.launch(0, &host("h")).err().unwrap();
    assert!(error.contains("no program '/nonexistent/ssh'"), "{error}");
}
