//! Every message on files and directories against smbd: what is answered means what it
//! should, good and bad.

use crate::samba::{create, only, open, write};
use crate::wire::Client;
use filermark_model::smb::Dialect;
use filermark_smbwire::bytes::text_of_utf16;
use filermark_smbwire::smb2::file::{attributes, disposition, options};
use filermark_smbwire::smb2::query::{
    AllInfo, AttributeInfo, BasicInfo, FsSizeInfo, StandardInfo, VolumeInfo, internal, network_open,
};
use filermark_smbwire::smb2::security::{Descriptor, part};
use filermark_smbwire::smb2::set::Change;
use filermark_smbwire::smb2::*;
use filermark_testbed::{Capture, Samba, SambaOptions, available};
use std::ops::Deref;

/// A server, and tshark listening.
pub struct Bed {
    samba: Samba,
    capture: Capture,
}

impl Deref for Bed {
    type Target = Samba;
    fn deref(&self) -> &Samba {
        &self.samba
    }
}

pub fn samba() -> Option<Bed> {
    let samba = available(Samba::start(SambaOptions::default()))?;
    let ports = [samba.port()];
    let capture = Capture::start_smb(samba.sandbox(), samba.interface(), &ports);
    let capture = capture.expect("a capture");
    Some(Bed { samba, capture })
}

impl Bed {
    /// Every message was one to tshark as well, and it counted these of the command.
    #[track_caller]
    pub fn judge(self, command: &str, count: u64) {
        let pcap = self.capture.stop().expect("stop");
        assert_eq!((pcap.malformed().expect("tshark"), pcap.dropped()), (0, 0));
        let calls = pcap.smb_calls().expect("tshark");
        assert_eq!(calls.get(command), Some(&count), "{calls:?}");
    }
}

pub fn made(client: &mut Client, request: &CreateRequest<'_>) -> FileId {
    let message = client.must(request);
    CreateResponse::decode(&message).expect("an open").file
}

fn close(client: &mut Client, file: FileId) {
    client.must(&CloseRequest { file, facts: false });
}

pub fn output(message: &[u8]) -> &[u8] {
    OutputResponse::decode(message).expect("an output").output
}

pub fn directory(path: &str) -> CreateRequest<'_> {
    CreateRequest {
        disposition: disposition::OPEN_IF,
        options: options::DIRECTORY_FILE,
        ..create(path)
    }
}

#[test]
fn facts_about_files_and_file_systems() {
    let Some(samba) = samba() else { return };
    let mut client = open(&samba, only(Dialect::V311)).expect("a session");
    let file = made(&mut client, &create("Äpfel und Birnen.txt"));
    assert_eq!(write(&mut client, file, 100, b"pears"), 5);
    let mut ask = |query: Query| {
        let max_output = 4096;
        client.must(&QueryInfoRequest {
            file,
            query,
            max_output,
        })
    };
    let message = ask(Query::File(FileClass::Standard));
    let standard = StandardInfo::decode(output(&message)).expect("standard");
    assert_eq!((standard.end_of_file, standard.links), (105, 1));
    assert!(!standard.delete_pending && !standard.directory);
    let message = ask(Query::File(FileClass::Basic));
    let basic = BasicInfo::decode(output(&message)).expect("basic");
    assert!(
        basic.last_write_time > 132_000_000_000_000_000,
        "after 2019"
    );
    let message = ask(Query::File(FileClass::Internal));
    let number = internal(output(&message)).expect("a number");
    let message = ask(Query::File(FileClass::NetworkOpen));
    let facts = network_open(output(&message)).expect("facts");
    assert_eq!((facts.end_of_file, facts.is_directory()), (105, false));
    assert_eq!(facts.last_write_time, basic.last_write_time);
    let message = ask(Query::File(FileClass::All));
    let all = AllInfo::decode(output(&message)).expect("all");
    assert_eq!(
        (all.internal, all.standard, all.basic),
        (number, standard, basic)
    );
    assert_eq!(text_of_utf16(all.name), "\\Äpfel und Birnen.txt");

    let message = ask(Query::FileSystem(FsClass::Size));
    let size = FsSizeInfo::decode(output(&message), FsClass::Size).expect("sizes");
    let message = ask(Query::FileSystem(FsClass::FullSize));
    let full = FsSizeInfo::decode(output(&message), FsClass::FullSize).expect("sizes");
    assert_eq!((size.total, size.unit), (full.total, full.unit));
    assert!(full.free >= full.available && full.unit >= 512 && full.total > 0);
    let message = ask(Query::FileSystem(FsClass::Attribute));
    let attribute = AttributeInfo::decode(output(&message)).expect("attributes");
    assert_eq!(text_of_utf16(attribute.kind), "NTFS");
    assert_eq!(attribute.name_max, 255);
    let message = ask(Query::FileSystem(FsClass::Volume));
    let volume = VolumeInfo::decode(output(&message)).expect("a volume");
    assert_eq!(text_of_utf16(volume.label), Samba::DATA);

    let message = ask(Query::Security(part::OWNER | part::GROUP | part::DACL));
    let security = Descriptor::decode(output(&message)).expect("a descriptor");
    let owner = security.owner.expect("an owner").to_string();
    assert!(owner.starts_with("S-1-"), "{owner}");
    assert!(security.group.is_some());
    let dacl = security.dacl.expect("rights");
    let aces: Result<Vec<_>, _> = dacl.entries().collect();
    let aces = aces.expect("sound entries");
    assert_eq!(aces.len(), usize::from(dacl.count));
    assert!(
        aces.iter()
            .any(|ace| ace.kind == 0 && ace.who == security.owner)
    );

    let small = QueryInfoRequest {
        file,
        query: Query::Security(part::DACL),
        max_output: 4,
    };
    let (header, message) = client.call(&small);
    assert_eq!(
        filermark_smbwire::status::text(header.status),
        "STATUS_BUFFER_TOO_SMALL"
    );
    let error = ErrorResponse::decode(&message).expect("an error");
    assert!(error.needed().expect("how much") > 20);
    samba.judge("QUERY_INFO", 11);
}

#[test]
fn what_is_set_is_there() {
    let Some(samba) = samba() else { return };
    let mut client = open(&samba, only(Dialect::V311)).expect("a session");
    let file = made(&mut client, &create("first"));
    let mut set = |change: Change<'_>| {
        let message = client.must(&SetInfoRequest { file, change });
        SetInfoResponse::decode(&message).expect("set");
        let query = Query::File(FileClass::All);
        let max_output = 4096;
        let message = client.must(&QueryInfoRequest {
            file,
            query,
            max_output,
        });
        let all = AllInfo::decode(output(&message)).expect("all");
        (all.basic, all.standard, text_of_utf16(all.name))
    };
    let five_gib = 5 << 30;
    assert_eq!(set(Change::EndOfFile(five_gib)).1.end_of_file, five_gib);
    assert_eq!(set(Change::EndOfFile(3)).1.end_of_file, 3);
    assert_eq!(set(Change::Allocation(1 << 20)).1.end_of_file, 3);
    let moment = 132_537_600_000_000_000;
    let info = BasicInfo {
        last_write_time: moment,
        attributes: attributes::ARCHIVE,
        ..BasicInfo::default()
    };
    let basic = set(Change::Basic(info)).0;
    assert_eq!(
        (basic.last_write_time, basic.attributes),
        (moment, attributes::ARCHIVE)
    );
    let path = "ein viel längerer Name als vorher";
    let renamed = set(Change::Rename {
        path,
        replace: false,
    });
    assert_eq!(renamed.2, format!("\\{path}"));
    let short = set(Change::Rename {
        path: "x",
        replace: true,
    });
    assert_eq!(short.2, "\\x");
    assert!(!set(Change::Disposition { delete: false }).1.delete_pending);
    assert!(set(Change::Disposition { delete: true }).1.delete_pending);
    samba.judge("SET_INFO", 8);
}

#[test]
fn directories_are_listed_and_resumed() {
    let Some(samba) = samba() else { return };
    for dialect in [Dialect::V202, Dialect::V311] {
        let mut client = open(&samba, only(dialect)).expect("a session");
        let dir = made(&mut client, &directory("listed"));
        let names: Vec<String> = (0..300).map(|n| format!("file {n:03} größer")).collect();
        for name in &names {
            let path = format!("listed\\{name}");
            let request = CreateRequest {
                options: options::NON_DIRECTORY_FILE,
                ..create(&path)
            };
            let file = made(&mut client, &request);
            close(&mut client, file);
        }
        for class in DirectoryClass::ALL {
            let (mut found, mut answers) = (Vec::new(), 0);
            let mut scan = Scan::Restart;
            loop {
                let request = QueryDirectoryRequest {
                    file: dir,
                    class,
                    scan,
                    single: false,
                    pattern: "*",
                    max_output: 8192,
                };
                let (header, message) = client.call(&request);
                if header.status == filermark_smbwire::status::NO_MORE_FILES {
                    break;
                }
                assert_eq!(header.status, 0);
                (scan, answers) = (Scan::Resume, answers + 1);
                for entry in Entries::new(output(&message), class) {
                    let entry = entry.expect("a sound entry");
                    assert_eq!(entry.is_dot(), entry.facts.is_directory());
                    let has_id = matches!(class, DirectoryClass::IdBoth | DirectoryClass::IdFull);
                    assert_eq!(entry.file_id != 0, has_id);
                    if !entry.is_dot() {
                        found.push(text_of_utf16(entry.name));
                    }
                }
            }
            found.sort();
            assert_eq!(found, names, "{class:?}");
            assert!(answers > 3, "in pieces");
        }
        let mut list = |pattern, single| {
            let request = QueryDirectoryRequest {
                file: dir,
                class: DirectoryClass::Full,
                scan: Scan::Reopen,
                single,
                pattern,
                max_output: 65_536,
            };
            let (header, message) = client.call(&request);
            (header.status == 0)
                .then(|| Entries::new(output(&message), DirectoryClass::Full).count())
        };
        assert_eq!(list("file 01?*", false), Some(10));
        assert_eq!(list("file*", true), Some(1));
        assert_eq!(list("no such*", false), None);
    }
    samba.judge("QUERY_DIRECTORY", 54);
}

#[test]
fn bad_calls_have_different_errors() {
    let Some(samba) = samba() else { return };
    let mut client = open(&samba, only(Dialect::V302)).expect("a session");
    let missing = CreateRequest {
        disposition: disposition::OPEN,
        ..create("missing")
    };
    assert_eq!(client.status(&missing), "STATUS_OBJECT_NAME_NOT_FOUND");
    let below = CreateRequest {
        path: "missing\\file",
        ..missing
    };
    assert_eq!(client.status(&below), "STATUS_OBJECT_PATH_NOT_FOUND");
    let root = CreateRequest {
        path: "",
        options: options::DIRECTORY_FILE,
        ..missing
    };
    let root = made(&mut client, &root);
    let file = made(&mut client, &create("there"));
    let again = CreateRequest {
        disposition: disposition::CREATE,
        ..create("there")
    };
    assert_eq!(client.status(&again), "STATUS_OBJECT_NAME_COLLISION");
    let read = ReadRequest {
        file,
        offset: 0,
        length: 10,
        minimum: 1,
    };
    assert_eq!(client.status(&read), "STATUS_END_OF_FILE");
    let wrong = FileId {
        persistent: 99,
        volatile: 99,
    };
    assert_eq!(
        client.status(&FlushRequest { file: wrong }),
        "STATUS_FILE_CLOSED"
    );
    let read = ReadRequest { file: root, ..read };
    assert_eq!(client.status(&read), "STATUS_INVALID_DEVICE_REQUEST");
    let function = IoctlRequest {
        code: 0x0014_0FFF,
        file,
        input: b"input",
        max_output: 100,
    };
    assert_eq!(client.status(&function), "STATUS_INVALID_DEVICE_REQUEST");
    client.must(&TreeDisconnectRequest);
    assert_eq!(client.status(&missing), "STATUS_NETWORK_NAME_DELETED");
    client.must(&LogoffRequest);
    assert_eq!(client.status(&EchoRequest), "STATUS_SUCCESS");
    samba.judge("CREATE", 6);
}
