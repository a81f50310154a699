//! `agent`, declared.

use super::VerboseArgs;
use clap::{ArgGroup, Args};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// `agent`.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("way").args(["stdio", "listen", "connect", "make_keys", "end_run"]))]
#[command(override_usage = "\
filermark agent --stdio
       filermark agent --listen ADDR:PORT --secret-file FILE [--once]
       filermark agent --connect HOST[:PORT]... --secret-file FILE [--time-limit S]
       filermark agent --make-keys DIR --clients LIST")]
#[command(after_help = "\
Runs start their agents by themselves (over SSH, by Slurm, or here). By hand:
  filermark agent --make-keys lab --clients 'h1 h2'    once, on the prime: SECRET_FILE=lab/prime.key;
                                                       move lab/client-h1.key to h1, and so on
  filermark agent --listen 0.0.0.0:20049 --secret-file client-h1.key
                                                       runs with LAUNCHER=connect come to it
  filermark agent --connect prime:20049 --secret-file client-h1.key
                                                       goes to a run with LAUNCHER=accept")]
pub struct AgentArgs {
    /// Speak over standard input and output; for launchers
    #[arg(long)]
    pub stdio: bool,
    /// Wait for primes on this address and port, over TLS
    #[arg(long, value_name = "ADDR:PORT", requires = "secret_file")]
    pub listen: Option<SocketAddr>,
    /// Go to the prime at this host and port, over TLS; '-': an invitation on standard input
    #[arg(long, value_name = "HOST[:PORT]")]
    pub connect: Vec<String>,
    /// Make the key files of a prime and its clients in this directory, or those that are missing
    #[arg(long, value_name = "DIR", requires = "clients")]
    pub make_keys: Option<PathBuf>,
    /// For --make-keys: the clients, written as in CLIENTS
    #[arg(long, value_name = "LIST", requires = "make_keys")]
    pub clients: Option<String>,
    /// End the agents of a run on this host, and print what was ended; for `stop`
    #[arg(long, value_name = "RUN", hide = true, allow_hyphen_values = true)]
    pub end_run: Option<String>,
    /// The key file of this client, as --make-keys makes it
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<PathBuf>,
    /// The client that this is; for agents whose key file does not say it
    #[arg(long, value_name = "NAME", hide = true)]
    pub name: Option<String>,
    /// It is the client that Slurm calls the node
    #[arg(long, conflicts_with = "name", hide = true)]
    pub name_from_slurm: bool,
    /// How long to try to reach the prime, in seconds
    #[arg(long, alias = "patience", value_name = "S", default_value = "60", value_parser = super::parse_seconds)]
    pub time_limit: Duration,
    /// Serve one prime and end
    #[arg(long, requires = "listen")]
    pub once: bool,
    /// The run that it belongs to; for `stop`
    #[arg(long, value_name = "RUN", hide = true, allow_hyphen_values = true)]
    pub run: Option<String>,
    #[command(flatten)]
    pub verbose: VerboseArgs,
}
