//! DEBUG flags (manual M, section 3.3.1, table 3) and the `tracing` targets
//! that they turn on.

/// One flag.
#[derive(Clone, Copy, Debug)]
pub struct DebugFlag {
    /// Its number in DEBUG.
    pub number: u8,
    /// The events that it shows.
    pub about: &'static str,
    /// The filter directive that it turns on; empty for none.
    pub directive: &'static str,
}

const fn flag(number: u8, about: &'static str, directive: &'static str) -> DebugFlag {
    DebugFlag {
        number,
        about,
        directive,
    }
}

/// All of them. The targets are the names that the modules log under.
pub const DEBUG_FLAGS: &[DebugFlag] = &[
    flag(1, "nothing (unused since 2008)", ""),
    flag(
        2,
        "prime and agent: phases, messages",
        "filermark_clients=debug",
    ),
    flag(
        3,
        "prime and agent: start and stop signals",
        "filermark_clients::signal=debug",
    ),
    flag(
        4,
        "operations that failed",
        "filermark_engine::errors=debug",
    ),
    flag(
        5,
        "signals that reach the shards",
        "filermark_engine::signal=debug",
    ),
    flag(
        6,
        "progress every 10 s: wanted and achieved op/s, operations done and owed, lag",
        "filermark_engine::checkpoint=debug",
    ),
    flag(7, "the shards in general", "filermark_engine=debug"),
    flag(
        8,
        "begin and end of every operation",
        "filermark_engine::ops=trace",
    ),
    flag(
        9,
        "which file every operation works on",
        "filermark_engine::files=trace",
    ),
    flag(
        10,
        "every call that is sent and answered",
        "filermark_nfs::rpc=trace,filermark_smb::rpc=trace",
    ),
    flag(
        11,
        "how long procs wait to keep their pace",
        "filermark_engine::timing=trace",
    ),
    flag(
        12,
        "file set, mix and rates of the procs",
        "filermark_engine::setup=debug",
    ),
    flag(
        13,
        "how a file of fitting size is found",
        "filermark_engine::fit=trace",
    ),
];

/// Reads `3,4,8-10`: numbers and ranges between commas.
///
/// # Errors
/// A sentence about the part that is wrong.
pub fn parse_debug(text: &str) -> Result<Vec<u8>, String> {
    let last = DEBUG_FLAGS.last().map_or(0, |f| f.number);
    let number = |part: &str| {
        part.trim()
            .parse::<u8>()
            .ok()
            .filter(|n| (1..=last).contains(n))
            .ok_or_else(|| {
                format!(
                    "'{}' is not a flag from 1 to {last}",
                    crate::error::quoted(part.trim())
                )
            })
    };
    let mut flags = Vec::new();
    for part in text.split(',').filter(|p| !p.trim().is_empty()) {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let (low, high) = (number(low)?, number(high)?);
        if low > high {
            return Err(format!("the range {low}-{high} is descending"));
        }
        flags.extend(low..=high);
    }
    flags.sort_unstable();
    flags.dedup();
    Ok(flags)
}

/// The directives for `tracing_subscriber::EnvFilter` that flags turn on, with
/// commas between them; empty for none.
pub fn debug_filter(flags: &[u8]) -> String {
    DEBUG_FLAGS
        .iter()
        .filter(|f| flags.contains(&f.number) && !f.directive.is_empty())
        .map(|f| f.directive)
        .collect::<Vec<_>>()
        .join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lists_and_ranges() {
        // The manual's examples.
        assert_eq!(parse_debug("3-5"), Ok(vec![3, 4, 5]));
        assert_eq!(parse_debug("3,4,8-10"), Ok(vec![3, 4, 8, 9, 10]));
        assert_eq!(parse_debug(" 7 , 7,"), Ok(vec![7]));
        assert_eq!(parse_debug(""), Ok(vec![]));
        for bad in ["0", "14", "x", "3-", "-3", "5-3", "1-99", "300"] {
            assert!(parse_debug(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn flags_become_directives() {
        assert_eq!(debug_filter(&[1]), "");
        assert_eq!(
            debug_filter(&[10, 4]),
            "filermark_engine::errors=debug,filermark_nfs::rpc=trace,filermark_smb::rpc=trace"
        );
        let numbers: Vec<u8> = DEBUG_FLAGS.iter().map(|f| f.number).collect();
        assert_eq!(numbers, (1..=13).collect::<Vec<_>>());
    }
}
