//! `agent`: makes load on this host for a prime elsewhere.

use crate::cli::AgentArgs;
use crate::{resolve_args, stdout};
use filermark_agent::serve_until;
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_cli_kit::interrupt;
use filermark_config::hosts::expand_hosts;
use filermark_engine::driver::StopFlag;
#[cfg(windows)]
use filermark_hosts::admin::stop::AnnouncedAgent;
use filermark_hosts::admin::stop::end_run;
use filermark_hosts::launch::AGENT_PORT;
use filermark_hosts::launch::tag::RunTag;
use filermark_link::limits::CLEAN_UP_MAX;
use filermark_link::secure::Identity;
use filermark_link::secure::connect::{
    self, DialOptions, INVITATION_MAX, Listener, own_names, read_invitation,
};
use filermark_link::secure::dial::HostPort;
use filermark_link::secure::hello::HostName;
use filermark_link::secure::keys::{ClientKey, PrimeKeys, make_keys};
use filermark_model::plan::IpChoice;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Serves one prime, or several one after the other.
pub fn agent(args: &AgentArgs) -> CommandResult {
    match args.stdio {
        true => resolve_args::init_tracing_of_agent(args.verbose.verbose),
        false => resolve_args::init_tracing(&[], args.verbose.verbose),
    }
    if let (Some(dir), Some(clients)) = (&args.make_keys, &args.clients) {
        return make_key_files(dir, clients);
    }
    if let Some(run) = &args.end_run {
        let tag = RunTag::new(run).map_err(CommandError::Failed)?;
        let report = end_run(&tag, CLEAN_UP_MAX).map_err(CommandError::Failed)?;
        let line = serde_json::to_string(&report).map_err(CommandError::of)?;
        stdout::print(&format!("{line}\n"));
        return Ok(ExitCode::SUCCESS);
    }
    let quit = StopFlag::new();
    let serving = Arc::new(AtomicBool::new(false));
    let is_serving = serving.clone();
    interrupt::on_interrupt_agent(quit.clone(), move || {
        match is_serving.load(Ordering::Relaxed) {
            true => "ending: this agent removes its files (again: exit at once)",
            // No prime has connected: it made nothing.
            false => "ending (again: exit at once)",
        }
    });
    // Until the end of this function: an agent that is ending can be found, too.
    #[cfg(windows)]
    let _announced = announce(args.run.as_deref(), &quit);
    if args.stdio {
        serving.store(true, Ordering::Relaxed);
        return over_stdio(&quit);
    }
    match args.listen {
        Some(address) => listen(args, address, &quit, &serving),
        None if args.connect.is_empty() => {
            let sentence = "give the connection between prime and agent: --stdio, --listen ADDR:PORT or \
                --connect HOST[:PORT]; --make-keys DIR --clients LIST makes the keys for it";
            Err(CommandError::Usage(vec![sentence.into()]))
        }
        None => connect(args, &quit, &serving),
    }
}

/// Makes this agent known to `agent --end-run`, where there are no signals.
#[cfg(windows)]
fn announce(run: Option<&str>, quit: &StopFlag) -> Option<AnnouncedAgent> {
    let tag = RunTag::new(run?).ok()?;
    let announced = filermark_hosts::admin::stop::announce(&tag, quit);
    announced
        .map_err(|error| {
            filermark_cli_kit::stderr_line!(
                "`filermark stop` will not find this agent: {error}; end it in the task manager"
            );
        })
        .ok()
}

/// The standard streams are used by the protocol: other output goes to stderr.
fn over_stdio(quit: &StopFlag) -> CommandResult {
    let (orders, reports) = filermark_system::take_stdio()
        .map_err(|e| CommandError::Failed(format!("standard streams: {e}")))?;
    serve_until(orders, reports, quit);
    Ok(ExitCode::SUCCESS)
}

fn listen(
    args: &AgentArgs,
    address: std::net::SocketAddr,
    quit: &StopFlag,
    serving: &AtomicBool,
) -> CommandResult {
    let (identity, names) = of_key_file(args)?;
    let listener = Listener::start(address, &identity, names).map_err(CommandError::Failed)?;
    filermark_cli_kit::stderr_line!("waiting for primes on {}", listener.address());
    let served = StopFlag::new();
    let goes_on = || !(quit.is_raised() || args.once && served.is_raised());
    listener.serve(goes_on, |orders, reports| {
        serving.store(true, Ordering::Relaxed);
        serve_until(orders, reports, quit);
        serving.store(false, Ordering::Relaxed);
        served.raise();
    });
    Ok(ExitCode::SUCCESS)
}

fn connect(args: &AgentArgs, quit: &StopFlag, serving: &AtomicBool) -> CommandResult {
    // Before a prime has connected, a request to stop is the reason for any failure.
    let failed = |why: String| match quit.is_raised() {
        true => CommandError::Stopped,
        false => CommandError::Failed(why),
    };
    let (to, identity, names) = match args.connect.as_slice() {
        [dash] if dash == "-" => {
            let invitation =
                read_invitation(std::io::stdin(), INVITATION_MAX, quit).map_err(failed)?;
            let port = invitation.port;
            let at = |host| HostPort { host, port };
            let identity = invitation.identity().map_err(CommandError::Failed)?;
            let to = invitation.addresses.into_iter().map(at).collect();
            let name = args.name.as_deref().map(parse_name).transpose()?;
            let names = own_names(name, args.name_from_slurm).map_err(CommandError::Failed)?;
            (to, identity, names)
        }
        texts => {
            let parse = |text: &String| {
                HostPort::parse(text, AGENT_PORT).map_err(|why| {
                    let hint = "write host, host:port or [address]:port";
                    CommandError::Usage(vec![format!("--connect {text}: {why}; {hint}")])
                })
            };
            let to = texts.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
            let (identity, names) = of_key_file(args)?;
            (to, identity, names)
        }
    };
    let session = connect::connect(&DialOptions {
        to: &to,
        ip: IpChoice::Any,
        identity: &identity,
        names: &names,
        limit: args.time_limit,
        stop: quit,
    })
    .map_err(failed)?;
    serving.store(true, Ordering::Relaxed);
    serve_until(session.from_prime, session.to_prime, quit);
    // The last messages may still be queued.
    session.hold.wait_ended(connect::FINAL_OUTPUT_MAX);
    Ok(ExitCode::SUCCESS)
}

/// The identity of this agent, and its name.
fn of_key_file(args: &AgentArgs) -> Result<(Identity, Vec<HostName>), CommandError> {
    let Some(file) = &args.secret_file else {
        let sentence = "--connect needs --secret-file FILE, the key file of this client; \
            `filermark agent --make-keys DIR --clients LIST` makes one for each client";
        return Err(CommandError::Usage(vec![sentence.into()]));
    };
    let key = ClientKey::read(file).map_err(CommandError::of)?;
    if let Some(name) = &args.name
        && !PrimeKeys::is_same(name, key.name.as_str())
    {
        return Err(CommandError::Usage(vec![format!(
            "--name {name}: {} is the key of client {}; leave --name out, or take the file of that client",
            file.display(),
            key.name
        )]));
    }
    let identity = key.identity().map_err(CommandError::Failed)?;
    Ok((identity, vec![key.name]))
}

/// One file for the prime, one for each client.
fn make_key_files(dir: &Path, clients: &str) -> CommandResult {
    let wrong = |why: String| CommandError::Usage(vec![format!("--clients {clients}: {why}")]);
    let names = expand_hosts(clients).map_err(|(what, hint)| wrong(format!("{what}; {hint}")))?;
    let names: Result<Vec<_>, _> = names.iter().map(|name| HostName::parse(name)).collect();
    let made =
        make_keys(dir, &names.map_err(|why| wrong(why.into()))?).map_err(CommandError::of)?;
    let does = match (made.existed, made.clients.is_empty()) {
        (false, _) => "made",
        (true, false) => "has the new clients",
        (true, true) => "has all these clients already",
    };
    filermark_cli_kit::stderr_line!(
        "{}: {does}; it stays here: SECRET_FILE={}",
        made.prime.display(),
        made.prime.display()
    );
    for (name, file) in &made.kept {
        let file_text = file.display();
        let prime = made.prime.display();
        match file.exists() {
            true => filermark_cli_kit::stderr_line!(
                "{file_text}: kept; client {name} has its key already"
            ),
            false => filermark_cli_kit::stderr_line!(
                "{file_text}: kept; client {name} has its key already, and its file is not here \
                 any more (if it is lost: remove the line of {name} from {prime}, and make \
                 a new one)"
            ),
        }
    }
    for file in &made.clients {
        filermark_cli_kit::stderr_line!(
            "{}: made; move it to that client over a secure connection",
            file.display()
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn parse_name(name: &str) -> Result<HostName, CommandError> {
    HostName::parse(name).map_err(|why| CommandError::Usage(vec![format!("--name {name}: {why}")]))
}
