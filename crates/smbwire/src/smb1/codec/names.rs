//! What the requests are called, and their commands.
#![deny(clippy::wildcard_enum_match_arm)]

use super::super::header::Command;
use crate::request::{Request, Target};

/// What a request is called.
pub(super) fn step(request: &Request<'_>) -> &'static str {
    match request {
        Request::Query { target, .. } => match target {
            Target::File(_) => "TRANS2_QUERY_FILE_INFORMATION",
            Target::Path(_) => "TRANS2_QUERY_PATH_INFORMATION",
        },
        Request::Look { open, .. } if open.path.is_empty() => "TRANS2_QUERY_PATH_INFORMATION",
        Request::QueryFs { .. } => "TRANS2_QUERY_FS_INFORMATION",
        Request::QuerySecurity { .. } => "NT_TRANSACT_QUERY_SECURITY_DESC",
        Request::Set { .. } => "TRANS2_SET_FILE_INFORMATION",
        Request::Look { .. } | Request::List { .. } | Request::ListBegin { .. } => {
            "TRANS2_FIND_FIRST2"
        }
        Request::ListNext { .. } => "TRANS2_FIND_NEXT2",
        Request::Watch { .. } => "NT_TRANSACT_NOTIFY_CHANGE",
        Request::Echo
        | Request::Open(_)
        | Request::Close { .. }
        | Request::Read { .. }
        | Request::Write { .. }
        | Request::Flush { .. }
        | Request::Lock { .. }
        | Request::ListEnd { .. }
        | Request::MakeDir(_)
        | Request::RemoveFile(_)
        | Request::RemoveDir(_)
        | Request::Acknowledge { .. }
        | Request::TreeDisconnect
        | Request::Logoff => command(request).name(),
    }
}

/// The command of a request, and of its answer.
pub(super) const fn command(request: &Request<'_>) -> Command {
    match request {
        Request::Echo => Command::Echo,
        Request::Open(_) => Command::NtCreateAndx,
        Request::Close { .. } => Command::Close,
        Request::Read { .. } => Command::ReadAndx,
        Request::Write { .. } => Command::WriteAndx,
        Request::Flush { .. } => Command::Flush,
        Request::Lock { .. } | Request::Acknowledge { .. } => Command::LockingAndx,
        Request::QuerySecurity { .. } | Request::Watch { .. } => Command::NtTransact,
        Request::Query { .. }
        | Request::QueryFs { .. }
        | Request::Set { .. }
        | Request::Look { .. }
        | Request::List { .. }
        | Request::ListBegin { .. }
        | Request::ListNext { .. } => Command::Transaction2,
        Request::ListEnd { .. } => Command::FindClose2,
        Request::MakeDir(_) => Command::CreateDirectory,
        Request::RemoveFile(_) => Command::Delete,
        Request::RemoveDir(_) => Command::DeleteDirectory,
        Request::TreeDisconnect => Command::TreeDisconnect,
        Request::Logoff => Command::LogoffAndx,
    }
}
