//! COMPOUNDs of a session as bytes.

use super::refusal::SessionRefusal;
use filermark_model::plan::MinorVersion;
use filermark_onc::nfs4::{
    Arguments, CompoundRes, CompoundWriter, Nfsstat4, Operation, PROGRAM, VERSION,
};
use filermark_onc::rpc::{AuthBody, ReplyHeader};
use filermark_onc::template::CallTemplate;
use filermark_onc::xdr::{Decode, DecodeError, Decoder};

/// The header of all calls of NFSv4 with this credential.
pub fn call_template(cred: &AuthBody) -> CallTemplate {
    CallTemplate::new(PROGRAM, VERSION, cred.as_auth())
}

/// Begins the arguments of a COMPOUND: all calls of a session have its minor version.
#[inline]
pub fn begin_compound(out: &mut Vec<u8>, minor: MinorVersion) -> CompoundWriter<'_, Operation> {
    CompoundWriter::begin(out, b"", minor.number())
}

/// The results in an RPC reply.
pub(super) fn results_of<'r>(
    message: &'r [u8],
    call: &'static str,
) -> Result<&'r [u8], SessionRefusal> {
    let mut d = Decoder::new(message);
    let header =
        ReplyHeader::decode(&mut d).map_err(|error| SessionRefusal::Malformed { call, error })?;
    header.check()?;
    Ok(d.rest())
}

/// A list of results. A server without the minor version has none in it.
pub(super) fn compound<'r>(results: &'r [u8]) -> Result<CompoundRes<'r, Operation>, RowError> {
    let compound = CompoundRes::decode(&mut Decoder::new(results))?;
    match compound.status {
        Nfsstat4::MinorVersMismatch => Err(RowError::NoMinorVersion),
        status if status != Nfsstat4::Ok && compound.left() == 0 => Err(RowError::Status(status)),
        _ => Ok(compound),
    }
}

/// The results of a COMPOUND of one operation.
pub(super) fn only<'r, A: Arguments<Operation = Operation>>(
    results: &'r [u8],
) -> Result<A::Res<'r>, RowError> {
    let mut compound = compound(results)?;
    let result = compound.read::<A>()?;
    compound.end()?;
    Ok(result)
}

/// Why a COMPOUND has no result to look at.
pub(super) enum RowError {
    Malformed(DecodeError),
    NoMinorVersion,
    /// The COMPOUND failed before its first operation.
    Status(Nfsstat4),
}

impl From<DecodeError> for RowError {
    fn from(error: DecodeError) -> Self {
        Self::Malformed(error)
    }
}
