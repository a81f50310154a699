//! `serve`: the embedded server by itself.

use crate::cli::ServeArgs;
use crate::exit::{Ended, Failure};
use crate::{interrupt, plain, product};
use filermark_engine::driver::StopFlag;
use filermark_server::{EXPORT, Procedure, RunningServer, Server, ServerOptions};
use std::net::IpAddr;
use std::process::ExitCode;
use std::time::Duration;

/// Serves until it is interrupted; then says what was asked of it.
pub fn serve(args: &ServeArgs) -> Ended {
    plain::listen_to_rooms(&[], args.verbose.verbose);
    let server = Server::start(options(args)).map_err(Failure::of)?;
    let stop = StopFlag::new();
    interrupt::on_interrupt(stop.clone(), "stopping");
    for address in server.addrs() {
        let port = address.port();
        let host = match address.ip() {
            ip if ip.is_unspecified() => "HOST".to_owned(),
            IpAddr::V6(ip) => format!("[{ip}]"),
            IpAddr::V4(ip) => ip.to_string(),
        };
        eprintln!("serving {EXPORT} on {address}; to mount it:");
        eprintln!(
            "  mount -t nfs -o vers=3,tcp,port={port},mountport={port},nolock {host}:{EXPORT} /mnt"
        );
    }
    while !stop.is_raised() {
        std::thread::sleep(Duration::from_millis(50));
    }
    tell(&server, args);
    server.stop();
    Ok(ExitCode::SUCCESS)
}

fn options(args: &ServeArgs) -> ServerOptions {
    let defaults = ServerOptions::default();
    ServerOptions {
        listen: args.listen.clone(),
        threads: args.threads.map_or(defaults.threads, usize::from),
        null: args.null,
        portmap: args.portmap,
        delay: args.delay.clone().unwrap_or_default(),
        queue: args.queue,
        errors: args.error.clone().unwrap_or_default(),
        drop: args.drop.unwrap_or_default(),
        unstable: args.unstable.unwrap_or_default(),
        short: args.short,
        read_only: args.readonly,
        refuse_mount: args.refuse_mount,
        capacity_bytes: args.capacity.unwrap_or(defaults.capacity_bytes),
        seed: args.seed,
        ..defaults
    }
}

/// What was asked, per procedure, on stdout.
fn tell(server: &RunningServer, args: &ServeArgs) {
    let stats = server.stats();
    let counts = Procedure::ALL.iter().map(|p| (p.name(), stats.of(*p)));
    let counts = counts.filter(|(_, n)| *n > 0);
    if args.output.json {
        let map: serde_json::Map<_, _> = counts.map(|(p, n)| (p.to_owned(), n.into())).collect();
        product::print_json(&map.into());
    } else {
        for (procedure, n) in counts {
            product::print(&format!("{procedure:<12} {n}\n"));
        }
    }
}
