//! Texts made from the parameter table: help and the reference page.

use crate::debug::DEBUG_FLAGS;
use crate::definitions::shipped_registry;
use crate::drivers::driver;
use crate::hints;
use crate::params::{Group, Kind, Parameter, Scope, StandardValue};
use filermark_model::Benchmark;
use std::fmt::Write;

/// How wide the texts are, in columns.
pub(crate) const WIDTH: usize = 78;

/// The benchmark whose standard values the texts show for a parameter: a composite where
/// it has no effect with classical ones.
fn benchmark_of(p: &Parameter) -> Option<Benchmark> {
    match p.scope {
        Scope::Composite => shipped_registry().composite("SWBUILD").ok(),
        _ => Benchmark::shipped("general-nfs3").ok(),
    }
}

fn default_text(p: &Parameter) -> String {
    let text = benchmark_of(p).and_then(|b| p.default_text(&b));
    text.unwrap_or_else(|| "not set".into())
}

fn standard_text(p: &Parameter) -> String {
    match p.standard {
        StandardValue::NoEffect => "no effect".into(),
        StandardValue::Refused => "refused".into(),
        _ => {
            let text = benchmark_of(p).and_then(|b| p.standard_text(&b));
            text.unwrap_or_else(|| "free".into())
        }
    }
}

/// Whether other classical benchmarks may have other figures than the shown one.
fn depends_on_benchmark(p: &Parameter) -> bool {
    let figure = matches!(
        p.standard,
        StandardValue::Benchmark(_)
            | StandardValue::FigureOrFree(_)
            | StandardValue::FixedButOlder(_)
            | StandardValue::Choice(_)
    );
    figure && p.scope != Scope::Composite
}

fn scope_text(p: &Parameter) -> &'static str {
    match p.scope {
        Scope::Every => "all",
        Scope::Classic => "classical",
        Scope::Driver(name) => driver(name).map_or("", |driver| driver.title),
        Scope::Composite => "composites",
    }
}

fn kind_text(kind: Kind) -> String {
    match kind {
        Kind::Text | Kind::Secret => "text".into(),
        Kind::Path => "path".into(),
        Kind::List => "list in double quotes".into(),
        Kind::Switch => "on or off".into(),
        Kind::Choice(words) => words.join(", "),
        Kind::Words(list) => list.words().join(", "),
        Kind::Size(..) => "amount of data with k, m, g or t".into(),
        Kind::Int(min, u64::MAX, unit) => format!("{unit}, whole number from {min}"),
        Kind::Int(min, max, unit) => format!("{unit}, whole number from {min} to {max}"),
        Kind::Real(min, max, unit) => format!("{unit}, {min} to {max}"),
        Kind::WordOrReal(word, min, max, unit) => format!("{word}, or {unit}, {min} to {max}"),
        Kind::WordOrInt(word, min, max) => format!("{word}, or a whole number from {min} to {max}"),
    }
}

/// All parameters, one line each: `filermark params`.
pub fn help_params() -> String {
    let mut out = String::from(
        "Parameters are given in the rc file as NAME=value (lists in double quotes) or on the\n\
         command line as -o NAME=VALUE. A star marks those that a standard run does not change;\n\
         their values depend on the benchmark: filermark workload show NAME.\n\
         c: for composite benchmarks (BENCHMARK=SWBUILD ...) only; n, s, w: for classical ones\n\
         only, over NFS, over SMB, over the wire in either way.\n",
    );
    for group in Group::ALL {
        out += &format!("\n{}\n", group.title());
        for p in Parameter::all().filter(|p| p.group == *group) {
            let star = if p.is_fixed() { '*' } else { ' ' };
            let scope = match p.scope {
                Scope::Every => ' ',
                Scope::Classic => 'w',
                Scope::Driver(name) => driver(name).map_or(' ', |driver| driver.letter),
                Scope::Composite => 'c',
            };
            out += &format!("{scope}{star}{:<23} {}\n", p.name, p.one_line);
        }
    }
    out
}

/// Everything about one parameter: `filermark params NAME`.
///
/// # Errors
/// There is none of that name; the text suggests a similar one.
pub fn help_parameter(name: &str) -> Result<String, String> {
    let upper = name.to_ascii_uppercase();
    let Some(p) = Parameter::find(&upper) else {
        let hint = hints::parameter(&upper);
        let name = crate::error::quoted(name);
        return Err(format!("there is no parameter {name}; {hint}"));
    };
    let mut out = format!("{}: {}\n\n", p.name, p.one_line);
    if !p.aliases.is_empty() {
        out += &format!("  other name   {}\n", p.aliases.join(", "));
    }
    out += &format!("  value        {}\n", kind_text(p.kind));
    out += &format!("  default      {}\n", default_text(p));
    out += &format!("  standard run {}\n", standard_text(p));
    if depends_on_benchmark(p) {
        out +=
            "               of general-nfs3; `filermark workload show NAME` has those of others\n";
    }
    out += &format!("  benchmarks   {}\n", scope_text(p));
    out += &format!("  known from   {}\n", p.origin);
    if !p.long_help.is_empty() {
        out.push('\n');
        for line in wrapped(p.long_help, WIDTH) {
            out += &format!("{line}\n");
        }
    }
    if p.name == "DEBUG" {
        out += "\n";
        for flag in DEBUG_FLAGS {
            out += &format!("{:>4}  {}\n", flag.number, flag.about);
        }
    }
    Ok(out)
}

/// The reference page, docs/src/reference/parameters.md.
pub fn reference_markdown() -> String {
    let mut out = String::from(
        "# Parameters\n\n\
         <!-- Made from crates/config/src/params; a test of that crate keeps the two equal. -->\n\n\
         Parameters are given in the rc file as `NAME=value` or on the command line as\n\
         `-o NAME=VALUE`, which has precedence. In the rc file lists are in double quotes and\n\
         may run over several lines (on one line the quotes are optional), `#` begins a comment, an\n\
         empty value counts as not set, and the last of several assignments counts. Numbers may\n\
         have a unit: `RUNTIME=5m`, `BLOCK_SIZE=32k`, `LOAD=10k`. Nothing is expanded as a shell\n\
         would.\n\n\
         **Standard** is what a standard run of the benchmark `general-nfs3` has (of `SWBUILD`,\n\
         where a parameter is for composites only): `free` may be anything; any other value than\n\
         the one named becomes a finding in the result (\"not standard: RUNTIME=5\"). Other\n\
         benchmarks have other figures, as defaults too (RESPONSE_LIMIT_MS, FILESET_MB_PER_OP,\n\
         BLOCK_SIZE, the counts of files): `filermark workload show NAME` has them. Those after\n\
         older generations leave TCP free.\n\n\
         **For** lists the benchmarks that a parameter has an effect with: all of them, the\n\
         classical ones, those of them over NFS (`general-nfs3`) or over SMB (`general-smb1`,\n\
         `general-smb2`), or composites (`SWBUILD`, `VDA` ...), which work on mounted file\n\
         systems. With the others it has no effect, and a note is given.\n",
    );
    // Writing to a String cannot fail, here and below.
    for group in Group::ALL {
        let _ = write!(out, "\n## {}\n\n", group.title());
        out += "| Name | For | Default | Standard | What it is |\n|---|---|---|---|---|\n";
        let of_group = || Parameter::all().filter(|p| p.group == *group);
        for p in of_group() {
            let _ = writeln!(
                out,
                "| `{}` | {} | {} | {} | {} |",
                p.name,
                scope_text(p),
                cell(&default_text(p)),
                cell(&standard_text(p)),
                cell(p.one_line)
            );
        }
        for p in of_group() {
            section(&mut out, p);
        }
    }
    out += "\n## DEBUG flags\n\n| Number | Shows | Filter directive |\n|---|---|---|\n";
    for flag in DEBUG_FLAGS {
        let directive = match flag.directive {
            "" => "-".to_owned(),
            text => format!("`{text}`"),
        };
        let _ = writeln!(out, "| {} | {} | {directive} |", flag.number, flag.about);
    }
    out += DEBUG_SCOPE;
    out
}

/// The text below the table of the flags.
const DEBUG_SCOPE: &str = "\n6, 8, 9, 11, 12 and 13 are about the first proc of the first client \
only, like all messages of a child process in the manual of the 2008 generation. 4 and 10 are \
about every proc, unlike there: an operation may fail in another proc only, on a mount point of \
its own, and a connection may serve several procs. 5 and 7 are of threads, which serve many procs.\n";

fn section(out: &mut String, p: &Parameter) {
    let _ = write!(out, "\n### {}\n\n{}.", p.name, p.one_line);
    if !p.aliases.is_empty() {
        let _ = write!(out, " Other name: {}.", p.aliases.join(", "));
    }
    let _ = writeln!(out, " Value: {}. From: {}.", kind_text(p.kind), p.origin);
    if !p.long_help.is_empty() {
        out.push('\n');
        for line in wrapped(p.long_help, 90) {
            let _ = writeln!(out, "{line}");
        }
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Breaks a text at blanks into lines of at most `width` columns.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && line.len() + 1 + word.len() > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_describes_every_parameter_and_suggests() {
        let all = help_params();
        for p in Parameter::all() {
            assert!(all.contains(p.name));
            assert!(help_parameter(p.name).unwrap().contains(p.one_line));
        }
        assert!(help_parameter("num_procs").unwrap().starts_with("PROCS:"));
        assert!(help_parameter("RUNTIM").unwrap_err().contains("RUNTIME?"));
    }

    #[test]
    fn lines_are_wrapped() {
        assert_eq!(wrapped("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrapped("", 5), [""]);
    }
}
