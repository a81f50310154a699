//! The operations of NFSv4 that the run's directory and the survey need, each one or a few COMPOUNDs.

use super::translate::{self, FATTR3};
use super::{Nfs4Client, Reply4, Row, RowResult};
use std::cell::Cell;

use crate::client::{ClientError, DirEntry, FoundObject, Listing, MadeObject, ReadData, Removal};
use filermark_model::plan::MinorVersion;
use filermark_onc::nfs3::{Fattr3, FsinfoOk, FsstatOk, PathconfOk, Sattr3, StableHow, Verf};
use filermark_onc::nfs4::*;

/// A file that was opened.
#[derive(Clone, Copy, Debug)]
struct Opened {
    /// The open.
    stateid: Stateid4,
    /// Its handle.
    file: Fh4,
    /// Version 4.0: the next sequence number of its owner.
    seqid: u32,
}

/// Who opens a file, and with what: in a session the client ID and the sequence number are not used.
#[derive(Clone, Copy, Debug)]
struct Opener {
    minor: MinorVersion,
    clientid: Clientid4,
    owner: [u8; OWNER.len() + 4],
}

impl Opener {
    /// An OPEN without delegation.
    fn args<'a>(
        &'a self,
        share_access: u32,
        openhow: Openflag4<'a>,
        claim: OpenClaim4<'a>,
    ) -> OpenArgs<'a> {
        let has_sessions = self.minor.has_sessions();
        OpenArgs {
            seqid: 0,
            share_access: match has_sessions {
                true => share_access | share::WANT_NO_DELEG,
                false => share_access,
            },
            share_deny: 0,
            owner: StateOwner4 {
                clientid: self.clientid,
                owner: match has_sessions {
                    true => OWNER,
                    false => &self.owner,
                },
            },
            openhow,
            claim,
        }
    }
}

/// What GETATTR of a file system's root returns of it.
#[derive(Clone, Debug, PartialEq)]
pub struct FileSystemFacts {
    /// As version 3 has it: transfers, limits.
    pub fsinfo: FsinfoOk,
    /// Space.
    pub fsstat: FsstatOk,
    /// Limits on names and links, if the server states them.
    pub pathconf: Option<PathconfOk>,
    /// The attributes that the server supports for this file system.
    pub supported: Bitmap4,
    /// The server has layouts of flexible files (RFC 8435) for it.
    pub has_flexible_files: bool,
}

/// Name of the only owner of opens; in version 4.0 a number follows.
const OWNER: &[u8] = b"filermark";

/// The attributes of [`FileSystemFacts`], without those of version 3.
const FACTS: Bitmap4 = Bitmap4::of(&[
    Attribute::FsLayoutTypes,
    Attribute::SupportedAttrs,
    Attribute::LinkSupport,
    Attribute::SymlinkSupport,
    Attribute::Cansettime,
    Attribute::CaseInsensitive,
    Attribute::CasePreserving,
    Attribute::ChownRestricted,
    Attribute::FilesAvail,
    Attribute::FilesFree,
    Attribute::FilesTotal,
    Attribute::Homogeneous,
    Attribute::Maxfilesize,
    Attribute::Maxlink,
    Attribute::Maxname,
    Attribute::Maxread,
    Attribute::Maxwrite,
    Attribute::NoTrunc,
    Attribute::SpaceAvail,
    Attribute::SpaceFree,
    Attribute::SpaceTotal,
    Attribute::TimeDelta,
]);

/// The result of the next operation; a failure ends the COMPOUND.
macro_rules! next_result {
    ($compound:expr, $args:ty) => {
        match $compound.read::<$args>()? {
            Ok(ok) => ok,
            Err(status) => return Ok(Err(status)),
        }
    };
}
pub(crate) use next_result;

fn putfh(object: &Fh4) -> PutfhArgs<'_> {
    PutfhArgs {
        object: object.handle(),
    }
}

const fn getattr(attr_request: Bitmap4) -> GetattrArgs {
    GetattrArgs { attr_request }
}

/// The attributes of GETATTR as those of version 3.
fn fattr(compound: &mut Row<'_>) -> RowResult<Fattr3> {
    let ok = next_result!(compound, GetattrArgs);
    let attributes = ok.obj_attributes.attributes()?;
    Ok(translate::fattr(&attributes).ok_or(Nfsstat4::Attrnotsupp))
}

/// The results of GETFH and GETATTR.
fn found(compound: &mut Row<'_>) -> RowResult<FoundObject> {
    let object = next_result!(compound, GetfhArgs).object.to_fh();
    Ok(fattr(compound)?.map(|attributes| FoundObject {
        object,
        attributes: Some(attributes),
    }))
}

/// Mode and size; owners and times are not set here.
fn settable(attributes: &Sattr3) -> Attributes<'static> {
    Attributes {
        mode: attributes.mode,
        size: attributes.size,
        ..Attributes::default()
    }
}

/// A refusal by the server is within the [`Reply4`], the errors are those of the way there.
#[allow(clippy::missing_errors_doc, reason = "documented once, above")]
impl Nfs4Client {
    /// The root of the server's name space (PUTROOTFH).
    pub fn root(&mut self) -> Reply4<FoundObject> {
        let write = |compound: &mut CompoundWriter<'_, Operation>| {
            compound.op(&PutrootfhArgs {});
            compound.op(&GetfhArgs {}).op(&getattr(FATTR3));
        };
        self.compound(false, write, |compound| {
            next_result!(compound, PutrootfhArgs);
            found(compound)
        })
    }

    /// Finds a name.
    pub fn lookup(&mut self, dir: &Fh4, objname: &[u8]) -> Reply4<FoundObject> {
        let write = |compound: &mut CompoundWriter<'_, Operation>| {
            compound.op(&putfh(dir)).op(&LookupArgs { objname });
            compound.op(&GetfhArgs {}).op(&getattr(FATTR3));
        };
        self.compound(false, write, |compound| {
            next_result!(compound, PutfhArgs<'_>);
            next_result!(compound, LookupArgs<'_>);
            found(compound)
        })
    }

    /// Attributes.
    pub fn getattr(&mut self, object: &Fh4) -> Reply4<Fattr3> {
        let write = |compound: &mut CompoundWriter<'_, Operation>| {
            compound.op(&putfh(object)).op(&getattr(FATTR3));
        };
        self.compound(false, write, |compound| {
            next_result!(compound, PutfhArgs<'_>);
            fattr(compound)
        })
    }

    /// Sets mode and size.
    pub fn setattr(&mut self, object: &Fh4, attributes: &Sattr3) -> Reply4<()> {
        let values = settable(attributes);
        let write = |compound: &mut CompoundWriter<'_, Operation>| {
            compound.op(&putfh(object)).op(&SetattrArgs {
                stateid: Stateid4::ANONYMOUS,
                obj_attributes: Fattr4::new(&values),
            });
        };
        self.compound(true, write, |compound| {
            next_result!(compound, PutfhArgs<'_>);
            let result = compound.read::<SetattrArgs<'_>>()?;
            Ok(match result.status {
                Nfsstat4::Ok => Ok(()),
                status => Err(status),
            })
        })
    }

    /// Asks for rights.
    pub fn access(&mut self, object: &Fh4, access: u32) -> Reply4<AccessOk> {
        let write = |compound: &mut CompoundWriter<'_, Operation>| {
            compound.op(&putfh(object)).op(&AccessArgs { access });
        };
        self.compound(false, write, |compound| {
            next_result!(compound, PutfhArgs<'_>);
            compound.read::<AccessArgs>()
        })
    }

    /// Opens a file that was found. Version 4.0 opens names alone: there READ and WRITE go without an open
    /// (RFC 7530 section 9.1.4.3).
    fn open(&mut self, file: &Fh4, share_access: u32) -> Reply4<Opened> {
        let opener = self.opener()?;
        let file = *file;
        if !opener.minor.has_sessions() {
            return Ok(Ok(Opened {
                stateid: Stateid4::ANONYMOUS,
                file,
                seqid: 0,
            }));
        }
        let args = opener.args(share_access, Openflag4::NoCreate, OpenClaim4::Fh);
        let write = |compound: &mut CompoundWriter<'_, Operation>| {
            compound.op(&putfh(&file)).op(&args);
        };
        self.compound(true, write, |compound| {
            next_result!(compound, PutfhArgs<'_>);
            let stateid = next_result!(compound, OpenArgs<'_>).stateid;
            Ok(Ok(Opened {
                stateid,
                file,
                seqid: 0,
            }))
        })
    }

    /// Who opens the next file.
    fn opener(&mut self) -> Result<Opener, ClientError> {
        let session = &self.session()?.session;
        let (minor, clientid) = (session.minor(), session.clientid());
        Ok(Opener {
            minor,
            clientid: if minor.has_sessions() { 0 } else { clientid },
            owner: [0; OWNER.len() + 4],
        })
    }

    /// Makes a file, or takes one that is there, and closes it.
    pub fn create(&mut self, dir: &Fh4, name: &[u8], attributes: &Sattr3) -> Reply4<MadeObject> {
        let mut opened = self.open_created(dir, name, attributes)?;
        let is_lost = matches!(opened, Err(Nfsstat4::StaleClientid | Nfsstat4::Expired));
        if is_lost && !self.opener()?.minor.has_sessions() {
            // The client ID is lost: the lease has expired, or the server has restarted.
            self.renew()?;
            opened = self.open_created(dir, name, attributes)?;
        }
        let opened = match opened {
            Ok(opened) => opened,
            Err(status) => return Ok(Err(status)),
        };
        self.close(&opened)?;
        Ok(Ok(MadeObject {
            object: Some(opened.file),
        }))
    }

    fn open_created(&mut self, dir: &Fh4, name: &[u8], attributes: &Sattr3) -> Reply4<Opened> {
        let values = settable(attributes);
        let opener = self.opener()?;
        // A call that is sent again is another OPEN: it has an owner of its own.
        let owners = Cell::new(self.owners);
        let write = |compound: &mut CompoundWriter<'_, Operation>| {
            let mut opener = opener;
            owners.set(owners.get().wrapping_add(1));
            opener.owner[..OWNER.len()].copy_from_slice(OWNER);
            opener.owner[OWNER.len()..].copy_from_slice(&owners.get().to_be_bytes());
            let how = Createhow4::Unchecked(Fattr4::new(&values));
            let (how, claim) = (Openflag4::Create(how), OpenClaim4::Null(name));
            let args = opener.args(share::WRITE, how, claim);
            compound.op(&putfh(dir)).op(&args).op(&GetfhArgs {});
        };
        let made = self.compound(true, write, |compound| {
            next_result!(compound, PutfhArgs<'_>);
            let open = next_result!(compound, OpenArgs<'_>);
            let (stateid, rflags) = (open.stateid, open.rflags);
            let file = next_result!(compound, GetfhArgs).object.to_fh();
            let opened = Opened {
                stateid,
                file,
                seqid: 1,
            };
            Ok(Ok((opened, rflags & open_result::CONFIRM != 0)))
        });
        self.owners = owners.get();
        match made? {
            Ok((opened, true)) if !opener.minor.has_sessions() => self.confirm(&opened),
            made => Ok(made.map(|(opened, _)| opened)),
        }
    }

    /// OPEN_CONFIRM: the server asks for it with the first OPEN of an owner (RFC 7530 section 16.18).
    fn confirm(&mut self, opened: &Opened) -> Reply4<Opened> {
        let write = |compound: &mut CompoundWriter<'_, Operation>| {
            compound.op(&putfh(&opened.file)).op(&OpenConfirmArgs {
                open_stateid: opened.stateid,
                seqid: opened.seqid,
            });
        };
        self.compound(true, write, |compound| {
            next_result!(compound, PutfhArgs<'_>);
            let stateid = next_result!(compound, OpenConfirmArgs).open_stateid;
            Ok(Ok(Opened {
                stateid,
                seqid: opened.seqid + 1,
                ..*opened
            }))
        })
    }

    /// Closes a file. A status is only logged: the end of the client ID ends the open, too.
    fn close(&mut self, opened: &Opened) -> Result<(), ClientError> {
        if opened.stateid == Stateid4::ANONYMOUS {
            return Ok(());
        }
        let write = |compound: &mut CompoundWriter<'_, Operation>| {
            compound.op(&putfh(&opened.file)).op(&CloseArgs {
                seqid: opened.seqid,
                open_stateid: opened.stateid,
            });
        };
        let closed = self.compound(true, write, |compound| {
            next_result!(compound, PutfhArgs<'_>);
            next_result!(compound, CloseArgs);
            Ok(Ok(()))
        })?;
        if let Err(status) = closed {
            tracing::debug!(target: "filermark_nfs::rpc", %status, "CLOSE failed");
        }
        Ok(())
    }

    /// Opens a file, works on it, and closes it whatever came of that.
    fn with_open<T>(
        &mut self,
        file: &Fh4,
        share_access: u32,
        work: impl FnOnce(&mut Self, &Opened) -> Reply4<T>,
    ) -> Reply4<T> {
        let opened = match self.open(file, share_access)? {
            Ok(opened) => opened,
            Err(status) => return Ok(Err(status)),
        };
        let done = work(self, &opened)?;
        self.close(&opened)?;
        Ok(done)
    }

    /// Opens a file, reads data, and closes it.
    pub fn read(&mut self, file: &Fh4, offset: u64, count: u32) -> Reply4<ReadData> {
        let max = self.session()?.session.fore().read_bytes_max();
        let count = count.min(max);
        self.with_open(file, share::READ, |nfs, opened| {
            let write = |compound: &mut CompoundWriter<'_, Operation>| {
                compound.op(&putfh(&opened.file)).op(&ReadArgs {
                    stateid: opened.stateid,
                    offset,
                    count,
                });
            };
            nfs.compound(false, write, |compound| {
                next_result!(compound, PutfhArgs<'_>);
                let ok = next_result!(compound, ReadArgs);
                Ok(Ok(ReadData {
                    file_attributes: None,
                    count: ok.data.len() as u32,
                    eof: ok.eof,
                    data: ok.data.to_vec(),
                }))
            })
        })
    }

    /// Opens a file, writes data (as many bytes as the session allows), safe when it is answered, and
    /// closes it. Returns the number of bytes.
    pub fn write(&mut self, file: &Fh4, offset: u64, data: &[u8]) -> Reply4<u32> {
        let max = self.session()?.session.fore().write_bytes_max();
        let data = data.get(..max as usize).unwrap_or(data);
        self.with_open(file, share::WRITE, |nfs, opened| {
            let write = |compound: &mut CompoundWriter<'_, Operation>| {
                compound.op(&putfh(&opened.file)).op(&WriteArgs {
                    stateid: opened.stateid,
                    offset,
                    stable: StableHow::FileSync,
                    data,
                });
            };
            nfs.compound(true, write, |compound| {
                next_result!(compound, PutfhArgs<'_>);
                let ok = next_result!(compound, WriteArgs<'_>);
                Ok(Ok(ok.count))
            })
        })
    }

    /// Makes a directory.
    pub fn mkdir(&mut self, dir: &Fh4, objname: &[u8], attributes: &Sattr3) -> Reply4<MadeObject> {
        let values = settable(attributes);
        let write = |compound: &mut CompoundWriter<'_, Operation>| {
            compound.op(&putfh(dir)).op(&CreateArgs {
                objtype: Createtype4::Dir,
                objname,
                createattrs: Fattr4::new(&values),
            });
            compound.op(&GetfhArgs {});
        };
        self.compound(true, write, |compound| {
            next_result!(compound, PutfhArgs<'_>);
            next_result!(compound, CreateArgs<'_>);
            let object = Some(next_result!(compound, GetfhArgs).object.to_fh());
            Ok(Ok(MadeObject { object }))
        })
    }

    /// Removes a file or a directory. REMOVE takes either: the type is compared first in the same
    /// COMPOUND, so that a directory answers NFS4ERR_ISDIR, and what is none NFS4ERR_NOTDIR.
    pub fn remove(&mut self, kind: Removal, dir: &Fh4, name: &[u8]) -> Reply4<()> {
        let is_dir = Attributes {
            ftype: Some(Ftype4::Dir),
            ..Attributes::default()
        };
        let obj_attributes = Fattr4::new(&is_dir);
        let write = |compound: &mut CompoundWriter<'_, Operation>| {
            compound.op(&putfh(dir)).op(&SavefhArgs {});
            compound.op(&LookupArgs { objname: name });
            match kind {
                Removal::File => compound.op(&NverifyArgs { obj_attributes }),
                Removal::Dir => compound.op(&VerifyArgs { obj_attributes }),
            };
            compound
                .op(&RestorefhArgs {})
                .op(&RemoveArgs { target: name });
        };
        self.compound(true, write, |compound| {
            next_result!(compound, PutfhArgs<'_>);
            next_result!(compound, SavefhArgs);
            next_result!(compound, LookupArgs<'_>);
            let compared = match kind {
                Removal::File => compound.read::<NverifyArgs<'_>>()?,
                Removal::Dir => compound.read::<VerifyArgs<'_>>()?,
            };
            match compared {
                Ok(()) => {}
                Err(Nfsstat4::Same) => return Ok(Err(Nfsstat4::Isdir)),
                Err(Nfsstat4::NotSame) => return Ok(Err(Nfsstat4::Notdir)),
                Err(status) => return Ok(Err(status)),
            }
            next_result!(compound, RestorefhArgs);
            next_result!(compound, RemoveArgs<'_>);
            Ok(Ok(()))
        })
    }

    /// Renames `from.1` in the directory `from.0`.
    pub fn rename(&mut self, from: (&Fh4, &[u8]), to: (&Fh4, &[u8])) -> Reply4<()> {
        let write = |compound: &mut CompoundWriter<'_, Operation>| {
            compound.op(&putfh(from.0)).op(&SavefhArgs {});
            compound.op(&putfh(to.0)).op(&RenameArgs {
                oldname: from.1,
                newname: to.1,
            });
        };
        self.compound(true, write, |compound| {
            next_result!(compound, PutfhArgs<'_>);
            next_result!(compound, SavefhArgs);
            next_result!(compound, PutfhArgs<'_>);
            next_result!(compound, RenameArgs<'_>);
            Ok(Ok(()))
        })
    }

    /// A part of a directory's names. `from` is a cookie and its verifier. A verifier that is no longer
    /// good is a cookie that is no longer good.
    pub fn readdir(
        &mut self,
        dir: &Fh4,
        from: (u64, Verf),
        count: u32,
    ) -> Reply4<Listing<DirEntry>> {
        let max = self.session()?.session.fore().read_bytes_max();
        let write = |compound: &mut CompoundWriter<'_, Operation>| {
            compound.op(&putfh(dir)).op(&ReaddirArgs {
                cookie: from.0,
                cookieverf: from.1,
                dircount: count.min(max),
                maxcount: count.min(max),
                attr_request: Bitmap4::of(&[Attribute::RdattrError, Attribute::Fileid]),
            });
        };
        self.compound(false, write, |compound| {
            next_result!(compound, PutfhArgs<'_>);
            let ok = match compound.read::<ReaddirArgs>()? {
                Ok(ok) => ok,
                Err(Nfsstat4::NotSame) => return Ok(Err(Nfsstat4::BadCookie)),
                Err(status) => return Ok(Err(status)),
            };
            let mut entries = Vec::new();
            for entry in &ok.entries {
                entries.push(DirEntry {
                    fileid: entry.attrs.attributes()?.fileid.unwrap_or_default(),
                    name: entry.name.to_vec(),
                    cookie: entry.cookie,
                });
            }
            Ok(Ok(Listing {
                dir_attributes: None,
                cookieverf: ok.cookieverf,
                entries,
                eof: ok.eof,
            }))
        })
    }

    /// Transfer sizes, limits and space of the file system that an object is in.
    pub fn file_system(&mut self, object: &Fh4) -> Reply4<FileSystemFacts> {
        let fore = *self.session()?.session.fore();
        let write = |compound: &mut CompoundWriter<'_, Operation>| {
            compound
                .op(&putfh(object))
                .op(&getattr(FATTR3))
                .op(&getattr(FACTS));
        };
        self.compound(false, write, |compound| {
            next_result!(compound, PutfhArgs<'_>);
            let of_object = next_result!(compound, GetattrArgs)
                .obj_attributes
                .attributes()?;
            let of_system = next_result!(compound, GetattrArgs)
                .obj_attributes
                .attributes()?;
            let obj_attributes = translate::fattr(&of_object);
            let (read_max, write_max) = (fore.read_bytes_max(), fore.write_bytes_max());
            let pathconf = translate::pathconf(&of_system);
            Ok(Ok(FileSystemFacts {
                fsinfo: FsinfoOk {
                    obj_attributes,
                    ..translate::fsinfo(&of_system, read_max, write_max)
                },
                fsstat: translate::fsstat(&of_system),
                pathconf,
                supported: of_system.supported_attrs.unwrap_or_default(),
                has_flexible_files: (of_system.fs_layout_types)
                    .is_some_and(|types| types.iter().any(|of| of == layout_type::FLEX_FILES)),
            }))
        })
    }
}
