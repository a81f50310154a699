//! The calls that the checks of version 4.1 share.

use super::client::Client;
use crate::client::{AnyFh, ClientError, Removal, Reply4, RpcClient};
use crate::target::Target;
use crate::validate::bench::{self, Of, Refused, Version};
use crate::validate::shared::ops::{Asked, Common, Facts, ListingPart};
pub(super) use filermark_driver_kit::checks::Outcome;
use filermark_driver_kit::checks::{self, Stop};
use filermark_model::plan::{MinorVersion, NfsPlan};
use filermark_onc::nfs3::{Fattr3, Ftype3, Sattr3};
use filermark_onc::nfs4::*;
use std::time::Duration;

/// NFSv4.1.
pub(in crate::validate) struct V41;

/// The bench of its checks.
pub(super) type Bench<'a> = bench::Bench<'a, V41>;
/// One of its checks.
pub(super) type Check = checks::Check<Of<V41>>;

/// What a check is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::validate) enum Subject {
    /// The procedure NULL.
    Null,
    /// The procedure COMPOUND.
    Compound,
    /// An operation.
    Op(Operation),
}

/// The section of RFC 8881 that specifies an operation. The sections have the order of the
/// operations' numbers, without those that minor version 1 no longer has.
fn section_number(operation: Operation) -> u32 {
    let number = operation.to_u32();
    let removed = [20, 30, 35, 36, 39];
    let before = removed.iter().filter(|gone| **gone < number).count() as u32;
    match operation {
        Operation::Illegal => 52,
        _ => number.saturating_sub(2 + before),
    }
}

impl Version for V41 {
    type Client = Client;
    type Handle = Fh4;
    type Procedure = Subject;
    type Dialect = MinorVersion;
    type Status = Nfsstat4;
    const NAME: &'static str = "NFSv4.1";
    const OK: Nfsstat4 = Nfsstat4::Ok;
    const STALE: Nfsstat4 = Nfsstat4::Stale;

    fn is_gone(status: Nfsstat4) -> bool {
        // The last is that of volatile handles (RFC 8881 section 4.2.3).
        matches!(
            status,
            Nfsstat4::Stale | Nfsstat4::Badhandle | Nfsstat4::Fhexpired
        )
    }

    fn handle(handle: &AnyFh) -> Fh4 {
        *handle
    }

    fn client(target: &Target, plan: &NfsPlan) -> Client {
        Client::new(target, plan)
    }

    fn leave(client: &mut Client) {
        client.end();
    }

    fn null(client: &mut Client) -> Result<(), ClientError> {
        client.null()
    }

    fn name_of(subject: Subject) -> &'static str {
        match subject {
            Subject::Null => "NULL",
            Subject::Compound => "COMPOUND",
            Subject::Op(operation) => operation.name(),
        }
    }

    fn section_of(subject: Subject) -> String {
        match subject {
            Subject::Null => "RFC 8881 section 16.1".to_owned(),
            Subject::Compound => "RFC 8881 section 16.2".to_owned(),
            Subject::Op(operation) => match operation.to_u32() {
                // The operations of minor version 2, and those on extended attributes.
                number @ 59..=71 => format!("RFC 7862 section 15.{}", number - 58),
                number @ 72..=75 => format!("RFC 8276 section 8.4.{}", number - 71),
                _ => format!("RFC 8881 section 18.{}", section_number(operation)),
            },
        }
    }

    fn required_by(subject: Subject, rule: Option<&'static str>, minor: MinorVersion) -> String {
        let is_minor0 = minor == MinorVersion::V0;
        match rule {
            Some(rule) if is_minor0 => {
                let known = OF_MINOR0.iter().find(|(of_41, _)| *of_41 == rule);
                known.map_or(rule, |(_, of_40)| of_40).to_owned()
            }
            Some(rule) => rule.to_owned(),
            None if is_minor0 => section_of_minor0(subject),
            None => Self::section_of(subject),
        }
    }
}

/// The sections of RFC 7530 that say the same as those of RFC 8881.
const OF_MINOR0: [(&str, &str); 10] = [
    ("RFC 8881 section 16.2.3.1.1", "RFC 7530 section 15.2"),
    ("RFC 8881 section 5.5", "RFC 7530 section 5.5"),
    ("RFC 8881 section 5.6", "RFC 7530 section 5.6"),
    ("RFC 8881 section 5.8.1.4", "RFC 7530 section 5.8.1.4"),
    ("RFC 8881 section 6.2.1", "RFC 7530 section 6.2.1"),
    ("RFC 8881 section 14", "RFC 7530 section 12"),
    (STATEID, "RFC 7530 section 9.1.4.4"),
    ("RFC 8881 section 8.2.3", "RFC 7530 section 9.1.4.3"),
    ("RFC 8881 section 9.1.2", "RFC 7530 section 9.1.6"),
    ("RFC 8881 section 9.7", "RFC 7530 section 9.9"),
];

/// The section of RFC 7530 that specifies a subject. Those of operations have the order of their numbers.
fn section_of_minor0(subject: Subject) -> String {
    match subject {
        Subject::Null => "RFC 7530 section 15.1".to_owned(),
        Subject::Compound => "RFC 7530 section 15.2".to_owned(),
        Subject::Op(Operation::Illegal) => "RFC 7530 section 16.38".to_owned(),
        Subject::Op(operation) => {
            format!(
                "RFC 7530 section 16.{}",
                operation.to_u32().saturating_sub(2)
            )
        }
    }
}

impl Refused for Nfsstat4 {
    type Status = Self;

    fn status(&self) -> Self {
        *self
    }

    fn is_for_later(&self) -> bool {
        *self == Self::Delay
    }
}

fn only<O, P>(reply: Reply4<O>, part: impl FnOnce(O) -> P) -> Asked<V41, P> {
    reply.map(|answer| answer.map(part))
}

impl Common for V41 {
    type Attributes = Fattr3;
    type Kind = Ftype3;
    type Offset = u64;
    type Position = (u64, Verf);
    const START: (u64, Verf) = (0, [0; 8]);
    const REG: Ftype3 = Ftype3::Reg;
    const DIR: Ftype3 = Ftype3::Dir;
    const NOENT: Nfsstat4 = Nfsstat4::Noent;
    const EXIST: Nfsstat4 = Nfsstat4::Exist;
    const NOTDIR: Nfsstat4 = Nfsstat4::Notdir;
    const ISDIR: Nfsstat4 = Nfsstat4::Isdir;
    const NOTSUPP: Option<Nfsstat4> = Some(Nfsstat4::Notsupp);

    fn lacks(target: &Target, property: u32) -> bool {
        target.fsinfo.properties & property == 0
    }

    fn facts(attributes: &Fattr3) -> Facts {
        attributes.into()
    }

    fn kind(attributes: &Fattr3) -> Ftype3 {
        attributes.ftype
    }

    fn rpc(client: &mut Client) -> &mut RpcClient {
        client.nfs.rpc()
    }

    fn list_bytes(target: &Target) -> u32 {
        target.dir_bytes()
    }

    fn getattr(client: &mut Client, object: &Fh4) -> Asked<Self, Fattr3> {
        client.nfs.getattr(object)
    }

    fn lookup(client: &mut Client, dir: &Fh4, name: &[u8]) -> Asked<Self, Fh4> {
        only(client.nfs.lookup(dir, name), |found| found.object)
    }

    fn create(client: &mut Client, dir: &Fh4, name: &[u8]) -> Asked<Self, Option<Fh4>> {
        client.create(dir, name)
    }

    fn mkdir(client: &mut Client, dir: &Fh4, name: &[u8]) -> Asked<Self, Option<Fh4>> {
        let mode = Sattr3::mode(0o755);
        only(client.nfs.mkdir(dir, name, &mode), |made| made.object)
    }

    fn remove(client: &mut Client, dir: &Fh4, name: &[u8]) -> Asked<Self, ()> {
        only(client.remove(dir, name), drop)
    }

    fn rmdir(client: &mut Client, dir: &Fh4, name: &[u8]) -> Asked<Self, ()> {
        client.nfs.remove(Removal::Dir, dir, name)
    }

    fn rename(client: &mut Client, from: (&Fh4, &[u8]), to: (&Fh4, &[u8])) -> Asked<Self, ()> {
        client.nfs.rename(from, to)
    }

    fn link(client: &mut Client, file: &Fh4, dir: &Fh4, name: &[u8]) -> Asked<Self, ()> {
        client.link(file, dir, name)
    }

    fn symlink(
        client: &mut Client,
        dir: &Fh4,
        name: &[u8],
        text: &[u8],
    ) -> Asked<Self, Option<Fh4>> {
        client
            .make(dir, name, Createtype4::Lnk(text))
            .map(|answer| answer.map(Some))
    }

    fn readlink(client: &mut Client, link: &Fh4) -> Asked<Self, Vec<u8>> {
        client.on(link, &ReadlinkArgs {}, |res| res.map(|ok| ok.link.to_vec()))
    }

    fn readdir(
        client: &mut Client,
        dir: &Fh4,
        from: (u64, Verf),
        count: u32,
    ) -> Asked<Self, ListingPart<(u64, Verf)>> {
        only(client.nfs.readdir(dir, from, count), |part| {
            ListingPart::of(part.entries, part.cookieverf, part.eof)
        })
    }

    fn put(b: &mut Bench<'_>, file: &Fh4, offset: u64, data: &[u8]) -> Outcome {
        let (mut offset, mut rest) = (offset, data);
        while !rest.is_empty() {
            let what = format!("WRITE of {} bytes at {offset}", rest.len());
            let count = b.done(&what, |client| client.nfs.write(file, offset, rest))?;
            if count == 0 || count as usize > rest.len() {
                return Err(Stop::fail(
                    format!("{what}: 1 to {} bytes", rest.len()),
                    count,
                ));
            }
            offset += u64::from(count);
            rest = rest.get(count as usize..).unwrap_or_default();
        }
        Ok(())
    }

    fn get(b: &mut Bench<'_>, file: &Fh4, offset: u64, count: u32) -> Result<Vec<u8>, Stop> {
        let mut all = Vec::new();
        while all.len() < count as usize {
            let (at, left) = (offset + all.len() as u64, count - all.len() as u32);
            let what = format!("READ of {left} bytes at {at}");
            let read = b.done(&what, |client| client.nfs.read(file, at, left))?;
            if read.data.len() > left as usize {
                return Err(Stop::fail(format!("{what}: no more"), read.data.len()));
            }
            let is_last = read.eof || read.data.is_empty();
            all.extend(read.data);
            if is_last {
                break;
            }
        }
        Ok(all)
    }
}

/// The attributes that every server must support (RFC 8881 table 4).
pub(super) const OF_ALL: &[Attribute] = &[
    Attribute::SupportedAttrs,
    Attribute::Type,
    Attribute::FhExpireType,
    Attribute::Change,
    Attribute::Size,
    Attribute::LinkSupport,
    Attribute::SymlinkSupport,
    Attribute::NamedAttr,
    Attribute::Fsid,
    Attribute::UniqueHandles,
    Attribute::LeaseTime,
    Attribute::RdattrError,
    Attribute::Filehandle,
    Attribute::SuppattrExclcreat,
];

/// The section on what a stateid is compared with.
pub(super) const STATEID: &str = "RFC 8881 section 8.2.4";

impl Bench<'_> {
    /// Another client of the server, with a client ID and a session of its own.
    pub(super) fn another(&self) -> Client {
        Client::new(self.target, self.plan)
    }

    /// The attributes of an object that are in `wanted`, as far as the server supports them.
    pub(super) fn get_attributes<T>(
        &mut self,
        object: &Fh4,
        wanted: &[Attribute],
        take: impl Fn(&Attributes<'_>) -> Option<T>,
    ) -> Result<T, Stop> {
        let names: Vec<&str> = wanted.iter().map(|attribute| attribute.name()).collect();
        let names = names.join(" and ");
        let what = format!("GETATTR of {names}");
        let request = Bitmap4::of(wanted);
        let got = self.done(&what, |client| client.getattr(object, request, &take))?;
        got.ok_or_else(|| match wanted.iter().all(|one| OF_ALL.contains(one)) {
            true => Stop::fail(format!("{what}, which is required (section 5.6)"), "none"),
            false => Stop::skip(format!("the server does not support {names}")),
        })
    }

    /// Two handles must be of one object. They may differ, unless the server states `unique_handles`
    /// (RFC 8881 section 5.8.1.10).
    pub(super) fn same_object(&mut self, what: &str, wanted: &Fh4, is: &Fh4) -> Outcome {
        if wanted == is {
            return Ok(());
        }
        let unique = [Attribute::UniqueHandles];
        if self.get_attributes(wanted, &unique, |a| a.unique_handles)? {
            return Err(Stop::fail(
                format!("{what}: the same file handle, since unique_handles is true"),
                "another file handle",
            ));
        }
        let (wanted, is) = (self.facts(wanted)?, self.facts(is)?);
        self.equal(
            &format!("{what}: fsid and fileid"),
            (wanted.fsid, wanted.fileid),
            (is.fsid, is.fileid),
        )?;
        self.note("an object has more than one file handle");
        Ok(())
    }

    /// What an operation states about the attribute `change` of a directory that it changed. Values that
    /// are not atomic may be of any time.
    pub(super) fn changed(&self, info: ChangeInfo4, before: u64, after: u64) -> Outcome {
        self.holds(before != after, "another value of change", before)?;
        match info.atomic {
            true => self.equal("cinfo", (before, after), (info.before, info.after)),
            false => Ok(()),
        }
    }

    /// How many of `wanted` bytes WRITE wrote. A server may write fewer (RFC 8881 section 18.32.3).
    pub(super) fn wrote_all(&self, what: &str, wanted: usize, count: u32) -> Outcome {
        let count = count as usize;
        if (1..wanted).contains(&count) {
            return Err(Stop::skip(format!(
                "{what}: the server writes {count} of {wanted} bytes at once"
            )));
        }
        self.equal(&format!("{what}: count"), wanted, count)
    }

    /// The attribute `change`.
    pub(super) fn change(&mut self, object: &Fh4) -> Result<u64, Stop> {
        self.get_attributes(object, &[Attribute::Change], |a| a.change)
    }

    /// The attribute `change` before an operation that changes it. Servers may take it from a clock with ticks
    /// of some milliseconds, so the operation follows in another tick.
    pub(super) fn change_before(&mut self, object: &Fh4) -> Result<u64, Stop> {
        const TICKS: Duration = Duration::from_millis(20);
        let change = self.change(object)?;
        std::thread::sleep(TICKS);
        Ok(change)
    }

    /// The results of a call by another client that must succeed.
    pub(super) fn succeeds<T>(
        &self,
        what: &str,
        call: impl FnMut() -> Reply4<T>,
    ) -> Result<T, Stop> {
        self.ask_other(what, call)?
            .map_err(|status| Stop::fail(format!("{what}: {}", Nfsstat4::Ok), status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the table of contents of RFC 8881, chapter 18.
    #[test]
    fn sections_are_those_of_the_rfc() {
        for (operation, number) in [
            (Operation::Access, 1),
            (Operation::Open, 16),
            (Operation::OpenDowngrade, 18),
            (Operation::Rename, 26),
            (Operation::Restorefh, 27),
            (Operation::Setattr, 30),
            (Operation::Verify, 31),
            (Operation::Write, 32),
            (Operation::BackchannelCtl, 33),
            (Operation::ExchangeId, 35),
            (Operation::Sequence, 46),
            (Operation::DestroyClientid, 50),
            (Operation::ReclaimComplete, 51),
            (Operation::Illegal, 52),
        ] {
            assert_eq!(section_number(operation), number, "{operation:?}");
        }
    }
}
