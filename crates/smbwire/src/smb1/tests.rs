//! What the codec puts is what the requests of SMB1 put that it is made of.

use super::info::{BasicInfo, level};
use super::{self as smb1, Head, Path, Session, Transaction};
use crate::codec::fuzzing::read_all;
use crate::codec::{Answer, Codec, MessageId, Reply};
use crate::request::{After, Change, FileInfo, FsInfo, Open, Request, Target};
use crate::settings::TransferLimits;
use crate::smb2::query;
use crate::smb2::{FileId, LockKind, LockRange, OplockLevel, RequestedOplock};
use proptest::prelude::*;

fn session(capabilities: u32) -> Session {
    Session {
        uid: 3,
        tid: 4,
        max_mpx: 10,
        max_buffer: 16_644,
        capabilities,
        limits: TransferLimits {
            read_max: 65_536,
            write_max: 65_536,
            transact_max: 65_536,
        },
        guest: false,
        in_dfs: false,
        signer: None,
        flags2: 0,
    }
}

fn put(session: &Session, mid: u16, request: &Request<'_>) -> Vec<u8> {
    let mut out = vec![7];
    let id = MessageId {
        id: mid.into(),
        credits: 0,
    };
    session.put(&[id], request, &mut out);
    out
}

fn plain<R: smb1::Request>(head: &Head, request: &R) -> Vec<u8> {
    let mut out = vec![7];
    head.put(&mut out, request);
    out
}

const fn open(path: &str, numbers: [u32; 5], oplock: RequestedOplock) -> Open<'_> {
    Open {
        path,
        access: numbers[0],
        attributes: numbers[1],
        share: numbers[2],
        disposition: numbers[3],
        options: numbers[4],
        oplock,
    }
}

proptest! {
    #[test]
    fn files(mid: u16, fid: u16, offset: u64, count: u32, numbers: [u32; 5], flag: bool,
        path in r"[a-zä\\]{0,20}", bytes in prop::collection::vec(any::<u8>(), 0..300),
        times: [u64; 4])
    {
        let session = session(0);
        let head = session.head(mid);
        let file = FileId { persistent: 0, volatile: fid.into() };
        let same = |request: &Request<'_>, expected: Vec<u8>| {
            prop_assert_eq!(put(&session, mid, request), expected);
            Ok(())
        };
        same(&Request::Echo, plain(&head, &smb1::Echo { data: b"filermark" }))?;
        for (oplock, flags) in [
            (RequestedOplock::None, 0),
            (RequestedOplock::Oplock(OplockLevel::Exclusive), 2),
            (RequestedOplock::Oplock(OplockLevel::Batch), 6),
        ] {
            let create = smb1::NtCreate {
                flags,
                access: numbers[0],
                attributes: numbers[1],
                allocation: 0,
                share: numbers[2],
                disposition: numbers[3],
                options: numbers[4],
                path: Path::of(&path),
            };
            same(&Request::Open(open(&path, numbers, oplock)), plain(&head, &create))?;
        }
        same(&Request::Close { file, facts: flag }, plain(&head, &smb1::Close { fid }))?;
        same(&Request::Read { file, offset, length: count },
            plain(&head, &smb1::ReadAndx { fid, offset, count }))?;
        let mut write = vec![7];
        let mark = smb1::WriteAndx { fid, offset, write_through: false }.begin(&head, &mut write);
        write.extend_from_slice(&bytes);
        mark.finish(&mut write);
        same(&Request::Write { file, offset, data: &bytes.as_slice() }, write)?;
        same(&Request::Flush { file }, plain(&head, &smb1::Flush { fid }))?;
        same(&Request::QuerySecurity { file, parts: 7, most: count },
            plain(&head, &smb1::QuerySecurity { fid, fields: 7, max_data: count }))?;
        same(&Request::Watch { dir: file, filter: numbers[0], tree: flag, most: count },
            plain(&head, &smb1::NotifyChange {
                fid, filter: numbers[0], tree: flag, max_parameters: count,
            }))?;
        for (level, number) in [(OplockLevel::None, 0), (OplockLevel::Two, 1)] {
            same(&Request::Acknowledge { file, level },
                plain(&head, &smb1::OplockAck { fid, level: number }))?;
        }
        same(&Request::TreeDisconnect, plain(&head, &smb1::TreeDisconnect))?;
        same(&Request::Logoff, plain(&head, &smb1::Logoff))?;
        let [created, accessed, written, changed] = times;
        let attributes = numbers[1];
        for (change, info) in [
            (
                Change::Basic(query::BasicInfo {
                    creation_time: created,
                    last_access_time: accessed,
                    last_write_time: written,
                    change_time: changed,
                    attributes,
                }),
                smb1::SetInfo::Basic(BasicInfo { created, accessed, written, changed, attributes }),
            ),
            (Change::EndOfFile(offset), smb1::SetInfo::EndOfFile(offset)),
            (Change::Delete(flag), smb1::SetInfo::Disposition(flag)),
            (
                Change::Rename { dir: "d", name: &path, replace: flag },
                smb1::SetInfo::Rename { replace: flag, name: &path },
            ),
        ] {
            same(&Request::Set { file, change }, plain(&head, &smb1::SetFile { fid, info }))?;
        }
    }

    #[test]
    fn locks(mid: u16, fid: u16, ranges in prop::collection::vec(any::<(u64, u64)>(), 1..4),
        is_unlock: bool, shared: bool, waits: bool)
    {
        let session = session(0);
        let head = session.head(mid);
        let kind = match (is_unlock, shared) {
            (true, _) => LockKind::Unlock,
            (false, true) => LockKind::Shared,
            (false, false) => LockKind::Exclusive,
        };
        let asked: Vec<_> = ranges.iter().map(|&(offset, length)| LockRange {
            offset, length, kind, fail_immediately: !waits,
        }).collect();
        let ranges: Vec<_> = ranges.iter()
            .map(|&(offset, length)| smb1::Range { offset, length }).collect();
        let (unlocks, locks) = match is_unlock {
            true => (&ranges[..], &[][..]),
            false => (&[][..], &ranges[..]),
        };
        let expected = plain(&head, &smb1::Locking {
            fid,
            shared: shared && !is_unlock,
            timeout_ms: if waits && !is_unlock { 30_000 } else { 0 },
            pid: head.pid as u16,
            unlocks,
            locks,
        });
        let file = FileId { persistent: 0, volatile: fid.into() };
        prop_assert_eq!(put(&session, mid, &Request::Lock { file, ranges: &asked }), expected);
    }

    #[test]
    fn paths(mid: u16, fid: u16, most in 0u32..65_536, count: u16, index: u32,
        numbers: [u32; 5], name in r"[a-zä\\]{1,20}", has_passthru: bool)
    {
        let session = session(if has_passthru { smb1::caps::PASSTHRU } else { 0 });
        let head = session.head(mid);
        let same = |request: &Request<'_>, expected: Vec<u8>| {
            prop_assert_eq!(put(&session, mid, request), expected);
            Ok(())
        };
        let at = open(&name, numbers, RequestedOplock::None);
        let path = Path::of(&name);
        let file = FileId { persistent: 0, volatile: fid.into() };
        let max_data = most as u16;
        for (info, level) in [
            (FileInfo::Basic, level::FILE_BASIC),
            (FileInfo::Standard, level::FILE_STANDARD),
            (FileInfo::All, level::FILE_ALL),
        ] {
            let ask = |target| Request::Query { target, infos: std::slice::from_ref(&info), most };
            same(&ask(Target::Path(at)),
                plain(&head, &smb1::QueryPath { path, level, max_data }))?;
            same(&ask(Target::File(file)),
                plain(&head, &smb1::QueryFile { fid, level, max_data }))?;
        }
        let full = if has_passthru { level::FS_FULL_SIZE } else { level::FS_SIZE };
        for (info, level) in [(FsInfo::Space, full), (FsInfo::PlainSpace, level::FS_SIZE)] {
            same(&Request::QueryFs { target: Target::Path(at), info, most },
                plain(&head, &smb1::QueryFs { level, max_data }))?;
        }
        same(&Request::MakeDir(at), plain(&head, &smb1::CreateDirectory { path }))?;
        same(&Request::RemoveDir(at), plain(&head, &smb1::DeleteDirectory { path }))?;
        same(&Request::RemoveFile(at), plain(&head, &smb1::Delete { path }))?;
        let find = |pattern, count, flags| smb1::FindFirst { pattern, count, flags, max_data };
        same(&Request::Look { open: at, most }, plain(&head, &find(path, 1, 1)))?;
        let all = Path { dir: &name, name: "*" };
        same(&Request::List { open: at, count, most }, plain(&head, &find(all, count, 1)))?;
        same(&Request::ListBegin { open: at, pattern: "*", count, most },
            plain(&head, &find(all, count, 2)))?;
        same(&Request::ListNext {
            list: file, pattern: "*", after: After { name: &name, index }, count, most,
        }, plain(&head, &smb1::FindNext {
            sid: fid, count, resume_key: index, flags: 10, name: &name, max_data,
        }))?;
        same(&Request::ListEnd { list: file }, plain(&head, &smb1::FindClose { sid: fid }))?;
        let root = Request::Look { open: open("", numbers, RequestedOplock::None), most };
        same(&root, plain(&head, &smb1::QueryPath {
            path: Path::of(""), level: level::FILE_STANDARD, max_data: 1024,
        }))?;
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
fn nothing_read_is_the_end() {
    let read = |length| Request::Read {
        file: FileId::RELATED,
        offset: 0,
        length,
    };
    // 12 words, all zeros: no data.
    let mut message = session(0).head(1);
    message.flags2 = 0;
    let mut out = plain(&message, &smb1::TreeDisconnect)[1..=32].to_vec();
    out.push(12);
    out.extend_from_slice(&[0; 26]);
    assert_eq!(Session::take(&read(5), 0x2E, 0, &out), Ok(Reply::End));
    assert_eq!(Session::take(&read(0), 0x2E, 0, &out), Ok(Reply::Data(&[])));
}
