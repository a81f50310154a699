//! What was agreed on, ECHO, and requests by sessions and trees that there are not.

use crate::validate::bench::{Bench, Judge, names_of};
use crate::validate::suite::Check;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::{Stop, same};
use filermark_model::smb::{Auth, Dialect, Signing};
use filermark_smbwire::smb1::{self, Echo, Flush, caps};
use filermark_smbwire::smb2::negotiate::capability;
use filermark_smbwire::smb2::setup::TreeConnectRequest;
use filermark_smbwire::smb2::{EchoRequest, FileId, FlushRequest, header};
use filermark_smbwire::status;

const NEGOTIATE: super::rules::Rule = ("MS-SMB 2.2.4.5.2", "MS-SMB2 2.2.4, 3.3.5.4");
const ECHO: super::rules::Rule = ("MS-CIFS 2.2.4.39", "MS-SMB2 3.3.5.17");

checks! { CHECKS: Check =>
    "negotiate.limits", "NEGOTIATE", "limits and capabilities are usable" => limits, by NEGOTIATE;
    "session.user", "SESSION", "the session belongs to the authenticated user" => user, by ("MS-SMB 3.3.5.3", "MS-SMB2 3.3.5.5.3");
    "session.bad_id", "SESSION", "an unknown session id is refused" => bad_session, by ("MS-CIFS 3.3.5.2", "MS-SMB2 3.3.5.2.9");
    "tree.bad_id", "TREE", "an unknown tree id is refused" => bad_tree, by ("MS-CIFS 3.3.5.2", "MS-SMB2 3.3.5.2.11");
    "tree.bad_name", "TREE", "an unknown share answers BAD_NETWORK_NAME" => bad_name, by ("MS-CIFS 2.2.4.55", "MS-SMB2 3.3.5.7"), from Dialect::V202;
    "echo.answers", "ECHO", "returns the data that was sent" => echo, by ECHO;
    "echo.many", "ECHO", "many requests in flight get one answer each" => echo_many, by ECHO;
}

fn limits(b: &mut Bench<'_>) -> Result<(), Stop> {
    const LEAST: u32 = 4096;
    let limits = b.smb.limits();
    for (what, bytes) in [
        ("READ", limits.read_max),
        ("WRITE", limits.write_max),
        ("transactions", limits.transact_max),
    ] {
        if bytes < LEAST {
            return Err(Stop::fail(
                format!("{what} of {LEAST} bytes at least"),
                format!("{bytes} at most"),
            ));
        }
    }
    let dialect = b.dialect;
    if let Some(smb1) = b.smb.smb1() {
        const NEEDED: u32 = caps::UNICODE | caps::NT_SMBS | caps::STATUS32;
        let offered = smb1.session().capabilities & NEEDED;
        same(
            "capabilities (Unicode, NT SMBs, NT status)",
            NEEDED,
            offered,
        )?;
    }
    if let Some(smb2) = b.smb.smb2() {
        let offered = smb2.session().capabilities;
        let since = [
            (capability::LARGE_MTU, Dialect::V210, "large MTU"),
            (capability::LEASING, Dialect::V210, "leasing"),
        ];
        for (bit, first, name) in since {
            if offered & bit != 0 && dialect < first {
                b.note(format!(
                    "{name} is offered by {dialect}, which does not have it"
                ));
            }
        }
        same("the dialect", dialect, b.smb.dialect())?;
    }
    Ok(())
}

fn user(b: &mut Bench<'_>) -> Result<(), Stop> {
    if matches!(b.plan.auth, Auth::Guest | Auth::Anonymous) {
        return Err(Stop::skip("the plan has no user to authenticate"));
    }
    let facts = b.smb.client().files().server_facts();
    let user = facts.into_iter().find(|(name, _)| name == "user");
    let user = user.map_or_else(String::new, |(_, user)| user);
    same("the user", "known", &user)
}

fn echo(b: &mut Bench<'_>) -> Result<(), Stop> {
    let Some(smb1) = b.smb.smb1() else {
        return b.smb.echo().done("ECHO");
    };
    let data = [7, 0, 255, 1, 2, 3];
    let reply = smb1.ask("ECHO", &Echo { data: &data }).done("ECHO")?;
    let echoed = smb1.read_as("ECHO", &reply, |parts| {
        let echoed = smb1::Echoed::read(parts)?;
        Ok((echoed.sequence, echoed.data.to_vec()))
    });
    let (sequence, came) = echoed.done("ECHO")?;
    same("ECHO: the sequence number", 1, sequence)?;
    same("ECHO: the data", data.to_vec(), came)
}

fn echo_many(b: &mut Bench<'_>) -> Result<(), Stop> {
    const MANY: usize = 64;
    let limit = b.smb.limit();
    let before = b.smb.calls().unexpected_replies();
    let mut tickets = Vec::new();
    for _ in 0..MANY {
        tickets.push(b.smb.calls().send_echo().done("ECHO")?);
    }
    for ticket in tickets {
        let came = b.smb.calls().wait_status(ticket, limit).done("ECHO")?;
        same("ECHO: status", Some(status::SUCCESS), came)?;
    }
    b.smb.echo().done("ECHO after all others")?;
    same(
        "unexpected answers",
        before,
        b.smb.calls().unexpected_replies(),
    )
}

/// STATUS_SMB_BAD_TID and STATUS_SMB_BAD_UID (MS-CIFS 2.2.2.4).
const SMB_BAD_TID: u32 = 0x0005_0002;
const SMB_BAD_UID: u32 = 0x005B_0002;
/// Something that no server calls anything so early.
const NOTHING: u16 = 0x7A7A;

fn is_sealed(b: &mut Bench<'_>) -> bool {
    b.smb
        .smb2()
        .is_some_and(|smb2| smb2.session().cipher_name() != "none")
}

fn bad_session(b: &mut Bench<'_>) -> Result<(), Stop> {
    if is_sealed(b) {
        return Err(Stop::skip("encrypted messages name their session outside"));
    }
    let wanted = [status::USER_SESSION_DELETED, SMB_BAD_UID];
    with_ids(
        b,
        "a request with an unknown session id",
        &wanted,
        |head| head.uid = NOTHING,
        |header| {
            header.session_id = u64::from(NOTHING) << 32 | u64::from(NOTHING);
        },
    )
}

fn bad_tree(b: &mut Bench<'_>) -> Result<(), Stop> {
    let wanted = [status::NETWORK_NAME_DELETED, SMB_BAD_TID];
    with_ids(
        b,
        "a request with an unknown tree id",
        &wanted,
        |head| head.tid = NOTHING,
        |header| {
            header.tree_id = u32::from(NOTHING) << 8;
        },
    )
}

/// FLUSH of nothing with another header; it needs both a session and a tree.
fn with_ids(
    b: &mut Bench<'_>,
    what: &str,
    wanted: &[u32],
    smb1: impl Fn(&mut smb1::Head),
    smb2: impl Fn(&mut header::Header),
) -> Result<(), Stop> {
    let limit = b.smb.limit();
    let got = if let Some(raw) = b.smb.smb1() {
        let sent = raw.send_built(|session, mid, out| {
            let mut head = session.head(mid);
            smb1(&mut head);
            head.put(out, &Flush { fid: NOTHING });
        });
        let waited = sent.and_then(|mid| raw.wait_within(mid, limit));
        waited.map(|reply| reply.map(|reply| reply.status()))
    } else if let Some(raw) = b.smb.smb2() {
        let file = FileId {
            persistent: NOTHING.into(),
            volatile: NOTHING.into(),
        };
        let sent = raw.send_built(1, |session, id, out| {
            let mut header = session.header(header::Command::Flush, id, 1);
            smb2(&mut header);
            header::append(out, &header, &FlushRequest { file });
        });
        let waited = sent.and_then(|id| raw.wait_within(id, limit));
        waited.map(|reply| reply.map(|reply| reply.status()))
    } else {
        return Err(Stop::skip("there is no session"));
    };
    match got {
        Ok(Some(status)) if wanted.contains(&status) => Ok(()),
        Ok(Some(status)) => Err(Stop::fail(
            format!("{what}: {}", names_of(wanted)),
            status::text(status),
        )),
        Ok(None) => Err(Stop::fail(format!("{what}: an answer"), "none")),
        Err(error) => Err(Stop::fail(format!("{what}: an answer"), error)),
    }
}

fn bad_name(b: &mut Bench<'_>) -> Result<(), Stop> {
    // 3.1.1 looks at no TREE_CONNECT that is neither signed nor encrypted.
    let mut session = b.another(|plan| {
        if matches!(plan.signing, Signing::Auto | Signing::Off) {
            plan.signing = Signing::Required;
        }
    })?;
    let Some(smb2) = session.smb2() else {
        return Err(Stop::skip("there is no session by SMB2"));
    };
    let server = smb2.peer().ip().to_string();
    let request = TreeConnectRequest {
        server: &server,
        share: "no-such-share-7f3a",
    };
    let answer = smb2.ask(&request).map(drop);
    let what = "TREE_CONNECT to an unknown share";
    answer.refused(what, &[status::BAD_NETWORK_NAME])?;
    smb2.ask(&EchoRequest).map(drop).done("ECHO afterwards")?;
    session.client().files().log_off();
    Ok(())
}
