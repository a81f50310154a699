//! What the codec puts is what the requests of SMB2 put that it is made of, alone or in a
//! compound, and what it says that they cost.

use super::file::{access, attributes, options};
use super::negotiate::capability;
use super::query::BasicInfo;
use super::session::{CREDITS_ASKED, Protection, Share};
use super::{self as smb2, *};
use crate::codec::fuzzing::read_all;
use crate::codec::{Answer, Codec, MessageId, Reply};
use crate::request::{self, After, Change, FileInfo, FsInfo, Open, Target};
use crate::settings::TransferLimits;
use crate::smb1::Transaction;
use filermark_model::smb::Dialect;
use proptest::prelude::*;

fn session(large: bool) -> Session {
    Session {
        marks: session::Marks::default(),
        dialect: Dialect::V311,
        session_id: 11,
        tree_id: 12,
        limits: TransferLimits {
            read_max: 1 << 20,
            write_max: 1 << 20,
            transact_max: 1 << 20,
        },
        credits: Credits::NEW,
        server_guid: [0; 16],
        capabilities: if large { capability::LARGE_MTU } else { 0 },
        share: Share {
            flags: 0,
            capabilities: 0,
            maximal_access: access::GENERIC_ALL,
        },
        user: User::Known,
        protection: Protection::default(),
        token: Box::default(),
    }
}

/// Puts messages one after another by hand.
struct Hand<'a> {
    session: &'a Session,
    id: u64,
    out: Vec<u8>,
    last: Option<usize>,
    charges: Vec<u16>,
}

impl<'a> Hand<'a> {
    fn new(session: &'a Session, id: u64) -> Self {
        Self {
            session,
            id,
            out: vec![7],
            last: None,
            charges: Vec::new(),
        }
    }

    fn put<R: Request>(mut self, request: &R) -> Self {
        let charge = self.session.charge(request.charged_bytes());
        self.last = Some(match self.last {
            None => self.session.request(&mut self.out, self.id, request),
            Some(last) => {
                chain::next(&mut self.out, last);
                self.session.related(&mut self.out, self.id, request)
            }
        });
        self.id += u64::from(charge);
        self.charges.push(charge);
        self
    }

    fn is(self, first: u64, request: &request::Request<'_>) -> Result<(), TestCaseError> {
        let charges = self.session.charges(request);
        prop_assert_eq!(charges.all(), &self.charges[..]);
        prop_assert_eq!(
            charges.total(),
            self.charges.iter().map(|c| u32::from(*c)).sum::<u32>()
        );
        let mut next = first;
        let ids: Vec<_> = charges
            .all()
            .iter()
            .map(|charge| {
                let id = next;
                next += u64::from(*charge);
                let credits = charge + CREDITS_ASKED;
                MessageId { id, credits }
            })
            .collect();
        let mut out = vec![7];
        self.session.put(&ids, request, &mut out);
        prop_assert_eq!(out, self.out, "{:?}", request);
        Ok(())
    }
}

fn create<'a>(open: &Open<'a>) -> CreateRequest<'a> {
    CreateRequest {
        path: open.path,
        access: open.access,
        attributes: open.attributes,
        share: open.share,
        disposition: open.disposition,
        options: open.options,
        oplock: open.oplock,
        maximal_access: false,
    }
}

const RELATED: FileId = FileId::RELATED;
const CLOSE: CloseRequest = CloseRequest {
    file: RELATED,
    facts: false,
};

const fn query(file: FileId, query: Query, max_output: u32) -> QueryInfoRequest {
    QueryInfoRequest {
        file,
        query,
        max_output,
    }
}

const fn open(path: &str, numbers: [u32; 4], options: u32) -> Open<'_> {
    Open {
        path,
        access: numbers[0],
        attributes: attributes::NORMAL,
        share: numbers[1],
        disposition: numbers[2],
        options: options | numbers[3] & 0xFF,
        oplock: RequestedOplock::None,
    }
}

proptest! {
    #[test]
    fn files(large: bool, id in 0u64..1 << 40, halves: (u64, u64), offset: u64,
        length in 0u32..2 << 20, numbers: [u32; 4], flag: bool, path in r"[a-zä\\]{0,20}",
        bytes in prop::collection::vec(any::<u8>(), 0..300))
    {
        use request::Request;
        let session = session(large);
        let file = FileId { persistent: halves.0, volatile: halves.1 };
        let hand = || Hand::new(&session, id);
        hand().put(&EchoRequest).is(id, &Request::Echo)?;
        for oplock in [
            RequestedOplock::None,
            RequestedOplock::Oplock(OplockLevel::Batch),
            RequestedOplock::Lease { key: [3; 16], state: 7 },
        ] {
            let open = Open { oplock, ..open(&path, numbers, 0) };
            hand().put(&create(&open)).is(id, &Request::Open(open))?;
        }
        hand().put(&CloseRequest { file, facts: flag })
            .is(id, &Request::Close { file, facts: flag })?;
        hand().put(&ReadRequest { file, offset, length, minimum: 0 })
            .is(id, &Request::Read { file, offset, length })?;
        hand().put(&FlushRequest { file }).is(id, &Request::Flush { file })?;
        let range = LockRange {
            offset,
            length: length.into(),
            kind: if flag { LockKind::Unlock } else { LockKind::Exclusive },
            fail_immediately: !flag,
        };
        let ranges = &[range, range];
        hand().put(&LockRequest { file, ranges }).is(id, &Request::Lock { file, ranges })?;
        hand().put(&query(file, Query::Security(7), length))
            .is(id, &Request::QuerySecurity { file, parts: 7, most: length })?;
        hand().put(&query(file, Query::File(FileClass::All), length)).is(id, &Request::Query {
            target: Target::File(file), infos: &[FileInfo::All], most: length,
        })?;
        let full_path = format!(r"d\{path}");
        let basic = BasicInfo { last_write_time: offset, ..BasicInfo::default() };
        for (change, set) in [
            (Change::Basic(basic), set::Change::Basic(basic)),
            (Change::EndOfFile(offset), set::Change::EndOfFile(offset)),
            (Change::Delete(flag), set::Change::Disposition { delete: flag }),
            (
                Change::Rename { dir: "d", name: &path, replace: flag },
                set::Change::Rename { path: &full_path, replace: flag },
            ),
        ] {
            hand().put(&SetInfoRequest { file, change: set })
                .is(id, &Request::Set { file, change })?;
        }
        hand().put(&ChangeNotifyRequest {
            file, watch_tree: flag, filter: numbers[0], max_output: length,
        }).is(id, &Request::Watch { dir: file, filter: numbers[0], tree: flag, most: length })?;
        hand().put(&OplockAcknowledgment { file, level: OplockLevel::Two })
            .is(id, &Request::Acknowledge { file, level: OplockLevel::Two })?;
        hand().put(&TreeDisconnectRequest).is(id, &Request::TreeDisconnect)?;
        hand().put(&LogoffRequest).is(id, &Request::Logoff)?;
        let mut write = hand();
        let charge = session.charge(bytes.len() as u32);
        session.header(Command::Write, id, charge).encode(&mut write.out);
        let mark = WriteRequest { file, offset, write_through: false }.begin(&mut write.out);
        write.out.extend_from_slice(&bytes);
        mark.finish(&mut write.out);
        write.charges.push(charge);
        write.is(id, &Request::Write { file, offset, data: &bytes.as_slice() })?;
    }

    #[test]
    fn paths(large: bool, id in 0u64..1 << 40, most in 0u32..200_000, numbers: [u32; 4],
        path in r"[a-zä\\]{0,20}", volatile: u64)
    {
        use request::Request;
        let session = session(large);
        let hand = || Hand::new(&session, id);
        let at = open(&path, numbers, 0);
        let target = Target::Path(at);
        let compound = || hand().put(&create(&at));
        compound().put(&CLOSE).is(id, &Request::MakeDir(at))?;
        compound().put(&CLOSE).is(id, &Request::Look { open: at, most })?;
        compound().put(&query(RELATED, Query::File(FileClass::All), most)).put(&CLOSE)
            .is(id, &Request::Query { target, infos: &[FileInfo::All], most })?;
        compound()
            .put(&query(RELATED, Query::File(FileClass::Basic), most))
            .put(&query(RELATED, Query::File(FileClass::Standard), most))
            .put(&CLOSE)
            .is(id, &Request::Query {
                target, infos: &[FileInfo::Basic, FileInfo::Standard], most,
            })?;
        for info in [FsInfo::Space, FsInfo::PlainSpace] {
            compound().put(&query(RELATED, Query::FileSystem(FsClass::FullSize), most)).put(&CLOSE)
                .is(id, &Request::QueryFs { target, info, most })?;
        }
        let list = QueryDirectoryRequest {
            file: RELATED,
            class: DirectoryClass::IdBoth,
            scan: Scan::Restart,
            single: false,
            pattern: "*",
            max_output: most,
        };
        compound().put(&list).put(&CLOSE).is(id, &Request::List { open: at, count: 9, most })?;
        compound().is(id, &Request::ListBegin { open: at, pattern: "*", count: 9, most })?;
        let file = FileId { persistent: 1, volatile };
        let next = QueryDirectoryRequest {
            file,
            class: DirectoryClass::Full,
            scan: Scan::Resume,
            ..list
        };
        hand().put(&next).is(id, &Request::ListNext {
            list: file, pattern: "*", after: After::default(), count: 9, most,
        })?;
        hand().put(&CloseRequest { file, facts: false }).is(id, &Request::ListEnd { list: file })?;
        let remove = SetInfoRequest {
            file: RELATED,
            change: set::Change::Disposition { delete: true },
        };
        compound().put(&remove).put(&CLOSE).is(id, &Request::RemoveDir(at))?;
        let goes = open(&path, numbers, options::DELETE_ON_CLOSE);
        for request in [Request::RemoveFile(goes), Request::RemoveDir(goes)] {
            hand().put(&create(&goes)).put(&CLOSE).is(id, &request)?;
        }
    }

    /// Whatever comes: it is read or refused.
    #[test]
    fn any_message_is_taken_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let answer = Answer { message: &bytes, transaction: Transaction {
            parameters: &bytes, data: &bytes,
        } };
        for command in 0..256 {
            read_all::<Session>(command, &answer);
        }
    }
}

#[test]
fn a_reply_is_taken_by_its_command_and_status() {
    use request::Request;
    let at = open("p", [0; 4], 0);
    let list = Request::List {
        open: at,
        count: 1,
        most: 1,
    };
    for (command, is_answer) in [
        (Command::Create, true),
        (Command::QueryDirectory, true),
        (Command::Close, true),
        (Command::QueryInfo, false),
    ] {
        assert_eq!(Session::is_answer(&list, command as u16), is_answer);
    }
    assert_eq!(Session::step(&list), "CREATE");
    let end = crate::status::NO_MORE_FILES;
    let directory = Command::QueryDirectory as u16;
    assert!(smb2::Session::is_good(&list, directory, end));
    assert!(!Session::is_good(&list, Command::Create as u16, end));
    assert_eq!(
        Session::take(&list, directory, end, &[]),
        Ok(Reply::Done),
        "there is nothing in it"
    );
    assert!(Session::take(&list, directory, 0, &[]).is_err());
}

#[test]
fn requests_state_which_loss_of_a_channel_they_come_after() {
    let mut one = session(true);
    let header = one.header(Command::Write, 7, 1);
    assert_eq!((header.status, header.flags), (0, 0));
    one.mark(session::Marks {
        channel_sequence: 0x0102,
        is_replay: true,
    });
    let bytes = one.header(Command::Write, 7, 1).to_bytes();
    // ChannelSequence and a reserved field take the place of the status (MS-SMB2 2.2.1.2).
    assert_eq!(bytes[8..12], [2, 1, 0, 0]);
    assert_eq!(bytes[16..20], 0x2000_0000_u32.to_le_bytes());
}
