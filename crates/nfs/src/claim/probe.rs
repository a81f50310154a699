//! Tries the operations of a mix that servers of version 4.2 need not have (RFC 7862 section 15), on a file
//! in the claimed directory: some are refused for the file system and not for the server.

use crate::client::{AnyFh, ClientError, FileClient, Nfs4Client, next_result};
use crate::target::{JukeboxRetries, Service, Target, explain};
#[cfg(doc)]
use filermark_driver_kit::claim::PROBE_PREFIX;
use filermark_engine::driver::DriverError;
use filermark_model::Op;
use filermark_model::plan::NfsPlan;
use filermark_onc::nfs4::*;
use filermark_onc::xdr::Array;

/// Bytes of the file, in two blocks.
const BLOCK_BYTES: u64 = 4096;
/// Name of the only owner of opens.
const OWNER: &[u8] = b"filermark";
/// Name and value of the attribute.
const ATTRIBUTE: &[u8] = b"filermark-probe";

/// Why the probe ended early.
enum Failed {
    Status(&'static str, Nfsstat4),
    Client(ClientError),
}

type Done<T> = Result<T, Failed>;

/// A file that is made for the probe.
struct ProbeFile<'a> {
    nfs: &'a mut Nfs4Client,
    retries: JukeboxRetries,
    file: Fh4,
    stateid: Stateid4,
}

/// Tries the operations of the plan in a directory, on a file with a name of [`PROBE_PREFIX`].
///
/// # Errors
/// The server does not have one of them, with all that it does not have in the sentence; the file cannot be
/// made; there is no answer.
pub(crate) fn probe(
    plan: &NfsPlan,
    target: &Target,
    (dir, name): (&AnyFh, &str),
) -> Result<(), DriverError> {
    if plan.optional_ops.is_empty() {
        return Ok(());
    }
    let FileClient::V4(mut nfs) = target.file_client(plan) else {
        return Ok(());
    };
    let step = "try the operations of the mix";
    let place = target.mount.to_string();
    match missing(&mut nfs, plan, (dir, name)) {
        Ok(missing) if missing.is_empty() => Ok(()),
        Ok(missing) => {
            let names: Vec<&str> = missing.iter().map(|op| op.name()).collect();
            Err(DriverError {
                place,
                step: step.to_owned(),
                reason: format!(
                    "the server does not offer {} here (NFS4ERR_NOTSUPP)",
                    names.join(", ")
                ),
                advice: "give their shares to other operations with MIXFILE, or export another \
                         file system"
                    .to_owned(),
            })
        }
        Err(Failed::Status(what, status)) => Err(DriverError {
            place,
            step: step.to_owned(),
            reason: format!("the server answered {status} to {what}"),
            advice: "check the rights of the export and its space".to_owned(),
        }),
        Err(Failed::Client(error)) => {
            let address = target.nfs_address;
            Err(explain(&place, step, Service::Nfs, address, &error))
        }
    }
}

/// Those of the operations that the server does not have.
fn missing(nfs: &mut Nfs4Client, plan: &NfsPlan, (dir, name): (&AnyFh, &str)) -> Done<Vec<Op>> {
    let mut file = ProbeFile::make(nfs, JukeboxRetries::of(plan), dir, name.as_bytes())?;
    let tried: Done<Vec<Op>> = file.fill().and_then(|()| {
        let mut missing = Vec::new();
        for op in &plan.optional_ops {
            let status = file.attempt(*op)?;
            if matches!(status, Nfsstat4::Notsupp | Nfsstat4::OpIllegal) {
                missing.push(*op);
            }
        }
        Ok(missing)
    });
    let removed = file.remove(dir, name.as_bytes());
    let missing = tried?;
    removed?;
    Ok(missing)
}

impl<'a> ProbeFile<'a> {
    /// Creates the file, or empties one that an earlier probe has left.
    fn make(
        nfs: &'a mut Nfs4Client,
        retries: JukeboxRetries,
        dir: &AnyFh,
        name: &[u8],
    ) -> Done<Self> {
        let values = Attributes {
            size: Some(0),
            mode: Some(0o600),
            ..Attributes::default()
        };
        let args = OpenArgs {
            seqid: 0,
            share_access: share::BOTH | share::WANT_NO_DELEG,
            share_deny: 0,
            owner: StateOwner4 {
                clientid: 0,
                owner: OWNER,
            },
            openhow: Openflag4::Create(Createhow4::Unchecked(Fattr4::new(&values))),
            claim: OpenClaim4::Null(name),
        };
        let object = dir.handle();
        let write = |compound: &mut CompoundWriter<'_, Operation>| {
            compound
                .op(&PutfhArgs { object })
                .op(&args)
                .op(&GetfhArgs {});
        };
        let opened = retries.until(
            || {
                nfs.compound(true, write, |compound| {
                    next_result!(compound, PutfhArgs<'_>);
                    let stateid = next_result!(compound, OpenArgs<'_>).stateid;
                    Ok(Ok((
                        stateid,
                        next_result!(compound, GetfhArgs).object.to_fh(),
                    )))
                })
            },
            |answer| *answer != Err(Nfsstat4::Delay),
        );
        let opened = opened.map_err(Failed::Client)?;
        let (stateid, file) = opened.map_err(|status| Failed::Status("OPEN", status))?;
        Ok(Self {
            nfs,
            retries,
            file,
            stateid,
        })
    }

    /// The status of an operation on the file; `is_pair`: it is also the saved file handle.
    fn on<A>(&mut self, args: &A, is_pair: bool) -> Done<Nfsstat4>
    where
        A: Arguments<Operation = Operation>,
    {
        let object = self.file.handle();
        let write = |compound: &mut CompoundWriter<'_, Operation>| {
            compound.op(&PutfhArgs { object });
            if is_pair {
                compound.op(&SavefhArgs {}).op(&PutfhArgs { object });
            }
            compound.op(args);
        };
        let nfs = &mut *self.nfs;
        // The status of a COMPOUND is that of its last operation.
        let answer = self.retries.until(
            || nfs.compound(true, write, |compound| Ok(Ok(compound.status))),
            |answer| !matches!(answer, Ok(Nfsstat4::Delay) | Err(Nfsstat4::Delay)),
        );
        let answer = answer.map_err(Failed::Client)?;
        Ok(answer.unwrap_or_else(|status| status))
    }

    /// The two blocks.
    fn fill(&mut self) -> Done<()> {
        let data = [0x5a; 2 * BLOCK_BYTES as usize];
        let args = WriteArgs {
            stateid: self.stateid,
            offset: 0,
            stable: StableHow::FileSync,
            data: &data,
        };
        match self.on(&args, false)? {
            Nfsstat4::Ok => Ok(()),
            refused => Err(Failed::Status("WRITE", refused)),
        }
    }

    /// The status of one of the operations, on data that makes it succeed where the server has it.
    fn attempt(&mut self, op: Op) -> Done<Nfsstat4> {
        let (stateid, offset, length) = (self.stateid, 0, BLOCK_BYTES);
        match op {
            Op::Allocate => {
                let args = AllocateArgs {
                    stateid,
                    offset,
                    length,
                };
                self.on(&args, false)
            }
            Op::Deallocate => {
                let args = DeallocateArgs {
                    stateid,
                    offset: BLOCK_BYTES,
                    length,
                };
                self.on(&args, false)
            }
            Op::Seek => {
                let what = DataContent4::Data;
                let args = SeekArgs {
                    stateid,
                    offset,
                    what,
                };
                self.on(&args, false)
            }
            Op::ReadPlus => {
                let count = BLOCK_BYTES as u32;
                let args = ReadPlusArgs {
                    stateid,
                    offset,
                    count,
                };
                self.on(&args, false)
            }
            Op::Copy => {
                let args = CopyArgs {
                    src_stateid: stateid,
                    dst_stateid: stateid,
                    src_offset: 0,
                    dst_offset: 2 * BLOCK_BYTES,
                    count: BLOCK_BYTES,
                    consecutive: true,
                    synchronous: true,
                    source_server: Array::default(),
                };
                self.on(&args, true)
            }
            Op::Clone => {
                let args = CloneArgs {
                    src_stateid: stateid,
                    dst_stateid: stateid,
                    src_offset: 0,
                    dst_offset: 2 * BLOCK_BYTES,
                    count: BLOCK_BYTES,
                };
                self.on(&args, true)
            }
            _ => self.attempt_attribute(op),
        }
    }

    fn attempt_attribute(&mut self, op: Op) -> Done<Nfsstat4> {
        let name = ATTRIBUTE;
        match op {
            Op::Getxattr => self.on(&GetxattrArgs { name }, false),
            Op::Setxattr => {
                let args = SetxattrArgs {
                    option: SetxattrOption4::Either,
                    name,
                    value: ATTRIBUTE,
                };
                self.on(&args, false)
            }
            Op::Listxattrs => {
                let args = ListxattrsArgs {
                    cookie: 0,
                    maxcount: 1024,
                };
                self.on(&args, false)
            }
            Op::Removexattr => self.on(&RemovexattrArgs { name }, false),
            // Every server has the others.
            _ => Ok(Nfsstat4::Ok),
        }
    }

    fn remove(mut self, dir: &AnyFh, target: &[u8]) -> Done<()> {
        let close = CloseArgs {
            seqid: 0,
            open_stateid: self.stateid,
        };
        let closed = self.on(&close, false)?;
        self.file = *dir;
        let removed = self.on(&RemoveArgs { target }, false)?;
        for (what, status) in [("CLOSE", closed), ("REMOVE", removed)] {
            if status != Nfsstat4::Ok {
                return Err(Failed::Status(what, status));
            }
        }
        Ok(())
    }
}
