//! Thousands of sessions of one machine: the time to set them up, the memory of each, and a call on
//! each. The server has canned replies (SMB 2.1, anonymous) and is a separate process: smbd has a
//! process per connection, and 5,000 of these take more memory than this machine has.

use super::{Shard, plan};
use crate::cpu;
use crate::figure::{Bar, Figure, Figures};
use filermark_engine::driver::Action;
use filermark_engine::session_action::SessionAction;
use filermark_model::Secret;
use filermark_model::smb::{Auth, Dialect};
use filermark_smbwire::frame;
use filermark_smbwire::smb2::header::flags;
use filermark_smbwire::smb2::{Command as Call, Header};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::Instant;

/// The first argument that makes this program the server.
pub const COMMAND: &str = "serve-smb-sessions";

const SESSIONS: u32 = 5_000;
/// Calls on each session.
const ROUNDS: usize = 20;
const STACK: usize = 128 << 10;

/// Measures one set of sessions.
pub fn measure() -> Figures {
    let server = Server::start()?;
    let plan = plan(server.port, Dialect::V210, Auth::Anonymous, Secret::NONE);
    let idle = cpu::resident_bytes();
    let began = Instant::now();
    let mut shard = Shard::open(plan, "data", SESSIONS)?;
    let took = began.elapsed().as_secs_f64();
    let held = cpu::resident_bytes().saturating_sub(idle);
    let (began, before) = (Instant::now(), cpu::process_ns());
    for _ in 0..ROUNDS {
        for proc in 0..SESSIONS {
            shard.submit(proc, Action::Session(SessionAction::Echo))?;
        }
        shard.wait(SESSIONS as usize)?;
    }
    let calls = f64::from(SESSIONS) * ROUNDS as f64;
    let rate = calls / began.elapsed().as_secs_f64();
    let cpu_us = (cpu::process_ns() - before) as f64 / 1e3 / calls;
    let of = format!("{SESSIONS} sessions");
    Ok(vec![
        Figure::new(format!("{of}: set up"), "s", vec![took]),
        Figure::new(
            format!("{of}: memory of each"),
            "KiB",
            vec![held as f64 / 1024.0 / f64::from(SESSIONS)],
        ),
        Figure::new(format!("{of}: ECHO on each"), "op/s", vec![rate]).bar(Bar::More),
        Figure::new(format!("{of}: processor time"), "us/op", vec![cpu_us]),
    ])
}

/// The process of the server; it ends when this is dropped, or with this process.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start() -> Result<Self, String> {
        let own = std::env::current_exe().map_err(|e| format!("find this program: {e}"))?;
        let mut child = Command::new(own)
            .arg(COMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("start the server: {e}"))?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            let _ = BufReader::new(stdout).read_line(&mut line);
        }
        let mut server = Self { child, port: 0 };
        server.port = line
            .trim()
            .parse()
            .map_err(|_| "the server did not start")?;
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// The server: serves until its standard input ends.
pub fn serve() -> ExitCode {
    filermark_net::open_files_limit(20_000);
    let Ok(listener) = TcpListener::bind("127.0.0.1:0") else {
        return ExitCode::FAILURE;
    };
    let Ok(address) = listener.local_addr() else {
        return ExitCode::FAILURE;
    };
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = move || serve_connection(stream);
            let started = thread::Builder::new().stack_size(STACK).spawn(serve);
            if started.is_err() {
                return;
            }
        }
    });
    println!("{}", address.port());
    let mut rest = Vec::new();
    let _ = std::io::stdin().read_to_end(&mut rest);
    ExitCode::SUCCESS
}

/// Answers one connection until it ends.
fn serve_connection(mut stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let mut setups = 0;
    let mut mark = [0; frame::MARK];
    while stream.read_exact(&mut mark).is_ok() {
        let mut message = vec![0; u32::from_be_bytes(mark) as usize & frame::LENGTH_MAX];
        if stream.read_exact(&mut message).is_err() {
            return;
        }
        let Ok(header) = Header::decode(&message) else {
            return;
        };
        if header.command == Call::SessionSetup {
            setups += 1;
        }
        let answer = answer(&header, setups);
        if stream.write_all(&answer).is_err() {
            return;
        }
    }
}

fn answer(header: &Header, setups: u32) -> Vec<u8> {
    let more = header.command == Call::SessionSetup && setups < 2;
    let mut out = Vec::new();
    let at = frame::begin(&mut out);
    Header {
        status: if more { 0xC000_0016 } else { 0 },
        flags: flags::SERVER_TO_REDIR,
        credits: 128,
        session_id: 7,
        tree_id: 1,
        next_command: 0,
        signature: [0; 16],
        ..*header
    }
    .encode(&mut out);
    match header.command {
        Call::Negotiate => negotiate(&mut out),
        Call::SessionSetup => {
            let token = if more { challenge() } else { Vec::new() };
            // Size, SESSION_FLAG_IS_NULL at the end, where the token is.
            let flags: u16 = if more { 0 } else { 2 };
            out.extend_from_slice(&9u16.to_le_bytes());
            out.extend_from_slice(&flags.to_le_bytes());
            out.extend_from_slice(&72u16.to_le_bytes());
            out.extend_from_slice(&(token.len() as u16).to_le_bytes());
            out.extend_from_slice(&token);
        }
        Call::TreeConnect => {
            out.extend_from_slice(&16u16.to_le_bytes());
            out.extend_from_slice(&[1, 0]);
            out.extend_from_slice(&[0; 8]);
            out.extend_from_slice(&0x001F_01FFu32.to_le_bytes());
        }
        _ => out.extend_from_slice(&[4, 0, 0, 0]),
    }
    frame::finish(&mut out, at);
    out
}

/// MS-SMB2 2.2.4: 2.1, signing offered, large MTU, no token.
fn negotiate(out: &mut Vec<u8>) {
    out.extend_from_slice(&65u16.to_le_bytes());
    out.extend_from_slice(&1u16.to_le_bytes());
    out.extend_from_slice(&Dialect::V210.revision().to_le_bytes());
    out.extend_from_slice(&[0; 2]);
    out.extend_from_slice(&[9; 16]);
    out.extend_from_slice(&4u32.to_le_bytes());
    for _ in 0..3 {
        out.extend_from_slice(&(1u32 << 20).to_le_bytes());
    }
    out.extend_from_slice(&[0; 16]);
    out.extend_from_slice(&128u16.to_le_bytes());
    out.extend_from_slice(&[0; 6]);
}

/// An NTLM challenge in SPNEGO (MS-NLMP 2.2.1.2, RFC 4178 4.2.2).
fn challenge() -> Vec<u8> {
    let mut ntlm = b"NTLMSSP\0\x02\0\0\0".to_vec();
    ntlm.extend_from_slice(&[0, 0, 0, 0, 56, 0, 0, 0]); // no target name
    ntlm.extend_from_slice(&0xE288_8215u32.to_le_bytes()); // flags
    ntlm.extend_from_slice(&[5; 8]); // the challenge
    ntlm.extend_from_slice(&[0; 8]);
    ntlm.extend_from_slice(&[4, 0, 4, 0, 56, 0, 0, 0]); // target information
    ntlm.extend_from_slice(&[6, 1, 0, 0, 0, 0, 0, 15]); // version
    ntlm.extend_from_slice(&[0; 4]); // its end
    let tagged = |tag: u8, inside: &[u8]| {
        let mut out = vec![tag, inside.len() as u8];
        out.extend_from_slice(inside);
        out
    };
    let state = [0xa0, 3, 0x0a, 1, 1];
    let mechanism = b"\xa1\x0c\x06\x0a\x2b\x06\x01\x04\x01\x82\x37\x02\x02\x0a";
    let token = tagged(0xa2, &tagged(4, &ntlm));
    tagged(
        0xa1,
        &tagged(0x30, &[&state[..], mechanism, &token].concat()),
    )
}
