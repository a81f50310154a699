//! Mistakes of users: each has one plain message with its place and what to try, before any file
//! is made.

use crate::load_guard::beside_others;
use crate::second_client::{assert_empty, serve};
use crate::sweep::Sweep;
use filermark_server::{ServerOptions, ServerStats};
use std::net::TcpListener;
use std::time::Duration;

/// A valid rc file, to which a test adds a mistake.
fn rc(more: &str) -> String {
    format!("LOAD=100\nPROCS=4\nMNT_POINTS=127.0.0.1:/export\n{more}")
}

#[test]
fn mistakes_in_an_rc_file_are_reported_with_their_line() {
    let _turn = beside_others();
    // The text of line 4, and what the message must contain.
    let cases: [(&str, &[&str]); 9] = [
        ("RUNTIEM=60\n", &["sfs_rc:4:", "RUNTIEM", "RUNTIME"]),
        ("RUNTIME=soon\n", &["sfs_rc:4:", "RUNTIME", "soon"]),
        ("RUNTIME=-5\n", &["sfs_rc:4:", "RUNTIME", "-5"]),
        (
            "BLOCK_SIZE=99999999999999999999\n",
            &["sfs_rc:4:", "BLOCK_SIZE"],
        ),
        ("CLIENTS=\"localhost\n", &["sfs_rc:4:", "quote"]),
        (
            "FS_PROTOCOL=webdav\n",
            &["sfs_rc:4:", "FS_PROTOCOL=webdav", "nfs, cifs, smb"],
        ),
        ("MIXFILE=nowhere.mix\n", &["sfs_rc:4:", "nowhere.mix"]),
        (
            "PACING=ajar\n",
            &["sfs_rc:4:", "PACING", "ajar", "closed", "open"],
        ),
        ("PRIME_MON_SCRIPT=./gone.sh\n", &["sfs_rc:4:", "gone.sh"]),
    ];
    for (more, parts) in cases {
        let sweep = Sweep::bare().rc(&rc(more));
        let ended = sweep.fail(2);
        ended.assert_sentence(parts);
        assert!(!sweep.result("").exists(), "{more}: a directory was made");
        let plan = sweep.clone().command("plan").fail(2);
        assert_eq!(
            plan.sentences(),
            ended.sentences(),
            "plan and run say the same"
        );
    }
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let _turn = beside_others();
    let ended = Sweep::bare()
        .rc("LOAD=0\nPROCS=many\nMNT_POINTS=\"[::1:/x\"\n")
        .fail(2);
    let places: Vec<bool> = [1, 2, 3]
        .map(|n| ended.stderr.contains(&format!("sfs_rc:{n}:")))
        .into();
    assert_eq!(places, [true; 3], "{}", ended.stderr);
}

#[test]
fn mistakes_on_the_command_line_are_reported_with_the_option() {
    let _turn = beside_others();
    let sweep = Sweep::short().set("MNT_POINTS", "127.0.0.1:/export");
    sweep
        .clone()
        .set("PROCZ", 4)
        .fail(2)
        .assert_sentence(&["-o", "PROCZ", "PROCS"]);
    sweep
        .clone()
        .set("LOAD", 2)
        .set("PROCS", 4)
        .fail(2)
        .assert_sentence(&["-o LOAD", "LOAD", "2"]);
    sweep
        .clone()
        .set("LOAD", "1e99")
        .fail(2)
        .assert_sentence(&["-o LOAD", "1e99"]);
    sweep
        .clone()
        .arg("-o")
        .arg("RUNTIME")
        .fail(2)
        .assert_sentence(&["RUNTIME", "NAME=VALUE"]);
    sweep
        .clone()
        .arg("-s")
        .arg("../etc/x")
        .run()
        .assert_sanitized();
    sweep
        .clone()
        .suffix("../x")
        .fail(2)
        .assert_sentence(&["SUFFIX", "letters"]);
    Sweep::bare()
        .arg("-r")
        .arg("no_such_rc")
        .fail(2)
        .assert_sentence(&["no_such_rc"]);
    // The message comes from clap: the exit code is also 2.
    assert_eq!(Sweep::bare().arg("--fast").run().code, 2);
}

#[test]
fn a_closed_port_is_reported_with_its_step() {
    let _turn = beside_others();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    drop(listener);
    let port = address.port().to_string();
    let sweep = Sweep::at(address);
    sweep
        .fail(1)
        .assert_sentence(&["127.0.0.1", "mount /export", &port, "refused", "MOUNT_PORT"]);
    // No portmapper on port 111 of an unused address.
    let sweep = sweep
        .elsewhere()
        .unset("MOUNT_PORT")
        .unset("NFS_PORT")
        .set("PORTMAP_PORT", &port);
    sweep
        .fail(1)
        .assert_sentence(&["127.0.0.1", "portmapper", &port, "refused", "rpcbind"]);
}

#[test]
fn a_silent_port_is_given_up_in_time() {
    let _turn = beside_others();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let sweep = Sweep::at(address).set("CONNECT_TIMEOUT_MS", 700);
    let ended = sweep.fail(1);
    ended.assert_sentence(&[
        "127.0.0.1",
        "mount /export",
        &address.port().to_string(),
        "listens",
    ]);
    let (least, most) = (Duration::from_millis(600), Duration::from_secs(5));
    assert!(
        ended.elapsed > least && ended.elapsed < most,
        "{:?}",
        ended.elapsed
    );
}

#[test]
fn something_else_than_an_nfs_server_is_reported() {
    let _turn = beside_others();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let web = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let Ok((mut stream, _)) = listener.accept() else {
            return;
        };
        let _ = stream.read(&mut [0; 1024]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let ended = Sweep::at(address).set("CONNECT_TIMEOUT_MS", 2000).fail(1);
    web.join().expect("the web server");
    ended.assert_sentence(&[
        "127.0.0.1",
        "mount /export",
        "another program",
        "MOUNT_PORT",
    ]);
}

#[test]
fn refusals_of_the_server_are_reported() {
    let _turn = beside_others();
    let server = serve(ServerOptions {
        refuse_mount: true,
        ..ServerOptions::default()
    });
    let ended = Sweep::on(&server).fail(1);
    ended.assert_sentence(&["127.0.0.1", "mount /export", "MNT3ERR_ACCES"]);
    drop(server);
    let server = serve(ServerOptions::default());
    let wrong = Sweep::on(&server).set("MNT_POINTS", "127.0.0.1:/exprot");
    wrong
        .fail(1)
        .assert_sentence(&["127.0.0.1", "mount /exprot", "did you mean /export?"]);
    let unknown = Sweep::on(&server).set("MNT_POINTS", "no-such-host.invalid:/export");
    unknown.fail(1).assert_sentence(&["no-such-host.invalid"]);
    assert_empty(&server);
}

#[test]
fn a_bad_file_is_reported_by_its_own_line() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = Sweep::on(&server).set("MIXFILE", "my.mix");
    std::fs::create_dir_all(sweep.result("")).expect("the result directory");
    let cases: [(&str, &[&str]); 4] = [
        (
            "SFS MIXFILE VERSION 1\n",
            &["my.mix:1:", "SFS MIXFILE VERSION 2"],
        ),
        (
            "SFS MIXFILE VERSION 2\nread 50%\nroot 50%\n",
            &["my.mix:3:", "root", "NFS version 2"],
        ),
        (
            "SFS MIXFILE VERSION 2\nread 50%\nrite 50%\n",
            &["my.mix:3:", "rite", "write"],
        ),
        (
            "SFS MIXFILE VERSION 2\nread 50%\nwrite 49%\n",
            &["my.mix", "99", "100"],
        ),
    ];
    for (text, parts) in cases {
        std::fs::write(sweep.result("my.mix"), text).expect("the mix file");
        sweep.fail(2).assert_sentence(parts);
    }
    assert_eq!(server.stats(), ServerStats::default());
}
