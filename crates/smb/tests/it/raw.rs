//! Requests as they are: many under way, promises of replies, requests taken back,
//! breaks; and servers that make no sense.

use super::rig::{plan, samba};
use filermark_model::plan::{MountPoint, SmbPlan};
use filermark_model::smb::{Dialect, Encryption, Signing};
use filermark_smb::client::raw::{RawSmb1, RawSmb2};
use filermark_smb::client::{Client, Files};
use filermark_smb::login::LoginRefusals;
use filermark_smb::target::Target;
use filermark_smbwire::smb1;
use filermark_smbwire::smb2::file::{access, attributes, disposition, options, share};
use filermark_smbwire::smb2::{
    self, ChangeNotifyRequest, CreateRequest, CreateResponse, EchoRequest, OplockLevel,
    RequestedOplock,
};
use filermark_smbwire::status;
use filermark_testbed::{Samba, SambaOptions};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(10);

fn connect(plan: &SmbPlan) -> Client {
    let target = Target::of(&MountPoint {
        host: "127.0.0.1".into(),
        path: format!(r"\{}", Samba::SECOND),
    });
    let connected = Client::connect(&target.expect("a share"), plan, &LoginRefusals::default());
    connected.expect("a session").0
}

const READ_AND_WRITE: u32 = access::READ_DATA | access::WRITE_DATA | access::READ_ATTRIBUTES;

fn create(path: &str, options: u32, oplock: RequestedOplock) -> CreateRequest<'_> {
    CreateRequest {
        path,
        access: READ_AND_WRITE,
        attributes: attributes::NORMAL,
        share: share::ALL,
        disposition: disposition::OPEN_IF,
        options,
        oplock,
        maximal_access: false,
    }
}

/// Many at once, fetched in another order.
fn many_two(two: &mut RawSmb2) {
    let ids: Vec<u64> = (0..500)
        .map(|_| two.send(&EchoRequest).expect("sent"))
        .collect();
    for id in ids.into_iter().rev() {
        assert_eq!(two.wait(id).expect("answered").status(), 0);
    }
}

fn notified_two(two: &mut RawSmb2) {
    let dir = create("", options::DIRECTORY_FILE, RequestedOplock::None);
    let reply = two.call(&dir).expect("answered");
    let file = reply.decode::<CreateResponse<'_>>().expect("open").file;
    let notify = two
        .send(&ChangeNotifyRequest {
            file,
            watch_tree: false,
            filter: 0xFFF,
            max_output: 4096,
        })
        .expect("sent");
    assert!(two.wait_promise(notify).expect("received"));
    assert!(two.wait_within(notify, SHORT).expect("nothing").is_none());
    assert_eq!(two.call(&EchoRequest).expect("answered").status(), 0);
    two.cancel(notify).expect("sent");
    let cancelled = two.wait_within(notify, LONG).expect("answered");
    assert_eq!(cancelled.expect("in time").status(), status::CANCELLED);
}

#[test]
fn requests_of_smb2_as_they_are() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    for (dialect, signing, encryption) in [
        (Dialect::V202, Signing::Auto, Encryption::Auto),
        (Dialect::V210, Signing::Required, Encryption::Auto),
        (Dialect::V311, Signing::Required, Encryption::Auto),
        (Dialect::V311, Signing::Auto, Encryption::Required),
    ] {
        let plan = SmbPlan {
            signing,
            encryption,
            ..plan(&samba, dialect)
        };
        samba.sandbox().run(|| {
            let mut client = connect(&plan);
            let two = client.smb2().expect("SMB2");
            many_two(two);
            notified_two(two);
            let batch = RequestedOplock::Oplock(OplockLevel::Batch);
            let request = create("kept", options::NON_DIRECTORY_FILE, batch);
            let reply = two.call(&request).expect("answered");
            let granted = reply.decode::<CreateResponse<'_>>().expect("open");
            assert_eq!(granted.oplock, OplockLevel::Batch);
            let mut other = connect(&plan);
            let other = other.smb2().expect("SMB2");
            let second = other
                .send(&create(
                    "kept",
                    options::NON_DIRECTORY_FILE,
                    RequestedOplock::None,
                ))
                .expect("sent");
            assert!(other.wait_within(second, SHORT).expect("no").is_none());
            let broken = two.next_break(LONG).expect("received").expect("in time");
            let Ok(smb2::OplockBreak::Oplock { file, level }) = broken.decode() else {
                panic!("{broken:?}");
            };
            assert_eq!(file, granted.file);
            let acknowledged = two.call(&smb2::OplockAcknowledgment { file, level });
            assert_eq!(acknowledged.expect("answered").status(), 0);
            assert_eq!(other.wait(second).expect("answered").status(), 0);
        });
    }
}

fn notified_one(one: &mut RawSmb1) {
    let create = smb1::NtCreate {
        access: READ_AND_WRITE,
        share: share::ALL,
        disposition: disposition::OPEN,
        options: options::DIRECTORY_FILE,
        ..smb1::NtCreate::default()
    };
    let reply = one.call(&create).expect("answered");
    let created = smb1::Created::read(&reply.parts().expect("sound")).expect("open");
    let notify = one
        .send(&smb1::NotifyChange {
            fid: created.fid,
            filter: 0xFFF,
            tree: false,
            max_parameters: 1024,
        })
        .expect("sent");
    assert!(one.wait_within(notify, SHORT).expect("nothing").is_none());
    one.cancel(notify).expect("sent");
    let cancelled = one.wait_within(notify, LONG).expect("answered");
    assert_eq!(cancelled.expect("in time").status(), status::CANCELLED);
}

#[test]
fn requests_of_smb1_as_they_are() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    for signing in [Signing::Auto, Signing::Required] {
        let plan = SmbPlan {
            signing,
            ..plan(&samba, Dialect::Nt1)
        };
        samba.sandbox().run(|| {
            let mut client = connect(&plan);
            let one = client.smb1().expect("SMB1");
            let echo = smb1::Echo { data: b"again" };
            let mids: Vec<u16> = (0..300).map(|_| one.send(&echo).expect("sent")).collect();
            for mid in mids.into_iter().rev() {
                let reply = one.wait(mid).expect("answered");
                let parts = reply.parts().expect("sound");
                let echoed = smb1::Echoed::read(&parts).expect("an echo");
                assert_eq!(echoed.data, b"again");
            }
            notified_one(one);
            let names = client.files().list("").expect("still in step");
            assert!(names.iter().all(|entry| entry.name != "."));
        });
    }
}

#[test]
fn shares_may_require_encryption_and_refer_elsewhere() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    let enter = |share: &str, dialect| {
        let target = Target::of(&MountPoint {
            host: "127.0.0.1".into(),
            path: format!(r"\{share}"),
        });
        let target = target.expect("a share");
        Client::connect(&target, &plan(&samba, dialect), &LoginRefusals::default())
    };
    samba.sandbox().run(|| {
        for dialect in [Dialect::V300, Dialect::V311] {
            let (mut client, _) = enter(Samba::SEALED, dialect).expect("a session");
            let facts = client.files().server_facts();
            let cipher = facts.iter().find(|(name, _)| name == "encryption");
            assert_ne!(cipher.expect("shown").1, "none");
            client.files().make_dir("sealed").expect("made");
            client.files().remove_dir("sealed").expect("removed");
        }
        let error = enter(Samba::SEALED, Dialect::V210).expect_err("no cipher");
        assert!(!error.advice.is_empty(), "{error}");
        for dialect in [Dialect::Nt1, Dialect::V311] {
            let (mut client, _) = enter(Samba::DFS, dialect).expect("a session");
            let files: &mut dyn Files = client.files();
            let failure = files.make_dir(r"elsewhere\dir").expect_err("elsewhere");
            eprintln!("{dialect}: {failure}");
        }
    });
}

/// A server that sends these bytes on every connection, and nothing more.
fn server_that_sends(bytes: &'static [u8], port: u16) -> TcpListener {
    let listener = TcpListener::bind(("127.0.0.1", port)).expect("a port");
    let acceptor = listener.try_clone().expect("a copy");
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = acceptor.accept() {
            let mut asked = [0; 1024];
            let count = stream.read(&mut asked).unwrap_or(0);
            if asked[..count].ends_with(b"stop") {
                return;
            }
            let _ = stream.write_all(bytes);
        }
    });
    listener
}

fn stop(port: u16) {
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.write_all(b"stop").expect("shown");
}

#[test]
fn invalid_answers_are_errors_with_the_reason() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    let all: [(&'static [u8], &str); 6] = [
        (
            b"HTTP/1.1 400 Bad Request\r\n\r\n",
            "does not use SMB over direct TCP",
        ),
        (b"\x00\xff\xff\xff", "were expected"),
        (b"", "closed the connection"),
        (b"\x00\x00\x00\x00", "shorter than its lengths"),
        (b"\x00\x00\x00\x08\xfeSMB\x40\x00\x00\x00", "NEGOTIATE: the"),
        (b"\x00\x00\x10\x00\xffSMB", "did not answer"),
    ];
    samba.sandbox().run(|| {
        for (number, (bytes, reason)) in (0..).zip(all) {
            let port = 13_000 + number;
            let listener = server_that_sends(bytes, port);
            for dialect in [Dialect::Nt1, Dialect::V311] {
                let plan = SmbPlan {
                    port,
                    connect_timeout_ms: 400,
                    ..plan(&samba, dialect)
                };
                let target = Target::of(&MountPoint {
                    host: "127.0.0.1".into(),
                    path: r"\data".into(),
                });
                let target = target.expect("a share");
                let refused = Client::connect(&target, &plan, &LoginRefusals::default());
                let error = refused.expect_err("no server").to_string();
                let is_closed = error.contains("closed the connection");
                assert!(error.contains(reason) || is_closed, "{bytes:?}: {error}");
            }
            stop(port);
            drop(listener);
        }
    });
}
