//! What to do about a finding: one sentence per rule, the same in the report
//! and in docs/src/reference/rules.md.

use filermark_model::Rule;

/// What the user can do about a finding of this rule.
pub const fn advice(rule: Rule) -> &'static str {
    match rule {
        Rule::NotStandard => {
            "Compare only with runs that made the same change; run again without it for a standard result."
        }
        Rule::ResponseLimit => {
            "The server is overloaded at this load: lower LOAD, or find the bottleneck (disk, network, processor) at this load. If calls were sent again (retransmits), check the network first."
        }
        Rule::AchievedRate => {
            "The server, the network or the client could not carry the load. If calls were sent again (retransmits), correct the network first. If the generator was not busy, lower LOAD; with closed pacing, more PROCS may help."
        }
        Rule::ProcRate => {
            "If all procs are below their rate, the load is too high for the server: lower LOAD. If some are, their mount point, connection or directory is slower: check their lines in the client log, and how MNT_POINTS distributes the procs."
        }
        Rule::MixDeviation => {
            "If chance alone can cause it, raise RUNTIME or LOAD, so that there are more operations. Otherwise some operations failed or were made too seldom: check the errors, or raise PROCS so that slow operations do not delay the others."
        }
        Rule::Errors => {
            "Look the error up in the client log and in the server's own log; a full file system and permissions are the usual causes."
        }
        Rule::Saturated => {
            "The arrival rate was above the capacity of the server: lower LOAD to find the highest rate that it sustains."
        }
        Rule::Lateness => {
            "Other processes disturb the client host: stop them, use a host with more cores, or lower the number of procs."
        }
        Rule::GeneratorBusy => {
            "Use a faster client host or more of them, and measure this point again: the server may be capable of more."
        }
        Rule::DataVerify => {
            "The server or the path to it changed data. Stop using it for anything valuable until this is explained."
        }
        Rule::Failed => "The reason names the host, the step and what to do.",
        Rule::Interrupted => {
            "What was measured before stays in the record. `run --resume` continues after it, and so does `energy suite`; `run` measures all load points again, under another suffix (-s)."
        }
        Rule::Search => {
            "If the load has changed during the search, something else used the server, or its speed depends on its state (caches, disks that fill, background work). Let it rest, then search again."
        }
        Rule::Resumed => {
            "Each load point was measured in one piece. If the server may have changed between the pieces (a restart, other load, fuller disks), measure all of it again."
        }
        Rule::LeftBehind => {
            "Give the `filermark stop` command that the finding names. If it names none, the object is not part of this run, and Filermark does not remove it: check it, remove it by hand if it is not needed, then give the command for the run's directory."
        }
        Rule::LoadPoints => {
            "Use LOAD, INCR_LOAD and NUM_RUNS for ten or more evenly spaced load points."
        }
        Rule::ProcLoad => {
            "Change PROCS or CLIENTS so that each proc makes between 10 and 250 op/s."
        }
        Rule::ServerEvent => {
            "Check the server's log for this time; expect higher latencies around it."
        }
        Rule::ComponentVariance => {
            "One component of the benchmark did not run at the rate of its share: check its figures in the report, and the procs that are behind."
        }
        Rule::DataTouched => {
            "Raise RUNTIME (-t), or lower the data set, so that caches do not answer the reads."
        }
        Rule::Script => {
            "Run the program by hand with the same arguments; it must be executable. A script of netmist's, and a call of `PRIME_MON_MODE=phases`, must end by itself and with status 0; a program that runs while RUN does must end when it gets SIGTERM. A program without the option `--phase` needs `PRIME_MON_MODE=program`."
        }
        Rule::Lacking => {
            "Measure on a file system or platform that supports it, or compare only with results without it."
        }
        Rule::ExternalClock => {
            "Do not trust times taken on this client (a virtual machine, perhaps): use physical clients, or fix its time source."
        }
        Rule::Experimental => {
            "Use this as a load of this kind, not as a figure for comparison: the definition file states which parts are our own design."
        }
        Rule::Resources => "Use clients with more memory, or a larger file system, or lower LOAD.",
        Rule::ClientLost => {
            "Check the client (filermark preflight), and measure again with all clients."
        }
        Rule::SecretExposed => {
            "chmod 600 the file; keep the password in a PASSWORD_FILE of its own."
        }
        Rule::ClientStart => {
            "Use clients that are near the prime and idle; a jump host may be distant."
        }
        Rule::ShortRun => "Raise RUNTIME (300 s is standard) before drawing conclusions.",
        Rule::OpenOperations => {
            "The server or the network left operations unanswered: check its log for this time. Read the response times as lower bounds, and measure again."
        }
        Rule::MissedLoad => {
            "Read the response-time percentiles as lower bounds. Lower LOAD, raise PROCS, or use open pacing (PACING=open) to measure how long users would wait."
        }
        Rule::NoReply => {
            "Check the server and the network at that time: a fail-over, a cache flush, the server's log. Then measure the point again."
        }
        Rule::GeneratorStalled => {
            "Run nothing else on the client host, do not suspend or pause it while it measures, and measure this point again."
        }
        Rule::ClientCache => {
            "Use a file set larger than the client's memory, direct I/O, or a protocol driver (NFS, SMB), so that the server answers and not the client."
        }
        Rule::Unsteady => {
            "Lengthen WARMUP_TIME and RUNTIME, find out what changed on the server meanwhile, and measure again. A rate that falls for minutes is often a server whose write cache has filled, or a cloud volume without burst credits left."
        }
        Rule::WarmupLimit => {
            "Raise WARMUP_TIME_MAX, or find out what on the server, its disks or the network changed during WARMUP, and measure again."
        }
        Rule::EmergencyStop => {
            "Find out why the limit was exceeded before running again; lower LOAD, or change STOP_IF if the limit was too strict."
        }
        Rule::DataLost => {
            "The server lost data that it had acknowledged. Stop using it for anything valuable until this is explained."
        }
        Rule::DataUnchecked => {
            "Let the workload read and write at least 64 bytes at a time; or state with the result that its data was not compared."
        }
        Rule::Uncommitted => {
            "Check the server's log and disks for the cause of refused or slow COMMITs. If RUN had no COMMIT, raise RUNTIME or LOAD, so that the cost of stable storage is in the times."
        }
        Rule::SpaceUsed => {
            "Check whether the server compresses or deduplicates, and whether the file system has other users; state it with the result."
        }
        Rule::AccessedShare => {
            "Raise LOAD or FILESET_MB_PER_OP until there are several hundred files, as in a standard file set."
        }
        Rule::CutReads => {
            "Raise LOAD or FILESET_MB_PER_OP, or lower PROCS, until each proc has files as large as its reads."
        }
        Rule::UniformAccess => {
            "List each file system equally often in MNT_POINTS, for every client and in total; choose PROCS accordingly."
        }
        Rule::LoadGenerators => {
            "Name more clients in CLIENTS; state it with the result if there is only one."
        }
        Rule::ServerMemory => {
            "Raise LOAD or the file set until the working set is several times the server's memory, if the result should measure its disks."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference page explains every rule of the record's schema, and gives
    /// the same advice as the report.
    #[test]
    fn the_reference_page_explains_every_rule() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/src/reference/rules.md"
        );
        let page = std::fs::read_to_string(path).unwrap();
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        let schema: serde_json::Value =
            serde_json::from_str(filermark_results::record::SCHEMA).unwrap();
        let names = &schema["$defs"]["finding"]["properties"]["rule"]["enum"];
        let names = names.as_array().unwrap();
        assert!(names.len() > 10);
        for name in names {
            let rule: Rule = serde_json::from_value(name.clone()).unwrap();
            assert!(
                page.contains(&format!("## {rule} ")),
                "{rule} has no section"
            );
            assert!(page.contains(advice(rule)), "{rule}: {}", advice(rule));
        }
    }
}
