//! What a server and a session are, for the record: name, value.

use filermark_smbwire::smb2::User;
use filermark_smbwire::{smb1, smb2};

fn fact(name: &str, value: impl ToString) -> (String, String) {
    (name.to_owned(), value.to_string())
}

/// Of SMB1.
pub(super) fn of_smb1(session: &smb1::Session) -> Vec<(String, String)> {
    vec![
        fact("dialect", "NT1"),
        fact("signing", if session.is_signed() { "MD5" } else { "none" }),
        fact("encryption", "none"),
        fact("user", if session.guest { "guest" } else { "known" }),
        fact("max read", session.limits.read_max),
        fact("max write", session.limits.write_max),
        fact("max transact", session.limits.transact_max),
        fact("max buffer", session.max_buffer),
        fact("max mpx", session.max_mpx),
        fact("capabilities", format!("{:#x}", session.capabilities)),
        fact("dfs", if session.in_dfs { "yes" } else { "no" }),
    ]
}

/// Of SMB2 and 3.
pub(super) fn of_smb2(session: &smb2::Session) -> Vec<(String, String)> {
    let guid: String = session
        .server_guid
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    let user = match session.user {
        User::Known => "known",
        User::Guest => "guest",
        User::Anonymous => "anonymous",
    };
    let share = &session.share;
    vec![
        fact("dialect", session.dialect),
        fact("signing", session.signing_name()),
        fact("encryption", session.cipher_name()),
        fact("user", user),
        fact("max read", session.limits.read_max),
        fact("max write", session.limits.write_max),
        fact("max transact", session.limits.transact_max),
        fact("credits", session.credits.available),
        fact("server guid", guid),
        fact("capabilities", format!("{:#x}", session.capabilities)),
        fact("share flags", format!("{:#x}", share.flags)),
        fact("share capabilities", format!("{:#x}", share.capabilities)),
        fact("maximal access", format!("{:#x}", share.maximal_access)),
        fact("dfs", if share.is_dfs() { "yes" } else { "no" }),
    ]
}
