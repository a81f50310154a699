//! netmist's command line as it was given, and the parameters that it sets.

use super::flags::{Effect, Flag};
use crate::error::{SourceLocation, quoted};
use crate::given::{Values, gather};
use crate::reading::Reports;
use crate::sources::Sources;

/// The command line: the flags as they were given, and Filermark's own options.
#[derive(Clone, Debug)]
pub struct NetmistArgs {
    /// Letters and values (empty for switches), in order; a later one has precedence.
    pub given: Vec<(char, String)>,
    /// `--exact-time`: RUN takes the time of `-t`, whatever the data set.
    pub exact_time: bool,
    /// Other parameters (`-o NAME=VALUE`, `--suffix` ...) and this host.
    pub sources: Sources,
}

impl NetmistArgs {
    /// The value of a flag; empty for a switch that is set.
    pub fn value(&self, letter: char) -> Option<&str> {
        let same = |(l, _): &&(char, String)| *l == letter;
        self.given.iter().rev().find(same).map(|(_, v)| v.as_str())
    }

    /// Whether a flag was given.
    pub fn has(&self, letter: char) -> bool {
        self.value(letter).is_some()
    }

    /// The flags as words of a command line, without `-k`.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        for (letter, value) in self.given.iter().filter(|(letter, _)| *letter != 'k') {
            words.push(format!("-{letter}"));
            if !value.is_empty() {
                words.push(value.clone());
            }
        }
        if self.exact_time {
            words.push("--exact-time".to_owned());
        }
        words
    }

    /// All parameters: those that flags set, those of `-o`, netmist's defaults.
    pub(super) fn values(&self, reports: &mut Reports) -> Values {
        let mut sources = self.sources.clone();
        let own = std::mem::take(&mut sources.overrides);
        for (letter, value) in &self.given {
            let option = format!("-{letter}");
            match Flag::find(*letter).map(|f| f.effect) {
                Some(Effect::Parameter(name)) => sources.set(&option, name, value),
                Some(Effect::Sets(all)) => {
                    for (name, value) in all {
                        sources.set(&option, name, value);
                    }
                }
                _ => {}
            }
        }
        sources.overrides.extend(own);
        for (name, value) in DEFAULTS {
            sources.set_default(name, value);
        }
        gather(&sources, &mut reports.errors)
    }
}

/// netmist's defaults, where they differ from those of an rc file.
const DEFAULTS: [(&str, &str); 7] = [
    ("CLIENT_MEM", "1g"),
    ("AGGR_CAP", "1g"),
    ("DIR_COUNT", "10"),
    ("FILES_PER_DIR", "100"),
    ("HEARTBEAT_NOTIFICATIONS", "off"),
    ("UNLINK_FILES", "on"),
    ("SUFFIX", "netmist"),
];

/// The number of a flag that does not set a parameter.
pub(super) fn number<T>(
    reports: &mut Reports,
    args: &NetmistArgs,
    letter: char,
    want: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Option<T> {
    let text = args.value(letter)?;
    let found = parse(text);
    if found.is_none() {
        reports.refuse(
            SourceLocation::Option(format!("-{letter}")),
            format!("'{}' is not valid for -{letter}", quoted(text)),
            format!("give {want}"),
        );
    }
    found
}
