//! JSON: the output of `ganesha_stats json` with `fast`, `v3_full` and `v4_full`, and plain
//! objects of operations and counts, as `filermark serve --json` prints.

use super::names::{self, Version};
use super::types::{Taken, Wrong};
use serde_json::{Map, Value};

/// Reads such a text.
pub(super) fn read(text: &str, taken: &mut Taken) -> Result<(), Wrong> {
    let object: Map<String, Value> = serde_json::from_str(text).map_err(|e| {
        let hint = "give what `ganesha_stats json fast` prints";
        Wrong::at(e.line(), format!("this is not JSON: {e}"), hint)
    })?;
    for (key, version) in [("NFSv3", Version::V3), ("NFSv4", Version::V4)] {
        if let Some(Value::Object(counts)) = object.get(key) {
            for (name, calls) in counts {
                taken.put(version, name, parse_count(name, calls)?, 1)?;
            }
        }
    }
    let serves_both = object.keys().any(|name| of_version_2(name).is_some());
    let mut counts = Vec::new();
    for (name, value) in &object {
        if let Some(name) = of_version_2(name) {
            taken.put(Version::V2, name, parse_count(name, value)?, 1)?;
            continue;
        }
        let total = value.pointer("/details/total");
        let total = total.or_else(|| value.is_number().then_some(value));
        if let Some(total) = total.filter(|_| names::is_known(name)) {
            counts.push((name.clone(), parse_count(name, total)?, 1));
        }
    }
    match serves_both {
        // Next to those of version 2 the others are of version 3, whatever their names.
        true => counts
            .iter()
            .try_for_each(|(name, calls, line)| taken.put(Version::V3, name, *calls, *line))?,
        false => taken.put_all(&counts)?,
    }
    match taken.counts.is_empty() {
        true => Err(Wrong::whole_file(
            "no operation of NFS is counted in this JSON",
            "give what `ganesha_stats json fast` or `ganesha_stats json v3_full` prints",
        )),
        false => Ok(()),
    }
}

/// The operation of version 2 that `filermark serve --json` counts: `v2 GETATTR`.
fn of_version_2(name: &str) -> Option<&str> {
    let name = name.strip_prefix("v2 ")?;
    names::is_known(name).then_some(name)
}

fn parse_count(name: &str, value: &Value) -> Result<u64, Wrong> {
    value.as_u64().ok_or_else(|| {
        let name = crate::error::quoted(name);
        let value = crate::error::quoted(&value.to_string());
        let message = format!("the count of '{name}' is {value}, and not a whole number from 0");
        Wrong::whole_file(message, "take the statistics again")
    })
}
