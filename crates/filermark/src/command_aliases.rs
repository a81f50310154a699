//! Commands of the older generations' tools, and a target without a command: the answer is the
//! command of this program. Used only after the command line was refused. For users:
//! docs/src/howto/from-older-tools.md.

use filermark_model::text::{one_line, shell_quote};

/// The command to type instead, if the refused command line is one of theirs.
pub fn hint(words: &[String]) -> Option<String> {
    let words: Vec<String> = words.iter().map(|word| one_line(word)).collect();
    let words = match words.first().map(String::as_str) {
        Some("java" | "perl" | "python" | "python3") => words.get(1..)?,
        _ => &words,
    };
    let (first, rest) = words.split_first()?;
    let name = first.rsplit(['/', '\\']).next().unwrap_or(first);
    let name = name.to_ascii_lowercase();
    let name = [".pl", ".py", ".exe", ".sh"]
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(&name);
    match name {
        "sfsmanager" | "sfs_mgr" | "sm2014" | "sm2020" => Some(manager(first, rest)),
        "specreport" => Some(report(first, rest)),
        "subedit" if first != "subedit" => Some(instead(first, &command("subedit", rest))),
        "sfs_ext_mon" => Some(format!(
            "{first} is set by PRIME_MON_SCRIPT and PRIME_MON_ARGS in the rc file; see \
             'filermark params PRIME_MON_SCRIPT'"
        )),
        "netmist_pro" | "netmist" if first != "netmist" => {
            Some(instead(first, &command("netmist", rest)))
        }
        "netmist_monitor" => Some(format!(
            "{first}: 'filermark run' shows a live view by itself; '--events FILE' writes it"
        )),
        "netmist_modify" => Some(format!(
            "{first}: a workload does not change while it runs; write another load point"
        )),
        "pump_csv" => Some(format!(
            "{first}: every run writes SUFFIX.csv; 'filermark report' makes it again"
        )),
        #[cfg(feature = "energy")]
        "tag2014" => Some(format!(
            "{first}: to tag power and traffic with the phases of a run type: filermark energy \
             merge RUN LOG (RUN: its record, or its sfslog; LOG: from 'filermark energy import')"
        )),
        "report" if first == "report" => as_text("-t", rest),
        "run" | "plan" => level(rest).or_else(|| rest.first().and_then(|word| quick(word))),
        _ => quick(first).or_else(|| rest.first().and_then(|word| quick(word))),
    }
}

/// A target that was given without a command, or to one that takes an rc file.
fn quick(word: &str) -> Option<String> {
    let is_remote = word.contains(":/") || word.starts_with(r"\\");
    let is_target = is_remote || std::path::Path::new(word).is_dir();
    is_target.then(|| {
        format!(
            "to measure {word} type: filermark quick {}",
            shell_quote(word)
        )
    })
}

fn instead(first: &str, command: &str) -> String {
    format!("for {first} type: {command}")
}

/// A subcommand with the same arguments.
fn command(subcommand: &str, words: &[String]) -> String {
    words
        .iter()
        .fold(format!("filermark {subcommand}"), |all, word| {
            format!("{all} {}", shell_quote(word))
        })
}

/// The manager of 2008, 2014 and 2020: -r rc, -s suffix, -v level, -b definitions, -d
/// folder, -a.
fn manager(first: &str, rest: &[String]) -> String {
    let mut kept = String::new();
    let mut subcommand = "run";
    let mut more = Vec::new();
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let (flag, joined) = match word.strip_prefix("--") {
            Some(_) => (word.as_str(), None),
            None => match word.char_indices().nth(2) {
                Some((at, _)) if word.starts_with('-') => (&word[..at], Some(&word[at..])),
                _ => (word.as_str(), None),
            },
        };
        let mut value = || joined.map(str::to_owned).or_else(|| words.next().cloned());
        match flag {
            "-r" | "-s" | "-d" => {
                if let Some(value) = value() {
                    kept.push_str(&format!(" {flag} {}", shell_quote(&value)));
                }
            }
            "-v" => {
                subcommand = "validate";
                kept.push_str(&format!(
                    " -v {}",
                    shell_quote(&value().unwrap_or("2".into()))
                ));
            }
            "-b" => {
                let file = value().unwrap_or("FILE".into());
                kept.push_str(" -b mine.toml");
                more.push(definitions(&file));
            }
            "-a" => subcommand = "search",
            other => more.push(match other.split('=').next().unwrap_or(other) {
                "--install-dir" => "--install-dir: set EXEC_PATH in the rc file; 'filermark \
                     install -r RC' brings the program to the clients"
                    .to_owned(),
                "--ignore-overrides" => "--ignore-overrides is not needed: a changed run is never \
                     refused, and its verdict says NOT STANDARD"
                    .to_owned(),
                _ => format!("{other} has no equivalent"),
            }),
        }
    }
    let mut lines = vec![instead(first, &format!("filermark {subcommand}{kept}"))];
    lines.extend(more);
    lines.push("an rc file that is not understood: filermark import RC -o NEW".into());
    lines.join("\n")
}

/// What to do with the definitions of -b: XML of 2014 can be converted, YAML of 2020 cannot.
fn definitions(file: &str) -> String {
    let lower = file.to_ascii_lowercase();
    match lower.ends_with(".yml") || lower.ends_with(".yaml") {
        true => "the definitions of 2020 cannot be converted: 'filermark workload show --toml \
                 SWBUILD' prints one to start mine.toml from"
            .to_owned(),
        false => format!(
            "first convert the definitions: filermark import {} -o mine.toml",
            shell_quote(file)
        ),
    }
}

/// The report program: -f form, -o output and a submission in 2008; -i, -r, -s, -u later.
fn report(first: &str, rest: &[String]) -> String {
    if rest.iter().any(|word| word == "-i" || word == "-u") {
        return format!(
            "for {first} type: filermark subedit -z -o sub.zip -i SUBMISSION SUMMARY RC (the \
             archive), filermark report -f html -o sub.html SUBMISSION (its page)"
        );
    }
    as_text(first, rest).unwrap_or_else(|| instead(first, &command("report", rest)))
}

/// `-t`: the report as text.
fn as_text(what: &str, rest: &[String]) -> Option<String> {
    rest.iter().find(|word| *word == "-t")?;
    let others: Vec<_> = rest.iter().filter(|w| *w != "-t").cloned().collect();
    Some(instead(what, &command("report -f text", &others)))
}

/// `run -v 2`: the manager's level of validation.
fn level(rest: &[String]) -> Option<String> {
    let at = rest.iter().position(|word| word == "-v")?;
    let level = rest.get(at + 1).filter(|l| *l == "1" || *l == "2")?;
    let others = rest
        .iter()
        .enumerate()
        .filter(|(i, _)| *i != at && *i != at + 1);
    let others: Vec<String> = others.map(|(_, word)| word.clone()).collect();
    let text = command("validate", &others);
    Some(format!(
        "-v with a level validates the protocol, which is a separate command: {text} -v {level}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Option<String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        hint(&words)
    }

    #[test]
    fn commands_of_the_older_tools_are_answered_with_the_one_to_type() {
        for (line, want) in [
            ("SfsManager -r rc -s x", "type: filermark run -r rc -s x"),
            (
                "SfsManager -r rc -s x -v 2",
                "type: filermark validate -r rc -s x -v 2",
            ),
            (
                "java SfsManager -r rc -s x",
                "for SfsManager type: filermark run -r rc -s x",
            ),
            ("sfsmanager -rrc", "type: filermark run -r rc"),
            (
                "./SM2020 -r rc -s x -b benchmarks.xml",
                "filermark import benchmarks.xml -o mine.toml",
            ),
            ("SfsManager -a -r rc", "type: filermark search -r rc"),
            (
                "specreport.pl -f html -o o.html i.xml",
                "type: filermark report -f html -o o.html i.xml",
            ),
            ("SpecReport -i sub.xml -r rc -s x", "filermark subedit -z"),
            ("SM2014 -r rc -s x", "type: filermark run -r rc -s x"),
            ("SM2020 -b storage2020.yml", "workload show --toml"),
            ("SM2020 --install-dir=/x", "EXEC_PATH"),
            ("SfsManager --ignore-overrides", "not needed"),
            (
                "specreport -t x.sub",
                "type: filermark report -f text x.sub",
            ),
            ("subedit.pl -n -o a b", "type: filermark subedit -n -o a b"),
            ("netmist_pro -b 1g", "type: filermark netmist -b 1g"),
            ("sfs_ext_mon", "PRIME_MON_SCRIPT"),
            #[cfg(feature = "energy")]
            ("tag2014 -i log", "filermark energy merge RUN LOG"),
            (
                "report -t -o ex.txt example.xml",
                "type: filermark report -f text -o ex.txt example.xml",
            ),
            (
                "run -r rc -s x -v 2",
                "command: filermark validate -r rc -s x -v 2",
            ),
        ] {
            let output_text = asked(line).unwrap_or_else(|| panic!("{line}"));
            assert!(output_text.contains(want), "{line}: {output_text}");
        }
        for line in [
            "",
            "run -r rc",
            "run -v -v",
            "netmist -b 1g",
            "subedit x",
            "frobnicate",
        ] {
            assert_eq!(asked(line), None, "{line}");
        }
        let odd = hint(&["SfsManager".into(), "-s".into(), "a'b c".into()]);
        assert!(odd.is_some_and(|output_text| output_text.contains(r"-s 'a'\''b c'")));
    }
}
