//! `agent`: makes load on this host for a prime elsewhere.

use crate::cli::AgentArgs;
use crate::exit::{Ended, Failure};
use crate::{interrupt, plain, product};
use filermark_cluster::agent::serve_until;
use filermark_cluster::hosts::stop::{CLEAN_UP_MAX, end_run};
use filermark_cluster::launch::AGENT_PORT;
use filermark_cluster::launch::tag::RunTag;
use filermark_cluster::secure::dial::HostPort;
use filermark_cluster::secure::introduce::HostName;
use filermark_cluster::secure::join::{self, Call, Listener, own_names, read_invitation};
use filermark_cluster::secure::{Identity, Secret, Side, make_secret_file, read_secret_file};
use filermark_engine::driver::StopFlag;
use filermark_model::plan::IpChoice;
use std::fs::File;
use std::path::Path;
use std::process::ExitCode;

/// Serves one prime, or several one after the other.
pub fn agent(args: &AgentArgs) -> Ended {
    plain::listen_to_rooms(&[], args.verbose.verbose);
    if let Some(path) = &args.make_secret {
        make_secret_file(path).map_err(Failure::of)?;
        eprintln!(
            "{}: made; give it to every host by a way that you trust, and keep it to yourself (mode 0600)",
            path.display()
        );
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(run) = &args.end_run {
        let tag = RunTag::new(run).map_err(Failure::Failed)?;
        let report = end_run(&tag, CLEAN_UP_MAX).map_err(Failure::Failed)?;
        let line = serde_json::to_string(&report).map_err(Failure::of)?;
        product::print(&format!("{line}\n"));
        return Ok(ExitCode::SUCCESS);
    }
    let quit = StopFlag::new();
    interrupt::on_wish_to_end(
        quit.clone(),
        "ending: what this agent made is removed (again: leave at once)",
    );
    if args.stdio {
        return over_stdio(&quit);
    }
    match args.listen {
        Some(address) => listen(args, address, &quit),
        None => connect(args, &quit),
    }
}

/// The protocol has the standard streams for itself: what else would be printed
/// goes to stderr.
fn over_stdio(quit: &StopFlag) -> Ended {
    let take = || -> std::io::Result<(File, File)> {
        let orders = rustix::io::dup(rustix::stdio::stdin())?;
        let reports = rustix::io::dup(rustix::stdio::stdout())?;
        rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
        Ok((orders.into(), reports.into()))
    };
    let (orders, reports) =
        take().map_err(|e| Failure::Failed(format!("standard streams: {e}")))?;
    serve_until(orders, reports, quit);
    Ok(ExitCode::SUCCESS)
}

fn listen(args: &AgentArgs, address: std::net::SocketAddr, quit: &StopFlag) -> Ended {
    let identity = identity(secret_of(args.secret_file.as_deref())?)?;
    let listener = Listener::start(address, &identity, names(args)?).map_err(Failure::Failed)?;
    eprintln!("waiting for primes on {}", listener.address());
    let served = StopFlag::new();
    let goes_on = || !(quit.is_raised() || args.once && served.is_raised());
    listener.serve(goes_on, |orders, reports| {
        serve_until(orders, reports, quit);
        served.raise();
    });
    Ok(ExitCode::SUCCESS)
}

fn connect(args: &AgentArgs, quit: &StopFlag) -> Ended {
    let (to, secret) = match args.connect.as_slice() {
        [dash] if dash == "-" => {
            let invitation = read_invitation(std::io::stdin()).map_err(Failure::Failed)?;
            let port = invitation.port;
            let at = |host| HostPort { host, port };
            (
                invitation.addresses.into_iter().map(at).collect(),
                invitation.secret,
            )
        }
        texts => {
            let parse = |text: &String| {
                HostPort::parse(text, AGENT_PORT).map_err(|why| {
                    let hint = "write host, host:port or [address]:port";
                    Failure::Usage(vec![format!("--connect {text}: {why}; {hint}")])
                })
            };
            let to = texts.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
            (to, secret_of(args.secret_file.as_deref())?)
        }
    };
    let session = join::connect(&Call {
        to: &to,
        ip: IpChoice::Any,
        identity: &identity(secret)?,
        names: &names(args)?,
        patience: args.patience,
    })
    .map_err(Failure::Failed)?;
    serve_until(session.from_prime, session.to_prime, quit);
    // What was said last is still on its way out.
    session.hold.wait_ended(join::FAREWELL);
    Ok(ExitCode::SUCCESS)
}

fn secret_of(file: Option<&Path>) -> Result<Secret, Failure> {
    let Some(file) = file else {
        let sentence =
            "--connect needs --secret-file FILE; `filermark agent --make-secret FILE` makes one";
        return Err(Failure::Usage(vec![sentence.into()]));
    };
    read_secret_file(file).map_err(Failure::of)
}

fn identity(secret: Secret) -> Result<Identity, Failure> {
    Identity::new(&secret, Side::Agent).map_err(Failure::Failed)
}

fn names(args: &AgentArgs) -> Result<Vec<HostName>, Failure> {
    let parse = |name: &String| {
        HostName::parse(name).map_err(|why| Failure::Usage(vec![format!("--name {name}: {why}")]))
    };
    let name = args.name.as_ref().map(parse).transpose()?;
    own_names(name, args.name_from_slurm).map_err(Failure::Failed)
}
