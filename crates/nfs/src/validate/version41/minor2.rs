//! The checks of what only version 4.2 has (RFC 7862, RFC 8276). They run behind those of version 4.1. What a
//! server does not offer (NFS4ERR_NOTSUPP) is skipped. IO_ADVISE is not sent: a common server ends when it
//! receives it.

mod copy;
mod rules;
mod space;
mod xattrs;

use super::client::{Client, Opened, putfh};
use super::ops::{Bench, Check, Outcome, V41};
use crate::client::{Reply4, next_result};
use crate::validate::shared::ops::Common;
use filermark_driver_kit::checks::{Stop, pattern};
use filermark_onc::nfs4::*;

/// Every check, in the order in which they run.
pub(super) const TABLES: &[&[Check]] =
    &[rules::CHECKS, space::CHECKS, copy::CHECKS, xattrs::CHECKS];

impl Bench<'_> {
    /// The results of an operation that must succeed, unless the server does not have it.
    fn offered<T>(
        &mut self,
        what: &str,
        call: impl FnMut(&mut Client) -> Reply4<T>,
    ) -> Result<T, Stop> {
        match self.either(what, call)? {
            Ok(ok) => Ok(ok),
            Err(Nfsstat4::Notsupp) => Err(not_offered(what)),
            Err(status) => Err(Stop::fail(format!("{what}: {}", Nfsstat4::Ok), status)),
        }
    }

    /// An operation that must be refused with one of these, unless the server does not have it.
    fn refused_if_offered<T>(
        &mut self,
        what: &str,
        wanted: &[Nfsstat4],
        call: impl FnMut(&mut Client) -> Reply4<T>,
    ) -> Outcome {
        match self.either(what, call)? {
            Err(status) if wanted.contains(&status) => Ok(()),
            Err(Nfsstat4::Notsupp) => Err(not_offered(what)),
            answer => {
                let names: Vec<String> = wanted.iter().map(ToString::to_string).collect();
                let got = answer.err().unwrap_or(Nfsstat4::Ok);
                Err(Stop::fail(format!("{what}: {}", names.join(" or ")), got))
            }
        }
    }

    /// A new file with a pattern of this length, which stays open.
    fn with_pattern(
        &mut self,
        name: &[u8],
        length: usize,
        seed: u8,
    ) -> Result<(Opened, Vec<u8>), Stop> {
        let data = pattern(length, seed.into());
        let opened = self.open_new(name)?;
        V41::put(self, &opened.file, 0, &data)?;
        Ok((opened, data))
    }
}

impl Bench<'_> {
    /// What a file has in a range.
    fn gets(&mut self, opened: &Opened, offset: u64, count: u32) -> Result<Vec<u8>, Stop> {
        V41::get(self, &opened.file, offset, count)
    }
}

fn not_offered(what: &str) -> Stop {
    Stop::skip(format!(
        "{what}: the server does not offer it (NFS4ERR_NOTSUPP)"
    ))
}

impl Client {
    /// An operation from one file to another one: the saved and the current file handle.
    fn on_two<A, T>(
        &mut self,
        from: &Fh4,
        to: &Fh4,
        args: &A,
        mut take: impl FnMut(A::Res<'_>) -> Result<T, Nfsstat4>,
    ) -> Reply4<T>
    where
        A: Arguments<Operation = Operation>,
    {
        let write = |compound: &mut CompoundWriter<'_, Operation>| {
            compound.op(&putfh(from)).op(&SavefhArgs {});
            compound.op(&putfh(to)).op(args);
        };
        self.nfs.compound(true, write, |compound| {
            next_result!(compound, PutfhArgs<'_>);
            next_result!(compound, SavefhArgs);
            next_result!(compound, PutfhArgs<'_>);
            Ok(take(compound.read::<A>()?))
        })
    }
}
