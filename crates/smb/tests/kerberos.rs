//! Kerberos against MIT's KDC and Samba's smbd. The library reads its configuration from
//! the environment, so that what logs in is this program once more, in the sandbox.

use filermark_model::secret::Secret;
use filermark_model::smb::{Dialect, Encryption, Signing};
use filermark_smb::kerberos::Credentials;
use filermark_smbwire::auth::{AuthError, Authenticator as _};
use filermark_smbwire::error::SetupError;
use filermark_smbwire::settings::{Next, Settings};
use filermark_smbwire::spnego::{Mech, init};
use filermark_smbwire::{smb1, smb2};
use filermark_testbed::{Kdc, Samba, SambaOptions, SmbSigning, available};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// How long anything may take.
const LIMIT: Duration = Duration::from_secs(20);
/// Where the inner part finds the server.
const SERVER: &str = "FILERMARK_TEST_SERVER";

/// Another one each time: smbd hands connections with the same one from process to
/// process, and loses some when they come at the same moment.
fn guid() -> [u8; 16] {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    [NEXT.fetch_add(1, Ordering::Relaxed); 16]
}

fn settings(server: &str, dialect: Dialect) -> Settings {
    Settings {
        dialects: (dialect, dialect),
        signing: Signing::Required,
        encryption: Encryption::Auto,
        server: server.into(),
        share: Samba::DATA.into(),
        guest_allowed: false,
        client_guid: guid(),
        random: [2; 32],
    }
}

fn receive(stream: &mut TcpStream) -> Vec<u8> {
    let mut mark = [0; 4];
    stream.read_exact(&mut mark).expect("a mark");
    let mut message = vec![0; u32::from_be_bytes(mark) as usize];
    stream.read_exact(&mut message).expect("a message");
    message
}

/// Logs in and enters the share; whether it is signed.
fn log_in(tickets: &Credentials, server: &str, dialect: Dialect) -> Result<bool, SetupError> {
    let address: SocketAddr = std::env::var(SERVER)
        .expect("set")
        .parse()
        .expect("address");
    let mut stream = TcpStream::connect_timeout(&address, LIMIT).expect("connect to smbd");
    stream.set_read_timeout(Some(LIMIT)).expect("a limit");
    let who = Box::new(tickets.authenticator(server)?);
    let mut out = Vec::new();
    if dialect == Dialect::Nt1 {
        let mut handshake = smb1::Handshake::new(settings(server, dialect), who);
        handshake.first(&mut out);
        loop {
            stream.write_all(&out).expect("send");
            out.clear();
            if let Next::Ready(session) = handshake.reply(&receive(&mut stream), &mut out)? {
                return Ok(session.is_signed());
            }
        }
    }
    let mut handshake = smb2::Handshake::new(settings(server, dialect), who);
    handshake.first(&mut out)?;
    loop {
        stream.write_all(&out).expect("send");
        out.clear();
        // The answers to NEGOTIATE, logins and trees were checked on the way.
        if let Next::Ready(_) = handshake.reply(&receive(&mut stream), &mut out)? {
            return Ok(true);
        }
    }
}

fn alice() -> Result<Credentials, AuthError> {
    let password = Secret::new(Samba::PASSWORD);
    Credentials::obtain(Samba::USER, Kdc::REALM, &password)
}

/// What runs in the sandbox: by its first argument after the name of the test.
#[test]
fn inner() {
    let Ok(part) = std::env::var("FILERMARK_TEST_PART") else {
        return;
    };
    let dialects = [Dialect::Nt1, Dialect::V202, Dialect::V300, Dialect::V311];
    match part.as_str() {
        "cache" => {
            let no_password = Secret::NONE;
            for user in ["", Samba::USER] {
                let tickets = Credentials::obtain(user, "", &no_password).expect("a cache");
                for dialect in dialects {
                    assert_eq!(log_in(&tickets, "testbed", dialect), Ok(true), "{dialect}");
                }
            }
        }
        "password" => {
            let tickets = alice().expect("a ticket");
            for dialect in dialects {
                assert_eq!(log_in(&tickets, "testbed", dialect), Ok(true), "{dialect}");
            }
            assert_eq!(log_in(&tickets, "127.0.0.1", Dialect::V311), Ok(true));
            let threads = (0..4).map(|_| {
                let tickets = tickets.clone();
                std::thread::spawn(move || log_in(&tickets, "testbed", Dialect::V311))
            });
            for thread in threads.collect::<Vec<_>>() {
                assert_eq!(thread.join().expect("no panic"), Ok(true));
            }
        }
        "refusals" => refusals(),
        "speed" => {
            let tickets = alice().expect("a ticket");
            let offer = init(&[Mech::MsKerberos, Mech::Kerberos], b"");
            let start = std::time::Instant::now();
            for _ in 0..200 {
                let mut who = tickets.authenticator("testbed").expect("a name");
                assert!(who.step(&offer).expect("a token").len() > 100);
            }
            eprintln!("one first token: {:?}", start.elapsed() / 200);
        }
        other => panic!("{other}"),
    }
}

/// What does not work says why, and the password nowhere.
fn refusals() {
    let text_of = |result: Result<Credentials, AuthError>, is_refusal: bool| {
        let error = result.expect_err("refused");
        assert_eq!(
            matches!(error, AuthError::Refused(_)),
            is_refusal,
            "{error:?}"
        );
        let text = error.to_string();
        eprintln!("{text}");
        text
    };
    let wrong = Secret::new("Never-9!");
    let wrong_password = text_of(Credentials::obtain(Samba::USER, Kdc::REALM, &wrong), true);
    assert!(
        wrong_password.contains("alice@TESTBED.EXAMPLE") && wrong_password.contains("PASSWORD")
    );
    assert!(!wrong_password.contains("Never-9!"));
    let unknown = text_of(Credentials::obtain("eve", "", &wrong), true);
    assert!(unknown.contains("not found"), "{unknown}");
    let elsewhere = text_of(
        Credentials::obtain("eve", "ELSEWHERE.EXAMPLE", &wrong),
        false,
    );
    assert!(elsewhere.contains("ELSEWHERE.EXAMPLE"), "{elsewhere}");
    let none = text_of(Credentials::obtain("", "", &Secret::NONE), false);
    assert!(none.contains("kinit"), "{none}");
    let tickets = alice().expect("a ticket");
    for server in ["missing.example", "192.0.2.1"] {
        let error = log_in(&tickets, server, Dialect::V311).expect_err("no such service");
        eprintln!("{error}");
        assert!(
            error.to_string().contains(&format!("cifs/{server}")),
            "{error}"
        );
    }
    // A server that has no Kerberos.
    let mut who = tickets.authenticator("testbed").expect("a name");
    let error = who.step(&init(&[Mech::Ntlm], b"")).expect_err("NTLM only");
    assert!(
        error
            .to_string()
            .contains("does not offer Kerberos for the login; it offers NTLM"),
        "{error}"
    );
}

struct KerberosFixture {
    samba: Samba,
    kdc: Kdc,
}

fn bed() -> Option<KerberosFixture> {
    let sandbox = available(filermark_testbed::Sandbox::new())?;
    let kdc = available(Kdc::start_in(&sandbox))?;
    let options = SambaOptions {
        signing: SmbSigning::Mandatory,
        ..SambaOptions::default()
    };
    let samba = available(Samba::start_kerberos(&kdc, options))?;
    Some(KerberosFixture { samba, kdc })
}

/// Runs a part of `inner` in the sandbox, with a cache of tickets.
fn run(bed: &KerberosFixture, part: &str, cache: &str) {
    let (name, value) = bed.kdc.environment();
    let program = std::env::current_exe().expect("this program");
    let sandbox: &Arc<_> = bed.samba.sandbox();
    let output = sandbox
        .command(program)
        .args(["--exact", "inner", "--nocapture"])
        .env(name, value)
        .env("KRB5CCNAME", cache)
        .env("FILERMARK_TEST_PART", part)
        .env(SERVER, bed.samba.address().to_string())
        .output()
        .expect("start this program");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{part}: {text}\n{}",
        bed.samba.log()
    );
    eprintln!("{text}");
}

#[test]
fn tickets_of_a_cache_let_in_on_every_dialect() {
    let Some(bed) = bed() else { return };
    let cache = bed
        .kdc
        .log_in(Samba::USER, Samba::PASSWORD)
        .expect("a ticket");
    run(&bed, "cache", &cache);
    let logons = bed.samba.logons();
    assert_eq!(logons.len(), 8, "{logons:?}");
    for logon in logons {
        assert!(logon.succeeded() && logon.method == "krb5", "{logon:?}");
        assert_eq!(logon.user, Samba::USER);
    }
}

#[test]
fn a_password_gets_tickets_of_its_own() {
    let Some(bed) = bed() else { return };
    run(&bed, "password", "FILE:/nonexistent/cache");
    assert_eq!(bed.samba.logons().len(), 9);
    run(&bed, "speed", "FILE:/nonexistent/cache");
}

#[test]
fn failures_are_reported_and_tried_once() {
    let Some(bed) = bed() else { return };
    run(&bed, "refusals", "FILE:/nonexistent/cache");
    assert!(bed.samba.logons().is_empty());
}
