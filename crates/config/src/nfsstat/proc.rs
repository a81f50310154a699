//! `/proc/net/rpc/nfsd`: the counters of Linux's NFS server as the kernel shows them; `/proc/net/rpc/nfs`: those
//! of its client.

use super::names::{V4_CLIENT, V4_FIRST, V4_PROCEDURES, Version};
use super::types::{Taken, Wrong, count};
use crate::error::quoted;

/// The most operations of version 4 that a line may have.
const V4_OPS_MAX: usize = 512;

/// Whether a line shows that the text is of this kind.
pub(super) fn detect(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let key = words.next().unwrap_or_default();
    ["proc2", "proc3", "proc4", "proc4ops"].contains(&key)
        && words.next().is_some_and(|w| w.parse::<u64>().is_ok())
}

/// Reads such a text. Lines of other counters are ignored.
pub(super) fn read(text: &str, taken: &mut Taken) -> Result<(), Wrong> {
    taken.of_client = of_a_client(text);
    for (line, number) in text.lines().zip(1..) {
        let mut words = line.split_whitespace();
        let Some(key) = words.next() else { continue };
        match key {
            "proc2" | "proc3" => {
                let version = if key == "proc2" {
                    Version::V2
                } else {
                    Version::V3
                };
                let counts = counts(&mut words, line, number, version.names().len())?;
                for (name, calls) in version.names().iter().zip(counts) {
                    taken.put(version, name, calls, number)?;
                }
            }
            // Its counters of version 4 are numbered otherwise.
            "proc4" if taken.of_client => {
                let counts = counts(&mut words, line, number, V4_OPS_MAX)?;
                for (op, calls) in counts.into_iter().enumerate() {
                    match V4_CLIENT.get(op) {
                        Some(name) => taken.put(Version::V4, name, calls, number)?,
                        None => taken.put(Version::V4, &format!("op{op}"), calls, number)?,
                    }
                }
            }
            "proc4" => {
                let counts = counts(&mut words, line, number, V4_PROCEDURES.len())?;
                for (name, calls) in V4_PROCEDURES.iter().zip(counts) {
                    taken.put(Version::V4, name, calls, number)?;
                }
            }
            "proc4ops" => {
                let counts = counts(&mut words, line, number, V4_OPS_MAX)?;
                for (op, calls) in counts.into_iter().enumerate().skip(V4_FIRST) {
                    match Version::V4.names().get(op - V4_FIRST) {
                        Some(name) => taken.put(Version::V4, name, calls, number)?,
                        None => taken.put(Version::V4, &format!("op{op}"), calls, number)?,
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a client's kernel wrote it: it has three RPC counters, a server five,
/// and lines for its threads and its reply cache.
fn of_a_client(text: &str) -> bool {
    let has = |key: &str| {
        text.lines()
            .any(|l| l.split_whitespace().next() == Some(key))
    };
    let mut lines = text
        .lines()
        .map(|l| l.split_whitespace().collect::<Vec<_>>());
    let few = lines.any(|words| words.len() == 4 && words[0] == "rpc");
    few && !has("th") && !has("rc")
}

/// The counts of a line; the first number is how many there are.
fn counts<'a>(
    words: &mut impl Iterator<Item = &'a str>,
    line: &str,
    number: usize,
    len: usize,
) -> Result<Vec<u64>, Wrong> {
    let cut = "give the file as it is: cat /proc/net/rpc/nfsd";
    let expected = count(words.next().unwrap_or("nothing"), number)?;
    let counts = words
        .map(|w| count(w, number))
        .collect::<Result<Vec<_>, _>>()?;
    if counts.len() as u64 != expected {
        let message = format!(
            "'{}' has {} counts and declares {expected}",
            quoted(line.get(..20).unwrap_or(line)),
            counts.len()
        );
        return Err(Wrong::at(number, message, cut));
    }
    // A server may know fewer procedures.
    match counts.len() <= len {
        true => Ok(counts),
        false => {
            let message = format!("{} counts; {len} at most are expected", counts.len());
            Err(Wrong::at(number, message, cut))
        }
    }
}
