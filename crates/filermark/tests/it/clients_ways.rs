//! How client hosts are reached: the program copied by SSH, hosts by address, IPv6, the prime
//! itself.

use crate::client_hosts::{Field, assert_adds_up};
use crate::load_guard::beside_others;
use crate::sweep::{Ended, PROGRAM};

/// Asserts that the run was complete with these clients.
#[track_caller]
fn assert_done(ended: &Ended, clients: &[&str]) {
    assert!(ended.is_complete(), "{}", ended.stderr);
    ended.assert_sanitized();
    assert_adds_up(&ended.point(1), clients);
}

#[test]
fn a_run_brings_the_program_to_hosts_that_lack_it() {
    let _turn = beside_others();
    let Some(field) = Field::with_ganesha(2) else {
        return;
    };
    let sweep = field.sweep("h1 h2").unset("EXEC_PATH").unset("INSTALL");
    let ended = sweep.run();
    assert_done(&ended, &["h1", "h2"]);
    let own = std::fs::read(PROGRAM).expect("the program");
    for host in ["h1", "h2"] {
        let copied = format!("{host}: build ");
        assert!(ended.stderr.contains(&copied), "{}", ended.stderr);
        let files = field.below(host, "/root/.cache/filermark");
        let program = files.iter().find(|f| f.ends_with("/filermark"));
        let path = format!("/root/.cache/filermark{}", program.expect("installed"));
        let there = field.hosts.outside(host, &path).expect("a host");
        assert!(std::fs::read(there).expect("the copy") == own);
        assert_eq!(files.len(), 2, "only this: {files:?}");
    }
    field.assert_clean();
    // The second time it exists.
    let again = sweep.elsewhere().run();
    assert_done(&again, &["h1", "h2"]);
    assert!(!again.stderr.contains("build "), "{}", again.stderr);
    field.assert_clean();
}

#[test]
fn one_host_may_be_two_clients_and_have_an_address_for_a_name() {
    let _turn = beside_others();
    let Some(field) = Field::with_ganesha(2) else {
        return;
    };
    // The second is the first host again, the third has no name here.
    let clients = ["h1", "10.77.0.11", "10.77.0.12"];
    let ended = field.sweep(&clients.join(" ")).run();
    assert_done(&ended, &clients);
    let hosts: Vec<String> = ended
        .record()
        .environments
        .iter()
        .map(|e| e.host.clone())
        .collect();
    assert_eq!(hosts, ["h1", "h1", "h2"]);
    field.assert_clean();
}

#[test]
fn the_prime_itself_may_be_a_client_beside_others() {
    let _turn = beside_others();
    let Some(field) = Field::with_ganesha(1) else {
        return;
    };
    let ended = field.sweep("prime h1").run();
    assert_done(&ended, &["prime", "h1"]);
    field.assert_clean();
}

#[test]
fn a_host_is_reached_over_ipv6() {
    let _turn = beside_others();
    let Some(field) = Field::with_ganesha(1) else {
        return;
    };
    // No name, brackets around it, and the key is known by another name.
    let address = field.hosts.address_of_ipv6("h1").expect("h1").to_string();
    let sweep = field.sweep(&format!("[{address}]")).set(
        "SSH_COMMAND",
        "ssh -o HostKeyAlias=h1 -o ConnectionAttempts=5",
    );
    let ended = sweep.run();
    assert_done(&ended, &[&address]);
    field.assert_clean();
}
