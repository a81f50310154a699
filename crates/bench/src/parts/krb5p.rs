//! READ and WRITE of one connection with Kerberos, against nfs-ganesha in a realm of MIT's KDC. The
//! processor time that encryption (krb5p) adds to signed headers (krb5) is compared with that of the
//! system's GSS-API library alone over the same bytes. The client is a process of its own, since the
//! library takes its configuration from the environment.

mod alone;

use super::nfs_shard::{FILE, FILE_NUMBER, Place, SaturatedShard};
use crate::cpu;
use crate::figure::{Bar, Figure};
use crate::measured::{Measured, MeasuredOrReason};
use crate::turns::Turn;
use alone::{Alone, AloneServer};
use filermark_engine::driver::Action;
use filermark_model::Nanos;
use filermark_testbed::{Fsal, Ganesha, Kdc, KerberosExport, Samba, Sandbox, ServerOptions};
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::ExitCode;

/// The first argument that makes this program the client.
pub const COMMAND: &str = "krb5p-client";

const WINDOW: Nanos = Nanos::from_millis(300);
/// The file, in bytes.
const FILE_BYTES: u64 = 1 << 20;
/// Bytes of a transfer.
const TRANSFER: usize = 64 << 10;
/// Calls under way.
const DEPTH: u32 = 8;
/// The most processor time that encryption may add, divided by that of the library alone.
const ADDED_AT_MOST: f64 = 1.3;
/// A file of one transfer, in the exported directory.
const SAMPLE: &str = "sample";
const OPERATIONS: [&str; 2] = ["READ", "WRITE"];

/// Measures reads and writes.
pub fn measure(rounds: u32) -> MeasuredOrReason {
    let text = |error: filermark_testbed::Error| error.to_string();
    let sandbox = Sandbox::new().map_err(text)?;
    let kdc = Kdc::start_in(&sandbox).map_err(text)?;
    let options = ServerOptions::default();
    let ganesha = Ganesha::start_kerberos(&kdc, Fsal::Vfs, options, KerberosExport::AllWays);
    let ganesha = ganesha.map_err(text)?;
    let files = ganesha.files().ok_or("the server has no files")?;
    prepare(&files).map_err(|e| format!("{}: {e}", files.display()))?;
    let cache = kdc.log_in(Samba::USER, Samba::PASSWORD).map_err(text)?;
    let own = std::env::current_exe().map_err(|e| format!("find this program: {e}"))?;
    let (name, configuration) = kdc.environment();
    let export = ganesha.export();
    let output = sandbox
        .command(own)
        .arg(COMMAND)
        .args([export.nfs_port, export.mount_port].map(|port| port.to_string()))
        .args([&export.path, &rounds.to_string()])
        .env(name, configuration)
        .env("KRB5CCNAME", cache)
        .output()
        .map_err(|e| format!("start the client: {e}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    let printed = serde_json::from_slice(&output.stdout);
    figures(&printed.map_err(|e| format!("what the client prints: {e}"))?)
}

/// The server does not know the user, who has no other rights.
fn prepare(files: &Path) -> std::io::Result<()> {
    fs::set_permissions(files, Permissions::from_mode(0o777))?;
    let sample = files.join(SAMPLE);
    fs::write(&sample, vec![7; TRANSFER])?;
    fs::set_permissions(sample, Permissions::from_mode(0o644))
}

fn figures(printed: &Value) -> MeasuredOrReason {
    let mut measured = Measured::default();
    for operation in OPERATIONS {
        let figure = |key: &str, what: &str, unit| {
            let values = printed[operation][key].as_array();
            let values = values.into_iter().flatten().filter_map(Value::as_f64);
            let name = format!("{operation} 64 KiB x {DEPTH}: {what}");
            Figure::new(name, unit, values.collect())
        };
        let added = figure("added", "added by krb5p, of the library alone", "x");
        measured.add(vec![
            added.bar(Bar::AtMost(ADDED_AT_MOST)),
            figure("whole", "krb5p, of krb5", "x"),
            figure("alone", "the library alone", "us/op"),
        ]);
    }
    Ok(measured)
}

/// The client: measures, and prints the values of all rounds as JSON.
pub fn client(words: impl Iterator<Item = String>) -> ExitCode {
    match turns(words) {
        Ok(values) => {
            println!("{values}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn turns(mut words: impl Iterator<Item = String>) -> Result<Value, String> {
    let mut word = || words.next().ok_or("an argument is missing");
    let number = |text: String| text.parse().map_err(|_| format!("{text} is no number"));
    let ports: (u16, u16) = (number(word()?)?, number(word()?)?);
    let path = word()?;
    let rounds = number(word()?)?;
    let mut alone = Alone::new(&AloneServer {
        ports,
        path: &path,
        file: SAMPLE,
    })?;
    let place = |security: &str| Place {
        mount: format!("{}:{path}", Kdc::NFS_HOST),
        ports,
        has_sessions: false,
        options: vec![("SECURITY", security.to_owned())],
    };
    let (signed, encrypted) = (place("krb5"), place("krb5p"));
    let mut values = json!({});
    for (operation, is_write) in OPERATIONS.into_iter().zip([false, true]) {
        let (mut added, mut whole, mut library) = (vec![], vec![], vec![]);
        for _ in 0..rounds {
            let turn = |place| {
                let work = (transfer(is_write), FILE_BYTES);
                let (turn, _) = SaturatedShard::turn_at(place, (1, DEPTH), work, WINDOW)?;
                Ok::<_, String>(each_us(&turn))
            };
            let signed = turn(&signed)?;
            let alone = Turn::measure(cpu::process_ns, || alone.keep_up(is_write, WINDOW))?;
            let encrypted = turn(&encrypted)?;
            added.push((encrypted - signed) / each_us(&alone));
            whole.push(encrypted / signed);
            library.push(each_us(&alone));
        }
        values[operation] = json!({ "added": added, "whole": whole, "alone": library });
    }
    Ok(values)
}

fn each_us(turn: &Turn) -> f64 {
    turn.cpu_ns / 1e3 / turn.ops
}

fn transfer(is_write: bool) -> Action {
    let (object, file, offset, length) = (FILE, FILE_NUMBER, 0, TRANSFER as u32);
    match is_write {
        false => Action::Read {
            object,
            file,
            offset,
            length,
        },
        true => Action::Write {
            object,
            file,
            offset,
            length,
        },
    }
}
