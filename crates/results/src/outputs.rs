//! The rows of the table of outputs that this crate renders, or whose names it defines.

use crate::output::{LogMake, Make, Origin, Output};
use crate::role::Role;
use crate::{
    client_log, csv, proc_logs, sfslog, sfslog_txt, sfsres, sfssum, sfssum_txt, sfssum_xml,
};

const JSON_LINES: &str = "application/jsonl";
const PLAIN: &str = "text/plain";

/// The run record.
pub const RECORD: Output = Output {
    pattern: "{suffix}.run.jsonl",
    role: Role::Record,
    media_type: JSON_LINES,
    origin: Origin::EveryRun,
    make: Make::Elsewhere,
    about: "the run record: all data, written line by line during the run",
    readers: "programs; source of all other files",
};

/// The summary of a classical benchmark.
pub const SFSSUM: Output = Output {
    pattern: "sfssum.{suffix}",
    role: Role::Summary,
    media_type: PLAIN,
    origin: Origin::ClassicalRun,
    make: Make::Text(|record| Some(sfssum::sfssum(record))),
    about: "one line of 14 columns per load point",
    readers: "classical tools",
};

/// The summary of a composite benchmark.
pub const SFSSUM_TXT: Output = Output {
    pattern: "sfssum.{suffix}.txt",
    role: Role::Summary,
    media_type: PLAIN,
    origin: Origin::CompositeRun,
    make: Make::Text(|record| Some(sfssum_txt::sfssum_txt(record))),
    about: "17 columns per load point",
    readers: "tools of the 2014 generation",
};

/// The summary of a composite benchmark for programs.
pub const SFSSUM_XML: Output = Output {
    pattern: "sfssum_{suffix}.xml",
    role: Role::Summary,
    media_type: "application/xml",
    origin: Origin::CompositeRun,
    make: Make::Text(|record| Some(sfssum_xml::sfssum_xml(record))),
    about: "the same as XML",
    readers: "programs",
};

/// The log of a composite benchmark.
pub const SFSLOG_TXT: Output = Output {
    pattern: "sfslog.{suffix}.txt",
    role: Role::Log,
    media_type: PLAIN,
    origin: Origin::CompositeRun,
    make: Make::Log(LogMake {
        whole: |record| Some(sfslog_txt::sfslog_txt(record)),
        so_far: sfslog_txt::sfslog_so_far,
        added_by_point: false,
    }),
    about: "the console output, in order",
    readers: "tools such as tag2014, people",
};

/// The table of the load points.
pub const CSV: Output = Output {
    pattern: "{suffix}.csv",
    role: Role::Table,
    media_type: "text/csv",
    origin: Origin::EveryRun,
    make: Make::Text(|record| Some(csv::csv(record))),
    about: "the load points; of a composite also their components and operations",
    readers: "spreadsheets",
};

/// The log of a client.
pub const CLIENT_LOG: Output = Output {
    pattern: "sfsc{client}.{suffix}",
    role: Role::ClientLog,
    media_type: PLAIN,
    origin: Origin::ClassicalRun,
    make: Make::Client(client_log::client_log),
    about: "log of one client",
    readers: "people",
};

/// The log of all heartbeats.
pub const HEARTBEATS: Output = Output {
    pattern: "heartbeats_{suffix}.log",
    role: Role::Log,
    media_type: PLAIN,
    origin: Origin::CompositeRun,
    make: Make::Log(LogMake {
        whole: |record| (!record.heartbeats.is_empty()).then(|| proc_logs::heartbeat_log(record)),
        so_far: proc_logs::heartbeat_lines,
        added_by_point: true,
    }),
    about: "every heartbeat of every proc, if the run has heartbeats",
    readers: "people",
};

/// The folder of the procs' logs: thousands of procs do not flood the result directory.
pub const PROC_LOG_DIR: Output = Output {
    pattern: "client-logs.{suffix}/",
    role: Role::ClientLog,
    media_type: PLAIN,
    origin: Origin::CompositeRun,
    make: Make::Elsewhere,
    about: "three logs per proc",
    readers: "people",
};

/// The log of the progress of a proc.
pub const PROC_PROGRESS: Output = Output {
    pattern: "client-logs.{suffix}/netmist_C{number}.{suffix}.log",
    make: Make::Proc(|logs| logs.progress),
    about: "when the phases of a proc began, how far they were, its heartbeats",
    ..PROC_LOG_DIR
};

/// The logs of a proc: its results, its operations, its progress.
pub const PROC_LOGS: [Output; 3] = [
    Output {
        pattern: "client-logs.{suffix}/client_{number}.{suffix}",
        make: Make::Proc(|logs| logs.results),
        about: "what a proc did: files, throughput, operations by kind",
        ..PROC_LOG_DIR
    },
    Output {
        pattern: "client-logs.{suffix}/Workload_{workload}_{number}.{suffix}",
        make: Make::Proc(|logs| logs.operations),
        about: "the operations of a proc with the mean latency of each",
        ..PROC_LOG_DIR
    },
    PROC_PROGRESS,
];

/// The results of `validate`.
pub const SFSVAL: Output = Output {
    pattern: "sfsval.{suffix}",
    role: Role::Log,
    media_type: PLAIN,
    origin: Origin::Command("validate"),
    make: Make::Elsewhere,
    about: "the checks of the protocol and their results",
    readers: "people",
};

/// What the programs of PRIME_MON_SCRIPT print.
pub const SFSMON: Output = Output {
    pattern: "sfsmon.{suffix}",
    role: Role::Other,
    media_type: PLAIN,
    origin: Origin::Monitor,
    make: Make::Elsewhere,
    about: "the output of the programs of PRIME_MON_SCRIPT",
    readers: "people",
};

/// The rows.
pub const OUTPUTS: &[Output] = &[
    RECORD,
    SFSSUM,
    Output {
        pattern: "sfslog.{suffix}",
        role: Role::Log,
        media_type: PLAIN,
        origin: Origin::ClassicalRun,
        make: Make::Text(|record| Some(sfslog::sfslog(record))),
        about: "table of operations and summary block per load point",
        readers: "classical tools, people",
    },
    Output {
        pattern: "sfsres.{suffix}",
        role: Role::Log,
        media_type: PLAIN,
        origin: Origin::ClassicalRun,
        make: Make::Text(|record| Some(sfsres::sfsres(record))),
        about: "log of the run: phases, events, results",
        readers: "people",
    },
    SFSSUM_TXT,
    SFSSUM_XML,
    SFSLOG_TXT,
    CSV,
    CLIENT_LOG,
    HEARTBEATS,
    PROC_LOG_DIR,
    PROC_LOGS[0],
    PROC_LOGS[1],
    PROC_LOGS[2],
    SFSVAL,
    SFSMON,
    of_other_programs(
        "sfssum_{suffix}",
        Role::Summary,
        "a summary under another kit's name",
    ),
    of_other_programs(
        "sfslog_{suffix}",
        Role::Log,
        "a log under another kit's name",
    ),
    of_other_programs(
        "heartbeats_{suffix}",
        Role::Log,
        "heartbeats under another kit's name",
    ),
];

const fn of_other_programs(pattern: &'static str, role: Role, about: &'static str) -> Output {
    Output {
        pattern,
        role,
        media_type: PLAIN,
        origin: Origin::OtherPrograms,
        make: Make::Elsewhere,
        about,
        readers: "people",
    }
}
