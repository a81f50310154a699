//! Captured messages of OpenSSH 9.2p1 (Debian 12) and their explanations.

use super::*;

fn explained(exit: i32, text: &str) -> String {
    let target = SshTarget {
        host: "nas7".into(),
        program: "~/.cache/filermark/ab/filermark".into(),
    };
    let output = ProcessOutput {
        lines: text.lines().map(|l| l.trim().to_owned()).collect(),
        exit: Some(ProcessExit::Code(exit)),
    };
    explain(&target, &output).unwrap_or_default()
}

#[track_caller]
fn has(sentence: &str, words: &[&str]) {
    for word in words {
        assert!(sentence.contains(word), "{word:?} is not in: {sentence}");
    }
    assert!(!sentence.contains('\n'));
}

#[test]
fn a_refused_login_is_explained_with_the_command_for_keys() {
    let denied = "Welcome, all is logged\nroot@nas7: Permission denied (publickey,password,keyboard-interactive).";
    has(
        &explained(255, denied),
        &[
            "root@nas7 does not accept this user",
            "publickey,password",
            "`filermark keys -r RC`",
        ],
    );
    let mode = "\
@         WARNING: UNPROTECTED PRIVATE KEY FILE!          @
Permissions 0644 for 'id' are too open.
It is required that your private key files are NOT accessible by others.
This private key will be ignored.
Load key \"id\": bad permissions
root@127.0.0.1: Permission denied (publickey,password,keyboard-interactive).";
    has(&explained(255, mode), &["Load key \"id\"", "chmod 600"]);
    let many = "Received disconnect from 127.0.0.1 port 2299:2: Too many authentication failures\nDisconnected from 127.0.0.1 port 2299";
    has(&explained(255, many), &["too many keys", "IdentitiesOnly"]);
}

#[test]
fn changed_host_keys_are_distinguished_from_new_ones() {
    let changed = "\
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!
Someone could be eavesdropping on you right now (man-in-the-middle attack)!
It is also possible that a host key has just been changed.
The fingerprint for the ED25519 key sent by the remote host is
SHA256:/aIW6lmEDf7wJWnHISyGGaTjDSqT//gtwiHN7A96IY8.
Please contact your system administrator.
Add correct host key in known_wrong to get rid of this message.
Offending ED25519 key in known_wrong:1
  remove with:
  ssh-keygen -f \"known_wrong\" -R \"[127.0.0.1]:2299\"
Host key for [127.0.0.1]:2299 has changed and you have requested strict checking.
Host key verification failed.";
    has(
        &explained(255, changed),
        &[
            "differs from the known one in known_wrong:1",
            "`ssh-keygen -f \"known_wrong\" -R \"[127.0.0.1]:2299\"`",
        ],
    );
    let new = [
        "Host key verification failed.",
        "No ED25519 host key is known for [127.0.0.1]:2299 and you have requested strict checking.\nHost key verification failed.",
    ];
    for new in new {
        has(
            &explained(255, new),
            &["not known here yet", "`ssh nas7` shows"],
        );
    }
}

#[test]
fn causes_of_unreachable_hosts_are_distinguished() {
    let cases = [
        (
            "ssh: Could not resolve hostname no-such-host.invalid: Name or service not known",
            &["name no-such-host.invalid cannot be resolved", "CLIENTS"][..],
        ),
        (
            "ssh: connect to host 127.0.0.2 port 2299: Connection refused",
            &["nothing listens at 127.0.0.2 port 2299", "sshd"],
        ),
        (
            "ssh: connect to host 192.0.2.1 port 22: Network is unreachable",
            &["192.0.2.1 port 22 cannot be reached: the network"],
        ),
        (
            "ssh: connect to host 192.0.2.1 port 22: No route to host",
            &["no route", "firewall"],
        ),
        (
            "ssh: connect to host 198.51.100.7 port 22: Connection timed out",
            &["198.51.100.7 port 22 cannot be reached: no answer in time"],
        ),
        (
            "Connection timed out during banner exchange\nConnection to 10.255.255.1 port 2299 timed out",
            &["10.255.255.1 port 2299 cannot be reached"],
        ),
        (
            "Timeout, server 127.0.0.1 not responding.",
            &["nas7 stopped responding"],
        ),
        (
            "Connection to 127.0.0.1 closed by remote host.",
            &["closed the connection"],
        ),
        (
            "kex_exchange_identification: Connection closed by remote host\nConnection closed by 127.0.0.1 port 2296",
            &["before sshd identified itself", "MaxStartups"],
        ),
        (
            "kex_exchange_identification: read: Connection reset by peer\nConnection reset by 127.0.0.1 port 2296",
            &["before sshd identified itself"],
        ),
        (
            // An unknown jump host.
            "ssh: Could not resolve hostname nohost.invalid: Name or service not known\nkex_exchange_identification: Connection closed by remote host\nConnection closed by UNKNOWN port 65535",
            &["nohost.invalid cannot be resolved"],
        ),
        (
            "ssh: Could not resolve hostname h1: Address family for hostname not supported",
            &[
                "h1 has no address of the requested IP version",
                "IPV6_ENABLE",
            ],
        ),
        (
            "Unable to negotiate with 127.0.0.1 port 2299: no matching key exchange method found. Their offer: sntrup761x25519-sha512",
            &["no key exchange method in common"],
        ),
    ];
    for (text, words) in cases {
        has(&explained(255, text), words);
    }
}

#[test]
fn errors_of_the_configuration_here_are_named() {
    for text in [
        "command-line: line 0: Bad configuration option: nonsense",
        "Can't open user config file /tmp/nofile: No such file or directory",
        "Bad owner or permissions on /root/.ssh/config",
    ] {
        has(&explained(255, text), &[text, "SSH_COMMAND"]);
    }
    has(
        &explained(255, "hostname contains invalid characters"),
        &["'nas7' is not a host name"],
    );
    let none = std::io::Error::from(std::io::ErrorKind::NotFound);
    has(
        &no_client("sssh", &none),
        &["no program 'sssh'", "SSH_COMMAND"],
    );
}

#[test]
fn a_missing_program_is_distinguished_from_one_that_does_not_run() {
    let cases = [
        (
            127,
            "bash: /root/.cache/none: No such file or directory",
            "is missing there; `filermark install",
        ),
        (
            127,
            "sh: 1: exec: /root/.cache/none: not found",
            "is missing there",
        ),
        (
            127,
            "bash: /tmp/x: cannot execute: required file not found",
            "older C library",
        ),
        (
            126,
            "bash: /etc/passwd: Permission denied\nbash: exec: /etc/passwd: cannot execute: Permission denied",
            "cannot be executed there",
        ),
        (
            126,
            "bash: /tmp/arm: cannot execute binary file: Exec format error\nbash: /tmp/arm: Success",
            "another processor architecture",
        ),
        (
            1,
            "/x/filermark: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.39' not found (required by /x/filermark)",
            "older C library",
        ),
    ];
    for (code, text, words) in cases {
        has(
            &explained(code, text),
            &["~/.cache/filermark/ab/filermark", words],
        );
    }
}

#[test]
fn unknown_messages_are_passed_on() {
    has(
        &explained(255, "something new"),
        &["ssh failed: something new", "`ssh nas7 exit`"],
    );
    has(&explained(255, ""), &["exit code 255"]);
    has(
        &explained(5, "oops"),
        &["the program there ended with exit code 5: oops"],
    );
    assert_eq!(explained(0, "Welcome, all is logged"), "");
    let target = SshTarget {
        host: "h".into(),
        program: "p".into(),
    };
    let mut output = ProcessOutput {
        lines: vec!["Welcome".into()],
        exit: None,
    };
    assert_eq!(
        explain(&target, &output),
        None,
        "a banner needs no explanation"
    );
    output
        .lines
        .push("thread 'shard-1' panicked at x.rs:1:1:".into());
    has(&explain(&target, &output).unwrap(), &["panicked"]);
    output.exit = Some(ProcessExit::Signal(15));
    has(
        &explain(&target, &output).unwrap(),
        &["ssh client was ended by signal 15"],
    );
}
