//! Ranges of files: space that is reserved, holes, and copies within the server.

use super::MemFs;
use super::data::{FileData, MAX_FILE_SIZE};
use super::inode::{Body, MAY_READ, MAY_WRITE};
use super::table::Table;
use super::types::{Cred, FileId, FsError, SeekFor};

/// A range of one file that is copied to another place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyRange {
    /// From this file.
    pub from: FileId,
    /// From this byte.
    pub from_offset: u64,
    /// To this file.
    pub to: FileId,
    /// To this byte.
    pub to_offset: u64,
    /// This many bytes; 0 for all up to the end of `from`.
    pub count: u64,
}

impl Table {
    fn content(&self, id: FileId, cred: &Cred<'_>, want: u32) -> Result<&FileData, FsError> {
        let inode = self.get(id)?;
        match &inode.body {
            Body::Regular(_) if !inode.permits_io(cred, want) => Err(FsError::Acces),
            Body::Regular(content) => Ok(content),
            Body::Directory(_) => Err(FsError::IsDir),
            _ => Err(FsError::Inval),
        }
    }

    fn content_mut(&mut self, id: FileId) -> Result<&mut FileData, FsError> {
        match &mut self.get_mut(id)?.body {
            Body::Regular(content) => Ok(content),
            _ => Err(FsError::Inval),
        }
    }

    /// What follows a change of content, beside the content.
    fn content_changed(&mut self, id: FileId, cred: &Cred<'_>) -> Result<(), FsError> {
        self.uncommitted.settle(id);
        let now = self.now();
        let inode = self.get_mut(id)?;
        if !cred.is_root() {
            inode.mode &= !0o6000;
        }
        inode.touch(now);
        Ok(())
    }

    /// The bytes to copy, after every reason to refuse.
    fn check_copy(&self, range: &CopyRange, cred: &Cred<'_>) -> Result<u64, FsError> {
        let size = self.content(range.from, cred, MAY_READ)?.size();
        self.content(range.to, cred, MAY_WRITE)?;
        let rest = size.checked_sub(range.from_offset).ok_or(FsError::Inval)?;
        let count = if range.count == 0 { rest } else { range.count };
        if count > rest {
            return Err(FsError::Inval);
        }
        let end = range.to_offset.checked_add(count);
        if end.is_none_or(|end| end > MAX_FILE_SIZE) {
            return Err(FsError::FBig);
        }
        let apart = range.from_offset.abs_diff(range.to_offset);
        if range.from == range.to && apart < count {
            return Err(FsError::Inval);
        }
        Ok(count)
    }

    fn copy(&mut self, range: &CopyRange, count: u64, cred: &Cred<'_>) -> Result<(), FsError> {
        let (from_end, to_end) = (range.from_offset + count, range.to_offset + count);
        let place = |at: u64| at - range.from_offset + range.to_offset;
        let (source, target) = (
            self.content(range.from, cred, MAY_READ)?,
            self.content(range.to, cred, MAY_WRITE)?,
        );
        let stored = source.stored(range.from_offset, from_end);
        let parts: Vec<(u64, usize)> = stored.map(|(at, part)| (at, part.len())).collect();
        let growth: u64 = parts
            .iter()
            .map(|(at, len)| target.growth(place(*at), *len))
            .sum();
        self.check_space_for_growth(growth)?;
        let charged = target.charged();
        self.content_mut(range.to)?.punch(range.to_offset, to_end);
        for (at, len) in parts {
            let mut part = Vec::new();
            let source = self.content(range.from, cred, MAY_READ)?;
            source.read(at, len as u32, &mut part);
            self.content_mut(range.to)?.write(place(at), &part);
        }
        let target = self.content_mut(range.to)?;
        if target.size() < to_end {
            target.set_size(to_end);
        }
        let charged_now = target.charged();
        self.used_bytes = (self.used_bytes + charged_now).saturating_sub(charged);
        self.content_changed(range.to, cred)
    }
}

impl MemFs {
    /// Reserves space for a range; the file ends behind it, if it ended before (ALLOCATE).
    ///
    /// # Errors
    /// As WRITE.
    pub fn allocate(
        &self,
        id: FileId,
        offset: u64,
        len: u64,
        cred: &Cred<'_>,
    ) -> Result<(), FsError> {
        self.change(id, |table| {
            let content = table.content(id, cred, MAY_WRITE)?;
            let end = offset.checked_add(len);
            if end.is_none_or(|end| end > MAX_FILE_SIZE) {
                return Err(FsError::FBig);
            }
            // Before the growth is counted, which takes time with the length.
            if len > table.capacity_bytes {
                return Err(FsError::NoSpc);
            }
            table.charge(content.growth(offset, len as usize))?;
            table.content_mut(id)?.reserve(offset, len as usize);
            table.content_changed(id, cred)
        })
        .result
    }

    /// Makes a hole; the size stays (DEALLOCATE).
    ///
    /// # Errors
    /// As WRITE.
    pub fn deallocate(
        &self,
        id: FileId,
        offset: u64,
        len: u64,
        cred: &Cred<'_>,
    ) -> Result<(), FsError> {
        self.change(id, |table| {
            table.content(id, cred, MAY_WRITE)?;
            let end = offset.saturating_add(len);
            let freed = table.content_mut(id)?.punch(offset, end);
            table.used_bytes -= freed;
            table.content_changed(id, cred)
        })
        .result
    }

    /// The next data or hole from `offset` on (SEEK); `None`: none up to the end of the file.
    ///
    /// # Errors
    /// As READ, and `BeyondEnd`.
    pub fn seek(
        &self,
        id: FileId,
        offset: u64,
        what: SeekFor,
        cred: &Cred<'_>,
    ) -> Result<Option<u64>, FsError> {
        let table = self.read();
        let content = table.content(id, cred, MAY_READ)?;
        if offset >= content.size() {
            return Err(FsError::BeyondEnd);
        }
        Ok(match what {
            SeekFor::Data => content.next_data(offset),
            SeekFor::Hole => Some(content.next_hole(offset)).filter(|at| *at < content.size()),
        })
    }

    /// The size of a file that this caller may read.
    ///
    /// # Errors
    /// As READ.
    pub fn readable_size(&self, id: FileId, cred: &Cred<'_>) -> Result<u64, FsError> {
        self.read().content(id, cred, MAY_READ).map(FileData::size)
    }

    /// Copies a range, all of it or nothing, holes as holes (CLONE, COPY). Returns the bytes.
    ///
    /// # Errors
    /// `Inval`: the range is not all in the source, or source and target overlap. Else as READ and WRITE.
    pub fn copy_range(&self, range: &CopyRange, cred: &Cred<'_>) -> Result<u64, FsError> {
        self.change(range.to, |table| {
            let count = table.check_copy(range, cred)?;
            table.copy(range, count, cred)?;
            Ok(count)
        })
        .result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memfs::{CreateHow, FsConfig, SetAttr};

    const ROOT: Cred<'static> = Cred::ROOT;

    fn fs_with(names: [&[u8]; 2]) -> (MemFs, [FileId; 2]) {
        let fs = MemFs::new(FsConfig {
            capacity_bytes: 1 << 20,
            ..FsConfig::default()
        });
        let how = CreateHow::Guarded(SetAttr::default());
        let made = names.map(|name| fs.create(fs.root(), name, &how, &ROOT));
        let ids = made.map(|made| made.result.expect("a file").id);
        (fs, ids)
    }

    fn read(fs: &MemFs, id: FileId) -> Vec<u8> {
        let mut out = Vec::new();
        fs.read_file(id, 0, u32::MAX, &ROOT, &mut out)
            .1
            .expect("data");
        out
    }

    #[test]
    fn a_copy_has_the_bytes_and_the_holes() {
        let (fs, [from, to]) = fs_with([b"a", b"b"]);
        fs.write_file(from, 300_000, b"data", &ROOT)
            .result
            .expect("written");
        fs.write_file(to, 0, &[7; 100], &ROOT)
            .result
            .expect("written");
        let range = CopyRange {
            from,
            from_offset: 0,
            to,
            to_offset: 10,
            count: 0,
        };
        assert_eq!(fs.copy_range(&range, &ROOT), Ok(300_004));
        let got = read(&fs, to);
        assert_eq!(
            (got.len(), &got[..10], &got[10..12]),
            (300_014, &[7; 10][..], &[0, 0][..])
        );
        assert_eq!(&got[300_010..], b"data");
        let used = |id| fs.getattr(id).expect("attributes").used;
        assert!(used(to) < 200_000, "a hole was stored");
        let beyond = CopyRange {
            count: 300_005,
            ..range
        };
        assert_eq!(fs.copy_range(&beyond, &ROOT), Err(FsError::Inval));
        let itself = CopyRange { to: from, ..range };
        assert_eq!(fs.copy_range(&itself, &ROOT), Err(FsError::Inval));
    }

    #[test]
    fn the_space_account_is_right_after_every_kind_of_change() {
        let (fs, [one, two]) = fs_with([b"a", b"b"]);
        let free = || fs.fsstat(fs.root()).1.expect("figures").free_bytes;
        let empty = free();
        fs.allocate(one, 100, 200_000, &ROOT).expect("reserved");
        let range = CopyRange {
            from: one,
            from_offset: 0,
            to: two,
            to_offset: 50,
            count: 0,
        };
        fs.copy_range(&range, &ROOT).expect("copied");
        fs.deallocate(two, 0, u64::MAX, &ROOT).expect("a hole");
        fs.deallocate(one, 0, u64::MAX, &ROOT).expect("a hole");
        assert_eq!(free(), empty);
        assert_eq!(fs.getattr(two).expect("attributes").size, 200_150);
        assert_eq!(fs.allocate(one, 0, 2 << 20, &ROOT), Err(FsError::NoSpc));
        assert_eq!(fs.allocate(one, 0, u64::MAX, &ROOT), Err(FsError::FBig));
        assert_eq!(free(), empty);
    }

    #[test]
    fn a_seek_finds_data_holes_and_the_end() {
        let (fs, [id, _]) = fs_with([b"a", b"b"]);
        fs.write_file(id, 200_000, b"data", &ROOT)
            .result
            .expect("written");
        let seek = |offset, what| fs.seek(id, offset, what, &ROOT);
        assert_eq!(seek(0, SeekFor::Hole), Ok(Some(0)));
        assert_eq!(seek(200_001, SeekFor::Data), Ok(Some(200_001)));
        assert_eq!(seek(200_001, SeekFor::Hole), Ok(None));
        assert_eq!(seek(200_004, SeekFor::Data), Err(FsError::BeyondEnd));
    }
}
