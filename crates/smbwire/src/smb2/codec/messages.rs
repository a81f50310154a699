//! The messages of a request, for code that counts, inspects or encodes them.
#![deny(clippy::wildcard_enum_match_arm)]

use super::super::Request as Message;
use super::super::close::{CloseRequest, FlushRequest};
use super::super::create::CreateRequest;
use super::super::directory::{DirectoryClass, QueryDirectoryRequest, Scan};
use super::super::file::{FileId, options};
use super::super::io::{ReadRequest, WriteRequest};
use super::super::lock::LockRequest;
use super::super::notify::ChangeNotifyRequest;
use super::super::oplock::OplockAcknowledgment;
use super::super::query::{FileClass, FsClass, Query, QueryInfoRequest};
use super::super::session::Session;
use super::super::set::{self, SetInfoRequest};
use super::super::setup::{EchoRequest, LogoffRequest, TreeDisconnectRequest};
use crate::codec::Codec as _;
use crate::request::{Change, Data, FileInfo, FsInfo, Open, Request, Target};

/// The information level of a listing in several parts.
pub(super) const CLASS: DirectoryClass = DirectoryClass::Full;
/// The class of sizes of a file system.
pub(super) const SIZES: FsClass = FsClass::FullSize;

/// Takes the messages of a request one after another.
pub(super) trait Sink {
    fn put<R: Message>(&mut self, request: &R);
    fn write(&mut self, request: &WriteRequest, data: &dyn Data);
}

const fn create<'a>(open: &Open<'a>) -> CreateRequest<'a> {
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

const fn class(info: FileInfo) -> FileClass {
    match info {
        FileInfo::Basic => FileClass::Basic,
        FileInfo::Standard => FileClass::Standard,
        FileInfo::All => FileClass::All,
    }
}

/// Opens a path, does something with it, and closes it.
#[inline]
fn open_and_close<S: Sink>(open: &Open<'_>, sink: &mut S, each: impl FnOnce(&mut S, FileId)) {
    sink.put(&create(open));
    each(sink, FileId::RELATED);
    sink.put(&CloseRequest {
        file: FileId::RELATED,
        facts: false,
    });
}

/// Calls `each` with the file of a target, which is opened and closed unless it is open already.
#[inline]
fn at<S: Sink>(target: &Target<'_>, sink: &mut S, each: impl FnOnce(&mut S, FileId)) {
    match target {
        Target::File(file) => each(sink, *file),
        Target::Path(open) => open_and_close(open, sink, each),
    }
}

fn set(file: FileId, change: set::Change<'_>, sink: &mut impl Sink) {
    sink.put(&SetInfoRequest { file, change });
}

/// Changes something; a new name is its path from the share's root.
#[inline]
fn change(file: FileId, change: &Change<'_>, sink: &mut impl Sink) {
    match *change {
        Change::Basic(basic) => set(file, set::Change::Basic(basic), sink),
        Change::EndOfFile(size) => set(file, set::Change::EndOfFile(size), sink),
        Change::Delete(delete) => set(file, set::Change::Disposition { delete }, sink),
        Change::Rename { dir, name, replace } => {
            let path = &format!(r"{dir}\{name}");
            set(file, set::Change::Rename { path, replace }, sink);
        }
    }
}

/// Removes a path, by the options of its open or by SET_INFO.
#[inline]
fn remove<S: Sink>(open: &Open<'_>, sink: &mut S) {
    open_and_close(open, sink, |sink, file| {
        if open.options & options::DELETE_ON_CLOSE == 0 {
            set(file, set::Change::Disposition { delete: true }, sink);
        }
    });
}

/// The messages of a request.
#[inline]
pub(super) fn messages<S: Sink>(request: &Request<'_>, sink: &mut S) {
    match *request {
        Request::Echo => sink.put(&EchoRequest),
        Request::Open(open) => sink.put(&create(&open)),
        Request::Close { file, facts } => sink.put(&CloseRequest { file, facts }),
        Request::Read {
            file,
            offset,
            length,
        } => sink.put(&ReadRequest {
            file,
            offset,
            length,
            minimum: 0,
        }),
        Request::Write { file, offset, data } => {
            let write = WriteRequest {
                file,
                offset,
                write_through: false,
            };
            sink.write(&write, data);
        }
        Request::Flush { file } => sink.put(&FlushRequest { file }),
        Request::Lock { file, ranges } => sink.put(&LockRequest { file, ranges }),
        Request::Query {
            target,
            infos,
            most,
        } => at(&target, sink, |sink, file| {
            for info in infos.iter().take(Session::INFOS_MAX) {
                query(file, Query::File(class(*info)), most, sink);
            }
        }),
        Request::QueryFs { target, info, most } => at(&target, sink, |sink, file| match info {
            FsInfo::Space | FsInfo::PlainSpace => query(file, Query::FileSystem(SIZES), most, sink),
        }),
        Request::QuerySecurity { file, parts, most } => {
            query(file, Query::Security(parts), most, sink);
        }
        Request::Set { file, change: what } => change(file, &what, sink),
        Request::Look { open, .. } | Request::MakeDir(open) => {
            open_and_close(&open, sink, |_, _| {})
        }
        Request::List { open, most, .. } => open_and_close(&open, sink, |sink, file| {
            sink.put(&QueryDirectoryRequest {
                file,
                class: DirectoryClass::IdBoth,
                scan: Scan::Restart,
                single: false,
                pattern: "*",
                max_output: most,
            });
        }),
        Request::ListBegin { open, .. } => sink.put(&create(&open)),
        Request::ListNext {
            list,
            pattern,
            most,
            ..
        } => sink.put(&QueryDirectoryRequest {
            file: list,
            class: CLASS,
            scan: Scan::Resume,
            single: false,
            pattern,
            max_output: most,
        }),
        Request::ListEnd { list } => sink.put(&CloseRequest {
            file: list,
            facts: false,
        }),
        Request::RemoveFile(open) | Request::RemoveDir(open) => remove(&open, sink),
        Request::Watch {
            dir,
            filter,
            tree,
            most,
        } => sink.put(&ChangeNotifyRequest {
            file: dir,
            watch_tree: tree,
            filter,
            max_output: most,
        }),
        Request::Acknowledge { file, level } => sink.put(&OplockAcknowledgment { file, level }),
        Request::TreeDisconnect => sink.put(&TreeDisconnectRequest),
        Request::Logoff => sink.put(&LogoffRequest),
    }
}

#[inline]
fn query(file: FileId, query: Query, most: u32, sink: &mut impl Sink) {
    sink.put(&QueryInfoRequest {
        file,
        query,
        max_output: most,
    });
}
