//! The parameters of client hosts: how they are reached, and by which user. They
//! are part of the launch plan; none of them is measured.

use super::decl::{Group, Kind, Parameter};
use super::value::{Launcher, choice, parameters};
use filermark_model::launch::OnLost;

const fn p(kind: Kind, one_line: &'static str) -> Parameter {
    Parameter::new(Group::Clients, kind, one_line).own()
}

const fn p2014(kind: Kind, one_line: &'static str) -> Parameter {
    Parameter::new(Group::Clients, kind, one_line).of_2014()
}

parameters! {
    LAUNCHER: Launcher = p(
        choice::<Launcher>(),
        "How the clients are reached; auto: this host directly, all others by ssh",
    )
    .default("auto")
    .help(
        "ssh: by the user's own OpenSSH client, with its keys, agent, jump hosts and \
         configuration; only SSH's port must be open. slurm: by srun; the clients are nodes, \
         and 'slurm' as a client's name (or no CLIENTS at all) stands for all nodes of the \
         allocation that Filermark is started in. connect: the agents were started by hand \
         (filermark agent --listen ADDR), and AGENT_PORT of every client is connected to. \
         accept: they are started by hand too (filermark agent --connect ADDR), and PRIME_LISTEN \
         waits for them. local: all clients are processes of this host, whatever their names; \
         for trying out.",
    );
    USER: Option<String> = p2014(Kind::Text, "User on clients that are reached by ssh")
        .alias(&["UNIX_USER"])
        .example("spec")
        .help(
            "Not set: that of SSH's own configuration. It has no effect on this host, and with \
             Slurm, whose allocation has its user. root is not needed for anything.",
        );
    EXEC_PATH: Option<String> = p2014(Kind::Path, "The program on clients reached by ssh or Slurm")
        .alias(&["UNIX_EXEC_PATH"])
        .example("~/bin/filermark")
        .help(
            "Not set: where 'filermark install' puts it. A program that is not Filermark (the \
             netmist of an old rc file) is neither started nor overwritten: choose another path \
             then.",
        );
    SSH_COMMAND: Vec<String> = p(
        Kind::List,
        "The SSH client, with options of its own",
    )
    .default("ssh")
    .example("ssh -F lab.conf")
    .help("Words between blanks; no shell reads them. Ports, keys, jump hosts and the like are best kept in ~/.ssh/config.");
    SRUN_COMMAND: Vec<String> = p(
        Kind::List,
        "Slurm's srun, with options of its own",
    )
    .default("srun")
    .example("srun --partition=bench");
    INSTALL: bool = p(
        Kind::Switch,
        "A run copies the program to clients that lack this version",
    )
    .default("on")
    .help("off: a client with another version ends the run with a message; 'filermark install' copies too.");
    AGENTS_DIR: Option<String> = p(
        Kind::Path,
        "Directory with the programs for clients of other systems and processors",
    )
    .example("agents")
    .help(
        "Relative to the rc file; same as --agents. A client reached by ssh gets \
         filermark-SYSTEM-PROCESSOR from there: filermark-linux-x86_64, filermark-linux-aarch64, \
         filermark-windows-x86_64.exe, filermark-macos-aarch64, filermark-freebsd-x86_64. All \
         must be built from the sources of this program. A client like this host gets this \
         program if the directory has no other one. Not set: all clients are like this host.",
    );
    ON_LOST: OnLost = p(
        choice::<OnLost>(),
        "When a client is lost: end the run, or continue with the others",
    )
    .default("end")
    .help("continue: the load points from then on are marked INVALID. Same as --on-lost.");
    START_TIMEOUT: f64 = p(
        Kind::Real(1.0, 86_400.0, "seconds"),
        "Longest that the agent on a client may take to start",
    )
    .default("60")
    .help("From the beginning of its launch to its first message. Creating a Slurm allocation counts as well.");
    SECRET_FILE: Option<String> = p(
        Kind::Path,
        "LAUNCHER=connect or accept: the file with the keys of the prime",
    )
    .example("lab/prime.key")
    .help("Relative to the rc file. 'filermark agent --make-keys DIR --clients LIST' makes it (DIR/prime.key), and a file for each client (DIR/client-NAME.key), which you move there over a trusted channel. Without it no agent is connected to.");
    AGENT_PORT: u16 = p(
        Kind::Int(1, 65_535, "port"),
        "LAUNCHER=connect: where agents listen",
    )
    .default("20049");
    PRIME_LISTEN: Option<String> = p(
        Kind::Text,
        "LAUNCHER=accept or slurm: where agents connect to, ADDR:PORT",
    )
    .example("0.0.0.0:20049")
    .help("An address of this host and a port; IPv6 in brackets, [::]:20049. With slurm it may be left out: any free port of all addresses.");
    PRIME_ADDRESS: Option<String> = p(
        Kind::Text,
        "The name under which agents find this host; not set: its own",
    )
    .example("prime.example.org")
    .help("Where clients know this host by another name or address than its own, e.g. that of one of several networks. Without a port.");
}
