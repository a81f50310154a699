//! The reference page of netmist's command line, made from the table of flags.

use super::flags::{Effect, FLAGS, Flag};
use std::fmt::Write;

/// docs/src/reference/netmist.md.
pub fn netmist_markdown() -> String {
    let mut out = String::from(HEAD);
    out += "\n| Flag | Long | Stands for | What it is |\n|---|---|---|---|\n";
    for flag in FLAGS {
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(
            out,
            "| `{}` | `--{}` | {} | {} |",
            shown(flag),
            flag.long,
            stands_for(flag),
            flag.one_line
        );
    }
    out += "| `-h` | `--help` | | All of these |\n";
    out += "\n## More about some of them\n";
    for flag in FLAGS.iter().filter(|f| !f.long_help.is_empty()) {
        let _ = write!(
            out,
            "\n**`{}`** {}. {}\n",
            shown(flag),
            flag.one_line,
            flag.long_help
        );
    }
    out += TAIL;
    out
}

fn shown(flag: &Flag) -> String {
    match flag.value {
        "" => format!("-{}", flag.letter),
        value => format!("-{} {value}", flag.letter),
    }
}

fn stands_for(flag: &Flag) -> String {
    match flag.effect {
        Effect::Parameter(name) => format!("`{name}`"),
        Effect::Sets(all) => {
            let text = |(name, value): &(&str, &str)| format!("`{name}={value}`");
            all.iter().map(text).collect::<Vec<_>>().join(" ")
        }
        Effect::Own => String::new(),
        Effect::Idle => "without effect".into(),
    }
}

const HEAD: &str = "\
# netmist's command line

<!-- Made from crates/config/src/netmist; a test of that crate keeps the two equal. -->

`filermark netmist` reads the flags and the token file that users of netmist know, and runs one \
load point. What a flag says is a [parameter](parameters.md) wherever one means the same; \
`-o NAME=VALUE` sets any other. How to use it: [Measure with netmist's command line](../howto/netmist.md).

## Flags
";

const TAIL: &str = "
## Filermark's own options

| Option | What it is |
|---|---|
| `--exact-time` | RUN is as long as `-t` says, even if the data set is not read and written once in that time |
| `--suffix SUFFIX` | End of the names of the result files; default `netmist` |
| `--dir DIR` | Directory of the result files; default `result` |
| `--benchmarks FILE` | Definitions of workloads of your own (TOML) |
| `-o NAME=VALUE` | Sets a [parameter](parameters.md): `FILE_SIZE`, `SEED`, `VERIFY`, the limits ... It wins over a flag that stands for the same one |
| `--events FILE` | What goes on, as [JSON lines](events.md#events) to a file or FIFO; `-` is standard output |
| `--on-lost end\\|continue` | A lost client ends the run, or the rest goes on (`ON_LOST`) |
| `--verbose` | Says more on stderr; twice: everything. (`-v` is netmist's flag for the version) |
| `--json`, `--no-color` | As with [`run`](commands.md) |

`LOAD`, `INCR_LOAD`, `NUM_RUNS`, `BENCHMARK`, `CLIENT_MOUNTPOINTS` and `OPRATE_MULTIPLIER` have no \
effect here: the token file says who does what.

## The token file

A line stands for a proc, or for several:

```text
Clientname=localhost Username=root Workdir=/mnt/test Execpath=/tmp/netmist Workload=METADATA
Clientname=localhost Workdir=/mnt/test Workload=VDA1 Oprate=2 Instances=4   # four procs
```

| Key | Needed | What it is |
|---|---|---|
| `Clientname` | yes | The client, by name or address, or several as a range: `nv[01-16]` stands for sixteen lines |
| `Workdir` | yes | The directory to work in, from `/` on. A marked directory is made in it, and nothing else is touched |
| `Workload` | yes | A workload object, by its name or another name of it: `filermark workload list` |
| `Oprate` | no | Operations per second of each proc of the line |
| `Instances` | no | Procs that the line stands for; 1 |
| `Username` | no | The user on a client that is reached by ssh; without it as SSH's own configuration says |
| `Execpath` | no | The program on the client; without it where [`filermark install`](parameters.md#exec_path) puts it |
| `Password` | no | Told, not used and not even kept: clients are reached with SSH keys |

The keys stand in any order and in any case, with or without blanks around the `=`. A value with \
blanks stands in quotes. `#` begins a comment. A line that has nothing but a `Password` belongs to \
the line above it. Every mistake is told with file, line and column.

A client has one agent for all of its lines, so that `Username` and `Execpath` must not differ among \
them; they need not stand on every line. This host is reached directly, every other by ssh; \
`-o LAUNCHER=...` chooses [another way](parameters.md#launcher).

Procs whose line has no `Oprate` share the rate of `-O` alike. Without both a proc makes as many \
operations as it can.

## File sizes

The files of all procs are of one size (in the mean, where a workload spreads them). It follows \
from memory, unless `-o FILE_SIZE=...` gives it:

1. the memory of a client (`-b`) over its procs (`-d`, or as many as the token file has), and
2. the aggregate data set (`-B`) over all procs;
3. the larger of the two, over directories times files per directory (`-T` times `-Q`),
4. rounded up to 8 KiB.

With 1 GiB, 2 procs on a client and 10 times 100 files that is 528 KiB, as in netmist's manual.

INIT makes only the buckets that an operation of the mix may touch, and fills those that one reads \
or writes: five for METADATA, and six times the files at most, since those of `append` may double. \
So the totals of the manual's sections 13 and 14 come out, 25781 and 30937 MiB. A workload of \
`read random` and `write random` alone has two buckets. The composite benchmarks of `run` fill \
eleven buckets whatever their mix, as the 2014 generation did; for definitions of your own see \
[`buckets`](workloads.md#space).

## How long it takes

The data set is to be used, not only made: where all procs have a rate, RUN is so long that as \
many bytes are moved as the data set has, 24 hours at most. What an operation moves follows from \
the tables of transfer sizes and from the file sizes: a transfer ends with its file. It is enough \
also where only 95 % of the rate is achieved and chance is against it; small data sets have more \
of that. `-i` says how long RUN is. Without a rate that is not known before: RUN takes as long as \
`-t` says and goes on until as many bytes were moved as the data set has, 4 hours at most (14400 \
s, a figure of our own; a longer `-t` is the limit where it is given). All clients end it at one \
instant, on a whole second. Components in the background (`Background 1`) do not count, \
neither their bytes nor their trees. The order to end RUN needs a second to reach all clients, \
so that a data set that is touched just before `-t` is over makes RUN a second or two longer. \
A load point that has reached the limit before [does not \
count](rules.md#data-touched).
";
