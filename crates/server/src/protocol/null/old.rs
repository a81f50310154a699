//! Canned replies of NFSv2: the same files, directories and runs as version 3's.

use super::runs::Named;
use super::{HANDLE, Replies, run_of, runs};
use crate::memfs::{Attr, FileKind};
use crate::protocol::nfs2::{self, statfs_of};
use crate::protocol::{Refusal, put, reply};
use crate::stats::Counters;
use filermark_onc::nfs2::{
    Args, AttrstatOk, AttrstatRes, DiropOk, DiropRes, Diropargs, Entry, Fattr, Fhandle, MAXDATA,
    Nfsstat, Procedure, ReadOk, ReadRes, ReaddirArgs, ReaddirRes, ReadlinkOk, ReadlinkRes, StatRes,
    StatfsRes,
};
use filermark_onc::nfs3::{Createhow3, DirListWriter, FileHandle, Ftype3, Nfsstat3, Sattr3};
use filermark_onc::xdr::{Decoder, Encoder};

/// What READ gives.
const ZEROES: [u8; MAXDATA] = [0; MAXDATA];

/// Kind of a file, and the run it belongs to (0: none): what a handle of ours says of itself.
type Thing = (Ftype3, u64);

fn attributes(kind: Ftype3) -> Fattr {
    let three = super::attributes(kind);
    let ns = u64::from(three.mtime.seconds) * 1_000_000_000;
    let attr = Attr {
        kind: match kind {
            Ftype3::Dir => FileKind::Directory,
            Ftype3::Lnk => FileKind::Symlink,
            _ => FileKind::Regular,
        },
        mode: three.mode,
        nlink: three.nlink,
        uid: three.uid,
        gid: three.gid,
        size: three.size,
        used: three.used,
        rdev: (0, 0),
        fileid: three.fileid,
        atime_ns: ns,
        mtime_ns: ns,
        ctime_ns: ns,
    };
    nfs2::attr(&attr, three.fsid)
}

/// The handle as version 3 has it, without the zeros behind.
fn narrow<'a>(handle: &Fhandle<'a>) -> Option<FileHandle<'a>> {
    FileHandle::new(&handle.as_bytes()[..HANDLE])
}

fn run(handle: &Fhandle<'_>) -> Option<u64> {
    run_of(&narrow(handle)?)
}

fn named<'a>(place: &Diropargs<'a>) -> Option<Named<'a>> {
    runs::named(place.name, || run(&place.dir))
}

fn kind_of(handle: &Fhandle<'_>) -> Ftype3 {
    match handle.as_bytes()[HANDLE - 1] {
        kind if kind == Ftype3::Dir as u8 => Ftype3::Dir,
        kind if kind == Ftype3::Lnk as u8 => Ftype3::Lnk,
        _ => Ftype3::Reg,
    }
}

fn refused(status: Nfsstat3) -> Nfsstat {
    nfs2::status(status).unwrap_or(Nfsstat::Io)
}

fn put_thing(thing: Result<Thing, Nfsstat3>, out: &mut Vec<u8>) {
    let (kind, id) = match thing {
        Ok(thing) => thing,
        Err(status) => return put(out, &DiropRes::Err(refused(status))),
    };
    let handle = nfs2::widen(&runs::handle_of(kind, id));
    let ok = DiropOk {
        file: Fhandle::new(&handle),
        attributes: attributes(kind),
    };
    put(out, &DiropRes::Ok(ok));
}

fn put_stat(done: Result<(), Nfsstat3>, out: &mut Vec<u8>) {
    put::<StatRes>(out, &done.map_err(refused));
}

impl Replies {
    /// Appends the reply to one request of version 2.
    pub(in crate::protocol) fn append_v2(
        &self,
        procedure: Procedure,
        xid: u32,
        args: &mut Decoder<'_>,
        counters: &Counters,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let args = Args::decode(procedure, args)?;
        reply(out, xid, |out| self.results_v2(&args, counters, out));
        Ok(())
    }

    fn results_v2(&self, args: &Args<'_>, counters: &Counters, out: &mut Vec<u8>) {
        let attrstat = |kind| {
            AttrstatRes::Ok(AttrstatOk {
                attributes: attributes(kind),
            })
        };
        match args {
            Args::Null(_) | Args::Root(_) | Args::Writecache(_) => {}
            Args::Getattr(args) => put(out, &attrstat(kind_of(&args.file))),
            Args::Setattr(args) => put(out, &attrstat(kind_of(&args.file))),
            Args::Lookup(args) => put_thing(self.find(&args.what), out),
            Args::Readlink(_) => put(out, &ReadlinkRes::Ok(ReadlinkOk { data: b"target" })),
            Args::Read(args) => {
                let most = args.count.min(self.rtmax).min(MAXDATA as u32) as usize;
                let marker = run(&args.file).map(|id| self.runs.marker(id));
                let (file, zeroes) = (marker.transpose(), &ZEROES[..most]);
                let res = file.map(|marker| match marker {
                    None => counted(zeroes, counters, out),
                    Some(bytes) => {
                        let from = bytes.len().min(args.offset as usize);
                        let end = bytes.len().min(from.saturating_add(most));
                        counted(&bytes[from..end], counters, out);
                    }
                });
                if let Err(status) = res {
                    put(out, &ReadRes::Err(refused(status)));
                }
            }
            Args::Write(args) => {
                let kept = match run(&args.file) {
                    Some(id) => self.runs.set_marker(id, u64::from(args.offset), args.data),
                    None => Ok(()),
                };
                match kept {
                    Ok(()) => {
                        counters.bytes_written.add(args.data.len() as u64);
                        put(out, &attrstat(Ftype3::Reg));
                    }
                    Err(status) => put(out, &AttrstatRes::Err(refused(status))),
                }
            }
            Args::Create(args) => {
                let how = Createhow3::Unchecked(match args.attributes.size {
                    0 => Sattr3::size(0),
                    _ => Sattr3::mode(0o644),
                });
                put_thing(
                    match named(&args.location) {
                        Some(Named::Marker(id)) => self.runs.make_marker(id, &how),
                        _ => Ok((Ftype3::Reg, 0)),
                    },
                    out,
                );
            }
            Args::Mkdir(args) => put_thing(
                match named(&args.location) {
                    Some(Named::Run(name)) => self.runs.make_dir(name),
                    _ => Ok((Ftype3::Dir, 0)),
                },
                out,
            ),
            Args::Remove(args) => put_stat(
                match named(&args.what) {
                    Some(Named::Marker(id)) => self.runs.remove_marker(id),
                    _ => Ok(()),
                },
                out,
            ),
            Args::Rmdir(args) => put_stat(
                match named(&args.what) {
                    Some(Named::Run(name)) => self.runs.remove_dir(name),
                    _ => Ok(()),
                },
                out,
            ),
            Args::Rename(_) | Args::Link(_) | Args::Symlink(_) => put_stat(Ok(()), out),
            Args::Readdir(args) => self.list_v2(args, out),
            Args::Statfs(_) => {
                let space = statfs_of(self.capacity_bytes, self.capacity_bytes);
                put(out, &StatfsRes::Ok(space));
            }
        }
    }

    fn find(&self, what: &Diropargs<'_>) -> Result<Thing, Nfsstat3> {
        match named(what) {
            Some(named) => self.runs.find(named),
            None => Ok((Ftype3::Reg, 0)),
        }
    }

    /// `.`, `..`, and the marker of a run's directory where there is one.
    fn list_v2(&self, args: &ReaddirArgs<'_>, out: &mut Vec<u8>) {
        let marked = match run(&args.dir).map(|id| self.runs.is_marked(id)) {
            None => false,
            Some(Ok(marked)) => marked,
            Some(Err(status)) => return put(out, &ReaddirRes::Err(refused(status))),
        };
        let entries = [
            (1, &b"."[..], Ftype3::Dir),
            (2, b"..", Ftype3::Dir),
            (3, runs::MARKER, Ftype3::Reg),
        ];
        let mut writer = DirListWriter::begin_v2(out, args.count.min(MAXDATA as u32));
        let shown = entries.iter().take(2 + usize::from(marked));
        let mut shown = shown.filter(|entry| entry.0 > args.cookie);
        let all = shown.all(|(cookie, name, kind)| {
            writer.push(&Entry {
                fileid: kind.to_u32(),
                name,
                cookie: *cookie,
            })
        });
        if writer.is_empty() && !all {
            writer.cancel();
            return put(out, &ReaddirRes::Err(Nfsstat::Inval));
        }
        writer.finish(all);
    }
}

/// READ's results.
fn counted(data: &[u8], counters: &Counters, out: &mut Vec<u8>) {
    counters.bytes_read.add(data.len() as u64);
    let attributes = attributes(Ftype3::Reg);
    Encoder::new(out).put(&ReadRes::Ok(ReadOk { attributes, data }));
}
