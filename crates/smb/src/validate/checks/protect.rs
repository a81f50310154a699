//! Signatures and encryption: a request that was changed is not executed.

use crate::client::ClientError;
use crate::validate::bench::{Bench, Judge};
use crate::validate::session::{Open, Session};
use crate::validate::suite::Check;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::{Stop, pattern, same_bytes};
use filermark_model::smb::{Dialect, Encryption, Signing};
use filermark_smbwire::frame::MARK;
use filermark_smbwire::smb1::CreateDirectory;
use filermark_smbwire::smb1::Path;
use filermark_smbwire::smb2::file::{access, attributes, disposition, options, share};
use filermark_smbwire::smb2::{CreateRequest, RequestedOplock};
use filermark_smbwire::status;

const SIGN: super::rules::Rule = ("MS-SMB 3.3.5.1", "MS-SMB2 3.3.5.2.4");
const SEAL: super::rules::Rule = ("", "MS-SMB2 3.3.5.2.1.1, 3.3.5.2.9");

checks! { CHECKS: Check =>
    "signing.works", "SIGNING", "requests of a signed session work" => signed, by SIGN;
    "signing.tampered", "SIGNING", "a request with a wrong signature is not executed" => tampered, by SIGN;
    "encryption.works", "ENCRYPTION", "requests of an encrypted session work" => sealed, by SEAL, from Dialect::V300;
    "encryption.tampered", "ENCRYPTION", "a request that cannot be decrypted is not executed" => sealed_tampered, by SEAL, from Dialect::V300;
    "encryption.clear", "ENCRYPTION", "a server that requires encryption refuses unencrypted requests" => clear, by SEAL, from Dialect::V300;
}

/// A session that is signed, and not encrypted.
fn signed_session(b: &mut Bench<'_>) -> Result<Session, Stop> {
    let mut session = b.another(|plan| {
        if plan.signing == Signing::Auto || plan.signing == Signing::Off {
            plan.signing = Signing::Required;
        }
    })?;
    let facts = session.client().files().server_facts();
    let of = |name: &str| {
        facts
            .iter()
            .find(|(n, _)| n == name)
            .map_or("none", |(_, v)| v)
    };
    match (of("signing"), of("encryption")) {
        (_, cipher) if cipher != "none" => {
            Err(Stop::skip("encryption takes the place of signatures"))
        }
        ("none", _) => Err(Stop::skip("messages of this user are not signed")),
        _ => Ok(session),
    }
}

fn sealed_session(b: &mut Bench<'_>) -> Result<Session, Stop> {
    b.another(|plan| {
        if plan.encryption == Encryption::Auto || plan.encryption == Encryption::Off {
            plan.encryption = Encryption::Required;
        }
    })
}

/// Writes and reads by a session of its own.
fn works(b: &mut Bench<'_>, mut session: Session) -> Result<(), Stop> {
    let path = b.path("file");
    let data = pattern(100_000, 1);
    let opened = session.open(&Open::new_file(&path)).done("OPEN")?;
    let most = (session.limits().write_max as usize).min(data.len());
    let part = data.get(..most).unwrap_or(&data);
    session.write(opened.file, 0, part).done("WRITE")?;
    let most = (session.limits().read_max as usize).min(part.len());
    let got = session.read(opened.file, 0, most as u32).done("READ")?;
    same_bytes(0, part.get(..most).unwrap_or(part), &got)?;
    session.close(opened.file).done("CLOSE")?;
    session.client().files().log_off();
    Ok(())
}

fn signed(b: &mut Bench<'_>) -> Result<(), Stop> {
    let session = signed_session(b)?;
    works(b, session)
}

fn sealed(b: &mut Bench<'_>) -> Result<(), Stop> {
    let session = sealed_session(b)?;
    works(b, session)
}

fn tampered(b: &mut Bench<'_>) -> Result<(), Stop> {
    let session = signed_session(b)?;
    disobeyed(b, session, |frame| flip_signature(frame))
}

fn sealed_tampered(b: &mut Bench<'_>) -> Result<(), Stop> {
    let session = sealed_session(b)?;
    disobeyed(b, session, |frame| {
        if let Some(last) = frame.last_mut() {
            *last ^= 1;
        }
    })
}

/// Where signatures are, from the message on.
const SIGNATURE_ONE: usize = 14;
const SIGNATURE_TWO: usize = 48;

fn flip_signature(frame: &mut [u8]) {
    let at = match frame.get(MARK) {
        Some(0xFF) => SIGNATURE_ONE,
        _ => SIGNATURE_TWO,
    };
    if let Some(byte) = frame.get_mut(MARK + at) {
        *byte ^= 0x40;
    }
}

/// What a tampered request would make.
const MADE: &str = "tampered";

const fn make_dir(path: &str) -> CreateRequest<'_> {
    CreateRequest {
        path,
        access: access::READ_ATTRIBUTES | access::SYNCHRONIZE,
        attributes: attributes::DIRECTORY,
        share: share::ALL,
        disposition: disposition::CREATE,
        options: options::DIRECTORY_FILE,
        oplock: RequestedOplock::None,
        maximal_access: false,
    }
}

/// Sends a request to make a directory that is spoilt on its way: it has to be refused, or
/// the connection ended, and the directory must not be there afterwards.
fn disobeyed(
    b: &mut Bench<'_>,
    mut session: Session,
    spoil: impl Fn(&mut Vec<u8>),
) -> Result<(), Stop> {
    let path = b.path(MADE);
    let limit = session.limit();
    let answer = if let Some(smb1) = session.smb1() {
        let request = CreateDirectory {
            path: Path::of(&path),
        };
        let sent = smb1.send_spoilt(&request, spoil);
        let came = sent.and_then(|mid| smb1.wait_within(mid, limit));
        came.map(|reply| reply.map(|reply| reply.status()))
    } else if let Some(smb2) = session.smb2() {
        let build = |session: &filermark_smbwire::smb2::Session, id, out: &mut Vec<u8>| {
            session.request(out, id, &make_dir(&path));
        };
        let sent = smb2.send_spoilt(1, build, spoil);
        let came = sent.and_then(|id| smb2.wait_within(id, limit));
        came.map(|reply| reply.map(|reply| reply.status()))
    } else {
        return Err(Stop::skip("there is no session"));
    };
    let what = "a request that was changed after signing or encryption";
    match answer {
        Ok(Some(status::SUCCESS)) => {
            return Err(Stop::fail(format!("{what}: a refusal"), "STATUS_SUCCESS"));
        }
        Ok(Some(status::ACCESS_DENIED)) => {}
        Ok(Some(status)) => b.note(format!("{what}: {}", status::text(status))),
        // The connection ended, or the refusal cannot be signed as it should be.
        Err(error) if error.is_end() => {}
        Err(ClientError::Garbage { source, .. }) => {
            b.note(format!("{what}: the answer has {source}"))
        }
        Ok(None) => b.note(format!("{what}: no answer, and no end of the connection")),
        Err(error) => {
            return Err(Stop::fail(
                format!("{what}: a refusal, or the end of the connection"),
                error,
            ));
        }
    }
    match b.is_there(MADE)? {
        false => Ok(()),
        true => Err(Stop::fail(format!("{what}: not executed"), "executed")),
    }
}

fn clear(b: &mut Bench<'_>) -> Result<(), Stop> {
    // Where only the client wishes for encryption, the server may take both.
    let mut session = b.another(|plan| plan.encryption = Encryption::Auto)?;
    if session
        .smb2()
        .is_none_or(|smb2| smb2.session().cipher_name() == "none")
    {
        return Err(Stop::skip("the server leaves encryption to the client"));
    }
    let path = b.path(MADE);
    let Some(smb2) = session.smb2() else {
        return Err(Stop::skip("there is no session by SMB2"));
    };
    // The same request as it would be without encryption, in the place of the frame.
    let mut message = Vec::new();
    let id = smb2.session().credits.next_message_id;
    smb2.session().request(&mut message, id, &make_dir(&path));
    disobeyed(b, session, move |frame| {
        frame.truncate(MARK);
        frame.extend_from_slice(&message);
        let length = (message.len() as u32).to_be_bytes();
        if let Some(mark) = frame.get_mut(..MARK) {
            mark.copy_from_slice(&length);
        }
    })
}
