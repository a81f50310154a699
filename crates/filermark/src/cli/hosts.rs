//! `install`, `stop` and `keys`, declared: what is done to client hosts.

use super::{OutputArgs, SourceArgs, VerboseArgs};
use clap::Args;

/// `install`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  filermark install -r sfs_rc           this version, to every client that lacks
                                        it
  filermark install -o \"CLIENTS=h1 h2\"  without an rc file
  filermark install -r sfs_rc -o EXEC_PATH=/opt/filermark

Without EXEC_PATH it is installed in ~/.cache/filermark. Other programs are
never replaced. A run installs it as well (INSTALL). Exit code 1: a client still
lacks it.")]
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
  filermark stop -r sfs_rc -s mine           stops the run with this suffix
  filermark stop -o \"CLIENTS=h1 h2\" -s mine  without an rc file

Stops only agents of this run (SUFFIX) and of this user. They have 30 s to
remove their files; then they are killed. Files of agents that ended before are
removed if they were made with this rc file and these options: give the same
ones. Exit code 1: a client could not be checked, or something was not removed.")]
pub struct StopArgs {
    /// Also remove files of other users' runs with this suffix, and kept file sets
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
  filermark keys -r sfs_rc        clients that accept this user, and what would
                                  be done
  filermark keys -r sfs_rc --yes  does it; prompts for passwords at the terminal

ssh-keygen makes a key (ed25519) if there is none; ssh-copy-id copies the public
key to the clients. The private key stays here. You confirm the fingerprint of
each new host key.")]
pub struct KeysArgs {
    /// Make the changes; without this nothing is changed
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub verbose: VerboseArgs,
}
