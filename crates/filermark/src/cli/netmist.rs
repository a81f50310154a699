//! netmist's flags as clap arguments, made from their one declaration in
//! [`filermark_config::netmist::FLAGS`].

use super::{EventsArgs, GateArgs, LostArgs, OutputArgs};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use filermark_config::netmist::{FLAGS, Flag};
use std::path::PathBuf;

/// `netmist`.
#[derive(Clone, Debug, Args)]
#[command(disable_version_flag = true)]
#[command(after_help = "\
Examples:
  filermark netmist -d 1 -b 1g -B 1g -g client_list
      as many operations as possible
  filermark netmist -d 2 -b 1g -B 1g -O 1000 -t 600 -g client_list
  filermark netmist -i -b 1g -g client_list  what would run
  filermark netmist -E > my_workloads        objects to edit, for -I

Lines of the token file, for this host and for sixteen others (by ssh):
  Clientname=localhost Workdir=/mnt/test Workload=METADATA Oprate=10 Instances=2
  Clientname=nv[01-16] Username=me Workdir=/mnt/test Workload=METADATA Oprate=10")]
pub struct NetmistArgs {
    #[command(flatten)]
    pub flags: NetmistFlags,
    /// Measure as long as -t says, even if the data set is not touched in that time
    #[arg(long)]
    pub exact_time: bool,
    /// Suffix of the names of the result files [default: netmist]
    #[arg(long, value_name = "SUFFIX")]
    pub suffix: Option<String>,
    /// Directory of the result files [default: result]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Definitions of workloads of your own (TOML)
    #[arg(long, value_name = "FILE")]
    pub benchmarks: Option<PathBuf>,
    /// A workload on one line; the token file names it Workload=INLINE
    #[arg(long, value_name = "LINE")]
    pub workload: Option<String>,
    /// For -k: also remove files kept by -K and files of other plans
    #[arg(long)]
    pub force: bool,
    /// Set a parameter of rc files; may be repeated
    #[arg(short = 'o', long = "option", value_name = "NAME=VALUE")]
    pub options: Vec<String>,
    /// More diagnostics; twice: all
    #[arg(long, action = ArgAction::Count)]
    pub verbose: u8,
    #[command(flatten)]
    pub lost: LostArgs,
    #[command(flatten)]
    pub events: EventsArgs,
    #[command(flatten)]
    pub gates: GateArgs,
    /// Print one line per second on stderr, instead of netmist's console
    #[arg(long, conflicts_with = "quiet")]
    pub lines: bool,
    /// Print nothing but results and errors
    #[arg(long)]
    pub quiet: bool,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Arguments that belong to no flag: an error with a suggestion
    #[arg(hide = true)]
    pub strays: Vec<String>,
}

/// The flags that were given: letters and values, empty for switches.
#[derive(Clone, Debug, Default)]
pub struct NetmistFlags {
    /// In the order of the declaration.
    pub given: Vec<(char, String)>,
}

fn argument(flag: &'static Flag) -> Arg {
    let arg = Arg::new(flag.long)
        .short(flag.letter)
        .long(flag.long)
        .help(flag.one_line);
    let arg = match flag.long_help {
        "" => arg,
        more => arg.long_help(format!("{}\n\n{more}", flag.one_line)),
    };
    match flag.value {
        "" => arg.action(ArgAction::SetTrue),
        value => arg.value_name(value).overrides_with(flag.long),
    }
}

impl FromArgMatches for NetmistFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let value = |flag: &&Flag| match flag.value {
            "" => matches.get_flag(flag.long).then(String::new),
            _ => matches.get_one::<String>(flag.long).cloned(),
        };
        let given = FLAGS
            .iter()
            .filter_map(|flag| Some((flag.letter, value(&flag)?)));
        Ok(Self {
            given: given.collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for NetmistFlags {
    fn augment_args(command: Command) -> Command {
        FLAGS
            .iter()
            .fold(command, |command, flag| command.arg(argument(flag)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

#[cfg(test)]
mod tests {
    use crate::cli::{Cli, Command};
    use clap::Parser;

    fn given(line: &str) -> (Vec<(char, String)>, Vec<String>) {
        match Cli::try_parse_from(line.split_whitespace()) {
            Ok(Cli {
                command: Command::Netmist(args),
            }) => (args.flags.given, args.strays),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn flags_as_the_manual_writes_them() {
        let line = "filermark netmist -d 2 -b 1g -B 1g -O 1000 -t 300 -w 300 -N -G -K -g clients -I my_workloads";
        let (flags, strays) = given(line);
        let letters: String = flags.iter().map(|(l, _)| *l).collect();
        assert_eq!(letters, "twbBGONgdIK");
        assert!(flags.contains(&('O', "1000".into())) && flags.contains(&('K', String::new())));
        assert!(strays.is_empty());
        // The last of several counts, as in the manual's own script: -b 1g -b 1g.
        let (flags, _) = given("filermark netmist -b 1g -b 2g -g clients");
        assert!(flags.contains(&('b', "2g".into())), "{flags:?}");
        let (_, strays) = given("filermark netmist -g clients \u{2013}K \u{2013}N");
        assert_eq!(strays, ["\u{2013}K", "\u{2013}N"]);
        let (flags, _) = given("filermark netmist -v -i -E -k -D -y 6 -u");
        assert_eq!(flags.len(), 7);
    }
}
