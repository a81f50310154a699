//! The file that MNT_POINTS may name: a line with its mount points for every client.

use super::{MountSyntax, MountWord};
use crate::error::{ConfigError, SourceLocation, quoted};
use crate::hosts::{CLIENTS_MAX, Pattern, fold_hosts, key};
use filermark_model::plan::ClientPlan;
use filermark_model::units::counted;
use std::collections::{HashMap, HashSet};

/// The most clients that a file may have; a run need not have them all.
const FILE_CLIENTS_MAX: usize = 10 * CLIENTS_MAX;
/// The most mistakes of a file that are reported.
const ERRORS_MAX: usize = 50;

/// A mount point file, read.
#[derive(Debug, Default)]
pub(crate) struct MountFile {
    pub lines: Vec<MountLine>,
    /// For every client that it names, by [`key`], the number of its line in `lines`.
    of_client: HashMap<String, usize>,
}

/// A line of it; its clients may be a range.
#[derive(Debug)]
pub(crate) struct MountLine {
    location: SourceLocation,
    /// How many mount points it has, those included that are wrong.
    pub field_count: usize,
    pub mounts: Vec<MountWord>,
}

/// Reads `client host:/path ...` or `client \\host\share ...` lines; `#` begins a comment.
pub(crate) fn parse_mount_file(
    file: &str,
    syntax: &MountSyntax,
    text: &str,
    errors: &mut Vec<ConfigError>,
) -> MountFile {
    let mut found = MountFile::default();
    let before = errors.len();
    for (i, line) in text.lines().enumerate() {
        if errors.len() - before >= ERRORS_MAX {
            break;
        }
        let mut words = line.split_whitespace().take_while(|w| !w.starts_with('#'));
        let Some(clients) = words.next() else {
            continue;
        };
        let place = SourceLocation::line(file, i + 1, 1);
        let mut report = |message: String, hint: String| {
            errors.push(ConfigError::new(place.clone(), message, hint));
        };
        let mut mounts = Vec::new();
        let mut word_count = 0;
        for word in words {
            word_count += 1;
            match (syntax.parse)(word) {
                Ok(mount) => mounts.push(mount),
                Err((message, hint)) => report(message, hint),
            }
        }
        let names = match Pattern::parse(clients) {
            Ok(pattern) => pattern.names(),
            Err((what, hint)) => {
                report(format!("'{}' {what}", quoted(clients)), hint);
                continue;
            }
        };
        if found.of_client.len() + names.len() > FILE_CLIENTS_MAX {
            let message = format!("there are more than {FILE_CLIENTS_MAX} clients in the file");
            report(message, format!("a run has {CLIENTS_MAX} at most"));
            break;
        }
        for name in names {
            if found.of_client.contains_key(&key(&name)) {
                let hint = "put all its mount points on one line";
                report(
                    format!("client {} has a line already", quoted(&name)),
                    hint.into(),
                );
                break;
            }
            found.of_client.insert(key(&name), found.lines.len());
        }
        found.lines.push(MountLine {
            location: place,
            field_count: word_count,
            mounts,
        });
    }
    found
}

impl MountFile {
    /// Assigns the lines: each client has one, with PROCS mount points.
    pub fn deal(
        &self,
        file: &str,
        clients: &[String],
        procs: u32,
        errors: &mut Vec<ConfigError>,
    ) -> Vec<ClientPlan> {
        let mut plans = Vec::new();
        let mut without = Vec::new();
        let mut reported = HashSet::new();
        for client in clients {
            let Some(number) = self.of_client.get(&key(client)) else {
                without.push(client.as_str());
                continue;
            };
            let MountLine {
                location: place,
                mounts,
                ..
            } = &self.lines[*number];
            if mounts.len() == procs as usize {
                plans.push(ClientPlan {
                    name: client.clone(),
                    mounts: mounts.iter().map(|w| w.mount.clone()).collect(),
                });
            } else if reported.insert(number) {
                errors.push(ConfigError::new(
                    place.clone(),
                    format!(
                        "client {} has {}, PROCS is {procs}",
                        quoted(client),
                        counted(mounts.len() as u64, "mount point")
                    ),
                    "give every client exactly PROCS of them; one may be repeated",
                ));
            }
        }
        if !without.is_empty() {
            let names = quoted(&fold_hosts(without));
            errors.push(ConfigError::new(
                SourceLocation::File(file.to_owned()),
                format!("there is no line for client {names}"),
                format!(
                    "add: {names} and {}",
                    counted(u64::from(procs), "mount point")
                ),
            ));
        }
        plans
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_file_gives_each_client_its_line() {
        let mut errors = Vec::new();
        let text = "# who what\r\na s:/1 s:/2\r\n\nb s:/3 nfs://s/4 # x\n";
        let file = parse_mount_file("mounts", &super::super::EXPORTS, text, &mut errors);
        let plans = file.deal("mounts", &["b".into(), "A".into()], 2, &mut errors);
        assert_eq!(errors, []);
        assert_eq!(plans[0].mounts[1].to_string(), "s:/4");
        assert_eq!(plans[1].mounts[0].to_string(), "s:/1");

        let file = parse_mount_file(
            "mounts",
            &super::super::EXPORTS,
            "a s:/1\na s:/2\nb s/3\n",
            &mut errors,
        );
        file.deal("mounts", &["a".into(), "c".into()], 2, &mut errors);
        let messages: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert!(messages[0].starts_with("mounts:2:1: client a has a line already"));
        assert!(messages[1].starts_with("mounts:3:1: mount point 's/3' is not host:/path"));
        assert!(messages[2].starts_with("mounts:1:1: client a has 1 mount point, PROCS is 2"));
        assert!(messages[3].starts_with("mounts: there is no line for client c"));
    }
}
