//! READ, WRITE and COMMIT.

use super::super::transfer::{fetch, store};
use super::compound::{Compound, Results};
use super::stateids::Held;
use super::status;
use crate::memfs::{FileId, FsError};
use filermark_onc::nfs4::*;
use filermark_onc::xdr::Encoder;

/// Status, end mark and length in front of READ's data, in bytes.
const FRONT_OF_READ: usize = 4 + 4 + 4;

impl Compound<'_> {
    pub(super) fn transferred(&self, stateid: &Stateid4, access: u32) -> Res<(FileId, Held<'_>)> {
        let object = self.current()?;
        let id = object.file_or(Nfsstat4::Isdir)?;
        match self.check_stateid(stateid, id, access) {
            Ok(held) => Ok((id, held)),
            // What cannot be open has a better reason.
            Err(status) => match self.must_be_file(object) {
                Err(of_type @ (Nfsstat4::Isdir | Nfsstat4::Symlink)) => Err(of_type),
                _ => Err(status),
            },
        }
    }

    /// The data goes from the file into the reply in one copy, behind a gap for the fields in front.
    pub(super) fn read(&self, args: &ReadArgs, results: &mut Results<'_>) -> Nfsstat4 {
        let (id, _held) = match self.transferred(&args.stateid, share::READ) {
            Ok(file) => file,
            Err(status) => return results.fail(Operation::Read, status),
        };
        let (mark, mut failed) = (results.mark(), None);
        let done = results.with(Operation::Read, |out| {
            let gap = out.len();
            out.resize(gap + FRONT_OF_READ, 0);
            let (_, end) = fetch(&self.cx, id, args.offset, args.count, out);
            match end {
                Ok(end) => {
                    let mut front = Vec::with_capacity(FRONT_OF_READ);
                    let mut e = Encoder::new(&mut front);
                    e.put(&Nfsstat4::Ok);
                    e.bool(end.eof);
                    e.u32(end.count);
                    out[gap..gap + FRONT_OF_READ].copy_from_slice(&front);
                }
                Err(error) => failed = Some(error),
            }
        });
        match failed {
            None => done,
            Some(error) => {
                results.reset(mark);
                results.fail(Operation::Read, self.wrong_type(id, error))
            }
        }
    }

    /// The status for data of an object that may have none.
    fn wrong_type(&self, id: FileId, error: FsError) -> Nfsstat4 {
        match error {
            FsError::Inval => {
                let checked = self.must_be_file(super::handles::Object::File(id));
                checked.err().unwrap_or(Nfsstat4::Inval)
            }
            error => status(error),
        }
    }

    pub(super) fn write(&self, args: &WriteArgs<'_>) -> WriteRes {
        let (id, _held) = self.transferred(&args.stateid, share::WRITE)?;
        let done = store(&self.cx, id, args.offset, args.data, args.stable);
        match done.result {
            Ok(stored) => Ok(WriteOk {
                count: stored.count,
                committed: stored.committed,
                writeverf: stored.verf,
            }),
            Err(error) => Err(self.wrong_type(id, error)),
        }
    }

    pub(super) fn commit(&self) -> CommitRes {
        let id = self.current()?.file_or(Nfsstat4::Isdir)?;
        let fs = &self.cx.shared.fs;
        match fs.commit(id, &self.cx.caller.cred()).result {
            Ok(()) => Ok(CommitOk {
                writeverf: fs.write_verifier().to_be_bytes(),
            }),
            Err(error) => Err(self.wrong_type(id, error)),
        }
    }
}
