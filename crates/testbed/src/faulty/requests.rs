//! Decodes and answers the kernel's requests. Nothing is cached (all timeouts are 0),
//! so that every call of a program leads to a request.

use super::faults::Kind;
use super::fs::{Change, FaultyFs, locked};
use super::tree::ROOT;
use fuser::{
    AccessFlags, BsdFileFlags, Errno, FileHandle, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow,
    WriteFlags,
};
use rustix::fs::{Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The kernel must not cache entries and attributes.
const NO_CACHE: Duration = Duration::ZERO;
/// Inode numbers are never reused, so that one generation is enough.
const GENERATION: Generation = Generation(0);
/// Limit of concurrent background requests (read-ahead).
const BACKGROUND_MAX: u16 = 64;

/// Sends the reply, or the error.
macro_rules! answer {
    ($reply:ident, $result:expr, $value:pat => $good:expr) => {
        match $result {
            Ok($value) => $good,
            Err(error) => $reply.error(error),
        }
    };
}

fn timestamp(time: Option<TimeOrNow>) -> Timespec {
    let special = |tv_nsec| Timespec { tv_sec: 0, tv_nsec };
    match time {
        None => special(UTIME_OMIT),
        Some(TimeOrNow::Now) => special(UTIME_NOW),
        Some(TimeOrNow::SpecificTime(time)) => {
            let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
            Timespec {
                tv_sec: i64::try_from(since.as_secs()).unwrap_or(0),
                tv_nsec: since.subsec_nanos().into(),
            }
        }
    }
}

impl Filesystem for FaultyFs {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Requested one by one: a capability that the kernel does not have makes the
        // whole call fail.
        let mut wanted = vec![InitFlags::FUSE_PARALLEL_DIROPS];
        if self.direct_io {
            wanted.push(InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP);
        }
        for capability in wanted {
            let _ = config.add_capabilities(capability);
        }
        let _ = config.set_max_background(BACKGROUND_MAX);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        answer!(reply, self.look_up(parent, name), attr => reply.entry(&NO_CACHE, &attr, GENERATION));
    }

    fn forget(&self, _: &Request, ino: INodeNo, nlookup: u64) {
        if ino.0 != ROOT {
            locked(&self.tree).forget(ino.0, nlookup);
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, fh: Option<FileHandle>, reply: ReplyAttr) {
        let result = self.faults.apply(Kind::Getattr);
        let result = result.and_then(|()| self.attributes(ino, fh));
        answer!(reply, result, attr => reply.attr(&NO_CACHE, &attr));
    }

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        fh: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let times = (atime.is_some() || mtime.is_some()).then(|| Timestamps {
            last_access: timestamp(atime),
            last_modification: timestamp(mtime),
        });
        let change = Change {
            mode,
            owner: (uid, gid),
            size,
            times,
        };
        answer!(reply, self.change(ino, fh, &change), attr => reply.attr(&NO_CACHE, &attr));
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        let result = self.faults.apply(Kind::Readlink);
        let result = result.and_then(|()| Ok(std::fs::read_link(self.path(ino)?)?));
        answer!(reply, result, target => reply.data(target.as_os_str().as_bytes()));
    }

    fn mkdir(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        let result = self.make_dir(parent, name, mode & !umask);
        answer!(reply, result, attr => reply.entry(&NO_CACHE, &attr, GENERATION));
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer!(reply, self.remove(Kind::Unlink, parent, name), () => reply.ok());
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer!(reply, self.remove(Kind::Rmdir, parent, name), () => reply.ok());
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        if !flags.is_empty() {
            return reply.error(Errno::EINVAL);
        }
        answer!(reply, self.move_name((parent, name), (newparent, newname)), () => reply.ok());
    }

    fn open(&self, _: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let result = self
            .open_file(ino, flags)
            .map(|file| self.keep(ino.0, file));
        answer!(reply, result, (handle, flags) => reply.opened(handle, flags));
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        answer!(reply, self.make_file(parent, name, mode & !umask), (attr, file) => {
            let (handle, flags) = self.keep(attr.ino.0, file);
            reply.created(&NO_CACHE, &attr, GENERATION, handle, flags);
        });
    }

    fn read(
        &self,
        _: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        answer!(reply, self.read_range(fh, offset, size), bytes => reply.data(&bytes));
    }

    fn write(
        &self,
        _: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        answer!(reply, self.write_range(fh, offset, data), count => reply.written(count));
    }

    fn release(
        &self,
        _: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        locked(&self.files).remove(&fh.0);
        reply.ok();
    }

    /// Counted only: data is lost only in a crash of the host, so nothing is synced.
    fn fsync(&self, _: &Request, _ino: INodeNo, _: FileHandle, _data: bool, reply: ReplyEmpty) {
        answer!(reply, self.faults.apply(Kind::Fsync), () => reply.ok());
    }

    fn fsyncdir(&self, _: &Request, _ino: INodeNo, _: FileHandle, _data: bool, reply: ReplyEmpty) {
        answer!(reply, self.faults.apply(Kind::Fsync), () => reply.ok());
    }

    fn opendir(&self, _: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        answer!(reply, self.list(ino), listing => {
            let handle = self.handles.fetch_add(1, Ordering::Relaxed);
            locked(&self.listings).insert(handle, listing);
            reply.opened(FileHandle(handle), FopenFlags::empty());
        });
    }

    fn readdir(
        &self,
        _: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        answer!(reply, self.list_on(fh), listing => {
            let from = usize::try_from(offset).unwrap_or(usize::MAX);
            for (at, (kind, name)) in listing.iter().enumerate().skip(from) {
                // The inode number is only displayed; 0 would hide the entry.
                if reply.add(INodeNo(at as u64 + 2), at as u64 + 1, *kind, name) {
                    break;
                }
            }
            reply.ok();
        });
    }

    fn releasedir(
        &self,
        _: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        _flags: OpenFlags,
        reply: ReplyEmpty,
    ) {
        locked(&self.listings).remove(&fh.0);
        reply.ok();
    }

    fn statfs(&self, _: &Request, _ino: INodeNo, reply: ReplyStatfs) {
        let result = self.faults.apply(Kind::Statfs);
        let result = result.and_then(|()| {
            rustix::fs::statvfs(&self.root).map_err(|error| io::Error::from(error).into())
        });
        answer!(reply, result, of => {
            let block = of.f_frsize.max(1);
            let left = self.faults.space().map_or(u64::MAX, |bytes| bytes / block);
            let (free, available) = (of.f_bfree.min(left), of.f_bavail.min(left));
            let size = u32::try_from(block).unwrap_or(4096);
            reply.statfs(of.f_blocks, free, available, of.f_files, of.f_ffree, size, 255, size);
        });
    }

    fn access(&self, _: &Request, ino: INodeNo, mask: AccessFlags, reply: ReplyEmpty) {
        let result = self.faults.apply(Kind::Access).and_then(|()| {
            let wanted = rustix::fs::Access::from_bits_truncate(mask.bits().cast_unsigned());
            let path = self.path(ino)?;
            rustix::fs::access(path, wanted).map_err(|error| io::Error::from(error).into())
        });
        answer!(reply, result, () => reply.ok());
    }
}
