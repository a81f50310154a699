//! Validates a server from the command line, without an rc file:
//!
//! ```text
//! cargo run -p filermark-nfs --example validate -- HOST PATH [nfs=PORT] [mount=PORT]
//!     [portmap=PORT] [uid=UID] [gid=GID] [resvport] [level1] [v2] [v41] [v42]
//! ```

use filermark_engine::driver::{Claim, StopFlag};
use filermark_model::plan::{MountPoint, NfsPlan, NfsVersion};
use filermark_nfs::validate::{Level, validate};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let (Some(host), Some(path)) = (words.next(), words.next()) else {
        eprintln!("usage: validate HOST PATH [nfs=PORT] [mount=PORT] [uid=UID] ... [level1]");
        return ExitCode::from(2);
    };
    let mount = MountPoint { host, path };
    let mut plan = plan();
    let mut level = Level::All;
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((&word, "1"));
        let Ok(number) = value.parse::<u32>() else {
            eprintln!("{word}: not a number");
            return ExitCode::from(2);
        };
        match name {
            "nfs" => plan.nfs_port = u16::try_from(number).ok(),
            "mount" => plan.mount_port = u16::try_from(number).ok(),
            "portmap" => plan.portmap_port = number as u16,
            "uid" => plan.uid = number,
            "gid" => plan.gid = number,
            "resvport" => plan.resvport = true,
            "level1" => level = Level::First,
            "v2" => plan.version = NfsVersion::V2,
            "v41" => plan.version = NfsVersion::V41,
            "v42" => plan.version = NfsVersion::V42,
            _ => {
                eprintln!("{word}: unknown");
                return ExitCode::from(2);
            }
        }
    }
    let claim = Claim {
        dir_name: "filermark.validate".to_owned(),
        run_id: format!("validate-{}", std::process::id()),
    };
    let stop = StopFlag::new();
    let mut dots = |_: &_| eprint!(".");
    match validate(&plan, &mount, &claim, level, &stop, &mut dots) {
        Ok(report) => {
            eprintln!();
            print!("{}", report.render_text());
            ExitCode::from(u8::from(!report.is_success()))
        }
        Err(error) => {
            eprintln!("\n{error}");
            ExitCode::from(2)
        }
    }
}

fn plan() -> NfsPlan {
    NfsPlan {
        uid: 500,
        gid: 100,
        machine_name: "validate".to_owned(),
        rpc_timeout_ms: 10_000,
        rpc_retries: 0,
        connect_timeout_ms: 5_000,
        ..NfsPlan::default()
    }
}
