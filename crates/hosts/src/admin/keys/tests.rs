//! Keys with fake tools: `ssh-keygen` makes two files, `ssh-copy-id` grants access.
#![cfg(unix)] // The hosts are shell scripts.

use super::super::fake::{FakeHosts, files_below};
use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// The behaviour of an sshd towards users whose key it does not know.
const CLOSED: &str = "if ! [ -f \"$HOME/authorized\" ]; then
    echo \"me@$host: Permission denied (publickey,password).\" >&2; exit 255; fi";

fn fakes(names: &[&str]) -> (FakeHosts, KeysOptions) {
    let hosts = FakeHosts::new(names);
    for name in names {
        hosts.rc(name, CLOSED);
    }
    let dir = hosts.path("").display().to_string();
    let recorded = "printf '%s\\n' \"$(basename $0) $*\" >>DIR/tools\n".replace("DIR/", &dir);
    hosts.script(
        "ssh-keygen",
        &format!("#!/bin/sh\n{recorded}echo done; echo private >\"$4\"; echo public >\"$4.pub\"\n"),
    );
    let let_in = "for host; do :; done\ncp \"$2\" \"DIR/${host#*@}/authorized\"\n";
    let let_in = let_in.replace("DIR/", &dir);
    hosts.script("ssh-copy-id", &format!("#!/bin/sh\n{recorded}{let_in}"));
    fs::create_dir(hosts.path("home")).unwrap();
    let options = KeysOptions {
        do_it: false,
        home: hosts.path("home"),
        limits: HostLimits::default(),
    };
    (hosts, options)
}

fn tools_called(hosts: &FakeHosts) -> Vec<String> {
    let text = fs::read_to_string(hosts.path("tools")).unwrap_or_default();
    text.lines().map(String::from).collect()
}

fn states(report: &KeysReport) -> Vec<HostState> {
    report.hosts.iter().map(|h| h.state).collect()
}

#[test]
fn without_yes_nothing_is_changed_and_the_commands_are_shown() {
    let (hosts, options) = fakes(&["one", "two"]);
    hosts.rc("two", "");
    let mut plan = hosts.plan(&["one", "two", "one"]);
    plan.hosts[0].user = Some("me".into());
    plan.hosts[2].user = Some("me".into());
    let report = keys(&plan, &options, &mut |_, _| {}).unwrap();
    assert_eq!(states(&report), [HostState::Planned, HostState::Nothing]);
    assert_eq!(
        report.hosts[0].detail,
        "ssh-copy-id -i ~/.ssh/id_ed25519.pub -o ConnectTimeout=10 -- me@one"
    );
    let key = report.key.unwrap();
    assert_eq!(key.command, "ssh-keygen -t ed25519 -f ~/.ssh/id_ed25519");
    assert!(!key.made);
    assert_eq!(tools_called(&hosts), [""; 0]);
    assert_eq!(files_below(&options.home), [""; 0]);
}

#[test]
fn a_key_is_made_once_and_copied_to_each() {
    let (hosts, mut options) = fakes(&["one", "two"]);
    options.do_it = true;
    let plan = hosts.plan(&["one", "two"]);
    let mut asked = 0;
    let report = keys(&plan, &options, &mut |_, step| {
        asked += u32::from(matches!(step, HostStep::Asking(_)));
    });
    let report = report.unwrap();
    assert_eq!(states(&report), [HostState::Done; 2], "{report:?}");
    assert_eq!(asked, 2);
    let key = options.home.join(".ssh/id_ed25519");
    assert!(report.key.unwrap().made);
    let called = tools_called(&hosts);
    assert_eq!(
        called[0],
        format!("ssh-keygen -t ed25519 -f {}", key.display())
    );
    assert_eq!(called.len(), 3);
    for (host, line) in ["one", "two"].iter().zip(&called[1..]) {
        let pub_key = key.with_extension("pub");
        let expected = format!("-i {} -o ConnectTimeout=10 -- {host}", pub_key.display());
        assert_eq!(line, &format!("ssh-copy-id {expected}"));
        let copied = fs::read_to_string(hosts.path(host).join("authorized")).unwrap();
        assert_eq!(copied, "public\n", "only the public half is copied");
    }
    let mode = fs::metadata(options.home.join(".ssh"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
    // All hosts accept the user now: nothing is left to do.
    let again = keys(&plan, &options, &mut |_, _| {}).unwrap();
    assert_eq!(
        (states(&again), again.key),
        (vec![HostState::Nothing; 2], None)
    );
    assert_eq!(tools_called(&hosts).len(), 3);
}

fn with_key(options: &KeysOptions, name: &str) {
    let dir = options.home.join(".ssh");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join(name), "private").unwrap();
    fs::write(dir.join(format!("{name}.pub")), "public").unwrap();
}

fn planned(hosts: &FakeHosts, options: &KeysOptions) -> (HostState, String) {
    let report = keys(&hosts.plan(&["one"]), options, &mut |_, _| {}).unwrap();
    let host = report.hosts.into_iter().next().unwrap();
    (host.state, host.detail)
}

#[test]
fn the_key_that_ssh_would_use_is_copied() {
    let (hosts, options) = fakes(&["one"]);
    with_key(&options, "id_rsa");
    let (state, detail) = planned(&hosts, &options);
    assert_eq!(state, HostState::Planned);
    assert!(detail.contains("-i ~/.ssh/id_rsa.pub"), "{detail}");
    let configuration = "user me\nidentityfile ~/.ssh/id_rsa\nidentityfile ~/.ssh/id_ed25519\n";
    fs::write(hosts.path("configuration"), configuration).unwrap();
    with_key(&options, "id_ed25519");
    assert!(
        planned(&hosts, &options)
            .1
            .contains("-i ~/.ssh/id_ed25519.pub")
    );
    let own = hosts.path("one/key");
    fs::write(
        hosts.path("configuration"),
        format!("identityfile {}\n", own.display()),
    )
    .unwrap();
    let (state, detail) = planned(&hosts, &options);
    assert_eq!(state, HostState::ByHand);
    assert!(
        detail.contains("which is missing; `ssh-keygen -t ed25519 -f"),
        "{detail}"
    );
    fs::write(&own, "private").unwrap();
    let (state, detail) = planned(&hosts, &options);
    assert_eq!(state, HostState::ByHand);
    assert!(detail.contains("ssh-keygen -y -f"), "{detail}");
}

#[test]
fn new_and_changed_host_keys_are_distinguished() {
    let (hosts, options) = fakes(&["one", "two"]);
    hosts.rc("one", "echo 'Host key verification failed.' >&2; exit 255");
    hosts.rc(
        "two",
        "echo '@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @' >&2
         echo 'Host key verification failed.' >&2; exit 255",
    );
    let report = keys(&hosts.plan(&["one", "two"]), &options, &mut |_, _| {}).unwrap();
    assert_eq!(states(&report), [HostState::Planned, HostState::Failed]);
    assert!(
        report.hosts[0]
            .detail
            .starts_with("its host key is new: ssh will show")
    );
    assert!(report.hosts[1].detail.contains("`ssh-keygen -R two`"));
}

#[test]
fn failures_of_the_tools_are_reported() {
    let (hosts, mut options) = fakes(&["one"]);
    with_key(&options, "id_ed25519");
    options.do_it = true;
    hosts.script("ssh-copy-id", "#!/bin/sh\nexit 1\n");
    let (state, detail) = planned(&hosts, &options);
    assert_eq!(state, HostState::Failed);
    assert!(
        detail.contains("exit status: 1; try `ssh-copy-id -i ~/.ssh"),
        "{detail}"
    );
    hosts.script("ssh-copy-id", "#!/bin/sh\nexit 0\n");
    let (state, detail) = planned(&hosts, &options);
    assert_eq!(state, HostState::Failed);
    assert!(detail.contains("`ssh-add ~/.ssh/id_ed25519`"), "{detail}");
    hosts.script("ssh-copy-id", "#!/bin/sh\nexec sleep 600\n");
    options.limits.total = Duration::from_millis(300);
    let (_, detail) = planned(&hosts, &options);
    assert!(detail.contains("took longer than 0.3 s"), "{detail}");
    fs::remove_dir_all(options.home.join(".ssh")).unwrap();
    hosts.script("ssh-keygen", "#!/bin/sh\nexit 1\n");
    let error = keys(&hosts.plan(&["one"]), &options, &mut |_, _| {}).unwrap_err();
    assert!(
        error.contains("ssh-keygen ended with exit status: 1"),
        "{error}"
    );
}
