//! The blocking client: every method on every dialect, protected or not, and what a
//! server that refuses us is reported to be.

use super::rig::{plan, samba};
use filermark_engine::driver::DriverError;
use filermark_model::Secret;
use filermark_model::plan::{MountPoint, SmbPlan};
use filermark_model::smb::{Auth, Dialect, Encryption, Signing};
use filermark_smb::client::{Client, Files, OpenFor, dialects_offered};
use filermark_smb::login::LoginRefusals;
use filermark_smb::target::Target;
use filermark_smbwire::status;
use filermark_testbed::{Samba, SambaOptions, SmbEncryption, SmbGuests, SmbSigning};

fn target(share: &str) -> Target {
    Target::of(&MountPoint {
        host: "127.0.0.1".into(),
        path: format!(r"\{share}"),
    })
    .expect("a share")
}

fn connect(plan: &SmbPlan, share: &str) -> Result<Client, DriverError> {
    Client::connect(&target(share), plan, &LoginRefusals::default()).map(|(client, _)| client)
}

/// Why not.
fn refusal(plan: &SmbPlan, share: &str) -> String {
    match connect(plan, share) {
        Ok(_) => panic!("{share} lets us in"),
        Err(error) => error.to_string(),
    }
}

fn fact(files: &dyn Files, name: &str) -> String {
    let facts = files.server_facts();
    let found = facts.into_iter().find(|(known, _)| known == name);
    found.expect(name).1
}

fn everything(files: &mut dyn Files) {
    files.make_dir("top").expect("made");
    let again = files.make_dir("top").unwrap_err();
    assert_eq!(again.status(), Some(status::OBJECT_NAME_COLLISION));
    let file = files.create_new(r"top\größe.txt").expect("a file");
    let bytes: Vec<u8> = (0..300_000u32).map(|n| (n * 7) as u8).collect();
    files.write(file, 5, &bytes).expect("written");
    files.flush(file).expect("flushed");
    assert_eq!(files.read(file, 5, 300_000).expect("read"), bytes);
    assert_eq!(files.read(file, 300_000, 4096).expect("read").len(), 5);
    assert!(files.read(file, 400_000, 10).expect("read").is_empty());
    files.set_end_of_file(file, 100).expect("cut");
    files.close(file).expect("closed");
    assert!(files.close(file).is_err(), "closed is closed");
    let again = files.create_new(r"top\größe.txt").unwrap_err();
    assert_eq!(again.status(), Some(status::OBJECT_NAME_COLLISION));
    let file = files.open(r"top\größe.txt", OpenFor::Read).expect("opened");
    assert!(files.write(file, 0, b"x").is_err(), "opened for reading");
    files.close(file).expect("closed");
    let seen = files.look(r"top\größe.txt").expect("asked").expect("there");
    assert_eq!((seen.is_dir, seen.size), (false, 100));
    assert!(files.look("top").expect("asked").expect("there").is_dir);
    assert!(files.look("").expect("asked").expect("the root").is_dir);
    assert!(!files.exists(r"top\nothing").expect("asked"));
    assert!(!files.exists(r"nowhere\nothing").expect("asked"));
    let full = files.remove_dir("top").unwrap_err();
    assert_eq!(full.status(), Some(status::DIRECTORY_NOT_EMPTY));
    files.remove_file(r"top\größe.txt").expect("removed");
    let gone = files.remove_file(r"top\größe.txt").unwrap_err();
    assert_eq!(gone.status(), Some(status::OBJECT_NAME_NOT_FOUND));
    let space = files.space("").expect("space");
    assert!(space.free > 0 && space.free <= space.total, "{space:?}");
    listing(files);
    files.remove_dir("top").expect("removed");
    assert!(files.list("").expect("listed").is_empty());
}

/// More entries than one answer holds.
fn listing(files: &mut dyn Files) {
    let mut names: Vec<String> = (0..600)
        .map(|n| {
            format!(
                "{n:04}, a name that is long so that few of them go into one answer of the server"
            )
        })
        .collect();
    for name in &names {
        let file = files.create_new(&format!(r"top\{name}")).expect("made");
        files.close(file).expect("closed");
    }
    files.make_dir(r"top\z").expect("made");
    names.push("z".into());
    let mut found = files.list("top").expect("listed");
    found.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(found.iter().map(|e| &e.name).eq(&names));
    assert!(found.iter().all(|e| e.is_dir == (e.name == "z")));
    assert!(files.list(r"top\z").expect("listed").is_empty());
    files.remove_dir(r"top\z").expect("removed");
    names.pop();
    let mut paths: Vec<String> = names.iter().map(|name| format!(r"top\{name}")).collect();
    paths.push(r"top\nothing".into());
    let became = files
        .remove_each(filermark_smb::client::RemoveTarget::File, &paths)
        .expect("answers");
    let (last, all) = became.split_last().expect("some");
    assert_eq!(*last, status::OBJECT_NAME_NOT_FOUND);
    assert!(all.len() == 600 && all.iter().all(|status| *status == 0));
}

#[test]
fn every_method_on_every_dialect() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    for dialect in Dialect::ALL {
        let plan = plan(&samba, dialect);
        samba.sandbox().run(|| {
            let mut client = connect(&plan, Samba::SECOND).expect("a session");
            let files = client.files();
            assert_eq!(fact(files, "dialect"), dialect.name());
            assert_eq!(fact(files, "user"), "known");
            everything(files);
            files.log_off();
        });
    }
}

#[test]
fn every_method_signed_and_encrypted() {
    let options = SambaOptions {
        signing: SmbSigning::Mandatory,
        ..SambaOptions::default()
    };
    let Some(samba) = samba(options) else { return };
    for (dialect, signing) in [
        (Dialect::Nt1, "MD5"),
        (Dialect::V210, "HMAC-SHA256"),
        (Dialect::V302, "AES-128-CMAC"),
        (Dialect::V311, "AES-128-GMAC"),
    ] {
        let plan = plan(&samba, dialect);
        samba.sandbox().run(|| {
            let mut client = connect(&plan, Samba::SECOND).expect("a session");
            assert_eq!(fact(client.files(), "signing"), signing);
            everything(client.files());
        });
    }
    for (dialect, encryption, cipher) in [
        (Dialect::V300, Encryption::Required, "AES-128-CCM"),
        (Dialect::V311, Encryption::Aes256Gcm, "AES-256-GCM"),
    ] {
        let plan = SmbPlan {
            encryption,
            ..plan(&samba, dialect)
        };
        samba.sandbox().run(|| {
            let mut client = connect(&plan, Samba::SECOND).expect("a session");
            assert_eq!(fact(client.files(), "encryption"), cipher);
            everything(client.files());
        });
    }
}

#[test]
fn a_wrong_password_is_tried_once() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    for dialect in [Dialect::Nt1, Dialect::V311] {
        let before = samba.logons().len();
        let plan = SmbPlan {
            password: Secret::new("wrong"),
            ..plan(&samba, dialect)
        };
        let refusals = LoginRefusals::default();
        samba.sandbox().run(|| {
            let first = Client::connect(&target(Samba::DATA), &plan, &refusals).unwrap_err();
            assert!(
                first.to_string().contains("STATUS_LOGON_FAILURE"),
                "{first}"
            );
            assert!(first.advice.contains("PASSWORD"), "{first}");
            for share in [Samba::DATA, Samba::SECOND] {
                let again = Client::connect(&target(share), &plan, &refusals).unwrap_err();
                assert!(again.reason.contains("refused the user before"), "{again}");
            }
        });
        let tried = samba.logons().split_off(before);
        assert_eq!(tried.len(), 1, "{tried:?}");
        assert!(!tried[0].succeeded());
    }
}

#[test]
fn what_the_server_lacks_is_an_error_with_advice() {
    let options = SambaOptions {
        dialects: ("SMB2_10", "SMB3_02"),
        ..SambaOptions::default()
    };
    let Some(samba) = samba(options) else { return };
    samba.sandbox().run(|| {
        let text = refusal(&plan(&samba, Dialect::V311), Samba::DATA);
        assert!(text.contains("it offers 2.1, 3.0 and 3.0.2"), "{text}");
        assert!(text.contains("widen SMB_DIALECT"), "{text}");
        let text = refusal(&plan(&samba, Dialect::Nt1), Samba::DATA);
        assert!(text.contains("it offers 2.1, 3.0 and 3.0.2"), "{text}");
        assert!(text.contains("FS_PROTOCOL=smb"), "{text}");
        let text = refusal(&plan(&samba, Dialect::V302), "nosuch");
        assert!(text.contains("no share of this name"), "{text}");
        let text = refusal(&plan(&samba, Dialect::V302), Samba::BOB);
        assert!(text.contains("has no access to this share"), "{text}");
        let plan = plan(&samba, Dialect::V210);
        let offered = dialects_offered(samba.address(), &plan);
        assert_eq!(offered, [Dialect::V210, Dialect::V300, Dialect::V302]);
    });
    // Looking for dialects is not logging in.
    let logons = samba.logons();
    assert!(
        logons
            .iter()
            .all(|l| l.succeeded() && l.user == Samba::USER),
        "{logons:?}"
    );
}

#[test]
fn what_the_server_requires_is_an_error_with_advice() {
    let options = SambaOptions {
        encryption: SmbEncryption::Required,
        ..SambaOptions::default()
    };
    let Some(samba) = samba(options) else { return };
    samba.sandbox().run(|| {
        let mut client = connect(&plan(&samba, Dialect::V311), Samba::DATA).expect("a session");
        assert_ne!(fact(client.files(), "encryption"), "none");
        let off = SmbPlan {
            encryption: Encryption::Off,
            ..plan(&samba, Dialect::V311)
        };
        let text = refusal(&off, Samba::DATA);
        assert!(text.contains("encryption"), "{text}");
    });
    let options = SambaOptions {
        signing: SmbSigning::Mandatory,
        ..SambaOptions::default()
    };
    let Some(samba) = super::rig::samba(options) else {
        return;
    };
    samba.sandbox().run(|| {
        let off = SmbPlan {
            signing: Signing::Off,
            ..plan(&samba, Dialect::V311)
        };
        let text = refusal(&off, Samba::DATA);
        assert!(text.contains("SMB_SIGNING"), "{text}");
    });
}

#[test]
fn guests_get_in_where_they_may() {
    let options = SambaOptions {
        guests: SmbGuests::UnknownUsers,
        ..SambaOptions::default()
    };
    let Some(samba) = samba(options) else { return };
    for dialect in [Dialect::Nt1, Dialect::V311] {
        let guest = SmbPlan {
            auth: Auth::Guest,
            password: Secret::NONE,
            ..plan(&samba, dialect)
        };
        samba.sandbox().run(|| {
            let mut client = connect(&guest, Samba::GUEST).expect("a session");
            assert_eq!(fact(client.files(), "user"), "guest");
            everything(client.files());
        });
    }
}

#[test]
fn a_closed_port_is_an_error_with_advice() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    samba.sandbox().run(|| {
        let closed = SmbPlan {
            port: samba.port() + 1,
            ..plan(&samba, Dialect::V311)
        };
        let text = refusal(&closed, Samba::DATA);
        assert!(
            text.contains("connection refused; check that an SMB server runs there"),
            "{text}"
        );
        let listener = std::net::TcpListener::bind("127.0.0.1:12999").expect("a port");
        let silent = SmbPlan {
            port: 12999,
            connect_timeout_ms: 300,
            ..plan(&samba, Dialect::V311)
        };
        let text = refusal(&silent, Samba::DATA);
        assert!(text.contains("did not answer within 300 ms"), "{text}");
        drop(listener);
    });
}
