//! `serve`: the embedded server by itself.

use crate::cli::{ServeArgs, ServeTlsArgs};
use crate::{resolve_args, stdout};
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_cli_kit::interrupt;
use filermark_engine::driver::StopFlag;
use filermark_server::{
    EXPORT, Lateness, Operation4, Procedure, Procedure2, RunningServer, Server, ServerOptions,
    ServerStats, TlsFiles,
};
use serde_json::{Value, json};
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

/// The port of the portmapper (RFC 1833, section 3).
const PORTMAPPER: u16 = 111;

/// Serves until it is interrupted, then prints how many calls there were.
pub fn serve(args: &ServeArgs) -> CommandResult {
    resolve_args::init_tracing(&[], args.verbose.verbose);
    let server = Server::start(options(args)).map_err(CommandError::of)?;
    let stop = StopFlag::new();
    interrupt::on_interrupt(stop.clone(), "stopping");
    filermark_cli_kit::stderr_line!("{}", banner(server.addrs(), args));
    while !stop.is_raised() {
        std::thread::sleep(Duration::from_millis(50));
    }
    print_counts(&server, args);
    server.stop();
    Ok(ExitCode::SUCCESS)
}

/// What is served at these addresses, and how it is used.
fn banner(addresses: &[SocketAddr], args: &ServeArgs) -> String {
    let words = tls_words(&args.tls);
    // An address that is there for the portmapper is no other way to the export.
    let is_map = |address: &SocketAddr| args.portmap && address.port() == PORTMAPPER;
    let is_other = |address: &&SocketAddr| !is_map(address);
    let to_use: Vec<&SocketAddr> = match addresses.iter().all(is_map) {
        true => addresses.iter().collect(),
        false => addresses.iter().filter(is_other).collect(),
    };
    let mut lines: Vec<String> = to_use
        .iter()
        .map(|address| how_to_use(**address, &words, !args.null))
        .collect();
    let maps = addresses.iter().filter(|address| is_map(address));
    lines.extend(maps.map(|address| {
        let host = host_of(*address);
        format!(
            "portmapper on {address}: in an rc file MNT_POINTS=\"{host}:{EXPORT}\" needs no port"
        )
    }));
    // Datagrams have no TLS.
    let udp = !args.no_udp && !args.tls.tls_only;
    lines.push(also(udp, !args.null));
    if args.tls.tls_cert.is_some() {
        let offered = match args.tls.tls_only {
            true => "NFS is refused without TLS",
            false => "TLS is offered to clients that ask for it",
        };
        let TlsWords { files, xprtsec, .. } = words;
        lines.push(format!(
            "{offered} ({files}; absolute paths; mount on Linux: xprtsec={xprtsec})"
        ));
    }
    lines.join("\n")
}

/// An address as a host in a command or an rc file.
fn host_of(address: SocketAddr) -> String {
    match address.ip() {
        ip if ip.is_unspecified() => "HOST".to_owned(),
        IpAddr::V6(ip) => format!("[{ip}]"),
        IpAddr::V4(ip) => ip.to_string(),
    }
}

/// How an address is measured and mounted, a line each.
fn how_to_use(address: SocketAddr, tls: &TlsWords, version4: bool) -> String {
    let port = address.port();
    let host = host_of(address);
    let TlsWords { run, mount, .. } = tls;
    let quick = format!("  filermark quick nfs://{host}:{port}{EXPORT}");
    let place = format!("{mount} {host}:{EXPORT} /mnt");
    let measure4 = format!("\n{quick} -o NFS_VERSION=4.1{run}");
    let mount4 = format!("\n  mount -t nfs -o vers=4.2,port={port}{place}");
    let [measure4, mount4] = match version4 {
        true => [measure4, mount4],
        false => [String::new(), String::new()],
    };
    format!(
        "serving {EXPORT} on {address}\n\
         to measure it, in another terminal:\n\
         {quick} -o MOUNT_PORT={port}{run}{measure4}\n\
         to mount it on Linux:\n  \
           mount -t nfs -o vers=3,tcp,port={port},mountport={port},nolock{place}{mount4}"
    )
}

/// What TLS adds to the commands that are printed.
struct TlsWords {
    /// The parameters of a run.
    run: &'static str,
    /// The option of a mount, where nothing else is served.
    mount: String,
    /// Its value.
    xprtsec: &'static str,
    /// The files that the parameters name.
    files: &'static str,
}

fn tls_words(args: &ServeTlsArgs) -> TlsWords {
    let is_mutual = args.tls_client_ca.is_some() && !args.tls_client_optional;
    let (run, xprtsec, files) = match (&args.tls_cert, is_mutual) {
        (None, _) => ("", "", ""),
        (Some(_), true) => (
            " -o TLS=mtls -o TLS_CA=CA.pem -o TLS_CERT=CERT.pem -o TLS_KEY=KEY.pem",
            "mtls",
            "CA.pem: the authority that signed the server's certificate; CERT.pem and KEY.pem: a certificate \
             of the client and its key, signed by an authority of --tls-client-ca",
        ),
        (Some(_), false) => (
            " -o TLS=on -o TLS_CA=CA.pem",
            "tls",
            "CA.pem: the authority that signed the server's certificate",
        ),
    };
    let mount = match args.tls_only {
        true => format!(",xprtsec={xprtsec}"),
        false => String::new(),
    };
    TlsWords {
        run,
        mount,
        xprtsec,
        files,
    }
}

/// The versions and transports that are served.
fn also(udp: bool, version4: bool) -> String {
    let version4 = match version4 {
        true => "NFS_VERSION=3 (also without it), 4.0, 4.1 and 4.2 are served",
        false => "no NFSv4, by --null",
    };
    let udp = match udp {
        true => "versions 2 and 3 also over UDP (TCP=off)",
        false => "TCP alone, no UDP",
    };
    format!("{version4}; NFSv2 too (BENCHMARK=nfs2-1993); {udp}")
}

fn options(args: &ServeArgs) -> ServerOptions {
    let defaults = ServerOptions::default();
    ServerOptions {
        listen: args.listen.clone(),
        threads: args.threads.map_or(defaults.threads, usize::from),
        null: args.null,
        portmap: args.portmap,
        udp: !args.no_udp,
        delay: args.delay.clone().unwrap_or_default(),
        queue: args.queue,
        capacity_ops: args.capacity_ops.clone(),
        stop: args.stop,
        errors: args.error.clone().unwrap_or_default(),
        drop: args.drop.unwrap_or_default(),
        unstable: args.unstable.unwrap_or_default(),
        short: args.short,
        read_only: args.readonly,
        refuse_mount: args.refuse_mount,
        capacity_bytes: args.capacity.unwrap_or(defaults.capacity_bytes),
        seed: args.seed,
        delegations: args.delegations,
        tls: tls(&args.tls),
        tls_only: args.tls.tls_only,
        ..defaults
    }
}

fn tls(args: &ServeTlsArgs) -> Option<TlsFiles> {
    Some(TlsFiles {
        certificate: args.tls_cert.clone()?,
        key: args.tls_key.clone()?,
        client_authorities: args.tls_client_ca.clone(),
        client_optional: args.tls_client_optional,
    })
}

/// The counts of calls by procedure, on stdout. Those of versions 2 and 4 have the version in front; of
/// version 4 they are of operations, beside NULL and COMPOUND.
fn print_counts(server: &RunningServer, args: &ServeArgs) {
    let stats = server.stats();
    let new = Procedure::ALL
        .iter()
        .map(|p| (p.name().to_owned(), stats.of(*p)));
    let old = Procedure2::ALL
        .iter()
        .map(|p| (format!("v2 {}", p.name()), stats.of2(*p)));
    let version4 = Operation4::ALL
        .iter()
        .map(|o| (format!("v4 {}", o.name()), stats.of4(*o)));
    let calls4 = [
        ("v4 NULL".to_owned(), stats.nfs4_null),
        ("v4 COMPOUND".to_owned(), stats.compounds),
    ];
    let all = new.chain(old).chain(calls4).chain(version4);
    let counts = all.filter(|(_, n)| *n > 0);
    let lateness = server.lateness();
    if args.output.json {
        let mut map: serde_json::Map<_, _> = counts.map(|(p, n)| (p, n.into())).collect();
        let others = refusals(&stats).chain(delegations(&stats));
        let others = others.filter(|(_, _, n)| *n > 0);
        map.extend(others.map(|(name, _, n)| (name.to_owned(), n.into())));
        if let Some(lateness) = lateness {
            map.insert("held_back".to_owned(), lateness_json(&lateness));
        }
        stdout::print_json(&map.into());
    } else {
        for (procedure, n) in counts {
            stdout::print(&format!("{procedure:<23} {n}\n"));
        }
        let others = refusals(&stats).chain(delegations(&stats));
        for (_, words, n) in others.filter(|(_, _, n)| *n > 0) {
            stdout::print(&format!("{words:<44} {n}\n"));
        }
        if let Some(lateness) = lateness {
            stdout::print(&lateness_line(&lateness));
        }
    }
}

/// What a limit has refused: name in JSON, text, count.
fn refusals(stats: &ServerStats) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
    [
        ("no_space", "refused with NFS3ERR_NOSPC", stats.no_space),
        (
            "connections_refused",
            "connections refused (too many)",
            stats.connections_refused,
        ),
        (
            "connections_stalled",
            "connections closed (unfinished requests)",
            stats.connections_stalled,
        ),
        (
            "tls_failures",
            "connections without the TLS that was asked for",
            stats.tls_failures,
        ),
    ]
    .into_iter()
}

/// What was done with delegations: name in JSON, text, count.
fn delegations(stats: &ServerStats) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
    [
        (
            "delegations_read",
            "delegations for reading",
            stats.delegations_read,
        ),
        (
            "delegations_write",
            "delegations for writing",
            stats.delegations_write,
        ),
        (
            "delegations_recalled",
            "delegations recalled",
            stats.delegations_recalled,
        ),
        (
            "delegations_returned",
            "delegations returned",
            stats.delegations_returned,
        ),
        (
            "delegations_revoked",
            "delegations revoked",
            stats.delegations_revoked,
        ),
    ]
    .into_iter()
}

/// How exactly delayed replies were sent at their intended times.
fn lateness_line(lateness: &Lateness) -> String {
    let us = |ns: f64| ns / 1e3;
    format!(
        "delayed replies: {}; sent after their intended time by: mean {:.1} us, p99 {:.1} us, max {:.1} us\n",
        lateness.count,
        us(lateness.mean_ns),
        us(lateness.p99_ns as f64),
        us(lateness.max_ns as f64),
    )
}

fn lateness_json(lateness: &Lateness) -> Value {
    json!({
        "count": lateness.count,
        "lateness_ns_mean": lateness.mean_ns.round() as u64,
        "lateness_ns_p99": lateness.p99_ns,
        "lateness_ns_max": lateness.max_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    fn banner_of(flags: &str, addresses: &[&str]) -> String {
        let line = format!("filermark serve {flags}");
        let cli = Cli::try_parse_from(line.split_whitespace()).expect(flags);
        let Command::Serve(args) = cli.command else {
            panic!("{flags}");
        };
        let addresses: Vec<SocketAddr> = addresses
            .iter()
            .map(|a| a.parse().expect("an address"))
            .collect();
        banner(&addresses, &args)
    }

    #[test]
    fn the_banner_names_the_commands_of_each_version() {
        assert_eq!(
            banner_of("", &["127.0.0.1:20490"]),
            "serving /export on 127.0.0.1:20490\n\
             to measure it, in another terminal:\n  \
               filermark quick nfs://127.0.0.1:20490/export -o MOUNT_PORT=20490\n  \
               filermark quick nfs://127.0.0.1:20490/export -o NFS_VERSION=4.1\n\
             to mount it on Linux:\n  \
               mount -t nfs -o vers=3,tcp,port=20490,mountport=20490,nolock 127.0.0.1:/export /mnt\n  \
               mount -t nfs -o vers=4.2,port=20490 127.0.0.1:/export /mnt\n\
             NFS_VERSION=3 (also without it), 4.0, 4.1 and 4.2 are served; NFSv2 too \
             (BENCHMARK=nfs2-1993); versions 2 and 3 also over UDP (TCP=off)"
        );
        let null = banner_of("--null --no-udp", &["[::1]:20490"]);
        assert!(null.contains("nfs://[::1]:20490/export -o MOUNT_PORT=20490\nto mount"));
        assert!(!null.contains("4.1") && null.contains("no NFSv4, by --null"));
        assert!(null.ends_with("TCP alone, no UDP"), "{null}");
        let any = banner_of("", &["0.0.0.0:20490"]);
        assert!(any.contains("nfs://HOST:20490/export"), "{any}");
    }

    #[test]
    fn the_banner_of_tls_names_what_clients_set() {
        let files = "--tls-cert c.pem --tls-key k.pem";
        let only = banner_of(&format!("{files} --tls-only"), &["127.0.0.1:20490"]);
        for expected in [
            "/export -o MOUNT_PORT=20490 -o TLS=on -o TLS_CA=CA.pem\n",
            "/export -o NFS_VERSION=4.1 -o TLS=on -o TLS_CA=CA.pem\n",
            "vers=3,tcp,port=20490,mountport=20490,nolock,xprtsec=tls 127.0.0.1:/export /mnt\n",
            "vers=4.2,port=20490,xprtsec=tls 127.0.0.1:/export /mnt\n",
            "TCP alone, no UDP\nNFS is refused without TLS (CA.pem: the authority that signed",
            "mount on Linux: xprtsec=tls)",
        ] {
            assert!(only.contains(expected), "{expected}: {only}");
        }
        let mutual = format!("{files} --tls-only --tls-client-ca a.pem");
        let mutual = banner_of(&mutual, &["127.0.0.1:20490"]);
        for expected in [
            "TLS=mtls -o TLS_CA=CA.pem -o TLS_CERT=CERT.pem -o TLS_KEY=KEY.pem\n",
            ",nolock,xprtsec=mtls 127",
            "KEY.pem: a certificate of the client",
        ] {
            assert!(mutual.contains(expected), "{expected}: {mutual}");
        }
        let offered = banner_of(files, &["127.0.0.1:20490"]);
        assert!(offered.contains("TLS is offered to clients that ask for it"));
        let plain = "nolock 127.0.0.1:/export";
        assert!(
            offered.contains(plain) && offered.contains("over UDP"),
            "{offered}"
        );
    }

    #[test]
    fn the_address_of_the_portmapper_has_no_commands_of_its_own() {
        let both = ["127.0.0.1:2049", "127.0.0.1:111"];
        let text = banner_of("--portmap", &both);
        assert_eq!(text.matches("filermark quick").count(), 2, "{text}");
        let line =
            "\nportmapper on 127.0.0.1:111: in an rc file MNT_POINTS=\"127.0.0.1:/export\" needs";
        assert!(text.contains(line), "{text}");
        let alone = banner_of("--portmap", &both[1..]);
        assert!(
            alone.contains("quick nfs://127.0.0.1:111/export"),
            "{alone}"
        );
        let without = banner_of("", &both);
        assert_eq!(without.matches("filermark quick").count(), 4, "{without}");
    }
}
