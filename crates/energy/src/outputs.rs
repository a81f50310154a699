//! The energy files of the table of outputs.

use filermark_results::Role;
use filermark_results::output::{Make, Origin, Output};

/// The files of runs with an energy log.
pub const OUTPUTS: &[Output] = &[
    energy(
        "{suffix}.energy.jsonl",
        "application/jsonl",
        "the energy log: readings of meters, sensors and switches",
        "programs, and the files below",
    ),
    energy(
        "{suffix}.energy.{number}.jsonl",
        "application/jsonl",
        "the energy logs of the further parts of a resumed run",
        "as above",
    ),
    energy(
        "{suffix}.merged.jsonl",
        "application/jsonl",
        "the readings with run, load point and phase, and the run's figures",
        "`energy reduce`",
    ),
    Output {
        role: Role::Report,
        ..energy(
            "{suffix}.energy.html",
            "text/html",
            "the energy report, one self-contained page",
            "people",
        )
    },
    energy(
        "{suffix}.energy.xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "the same as a workbook",
        "spreadsheets",
    ),
    energy(
        "{suffix}.energy.csv",
        "text/csv",
        "the load points with power, traffic and efficiency",
        "spreadsheets, scripts",
    ),
];

const fn energy(
    pattern: &'static str,
    media_type: &'static str,
    about: &'static str,
    readers: &'static str,
) -> Output {
    Output {
        pattern,
        role: Role::Other,
        media_type,
        origin: Origin::Energy,
        make: Make::Elsewhere,
        about,
        readers,
    }
}
