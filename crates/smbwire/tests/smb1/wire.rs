//! What Wireshark's dissectors make of a session with every request.

use crate::client::{Client, alice, settings};
use filermark_model::smb::Signing;
use filermark_smbwire::settings::Settings;
use filermark_smbwire::smb1::info::{BasicInfo, level};
use filermark_smbwire::smb1::*;
use filermark_testbed::{Capture, Samba, SambaOptions, available};

/// Every request once; what smbd makes of each is for `files`.
fn every_request(client: &mut Client) {
    let path = Path::of("traced");
    let dir = Path::of("traced dir");
    let fid = client.open(path, 2, 0).fid;
    client.write(fid, 0, &[7; 5000]);
    client.read(fid, 0, 5000);
    client.call(&Flush { fid }).ok();
    let range = [Range {
        offset: 0,
        length: 10,
    }];
    let mut lock = Locking {
        fid,
        shared: true,
        timeout_ms: 0,
        pid: client.session.head(0).pid as u16,
        unlocks: &[],
        locks: &range,
    };
    client.call(&lock).ok();
    (lock.unlocks, lock.locks) = (&range, &[]);
    client.call(&lock).ok();
    client.call(&Echo { data: b"echo" }).ok();
    let (fields, max_data) = (7, 4096);
    client
        .call(&QuerySecurity {
            fid,
            fields,
            max_data,
        })
        .ok();
    let max_data = 1024;
    client
        .call(&QueryFs {
            level: level::FS_SIZE,
            max_data,
        })
        .ok();
    client
        .call(&QueryFs {
            level: level::FS_FULL_SIZE,
            max_data,
        })
        .ok();
    for level in [level::FILE_BASIC, level::FILE_STANDARD, level::FILE_ALL] {
        client
            .call(&QueryFile {
                fid,
                level,
                max_data,
            })
            .ok();
        client
            .call(&QueryPath {
                path,
                level,
                max_data,
            })
            .ok();
    }
    for info in [
        SetInfo::Basic(BasicInfo::default()),
        SetInfo::EndOfFile(100),
        SetInfo::Rename {
            replace: true,
            name: "traced",
        },
        SetInfo::Disposition(false),
    ] {
        client.call(&SetFile { fid, info });
    }
    client.close(fid);
    client.call(&CreateDirectory { path: dir }).ok();
    let find = FindFirst {
        pattern: Path::of("*"),
        count: 1,
        flags: 4,
        max_data,
    };
    let answer = client.call(&find).ok();
    let sid = FindFirstReply::read(&answer.transaction())
        .expect("head")
        .sid;
    let name = ".";
    let next = FindNext {
        sid,
        count: 1,
        resume_key: 0,
        flags: 12,
        name,
        max_data,
    };
    client.call(&next).ok();
    client.call(&FindClose { sid }).ok();
    client.call(&DeleteDirectory { path: dir }).ok();
    let to = Path::of("traced too");
    client.call(&Rename { from: path, to }).ok();
    client.call(&Delete { path: to }).ok();
    let root = client.open(Path::of(""), 1, 1).fid;
    let watch = NotifyChange {
        fid: root,
        filter: 1,
        tree: true,
        max_parameters: 100,
    };
    let sent = client.send(&watch);
    client.send_as(sent.0, &NtCancel);
    client.receive(sent);
    client.close(root);
    client.call(&TreeDisconnect).ok();
    client.call(&Logoff).ok();
}

#[test]
fn tshark_finds_nothing_malformed_and_every_signature_right() {
    let Some(samba) = available(Samba::start(SambaOptions::default())) else {
        return;
    };
    let capture = Capture::start_smb(samba.sandbox(), samba.interface(), &[samba.port()]);
    let Some(capture) = available(capture) else {
        return;
    };
    for signing in [Signing::Off, Signing::Required] {
        let settings = Settings {
            signing,
            ..settings(Samba::DATA)
        };
        every_request(&mut Client::new(&samba, settings, alice()).expect("a session"));
    }
    let pcap = capture.stop().expect("the capture");
    let calls = pcap.smb_calls().expect("calls");
    eprintln!("{calls:#?}");
    assert_eq!(pcap.malformed().expect("tshark"), 0);
    for (name, count) in [
        ("NEGOTIATE", 2),
        ("SESSION_SETUP_ANDX", 4),
        ("TREE_CONNECT_ANDX", 2),
        ("NT_CREATE_ANDX", 4),
        ("READ_ANDX", 2),
        ("WRITE_ANDX", 2),
        ("LOCKING_ANDX", 4),
        ("ECHO", 2),
        ("FLUSH", 2),
        ("CLOSE", 4),
        ("TRANS2_QUERY_FS_INFORMATION", 4),
        ("TRANS2_QUERY_FILE_INFORMATION", 6),
        ("TRANS2_QUERY_PATH_INFORMATION", 6),
        ("TRANS2_SET_FILE_INFORMATION", 8),
        ("TRANS2_FIND_FIRST2", 2),
        ("TRANS2_FIND_NEXT2", 2),
        ("FIND_CLOSE2", 2),
        ("NT_TRANSACT_QUERY_SECURITY_DESC", 2),
        ("NT_TRANSACT_NOTIFY_CHANGE", 2),
        ("NT_CANCEL", 2),
        ("RENAME", 2),
        ("DELETE", 2),
        ("CREATE_DIRECTORY", 2),
        ("DELETE_DIRECTORY", 2),
        ("TREE_DISCONNECT", 2),
        ("LOGOFF_ANDX", 2),
    ] {
        assert_eq!(calls.get(name), Some(&count), "{name}");
    }
}
