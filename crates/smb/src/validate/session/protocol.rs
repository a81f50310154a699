//! What each protocol does in its own way: breaks, interim answers, invalid requests.

use super::{OplockBreakInfo, Ticket};
use crate::client::Failure;
use crate::client::raw::{Protocol, RawSession, RawSmb1, RawSmb2, good};
use filermark_smbwire::request::Request;
use filermark_smbwire::smb2::header;
use filermark_smbwire::smb2::query::AttributeInfo;
use filermark_smbwire::smb2::{
    FileClass, FileId, FsClass, LeaseAcknowledgment, OplockBreak, OplockLevel, OutputResponse,
    Query, QueryInfoRequest,
};
use filermark_smbwire::{smb1, smb2};
use std::time::Duration;

/// Buffer for facts about a file, in bytes.
pub(super) const INFO_BYTES: u32 = 1024;
/// A level that there is not (MS-CIFS 2.2.2.3.3).
const NO_LEVEL: u16 = 0x01F7;
/// A class that there is not (MS-FSCC 2.4).
const NO_CLASS: u8 = 0xF7;

/// A protocol, where the two differ.
pub(in crate::validate) trait ProtocolCalls: Protocol {
    /// What takes a request back.
    const CANCEL: &'static str;

    /// See [`Calls::wait_promise`](super::Calls::wait_promise).
    fn wait_promise(raw: &mut RawSession<Self>, ticket: Ticket) -> Result<Option<bool>, Failure>;

    /// See [`Calls::query_nonsense`](super::Calls::query_nonsense).
    fn query_nonsense(raw: &mut RawSession<Self>, file: FileId) -> Result<(), Failure>;

    /// The longest name in the file system of an open file, in characters.
    fn name_max(raw: &mut RawSession<Self>, file: FileId) -> Result<Option<u32>, Failure>;

    /// See [`Calls::next_break`](super::Calls::next_break).
    fn next_break(
        raw: &mut RawSession<Self>,
        limit: Duration,
    ) -> Result<Option<OplockBreakInfo>, Failure>;

    /// See [`Calls::acknowledge`](super::Calls::acknowledge).
    fn acknowledge(raw: &mut RawSession<Self>, broken: &OplockBreakInfo) -> Result<(), Failure>;
}

impl ProtocolCalls for smb1::Session {
    const CANCEL: &'static str = "NT_CANCEL";

    fn wait_promise(_raw: &mut RawSmb1, _ticket: Ticket) -> Result<Option<bool>, Failure> {
        Ok(None)
    }

    fn query_nonsense(raw: &mut RawSmb1, file: FileId) -> Result<(), Failure> {
        let request = smb1::QueryFile {
            fid: file.volatile as u16,
            level: NO_LEVEL,
            max_data: INFO_BYTES as u16,
        };
        raw.ask("TRANS2_QUERY_FILE_INFORMATION", &request).map(drop)
    }

    fn name_max(_raw: &mut RawSmb1, _file: FileId) -> Result<Option<u32>, Failure> {
        Ok(None)
    }

    fn next_break(raw: &mut RawSmb1, limit: Duration) -> Result<Option<OplockBreakInfo>, Failure> {
        let step = "oplock break";
        let came = raw.next_break(limit);
        let Some(reply) = came.map_err(|error| Failure::ConnectionLost { step, error })? else {
            return Ok(None);
        };
        let broken = raw.read_as(step, &reply, |parts| smb1::OplockBreak::read(parts))?;
        let level = match broken.level {
            0 => OplockLevel::None,
            _ => OplockLevel::Two,
        };
        let file = FileId {
            persistent: 0,
            volatile: broken.fid.into(),
        };
        Ok(Some(OplockBreakInfo::Oplock { file, level }))
    }

    fn acknowledge(raw: &mut RawSmb1, broken: &OplockBreakInfo) -> Result<(), Failure> {
        let OplockBreakInfo::Oplock { file, level } = *broken else {
            return Ok(());
        };
        let step = "LOCKING_ANDX";
        let sent = raw.send_request(&Request::Acknowledge { file, level });
        for mid in sent.map_err(|error| Failure::ConnectionLost { step, error })? {
            raw.forget_request(mid);
        }
        Ok(())
    }
}

impl ProtocolCalls for smb2::Session {
    const CANCEL: &'static str = "CANCEL";

    fn wait_promise(raw: &mut RawSmb2, ticket: Ticket) -> Result<Option<bool>, Failure> {
        let step = "wait";
        let promised = raw.wait_promise(ticket.0);
        promised
            .map(Some)
            .map_err(|error| Failure::ConnectionLost { step, error })
    }

    fn query_nonsense(raw: &mut RawSmb2, file: FileId) -> Result<(), Failure> {
        let step = "QUERY_INFO";
        let lost = |error| Failure::ConnectionLost { step, error };
        let query = QueryInfoRequest {
            file,
            query: Query::File(FileClass::Basic),
            max_output: INFO_BYTES,
        };
        let sent = raw.send_built(1, |session, id, out| {
            let message = session.request(out, id, &query);
            if let Some(class) = out.get_mut(message + header::LEN + 3) {
                *class = NO_CLASS;
            }
        });
        let reply = sent.and_then(|id| raw.wait(id)).map_err(lost)?;
        good(step, reply).map(drop)
    }

    fn name_max(raw: &mut RawSmb2, file: FileId) -> Result<Option<u32>, Failure> {
        let reply = raw.ask(&QueryInfoRequest {
            file,
            query: Query::FileSystem(FsClass::Attribute),
            max_output: INFO_BYTES,
        })?;
        let output = reply.decode::<OutputResponse<'_>>();
        let info = output.and_then(|output| AttributeInfo::decode(output.output));
        info.map(|info| Some(info.name_max))
            .map_err(|source| raw.garbage("QUERY_INFO", &reply, source))
    }

    fn next_break(raw: &mut RawSmb2, limit: Duration) -> Result<Option<OplockBreakInfo>, Failure> {
        let step = "OPLOCK_BREAK";
        let came = raw.next_break(limit);
        let Some(reply) = came.map_err(|error| Failure::ConnectionLost { step, error })? else {
            return Ok(None);
        };
        let broken = reply.decode::<OplockBreak>();
        Ok(Some(
            match broken.map_err(|source| raw.garbage(step, &reply, source))? {
                OplockBreak::Oplock { file, level } => OplockBreakInfo::Oplock { file, level },
                OplockBreak::Lease {
                    key,
                    current,
                    new,
                    must_acknowledge,
                    ..
                } => OplockBreakInfo::Lease {
                    key,
                    current,
                    new,
                    must_acknowledge,
                },
            },
        ))
    }

    fn acknowledge(raw: &mut RawSmb2, broken: &OplockBreakInfo) -> Result<(), Failure> {
        match *broken {
            OplockBreakInfo::Oplock { file, level } => raw
                .replies_to(&Request::Acknowledge { file, level })
                .map(drop),
            OplockBreakInfo::Lease { key, new, .. } => {
                raw.ask(&LeaseAcknowledgment { key, state: new }).map(drop)
            }
        }
    }
}
