//! Small helpers of the text renderers.

use crate::record::RunRecord;
use filermark_model::plan::{IpChoice, Target};
use filermark_model::{Finding, Severity};

/// The text on one line and without control characters: names and messages
/// come from outside, and must not be able to move a terminal's cursor or to
/// fake a further line of a log.
pub fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| {
            // Direction marks can make a name read as another one.
            let marks = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            if c.is_control() || marks { '\u{fffd}' } else { c }
        })
        .collect()
}

/// A finding on one line: its sentence, and the rule that speaks.
pub fn finding_line(finding: &Finding) -> String {
    format!("{} [{}]", one_line(&finding.message), finding.rule)
}

/// How much a finding matters, in one word.
pub const fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Invalid => "invalid",
    }
}

/// `4` or `6`: the address family that the run's calls went over.
pub fn ip_version(record: &RunRecord) -> u8 {
    match record.run.plan.driver.facts().ip.unwrap_or(IpChoice::V4) {
        IpChoice::V4 => 4,
        IpChoice::V6 => 6,
        IpChoice::Any => {
            let mut servers = record.environments.iter().flat_map(|e| &e.servers);
            let v6 = servers.any(|s| s.addresses.first().is_some_and(|a| a.contains(':')));
            if v6 { 6 } else { 4 }
        }
    }
}

/// The protocol as the classical files spell it; `NULL` where no server was
/// asked at all.
pub fn protocol_name(record: &RunRecord) -> &'static str {
    match record.run.plan.driver.facts().target {
        Target::Nothing => "NULL",
        Target::Mounted | Target::Server => record.run.plan.benchmark.protocol.sfssum_name(),
    }
}

/// What carried the run's calls, in a letter: `T` for TCP, also where no network was
/// asked at all, `U` for UDP.
pub fn network(record: &RunRecord) -> char {
    let transport = record.run.plan.driver.facts().transport;
    transport.unwrap_or_default().sfssum_letter()
}

/// BIOD_MAX_READS and BIOD_MAX_WRITES.
pub fn biods(record: &RunRecord) -> (u32, u32) {
    record.run.plan.driver.facts().biods
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use filermark_model::plan::DriverPlan;

    #[test]
    fn control_characters_are_taken_out() {
        assert_eq!(
            one_line("a\x1b[2Jb\nc\u{202e}d"),
            "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d"
        );
        assert_eq!(one_line("ümlaut <b>"), "ümlaut <b>");
    }

    #[test]
    fn the_address_family_follows_the_plan_and_the_servers() {
        let mut record = testing::record();
        assert_eq!((ip_version(&record), protocol_name(&record)), (4, "NFS3"));
        let DriverPlan::Nfs(nfs3) = &mut record.run.plan.driver else {
            panic!("the synthetic run speaks NFSv3");
        };
        nfs3.ip = IpChoice::Any;
        assert_eq!(ip_version(&record), 4);
        record.environments[0].servers[0].addresses = vec!["2001:db8::7".into()];
        assert_eq!(ip_version(&record), 6);
        record.run.plan.driver = DriverPlan::Null;
        assert_eq!((protocol_name(&record), biods(&record)), ("NULL", (0, 0)));
    }
}
