//! The hot path allocates nothing: requests are put into a buffer that has its capacity,
//! answers are read where they lie, on every kind of protection.

use crate::answers;
use filermark_smbwire::crypto::{Cipher, SigningAlgorithm};
use filermark_smbwire::frame;
use filermark_smbwire::smb2::create::lease;
use filermark_smbwire::smb2::file::{access, disposition, share};
use filermark_smbwire::smb2::query::BasicInfo;
use filermark_smbwire::smb2::set::Change;
use filermark_smbwire::smb2::*;
use filermark_testbed::Counting;
use std::hint::black_box;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(work: impl FnOnce()) -> u64 {
    let before = Counting::count();
    work();
    Counting::count() - before
}

/// Every kind of protection.
fn sessions() -> Vec<Session> {
    let signed = SigningAlgorithm::ALL.map(|signing| fuzzing::session(Some(signing), None));
    let sealed = Cipher::ALL.map(|cipher| fuzzing::session(None, Some(cipher)));
    let plain = [fuzzing::session(None, None)];
    signed.into_iter().chain(sealed).chain(plain).collect()
}

const FILE: FileId = FileId {
    persistent: 1,
    volatile: 2,
};

fn create(oplock: RequestedOplock) -> CreateRequest<'static> {
    CreateRequest {
        path: "Verzeichnis\\größere Datei.txt",
        access: access::GENERIC_READ,
        attributes: 0,
        share: share::ALL,
        disposition: disposition::OPEN,
        options: 0,
        oplock,
        maximal_access: true,
    }
}

/// One of each request, as the load driver sends them: each in a frame of its own.
fn send_all(session: &mut Session, out: &mut Vec<u8>, data: &[u8]) {
    fn one<R: Request>(session: &mut Session, out: &mut Vec<u8>, request: &R) {
        let frame = session.begin(out);
        session.request(out, 7, request);
        session.protect(out, frame);
    }
    let file = FILE;
    one(session, out, &EchoRequest);
    one(
        session,
        out,
        &create(RequestedOplock::Oplock(OplockLevel::Batch)),
    );
    let lease = RequestedOplock::LeaseV2 {
        key: [1; 16],
        state: lease::READ,
        parent: None,
        epoch: 0,
    };
    one(session, out, &create(lease));
    let read = ReadRequest {
        file,
        offset: 5,
        length: 1 << 20,
        minimum: 0,
    };
    one(session, out, &read);
    one(session, out, &FlushRequest { file });
    let range = LockRange {
        offset: 0,
        length: 1,
        kind: LockKind::Exclusive,
        fail_immediately: true,
    };
    let ranges = &[range; 2];
    one(session, out, &LockRequest { file, ranges });
    let pattern = "*.txt";
    let list = QueryDirectoryRequest {
        file,
        class: DirectoryClass::IdBoth,
        scan: Scan::Restart,
        single: false,
        pattern,
        max_output: 65_536,
    };
    one(session, out, &list);
    let query = Query::File(FileClass::All);
    let max_output = 1024;
    one(
        session,
        out,
        &QueryInfoRequest {
            file,
            query,
            max_output,
        },
    );
    for change in [
        Change::Basic(BasicInfo::default()),
        Change::EndOfFile(5),
        Change::Rename {
            path: "größer",
            replace: true,
        },
    ] {
        one(session, out, &SetInfoRequest { file, change });
    }
    one(session, out, &CloseRequest { file, facts: true });
    write_and_close(session, out, data);
}

/// A compound, with data put where it goes.
fn write_and_close(session: &mut Session, out: &mut Vec<u8>, data: &[u8]) {
    let file = FILE;
    let frame = session.begin(out);
    let message = out.len();
    let charge = session.charge(data.len() as u32);
    session.header(Command::Write, 8, charge).encode(out);
    let write = WriteRequest {
        file,
        offset: 3,
        write_through: false,
    };
    let open = write.begin(out);
    out.extend_from_slice(data);
    open.finish(out);
    chain::next(out, message);
    session.related(out, 9, &CloseRequest { file, facts: false });
    session.protect(out, frame);
}

#[test]
fn requests_are_sent_without_allocation() {
    let data = vec![5; 70_001];
    let mut out = Vec::with_capacity(1 << 20);
    for mut session in sessions() {
        out.clear();
        let names = (session.signing_name(), session.cipher_name());
        let count = allocations(|| send_all(&mut session, &mut out, &data));
        assert_eq!(count, 0, "{names:?}");
        assert!(out.len() > 71_000, "something was encoded");
        // Frames one after the other, each of which its own session opens.
        let (mut rest, mut messages) = (&mut out[..], 0);
        while let Ok(frame::Front::Complete(length)) = frame::front(rest, 1 << 20) {
            let (whole, more) = rest.split_at_mut(frame::MARK + length);
            rest = more;
            let plain = session.unprotect(&mut whole[frame::MARK..]).expect("sound");
            for message in Messages::new(plain) {
                let (header, _) = message.expect("sound");
                assert_eq!(header.session_id, session.session_id);
                messages += 1;
            }
        }
        assert_eq!((rest.len(), messages), (0, 14));
    }
}

#[test]
fn answers_are_taken_without_allocation() {
    let listed = answers::answer("full");
    let read = answers::answer("read");
    let created = answers::answer("create-lease-2");
    let reported = answers::answer("all");
    for mut session in sessions() {
        let mut received = Vec::new();
        for message in [&listed, &read, &created, &reported] {
            let frame = session.begin(&mut received);
            received.extend(message);
            session.protect(&mut received, frame);
        }
        let mut entries = 0;
        let count = allocations(|| {
            let mut rest = &mut received[..];
            while let Ok(frame::Front::Complete(length)) = frame::front(rest, 1 << 20) {
                let (whole, more) = rest.split_at_mut(frame::MARK + length);
                rest = more;
                let plain = session.unprotect(&mut whole[frame::MARK..]).expect("sound");
                for message in Messages::new(plain) {
                    let (header, message) = message.expect("sound");
                    match header.command {
                        Command::QueryDirectory => {
                            let output = OutputResponse::decode(message).expect("a list").output;
                            entries += Entries::new(output, DirectoryClass::Full).count();
                        }
                        Command::Read => {
                            black_box(ReadResponse::decode(message).expect("data").data);
                        }
                        Command::Create => {
                            let created = CreateResponse::decode(message).expect("an open");
                            black_box((created.lease().expect("sound"), created.facts));
                        }
                        _ => {
                            black_box(OutputResponse::decode(message).expect("facts"));
                        }
                    }
                }
            }
        });
        assert_eq!((count, entries), (0, 10), "{}", session.cipher_name());
    }
}
