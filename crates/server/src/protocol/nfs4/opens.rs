//! OPEN, OPEN_DOWNGRADE and CLOSE (RFC 8881 sections 18.16, 18.18 and 18.2).

use super::compound::Compound;
use super::handles::Object;
use super::names::{change_info, check_name};
use super::set_attributes;
use crate::memfs::{CreateHow, FileId, SetAttr};
use crate::nfs4::{Granted, NotOpened, OpenRequest, Share, Wish};
use filermark_onc::nfs4::*;

/// Bits of the access itself; the others are wishes for delegations.
const ACCESS: u32 = share::BOTH;
/// All wishes for delegations.
const WANTS: u32 =
    0xff00 | share::WANT_SIGNAL_DELEG_WHEN_RESRC_AVAIL | share::WANT_PUSH_DELEG_WHEN_UNCONTENDED;

/// What OPEN found or made, before there is a state.
struct Target {
    id: FileId,
    cinfo: ChangeInfo4,
    attrset: Bitmap4,
    /// It is to be cut to no bytes once it is open.
    truncates: bool,
    /// The caller has made it with this call, or with the same one before: its mode does not matter.
    is_new: bool,
}

/// The share of an open.
///
/// # Errors
/// INVAL: no access, or unknown bits.
fn share_of(access: u32, deny: u32) -> Res<Share> {
    let (bits, wants) = (access & ACCESS, access & !ACCESS);
    match bits == 0 || wants & !WANTS != 0 || deny > share::BOTH {
        true => Err(Nfsstat4::Inval),
        false => Ok(Share { access: bits, deny }),
    }
}

/// What OPEN of minor version 0 does not have.
///
/// # Errors
/// INVAL: bits of the access. BADXDR: ways to open and to create.
const fn check_version40(args: &OpenArgs<'_>) -> Res<()> {
    if args.share_access & !ACCESS != 0 {
        return Err(Nfsstat4::Inval);
    }
    let is_later = matches!(
        args.claim,
        OpenClaim4::Fh | OpenClaim4::DelegCurFh(_) | OpenClaim4::DelegPrevFh
    );
    match (is_later, &args.openhow) {
        (true, _) | (_, Openflag4::Create(Createhow4::Exclusive41(_))) => Err(Nfsstat4::Badxdr),
        _ => Ok(()),
    }
}

/// A way to create, with its attributes.
fn how_of(how: &Createhow4<'_>, minor: u32) -> Res<(CreateHow, SetAttr, Bitmap4)> {
    let none = SetAttr::default();
    let set = |fattr| set_attributes::of_new(fattr, minor);
    Ok(match how {
        Createhow4::Unchecked(fattr) => {
            let set = set(fattr)?;
            (CreateHow::Unchecked(set), set, fattr.attrmask())
        }
        Createhow4::Guarded(fattr) => {
            let set = set(fattr)?;
            (CreateHow::Guarded(set), set, fattr.attrmask())
        }
        Createhow4::Exclusive(verf) => {
            let verifier = u64::from_be_bytes(*verf);
            (CreateHow::Exclusive(verifier, none), none, Bitmap4::EMPTY)
        }
        Createhow4::Exclusive41(Creatverfattr { verf, attrs }) => {
            let (set, verifier) = (set(attrs)?, u64::from_be_bytes(*verf));
            (CreateHow::Exclusive(verifier, set), set, attrs.attrmask())
        }
    })
}

impl Compound<'_> {
    pub(super) fn open(&mut self, args: &OpenArgs<'_>) -> OpenRes<'static> {
        let object = self.current()?;
        if self.minor == 0 {
            check_version40(args)?;
        }
        let share = share_of(args.share_access, args.share_deny)?;
        if !self.client()?.has_reclaimed() {
            return match args.claim {
                OpenClaim4::Previous(_) => Err(Nfsstat4::NoGrace),
                _ => Err(Nfsstat4::Grace),
            };
        }
        let target = match (&args.claim, &args.openhow) {
            (OpenClaim4::Null(name), Openflag4::NoCreate) => self.existing(object, name)?,
            (OpenClaim4::Null(name), Openflag4::Create(how)) => self.made(object, name, how)?,
            (OpenClaim4::Fh, Openflag4::NoCreate) => self.by_handle(object)?,
            (OpenClaim4::Fh, Openflag4::Create(_)) => return Err(Nfsstat4::Inval),
            (OpenClaim4::Previous(_), _) => return Err(Nfsstat4::NoGrace),
            (OpenClaim4::DelegateCur(claim), Openflag4::NoCreate) => {
                self.held(self.existing(object, claim.file)?, &claim.delegate_stateid)?
            }
            (OpenClaim4::DelegCurFh(stateid), Openflag4::NoCreate) => {
                self.held(self.by_handle(object)?, stateid)?
            }
            (OpenClaim4::DelegateCur(_) | OpenClaim4::DelegCurFh(_), Openflag4::Create(_)) => {
                return Err(Nfsstat4::Inval);
            }
            (OpenClaim4::DelegatePrev(_) | OpenClaim4::DelegPrevFh, _) => {
                return Err(Nfsstat4::Notsupp);
            }
        };
        let is_held = matches!(
            args.claim,
            OpenClaim4::DelegateCur(_) | OpenClaim4::DelegCurFh(_)
        );
        let wish = self.wish(args.share_access).filter(|_| !is_held);
        let (stateid, granted) = self.opened(&target, args.owner.owner, (share, wish))?;
        self.set_current(Object::File(target.id));
        self.set_stateid(stateid);
        Ok(OpenOk {
            stateid,
            cinfo: target.cinfo,
            rflags: open_result::LOCKTYPE_POSIX | open_result::PRESERVE_UNLINKED,
            attrset: target.attrset,
            delegation: Self::delegation(args.share_access, granted),
        })
    }

    /// Makes the state of an open file.
    fn opened(
        &self,
        target: &Target,
        owner: &[u8],
        (share, wish): (Share, Option<Wish>),
    ) -> Res<(Stateid4, Option<Granted>)> {
        let shared = self.cx.shared;
        if !target.is_new {
            let rights = self.rights(Object::File(target.id))?;
            let is_denied = (share.access & share::READ != 0 && !rights.read)
                || (share.access & share::WRITE != 0 && !rights.write);
            if is_denied {
                return Err(Nfsstat4::Access);
            }
        }
        // The file stays while it is open, and no state is made of a file that is gone.
        Self::of_fs(shared.fs.hold(target.id))?;
        let opened = shared.nfs4.files.open(&OpenRequest {
            client: self.client()?,
            file: target.id,
            owner,
            share,
            truncates: target.truncates,
            wish,
            now_ns: self.now_ns,
        });
        if !opened.as_ref().is_ok_and(|opened| opened.is_new) {
            shared.fs.release(target.id);
        }
        let opened = opened.map_err(|error| match error {
            NotOpened::Status(status) => status,
            NotOpened::Delegated(recalls) => {
                shared.send_recalls(recalls);
                Nfsstat4::Delay
            }
        })?;
        if target.truncates {
            self.truncate(target.id).inspect_err(|_| {
                if opened.is_new {
                    // What the client does not learn of must not stay.
                    let _ = self.end_open(&opened.stateid, target.id);
                }
            })?;
        }
        Ok((opened.stateid, opened.delegation))
    }

    /// Checks that the client has a delegation of what it opens.
    fn held(&self, target: Target, stateid: &Stateid4) -> Res<Target> {
        let stateid = self.resolved(stateid)?;
        let files = &self.cx.shared.nfs4.files;
        files.check_delegation(&stateid, (self.client()?, target.id))?;
        Ok(target)
    }

    fn truncate(&self, id: FileId) -> Res<()> {
        let set = SetAttr {
            size: Some(0),
            ..SetAttr::default()
        };
        let (fs, cred) = (&self.cx.shared.fs, self.cx.caller.cred());
        Self::of_fs(fs.setattr(id, &set, None, &cred).result)
    }

    /// The change of a directory in which nothing was changed.
    fn unchanged(&self, dir: Object) -> Res<ChangeInfo4> {
        let change = self.attr(dir)?.ctime_ns;
        Ok(ChangeInfo4 {
            atomic: true,
            before: change,
            after: change,
        })
    }

    fn existing(&self, dir: Object, name: &[u8]) -> Res<Target> {
        let cinfo = self.unchanged(dir)?;
        let found = self.find(dir, name)?;
        self.must_be_file(found)?;
        Ok(Target {
            id: found.file_or(Nfsstat4::Isdir)?,
            cinfo,
            attrset: Bitmap4::EMPTY,
            truncates: false,
            is_new: false,
        })
    }

    fn by_handle(&self, object: Object) -> Res<Target> {
        self.must_be_file(object)?;
        Ok(Target {
            id: object.file_or(Nfsstat4::Isdir)?,
            cinfo: ChangeInfo4::default(),
            attrset: Bitmap4::EMPTY,
            truncates: false,
            is_new: false,
        })
    }

    /// OPEN that may create. A file that is there is taken by UNCHECKED4, and by the exclusive ways if the
    /// same call made it.
    fn made(&self, dir: Object, name: &[u8], how: &Createhow4<'_>) -> Res<Target> {
        self.must_be_dir(dir)?;
        check_name(name)?;
        let (how, set, attrset) = how_of(how, self.minor)?;
        let exists = match self.find(dir, name) {
            Ok(_) => true,
            Err(Nfsstat4::Noent) => false,
            Err(status) => return Err(status),
        };
        if exists && matches!(how, CreateHow::Unchecked(_)) {
            let target = self.existing(dir, name)?;
            let truncates = set.size == Some(0);
            let attrset = match truncates {
                true => Bitmap4::of(&[Attribute::Size]),
                false => Bitmap4::EMPTY,
            };
            return Ok(Target {
                attrset,
                truncates,
                ..target
            });
        }
        let (fs, cred) = (&self.cx.shared.fs, self.cx.caller.cred());
        let made = fs.create(dir.file()?, name, &how, &cred);
        let found = Self::of_fs(made.result)?;
        Ok(Target {
            id: found.id,
            cinfo: change_info(&made.wcc),
            attrset,
            truncates: false,
            is_new: !exists || found.attr.uid == self.cx.caller.uid,
        })
    }

    pub(super) fn open_downgrade(&mut self, args: &OpenDowngradeArgs) -> OpenDowngradeRes {
        let id = self.current()?.file_or(Nfsstat4::BadStateid)?;
        let share = share_of(args.share_access, args.share_deny)?;
        let stateid = self.resolved(&args.open_stateid)?;
        let files = &self.cx.shared.nfs4.files;
        let open_stateid = files.downgrade(&stateid, (self.client()?, id), share)?;
        self.set_stateid(open_stateid);
        Ok(OpenDowngradeOk { open_stateid })
    }

    fn end_open(&self, stateid: &Stateid4, id: FileId) -> Res<()> {
        let shared = self.cx.shared;
        shared.nfs4.files.close(stateid, (self.client()?, id))?;
        shared.fs.release(id);
        Ok(())
    }

    pub(super) fn close(&mut self, args: &CloseArgs) -> CloseRes {
        let id = self.current()?.file_or(Nfsstat4::BadStateid)?;
        let stateid = self.resolved(&args.open_stateid)?;
        self.end_open(&stateid, id)?;
        let open_stateid = Stateid4::INVALID;
        self.set_stateid(open_stateid);
        Ok(CloseOk { open_stateid })
    }
}
