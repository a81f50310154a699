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

`filermark netmist` accepts the flags and the token file of netmist, and runs one load point. If a \
flag has the meaning of a [parameter](parameters.md), it sets that parameter; `-o NAME=VALUE` sets \
any other. [Measure with netmist's command line](../howto/netmist.md) has examples.

## Flags
";

const TAIL: &str = "
## Options of Filermark

| Option | Meaning |
|---|---|
| `--exact-time` | RUN has the length of `-t`, even if the data set is not read and written once in that time |
| `--suffix SUFFIX` | Suffix of the names of the result files; default `netmist` |
| `--dir DIR` | Directory of the result files; default `result` |
| `--benchmarks FILE` | Workload definitions of your own (TOML) |
| `--workload LINE` | [A workload on one line](workloads.md#on-one-line), which the token file names `Workload=INLINE` |
| `--force` | With `-k`: also remove files kept by `-K`, and files of other plans |
| `-o NAME=VALUE` | Sets a [parameter](parameters.md): `FILE_SIZE`, `SEED`, `VERIFY`, the limits ... It overrides the flag of the same parameter |
| `--lines` | Print one line per second on stderr, instead of the console |
| `--quiet` | Print nothing but results and errors |
| `--fail-on`, `--assert`, `--baseline`, `--max-regression`, `--junit` | [Gates](../howto/gates.md), as for `run` |
| `--metrics [ADDR:]PORT`, `--metrics-token-file FILE` | As for [`run`](commands.md) |
| `--events FILE` | Write [events](events.md#events) as JSON lines to a file or FIFO; `-` is standard output |
| `--on-lost end\\|continue` | A lost client ends the run, or the other clients continue (`ON_LOST`) |
| `--verbose` | More messages on stderr; twice: all. (`-v` is netmist's flag for the version) |
| `--json`, `--no-color` | As for [`run`](commands.md) |

`LOAD`, `INCR_LOAD`, `NUM_RUNS`, `BENCHMARK`, `CLIENT_MOUNTPOINTS` and `OPRATE_MULTIPLIER` have no \
effect: the token file assigns clients, directories, workloads and rates.

## The token file

Each line defines one proc, or several:

```text
Clientname=localhost Username=root Workdir=/mnt/test Execpath=/tmp/netmist Workload=METADATA
Clientname=localhost Workdir=/mnt/test Workload=VDA1 Oprate=2 Instances=4   # four procs
```

| Key | Required | Meaning |
|---|---|---|
| `Clientname` | yes | The client, by name or address, or several as a range: `nv[01-16]` stands for sixteen lines |
| `Workdir` | yes | Absolute path of the directory to work in. Filermark creates a marked directory there and changes nothing else |
| `Workload` | yes | A workload object, by its name or an alias: `filermark workload list` |
| `Oprate` | no | Operations per second of each proc of the line |
| `Instances` | no | Number of procs of the line; default 1 |
| `Username` | no | The user on a client that is reached by SSH; default from the SSH configuration |
| `Execpath` | no | Path of the program on the client; default the path of [`filermark install`](parameters.md#exec_path) |
| `Password` | no | Ignored with a message, and not stored: SSH keys are used |

Keys may be in any order and in upper or lower case, with or without blanks around the `=`. A value \
with blanks needs quotes. `#` begins a comment. A line with only a `Password` belongs to the line \
above it. All errors are reported with file, line and column.

A client has one agent for all of its lines, so `Username` and `Execpath` must be the same in all of \
them; lines without them are allowed. Agents are started directly on this host and by SSH on all \
others; `-o LAUNCHER=...` selects [another launcher](parameters.md#launcher).

The rate of `-O` is divided equally among the procs whose line has no `Oprate`. Without both, a proc \
executes operations as fast as possible.

## File sizes

The files of all procs have the same size (or the same mean size, if the workload has a distribution \
of sizes). `-o FILE_SIZE=...` sets it; otherwise it is computed:

1. the memory of a client (`-b`) divided by its procs (`-d`, or the number in the token file), and
2. the aggregate data set (`-B`) divided by the number of all procs;
3. the larger of the two, divided by directories times files per directory (`-T` times `-Q`),
4. rounded up to a multiple of 8 KiB.

With 1 GiB, 2 procs on a client and 10 times 100 files this is 528 KiB, as in netmist's manual.

INIT creates files only in the [buckets](posix-ops.md#which-files-buckets) that an operation of the \
mix may use, with data where they are read or written: for METADATA five buckets after INIT, and at \
most six, because the files of `append` may double. This gives the totals of sections 13 and 14 of the manual, \
25781 and 30937 MiB. A workload with only `read random` and `write random` has two buckets. The \
composite benchmarks of `run` fill eleven buckets whatever their mix, as in the 2014 generation; for \
definitions of your own see [`buckets`](workloads.md#space).

## How long it takes

RUN must be long enough to use the whole data set.

- *With a rate for all procs*, RUN is extended until as many bytes are transferred as the data set \
has, at most 24 hours. The bytes per operation follow from the tables of transfer sizes and from the \
file sizes (a transfer ends at the end of its file). The length includes a reserve for an achieved \
rate of only 95 % and for random variation, which is larger with small data sets. `-i` prints it.
- *Without a rate*, the length is not known in advance: RUN takes at least the time of `-t`, and \
continues until as many bytes are transferred as the data set has, at most 4 hours (14400 s, a limit \
of Filermark's own; a longer `-t` is the limit instead). All clients end RUN at the same instant, on \
a whole second. The order to end RUN needs a second to reach all clients, so RUN may be a second or \
two longer than necessary.

Components in the background (`Background 1`) do not count, neither their bytes nor their trees. A \
load point that ends before its data set was used [does not count](rules.md#data-touched).
";
