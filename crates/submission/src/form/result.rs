//! `results`: the measured values. All of them come from the run's files.

use super::node::{Node, Value, YES_NO, count, field, free, group, line, list, number};

/// The words of [`filermark_results::verdict::WORDS`], of files without a verdict, and of
/// documents of Filermark 0.1.
const VERDICTS: &[&str] = &[
    "VALID",
    "VALID, CACHED",
    "VALID, NOT STANDARD",
    "VALID, NOT STANDARD, CACHED",
    "INVALID",
    "UNKNOWN",
    "PARTLY VALID",
];

pub(super) const RESULTS: Node = list(
    "results",
    "Results",
    "The measured values, one result for each benchmark. They come from the run's files and cannot be edited.",
    &RESULT,
    &["benchmark", "peak", "metric"],
);

static RESULT: Node = group(
    "result",
    "Result",
    "The result of one benchmark.",
    const {
        &[
        line("benchmark", "Benchmark", "The benchmark's name, or the workload's name of a file of another program.").of_run(),
        line("title", "Title", "The title of the benchmark.").optional().of_run(),
        line("benchmarkVersion", "Version", "The version of its definition.").optional().of_run(),
        line("metric", "Metric", "What the load is counted in: op/s, or the business metric.").of_run(),
        number("peak", "Peak", "The highest load point that counts, in the metric.").of_run(),
        number(
            "ortMs",
            "Overall response time, ms",
            "The area under the curve of response time over throughput, by the method below.",
        )
        .of_run(),
        field(
            "ortMethod",
            "Method of the overall response time",
            Value::Choice(&["2008", "2020"]),
            "2008: from the origin, divided by the peak. 2020: from the first load point, divided by the distance to the peak.",
        )
        .of_run(),
        field(
            "verdict",
            "Verdict",
            Value::Choice(VERDICTS),
            "Whether the result counts. UNKNOWN: the file is of another program and has no verdict. PARTLY VALID: of Filermark 0.1; some load points counted.",
        )
        .of_run(),
        free(
            "remarks",
            "Remarks of the run",
            "The remarks of the rules, one in each line: parameters that are not standard, and warnings.",
        )
        .optional()
        .of_run(),
        list(
            "dataPoints",
            "Performance",
            "The load points.",
            &DATA_POINT,
            &["load", "achieved", "meanMs"],
        ),
        RUN_FILES,
    ]
    },
);

static DATA_POINT: Node = group(
    "dataPoint",
    "Load point",
    "One load point.",
    const {
        &[
            number("load", "Load", "The requested load, in the metric.").of_run(),
            number(
                "requested",
                "Requested, op/s",
                "The requested rate; blank: unlimited.",
            )
            .optional()
            .of_run(),
            number("achieved", "Throughput, op/s", "The achieved rate.").of_run(),
            number("meanMs", "Mean service time, ms", "The mean service time.").of_run(),
            number(
                "p99Ms",
                "99 % of service times, ms",
                "The 99th percentile of the service time.",
            )
            .optional()
            .of_run(),
            number(
                "responseP99Ms",
                "99 % of response times, ms",
                "The 99th percentile of the response time: measured from the intended start. Blank where only a lower bound is known.",
            )
            .optional()
            .of_run(),
            count(
                "opCount",
                "Operations",
                "Logical operations that succeeded.",
            )
            .optional()
            .of_run(),
            count("errorCount", "Errors", "Logical operations that failed.")
                .optional()
                .of_run(),
            number("seconds", "Seconds", "The duration of the measurement.")
                .optional()
                .of_run(),
            number("totalKibps", "Total, KiB/s", "Data read and written.")
                .optional()
                .of_run(),
            number("readKibps", "Read, KiB/s", "Data read.")
                .optional()
                .of_run(),
            number("writeKibps", "Write, KiB/s", "Data written.")
                .optional()
                .of_run(),
            number("filesetKib", "File set, KiB", "Size of the file set.")
                .optional()
                .of_run(),
            count("clientCount", "Clients", "Hosts that made load.")
                .optional()
                .of_run(),
            count(
                "procsPerClient",
                "Procs per client",
                "Load-generating processes on each of them.",
            )
            .optional()
            .of_run(),
            field(
                "isValid",
                "Counts",
                Value::Choice(YES_NO),
                "Whether the load point counts.",
            )
            .of_run(),
            line("reason", "Why not", "Why it does not count.")
                .optional()
                .of_run(),
        ]
    },
);

const RUN_FILES: Node = group(
    "runFiles",
    "Files of the run",
    "The files that the figures come from, with checksums to identify them.",
    const {
        &[
            line("suffix", "Suffix", "The suffix of the run's files.")
                .optional()
                .of_run(),
            field("started", "Started", Value::Instant, "When the run began.")
                .optional()
                .of_run(),
            line(
                "program",
                "Program",
                "The program that made the load, with its version.",
            )
            .optional()
            .of_run(),
            line(
                "protocol",
                "Protocol",
                "The protocol, as the summary file names it.",
            )
            .optional()
            .of_run(),
            line("fingerprint", "Fingerprint", "SHA-256 of the run's plan.")
                .optional()
                .of_run(),
            line(
                "summaryFile",
                "Summary file",
                "The file that subedit was given.",
            )
            .of_run(),
            line(
                "summarySha256",
                "Its SHA-256",
                "Its checksum, in hexadecimal.",
            )
            .of_run(),
            line("rcFile", "rc file", "The rc file of the run.").of_run(),
            line("rcSha256", "Its SHA-256", "Its checksum, in hexadecimal.").of_run(),
            line(
                "recordFile",
                "Run record",
                "The run record, if there is one.",
            )
            .optional()
            .of_run(),
            line(
                "recordSha256",
                "Its SHA-256",
                "Its checksum, in hexadecimal.",
            )
            .optional()
            .of_run(),
        ]
    },
);
