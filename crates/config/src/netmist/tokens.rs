//! The token file: who works where on what (seed 002, section 9).
//!
//! `Key=value` words in any order, one line per proc (or per `Instances`); blanks
//! around the `=`, quotes around a value with blanks, `#` begins a comment. A
//! `Password` may stand on a line of its own below the line that it belongs to.

mod scan;

use crate::composite::mounts::{check_client, check_path};
use crate::composite::procs::PROCS_MAX;
use crate::error::{ConfigError, Place, quoted};
use scan::{Scan, Word};

/// The most mistakes that are told.
const ERRORS_MAX: usize = 50;

/// A line of the token file.
#[derive(Clone, PartialEq)]
pub struct TokenLine {
    /// The client's name.
    pub client: String,
    /// The directory to work in.
    pub workdir: String,
    /// The workload's name, as written.
    pub workload: String,
    /// Operations per second of each proc.
    pub oprate: Option<f64>,
    /// Procs that the line stands for.
    pub instances: u32,
    /// Keys that it has, which have no effect on this host.
    pub idle: Vec<&'static str>,
    /// Where the client's name stands.
    pub client_place: Place,
    /// Where the workload's name stands.
    pub workload_place: Place,
}

impl std::fmt::Debug for TokenLine {
    /// Everything but the password, which is not even kept.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} {} {} {:?} x {}",
            self.client, self.workdir, self.workload, self.oprate, self.instances
        )
    }
}

/// Reads a token file; `file` is what messages call it.
///
/// # Errors
/// Everything that is wrong with it, up to 50 mistakes.
pub fn parse_tokens(file: &str, text: &str) -> Result<Vec<TokenLine>, Vec<ConfigError>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut errors = Vec::new();
    let mut entries: Vec<(Place, Vec<Word>)> = Vec::new();
    // Whether the line above is wrong, so that a password below it belongs to nothing.
    let mut after_wrong = false;
    for (i, line) in text.lines().enumerate() {
        if errors.len() >= ERRORS_MAX {
            break;
        }
        let before = errors.len();
        let words = words(file, i + 1, line, &mut errors);
        let sound = errors.len() == before;
        match (words.as_slice(), entries.last_mut()) {
            ([], _) => {}
            ([only], Some((_, last)))
                if only.key == "Password" && last.iter().all(|w| w.key != "Password") =>
            {
                last.extend(words);
            }
            ([only], _) if only.key == "Password" && after_wrong => {}
            _ if sound => entries.push((Place::line(file, i + 1, 1), words)),
            _ => {}
        }
        after_wrong = !sound;
    }
    let mut lines = Vec::new();
    for (place, words) in entries {
        lines.extend(line_of(place, words, &mut errors));
        if errors.len() >= ERRORS_MAX {
            break;
        }
    }
    if lines.is_empty() && errors.is_empty() {
        errors.push(ConfigError::new(
            Place::File(file.to_owned()),
            "there is no client in the token file",
            "write lines: Clientname=localhost Workdir=/mnt/test Workload=METADATA",
        ));
    }
    let procs: u64 = lines.iter().map(|l| u64::from(l.instances)).sum();
    if procs > PROCS_MAX {
        errors.push(ConfigError::new(
            Place::File(file.to_owned()),
            format!("the lines make {procs} procs"),
            format!("{PROCS_MAX} procs are the most: lower the Instances"),
        ));
    }
    match errors.is_empty() {
        true => Ok(lines),
        false => {
            errors.sort_by(|a, b| a.place.cmp(&b.place));
            errors.truncate(ERRORS_MAX);
            Err(errors)
        }
    }
}

/// The words of a line, as far as they can be read.
fn words(file: &str, line: usize, text: &str, errors: &mut Vec<ConfigError>) -> Vec<Word> {
    let mut scan = Scan::new(file, line, text);
    let mut words = Vec::new();
    loop {
        scan.skip_blanks();
        match scan.peek() {
            None | Some('#') => return words,
            Some(_) => {}
        }
        match scan.word() {
            Ok(word) if words.iter().any(|w: &Word| w.key == word.key) => {
                let message = format!("{} stands twice on the line", word.key);
                errors.push(ConfigError::new(
                    word.place,
                    message,
                    "leave one of them out",
                ));
            }
            Ok(word) => words.push(word),
            Err(error) => {
                errors.push(error);
                // What follows a quote that is never closed cannot be told apart.
                if errors.len() >= ERRORS_MAX || scan.is_at_end() {
                    return words;
                }
            }
        }
    }
}

/// Makes a line of its words.
fn line_of(place: Place, words: Vec<Word>, errors: &mut Vec<ConfigError>) -> Option<TokenLine> {
    let before = errors.len();
    let find = |key: &str| words.iter().find(|w| w.key == key);
    let mut required = |key: &str| {
        let found = find(key);
        if found.is_none() {
            let message = format!("the line has no {key}");
            let hint = "a line needs Clientname, Workdir and Workload";
            errors.push(ConfigError::new(place.clone(), message, hint));
        }
        found
    };
    let (client, workdir, workload) = (
        required("Clientname"),
        required("Workdir"),
        required("Workload"),
    );
    let mut wrong = |word: &Word, what: &str, hint: &str| {
        let message = format!("{}={} {what}", word.key, quoted(&word.value));
        errors.push(ConfigError::new(word.place.clone(), message, hint));
    };
    if let Some(word) = client
        && check_client(bare(&word.value)).is_err()
    {
        wrong(
            word,
            "is no host name that can be",
            "give a name or an address",
        );
    }
    if let Some(word) = workdir
        && let Err((what, hint)) = check_path(&word.value)
    {
        wrong(word, &what, &hint);
    }
    let oprate = find("Oprate").and_then(|word| match rate(&word.value) {
        Some(rate) => Some(rate),
        None => {
            wrong(
                word,
                "is no rate",
                "give operations per second, e.g. Oprate=10",
            );
            None
        }
    });
    let instances = match find("Instances") {
        None => 1,
        Some(word) => match word.value.parse::<u32>() {
            Ok(n) if (1..=PROCS_MAX).contains(&u64::from(n)) => n,
            _ => {
                let hint = format!("give a whole number from 1 to {PROCS_MAX}");
                wrong(word, "is no number of copies", &hint);
                1
            }
        },
    };
    let (client, workdir, workload) = (client?, workdir?, workload?);
    let idle = ["Username", "Execpath", "Password"];
    (errors.len() == before).then(|| TokenLine {
        client: bare(&client.value).to_owned(),
        workdir: workdir.value.clone(),
        workload: workload.value.clone(),
        oprate,
        instances,
        idle: idle.into_iter().filter(|k| find(k).is_some()).collect(),
        client_place: client.place.clone(),
        workload_place: workload.place.clone(),
    })
}

/// An IPv6 address may stand in brackets.
fn bare(client: &str) -> &str {
    client.trim_start_matches('[').trim_end_matches(']')
}

/// Operations per second above zero, up to a billion.
pub(crate) fn rate(text: &str) -> Option<f64> {
    let rate = text.parse::<f64>().ok()?;
    (rate > 0.0 && rate <= 1e9).then_some(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        match parse_tokens("t", text) {
            Ok(lines) => lines.iter().map(|l| format!("{l:?}")).collect(),
            Err(errors) => errors.iter().map(ToString::to_string).collect(),
        }
    }

    /// Also writes them where FILERMARK_FUZZ_SEEDS says, for ci/fuzz.
    #[test]
    fn lines_as_the_manual_prints_them() {
        let cases = [
            (
                "Clientname=client1  Username= root Workdir= /tmp Execpath=/tmp/netmist Workload=METADATA\n",
                "client1 /tmp METADATA None x 1",
            ),
            (
                "Clientname=client1 Username=me Workdir=/mnt Execpath=/usr/local/bin/netmist Workload=VDA2 Oprate=0.22 Instances= 7",
                "client1 /mnt VDA2 Some(0.22) x 7",
            ),
            (
                "Workload=METADATA # what\r\n",
                "t:1:1: the line has no Clientname; a line needs Clientname, Workdir and Workload",
            ),
            (
                "  workload = 'X' CLIENTNAME=\"[::1]\" Instances =2 Workdir=\"/a b\"\n# end",
                "::1 /a b X None x 2",
            ),
            (
                "Clientname=nv8 Username=DOMAIN\\administrator Workdir=/v Workload=METADATA\nPassword=my_password\n",
                "nv8 /v METADATA None x 1",
            ),
        ];
        let corpus = std::env::var_os("FILERMARK_FUZZ_SEEDS");
        let corpus = corpus.map(|c| std::path::Path::new(&c).join("netmist_tokens"));
        for (number, (text, want)) in cases.into_iter().enumerate() {
            assert_eq!(shown(text)[0], want, "{text}");
            if let Some(folder) = &corpus {
                std::fs::create_dir_all(folder).expect("create the corpus folder");
                std::fs::write(folder.join(format!("seed-{number}")), text).expect("write a seed");
            }
        }
    }

    #[test]
    fn what_is_refused_and_where() {
        let line = "Clientname=localhost Workdir=/mnt Workload=METADATA";
        let cases = [
            ("", "t: there is no client in the token file"),
            ("\n# nothing\n", "t: there is no client"),
            ("Clientname", "t:1:1: 'Clientname' is no Key=value"),
            (
                &format!("{line} Execpath=/test /netmist"),
                "t:1:68: '/netmist' is no Key=value; put a value with blanks",
            ),
            (
                &format!("{line} Workloda=X"),
                "t:1:53: there is no key 'Workloda'; did you mean Workload?",
            ),
            (
                &format!("{line} Zzz=X"),
                "t:1:53: there is no key 'Zzz'; known: Clientname",
            ),
            (
                &format!("{line} Oprate=fast"),
                "t:1:53: Oprate=fast is no rate",
            ),
            (&format!("{line} Oprate=-1"), "t:1:53: Oprate=-1 is no rate"),
            (
                &format!("{line} Oprate=nan"),
                "t:1:53: Oprate=nan is no rate",
            ),
            (
                &format!("{line} Instances= #"),
                "t:1:53: Instances has no value; write a number",
            ),
            (
                &format!("{line} Instances=0"),
                "t:1:53: Instances=0 is no number of copies",
            ),
            (
                &format!("{line} Password= Oprate=4"),
                "t:1:53: Password has no value",
            ),
            (
                &format!("{line} Workdir=/x"),
                "t:1:53: Workdir stands twice",
            ),
            (
                &format!("{line} Username=\"me"),
                "t:1:62: the quote \" that opens the value of Username",
            ),
            (
                &format!("{line} Username=\u{201c}me\u{201d}"),
                "t:1:62: the value of Username stands in typographical",
            ),
            (
                "Clientname=a/b Workdir=/m Workload=X",
                "t:1:1: Clientname=a/b is no host name",
            ),
            (
                "Clientname=a Workdir=m Workload=X",
                "t:1:14: Workdir=m has a path that does not begin with /",
            ),
            (
                "Clientname=a Workdir=\\\\f\\v Workload=X",
                "t:1:14: Workdir=\\\\f\\v is a Windows share",
            ),
            ("Password=x", "t:1:1: the line has no Clientname"),
            (
                &format!("{line} Instances=90000\n{line} Instances=90000"),
                "t: the lines make 180000 procs",
            ),
        ];
        for (text, want) in cases {
            let got = shown(text);
            assert!(got[0].starts_with(want), "{text:?}: {got:?}");
        }
    }

    #[test]
    fn all_mistakes_are_told_up_to_a_bound() {
        let errors = parse_tokens("t", &"x y z\n".repeat(1000)).unwrap_err();
        assert_eq!(errors.len(), ERRORS_MAX);
        let text = "Clientname=a Workdir=b Workload=X Oprate=0\nWorkdir=/x\n";
        let errors = parse_tokens("t", text).unwrap_err();
        let lines: Vec<String> = errors.iter().map(|e| e.place.to_string()).collect();
        assert_eq!(lines, ["t:1:14", "t:1:35", "t:2:1", "t:2:1"]);
    }

    #[test]
    fn a_password_is_not_even_kept() {
        let text = "Clientname=a Workdir=/b Workload=X Password=geheim";
        let lines = parse_tokens("t", text).unwrap();
        assert_eq!(lines[0].idle, ["Password"]);
        let said = parse_tokens("t", &format!("{text} Oprate=x")).unwrap_err();
        assert!(!format!("{said:?}{lines:?}").contains("geheim"));
        // A quote that is never closed is told without what it holds.
        let said = parse_tokens("t", "Clientname=a Password=\"geheim").unwrap_err();
        assert!(!format!("{said:?}").contains("geheim"), "{said:?}");
    }
}
