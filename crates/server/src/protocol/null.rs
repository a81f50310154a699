//! Canned replies: every procedure succeeds at once and nothing is kept, but for the
//! directories of runs ([`runs`]), without which no run would begin.
//!
//! This measures clients, so it must cost next to nothing: each reply is one copy of a
//! prepared block with the xid patched in.

mod old;
mod runs;

use super::convert::HANDLE;
use super::look::{fsinfo_of, pathconf_of};
use super::{Refusal, put, reply};
use crate::faults::PROCEDURES;
use crate::options::ServerOptions;
use crate::stats::Counters;
use filermark_onc::nfs3::{
    AccessArgs, AccessOk, AccessRes, CommitOk, CommitRes, CreateOk, CreateRes, DirListWriter,
    DirWcc, Entry3, EntryPlus3, Fattr3, FileHandle, FsinfoRes, FsstatOk, FsstatRes, Ftype3,
    GetattrArgs, GetattrOk, GetattrRes, LinkRes, LinkWcc, LookupOk, LookupRes, Nfsstat3, Nfstime3,
    ObjWcc, PathconfRes, Procedure, ReadArgs, ReadlinkOk, ReadlinkRes, RemoveRes, RenameRes,
    RenameWcc, SetattrRes, Specdata3, StableHow, WccAttr, WccData, WriteArgs, WriteOk, WriteRes,
};
use filermark_onc::record::OpenRecord;
use filermark_onc::rpc::ReplyHeader;
use filermark_onc::xdr::{self, Decoder, Encoder};
pub(super) use runs::Runs;
use runs::run_of;
use std::sync::Arc;

/// Where the xid stands in a reply: behind the record mark.
const XID: usize = 4;
/// Size of every file, in bytes: reads never meet the end.
const SIZE: u64 = 1 << 40;
const VERIFIER: [u8; 8] = *b"canned\0\0";
const TIME: Nfstime3 = Nfstime3 {
    seconds: 1_000_000_000,
    nseconds: 0,
};

/// A handle that says of itself what it stands for.
fn handle(kind: Ftype3) -> [u8; HANDLE] {
    let mut bytes = [0; HANDLE];
    bytes[..8].copy_from_slice(b"Filermk\0");
    bytes[HANDLE - 1] = kind as u8;
    bytes
}

/// The handle of `/export`.
pub(super) fn root() -> [u8; HANDLE] {
    handle(Ftype3::Dir)
}

fn attributes(ftype: Ftype3) -> Fattr3 {
    let size = if ftype == Ftype3::Reg { SIZE } else { 4096 };
    Fattr3 {
        ftype,
        mode: 0o777,
        nlink: 2,
        uid: 0,
        gid: 0,
        size,
        used: size,
        rdev: Specdata3::default(),
        fsid: 1,
        fileid: u64::from(ftype.to_u32()),
        atime: TIME,
        mtime: TIME,
        ctime: TIME,
    }
}

fn wcc(ftype: Ftype3) -> WccData {
    let after = attributes(ftype);
    let before = WccAttr {
        size: after.size,
        mtime: TIME,
        ctime: TIME,
    };
    WccData {
        before: Some(before),
        after: Some(after),
    }
}

/// The prepared replies, record mark in front.
#[derive(Debug)]
pub(super) struct Replies {
    blocks: [Box<[u8]>; PROCEDURES],
    getattr_dir: Box<[u8]>,
    getattr_link: Box<[u8]>,
    /// READ's results up to the count.
    read_front: Box<[u8]>,
    capacity_bytes: u64,
    rtmax: u32,
    wtmax: u32,
    runs: Arc<Runs>,
}

fn block(results: impl FnOnce(&mut Vec<u8>)) -> Box<[u8]> {
    let mut bytes = Vec::new();
    reply(&mut bytes, 0, results);
    bytes.into()
}

fn getattr(ftype: Ftype3) -> Box<[u8]> {
    let obj_attributes = attributes(ftype);
    block(|out| put(out, &GetattrRes::Ok(GetattrOk { obj_attributes })))
}

fn made(ftype: Ftype3) -> Box<[u8]> {
    let fh = handle(ftype);
    block(|out| {
        let made = CreateOk {
            obj: FileHandle::new(&fh),
            obj_attributes: Some(attributes(ftype)),
            dir_wcc: wcc(Ftype3::Dir),
        };
        put(out, &CreateRes::Ok(made));
    })
}

fn lookup() -> Box<[u8]> {
    let fh = handle(Ftype3::Reg);
    block(|out| {
        let Some(object) = FileHandle::new(&fh) else {
            return;
        };
        let (obj_attributes, dir_attributes) =
            (Some(attributes(Ftype3::Reg)), Some(attributes(Ftype3::Dir)));
        put(
            out,
            &LookupRes::Ok(LookupOk {
                object,
                obj_attributes,
                dir_attributes,
            }),
        );
    })
}

fn listing(plus: bool) -> Box<[u8]> {
    let (fh, dir) = (handle(Ftype3::Dir), Some(attributes(Ftype3::Dir)));
    block(|out| {
        let mut writer = DirListWriter::begin(out, dir, VERIFIER, u32::MAX);
        for (cookie, name) in [(1, &b"."[..]), (2, b"..")] {
            let fileid = u64::from(Ftype3::Dir.to_u32());
            if plus {
                let (name_attributes, name_handle) = (dir, FileHandle::new(&fh));
                writer.push(&EntryPlus3 {
                    fileid,
                    name,
                    cookie,
                    name_attributes,
                    name_handle,
                });
            } else {
                writer.push(&Entry3 {
                    fileid,
                    name,
                    cookie,
                });
            }
        }
        writer.finish(true);
    })
}

fn prepare(options: &ServerOptions, procedure: Procedure) -> Box<[u8]> {
    let (dir, file) = (Some(attributes(Ftype3::Dir)), Some(attributes(Ftype3::Reg)));
    let (dir_wcc, file_wcc) = (wcc(Ftype3::Dir), wcc(Ftype3::Reg));
    let linked = LinkWcc {
        file_attributes: file,
        linkdir_wcc: dir_wcc,
    };
    let renamed = RenameWcc {
        fromdir_wcc: dir_wcc,
        todir_wcc: dir_wcc,
    };
    let target = ReadlinkOk {
        symlink_attributes: Some(attributes(Ftype3::Lnk)),
        data: b"target",
    };
    let space = FsstatOk {
        obj_attributes: dir,
        tbytes: options.capacity_bytes,
        fbytes: options.capacity_bytes,
        abytes: options.capacity_bytes,
        tfiles: options.max_files,
        ffiles: options.max_files,
        afiles: options.max_files,
        invarsec: 0,
    };
    match procedure {
        Procedure::Null => block(|_| ()),
        Procedure::Getattr => getattr(Ftype3::Reg),
        Procedure::Setattr => block(|out| put(out, &SetattrRes::Ok(ObjWcc { obj_wcc: file_wcc }))),
        Procedure::Lookup => lookup(),
        Procedure::Readlink => block(|out| put(out, &ReadlinkRes::Ok(target))),
        Procedure::Create | Procedure::Mknod => made(Ftype3::Reg),
        Procedure::Mkdir => made(Ftype3::Dir),
        Procedure::Symlink => made(Ftype3::Lnk),
        Procedure::Remove | Procedure::Rmdir => {
            block(|out| put(out, &RemoveRes::Ok(DirWcc { dir_wcc })))
        }
        Procedure::Rename => block(|out| put(out, &RenameRes::Ok(renamed))),
        Procedure::Link => block(|out| put(out, &LinkRes::Ok(linked))),
        Procedure::Readdir => listing(false),
        Procedure::Readdirplus => listing(true),
        Procedure::Fsstat => block(|out| put(out, &FsstatRes::Ok(space))),
        Procedure::Fsinfo => block(|out| put(out, &FsinfoRes::Ok(fsinfo_of(options, dir)))),
        Procedure::Pathconf => block(|out| put(out, &PathconfRes::Ok(pathconf_of(file)))),
        Procedure::Commit => block(|out| {
            put(
                out,
                &CommitRes::Ok(CommitOk {
                    file_wcc,
                    verf: VERIFIER,
                }),
            )
        }),
        // These depend on their arguments and are made on the spot.
        Procedure::Access | Procedure::Read | Procedure::Write => Box::default(),
    }
}

impl Replies {
    /// Both transports have the same runs.
    pub(super) fn new(options: &ServerOptions, runs: &Arc<Runs>) -> Replies {
        let mut blocks: [Box<[u8]>; PROCEDURES] = Default::default();
        for (block, procedure) in blocks.iter_mut().zip(Procedure::ALL) {
            *block = prepare(options, *procedure);
        }
        let mut read_front = Vec::new();
        put(&mut read_front, &Nfsstat3::Ok);
        put(&mut read_front, &Some(attributes(Ftype3::Reg)));
        Replies {
            blocks,
            getattr_dir: getattr(Ftype3::Dir),
            getattr_link: getattr(Ftype3::Lnk),
            read_front: read_front.into(),
            capacity_bytes: options.capacity_bytes,
            rtmax: options.rtmax,
            wtmax: options.wtmax,
            runs: runs.clone(),
        }
    }

    /// Appends the reply to one request.
    #[inline]
    pub(super) fn append(
        &self,
        procedure: Procedure,
        xid: u32,
        args: &mut Decoder<'_>,
        counters: &Counters,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let block = match procedure {
            Procedure::Getattr => self.getattr(&xdr::finish(args)?),
            Procedure::Access => {
                let access = xdr::finish::<AccessArgs<'_>>(args)?.access;
                let obj_attributes = Some(attributes(Ftype3::Dir));
                reply(out, xid, |out| {
                    put(
                        out,
                        &AccessRes::Ok(AccessOk {
                            obj_attributes,
                            access,
                        }),
                    )
                });
                return Ok(());
            }
            Procedure::Read => {
                let args: ReadArgs<'_> = xdr::finish(args)?;
                if let Some(run) = run_of(&args.file) {
                    let count = self.runs.read(run, &args, xid, out);
                    counters.bytes_read.add(count);
                    return Ok(());
                }
                let count = args.count.min(self.rtmax);
                counters.bytes_read.add(u64::from(count));
                self.read(xid, count, out);
                return Ok(());
            }
            Procedure::Write => {
                let args: WriteArgs<'_> = xdr::finish(args)?;
                if let Some(run) = run_of(&args.file) {
                    let count = self.runs.write(run, &args, xid, out);
                    counters.bytes_written.add(count);
                    return Ok(());
                }
                let count = args.count.min(args.data.len() as u32).min(self.wtmax);
                counters.bytes_written.add(u64::from(count));
                let written = WriteOk {
                    file_wcc: wcc(Ftype3::Reg),
                    count,
                    committed: StableHow::FileSync,
                    verf: VERIFIER,
                };
                reply(out, xid, |out| put(out, &WriteRes::Ok(written)));
                return Ok(());
            }
            _ => {
                if self.runs.serve(procedure, xid, args, out)? {
                    return Ok(());
                }
                &self.blocks[procedure as usize]
            }
        };
        let start = out.len() + XID;
        out.extend_from_slice(block);
        out[start..start + 4].copy_from_slice(&xid.to_be_bytes());
        Ok(())
    }

    fn getattr(&self, args: &GetattrArgs<'_>) -> &[u8] {
        match args.object.as_bytes().last() {
            Some(kind) if *kind == Ftype3::Dir as u8 => &self.getattr_dir,
            Some(kind) if *kind == Ftype3::Lnk as u8 => &self.getattr_link,
            _ => &self.blocks[Procedure::Getattr as usize],
        }
    }

    fn read(&self, xid: u32, count: u32, out: &mut Vec<u8>) {
        let open = OpenRecord::begin(out);
        ReplyHeader::encode_success(out, xid);
        out.extend_from_slice(&self.read_front);
        let mut e = Encoder::new(out);
        e.u32(count);
        e.bool(false);
        e.opaque_in_place(count);
        open.finish(out);
    }
}
