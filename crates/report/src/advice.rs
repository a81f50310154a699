//! What to do about a finding: one sentence per rule, the same in the report
//! and in docs/src/reference/rules.md.

use filermark_model::Rule;

/// What the reader can do when this rule speaks.
pub const fn advice(rule: Rule) -> &'static str {
    match rule {
        Rule::NotStandard => {
            "Compare only with runs that made the same change; run again without it for a standard result."
        }
        Rule::ResponseLimit => {
            "The server is past its useful load here; the result at the response limit is drawn to this point. Lower LOAD, or find the bottleneck (disk, network, processor) at it. Where calls went again (retransmits), the network is the first to look at."
        }
        Rule::AchievedRate => {
            "The server, the network or the client could not carry the load. Where calls went again (retransmits), correct the network first. If the generator was not busy, lower LOAD; with closed pacing, more PROCS may help."
        }
        Rule::ProcRate => {
            "One proc's mount point, connection or directory is slower than the others: look at its line in the client log, and at how MNT_POINTS spreads the procs."
        }
        Rule::MixDeviation => {
            "Some operations were starved or failed. See the errors, or raise PROCS so that slow operations do not hold back the others."
        }
        Rule::Errors => {
            "Look the error up in the client log and in the server's own log; a full file system and permissions are the usual causes."
        }
        Rule::Saturated => {
            "The arrival rate was more than the server can do: lower LOAD to find the highest rate that it sustains."
        }
        Rule::Lateness => {
            "Other work disturbs the client host: stop it, use a host with more cores, or lower the number of procs."
        }
        Rule::GeneratorBusy => {
            "Use a faster client host or more of them, and measure this point again: the server may be able to do more."
        }
        Rule::DataVerify => {
            "The server or the path to it changed data. Stop using it for anything valuable until this is explained."
        }
        Rule::Failed => "The reason names the host, the step and what to try.",
        Rule::Interrupted => {
            "What was measured before stays in the record; run again for the rest."
        }
        Rule::Resumed => {
            "Each load point is of one piece. Where the server may have changed between the pieces (a restart, other load, fuller disks), measure all of it again."
        }
        Rule::LeftBehind => {
            "Give the `filermark stop` command that the finding names. Where it names none, the thing is not this run's, and Filermark leaves it: look at it, remove it by hand if nobody needs it, then give the command for the run's directory."
        }
        Rule::LoadPoints => {
            "Use LOAD, INCR_LOAD and NUM_RUNS for ten or more evenly spaced load points."
        }
        Rule::ProcLoad => {
            "Change PROCS or CLIENTS so that each proc makes between 10 and 250 op/s."
        }
        Rule::ServerEvent => {
            "Look at the server's log for this time; expect higher latencies around it."
        }
        Rule::ComponentVariance => {
            "One component of the benchmark ran at another pace than its share asks for: look at its figures in the report, and at the procs that lag."
        }
        Rule::DataTouched => {
            "Raise RUNTIME (-t), or lower the data set, so that the caches are really defeated."
        }
        Rule::Script => {
            "Run the program by hand with the same arguments; it must be executable. A script of netmist's, and a call of `PRIME_MON_MODE=phases`, must end by itself and with status 0; a program that runs while RUN does must end when it gets SIGTERM. A program that does not know `--phase` wants `PRIME_MON_MODE=program`."
        }
        Rule::Lacking => {
            "Measure on a file system or platform that has it, and compare only with results that lacked the same."
        }
        Rule::ExternalClock => {
            "Do not trust times taken on this client (a virtual machine, perhaps): use physical clients, or mend its time source."
        }
        Rule::Experimental => {
            "Take this as a load of this kind, not as a figure to compare: the definition file says what is our own design."
        }
        Rule::Resources => "Use clients with more memory, or a larger file system, or lower LOAD.",
        Rule::ClientLost => {
            "See what became of the client (filermark preflight), and measure again with all."
        }
        Rule::SecretExposed => {
            "chmod 600 the file; keep the password in a PASSWORD_FILE of its own."
        }
        Rule::ClientStart => {
            "Use clients that are near the prime and not loaded; a jump host may be far away."
        }
        Rule::ShortRun => "Raise RUNTIME (300 s is standard) before drawing conclusions.",
        Rule::OpenOperations => {
            "The server or the network left operations unanswered: see its log for this time. Take the response times as lower bounds, and measure again."
        }
        Rule::MissedLoad => {
            "Take the response-time percentiles as lower bounds. Lower LOAD, raise PROCS, or use open pacing (PACING=open) to see what users would wait."
        }
        Rule::NoReply => {
            "Look for what the server and the network did at that time: a fail-over, a cache that was written out, its log. Then measure the point again."
        }
        Rule::GeneratorStalled => {
            "Keep the client host free of other work, do not suspend or pause it while it measures, and measure this point again."
        }
        Rule::ClientCache => {
            "Use a file set larger than the client's memory, direct I/O, or a protocol driver (NFS, SMB), so that the server answers and not the client."
        }
        Rule::Unsteady => {
            "Lengthen WARMUP_TIME and RUNTIME, find out what changed on the server meanwhile, and measure again. A rate that falls for minutes is often a server whose write cache has filled, or a cloud volume that has used up its burst credits."
        }
        Rule::WarmupLimit => {
            "Raise WARMUP_TIME_MAX, or find out what on the server, its disks or the network kept changing, and measure again."
        }
        Rule::EmergencyStop => {
            "Find out why the limit was exceeded before running again; lower LOAD, or change STOP_IF if the limit was too strict."
        }
        Rule::DataLost => {
            "The server lost data that it had acknowledged. Stop using it for anything valuable until this is explained."
        }
        Rule::DataUnchecked => {
            "Let the workload read and write at least 64 bytes at a time; or say beside the result that its data was not compared."
        }
        Rule::Uncommitted => {
            "See why the server refuses COMMIT or takes so long for it: its log, its disks. Where RUN had no COMMIT, raise RUNTIME or LOAD, so that the cost of stable storage is in the times."
        }
        Rule::SpaceUsed => {
            "See whether the server compresses or deduplicates, and whether others use the same file system; state it beside the result."
        }
        Rule::AccessedShare => {
            "Raise LOAD or FILESET_MB_PER_OP until there are some hundred files; a standard file set has them."
        }
        Rule::CutReads => {
            "Raise LOAD or FILESET_MB_PER_OP, or lower PROCS, until each proc has files as large as its reads."
        }
        Rule::UniformAccess => {
            "List each file system equally often in MNT_POINTS, for every client and in all; choose PROCS accordingly."
        }
        Rule::LoadGenerators => {
            "Name more clients in CLIENTS; state it beside the result where there is only one."
        }
        Rule::ServerMemory => {
            "Raise LOAD or the file set until the working set is several times the server's memory, if the result is to show its disks."
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
