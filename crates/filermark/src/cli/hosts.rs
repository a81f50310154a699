//! `install`, `stop` and `keys`, declared: what is done to client hosts.

use super::{OutputArgs, SourceArgs, VerboseArgs};
use clap::Args;

/// `install`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  filermark install -r sfs_rc                      this very version, to every client that lacks it
  filermark install -o \"CLIENTS=h1 h2\"             without an rc file
  filermark install -r sfs_rc -o EXEC_PATH=/opt/filermark

Without EXEC_PATH it lies in ~/.cache/filermark there. What is not Filermark is never
replaced. A run does the same by itself (INSTALL). Exit code 1: a client lacks it still.")]
pub struct InstallArgs {
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub verbose: VerboseArgs,
}

/// `stop`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  filermark stop -r sfs_rc -s mine                 what the run with this suffix left running
  filermark stop -o \"CLIENTS=h1 h2\" -s mine        without an rc file

Ends the agents of exactly this run (SUFFIX) and of this user: they are asked, have 30 s to
remove what they made, and are killed then. What dead agents left in the clients' directories
is removed where it was made with this rc file and these options: give the same ones.
Exit code 1: a client could not be looked at, or something stays.")]
pub struct StopArgs {
    /// Remove what any run with this suffix has left, of any user, kept file sets too
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub verbose: VerboseArgs,
}

/// `keys`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  filermark keys -r sfs_rc                         which clients let us in, and what would be done
  filermark keys -r sfs_rc --yes                   does it; asks for passwords at the terminal

ssh-keygen makes a key (ed25519) where there is none, ssh-copy-id brings its public half to
the clients. The private key stays here; no host key is taken that you have not seen.")]
pub struct KeysArgs {
    /// Do it; without this nothing is changed
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub verbose: VerboseArgs,
}
