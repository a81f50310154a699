//! fio, where it is installed: one job, its figures from its own JSON.

use crate::turns::Turn;
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Whether fio is installed and has this engine. (`--enghelp=ENGINE` fails for engines without
/// options, as psync: the list counts.)
pub fn has_engine(engine: &str) -> bool {
    let list = Command::new("fio")
        .arg("--enghelp")
        .stdin(Stdio::null())
        .output();
    list.is_ok_and(|output| lists(&String::from_utf8_lossy(&output.stdout), engine))
}

/// Whether fio's list of engines, one in a line below a heading, has this one.
fn lists(engines: &str, engine: &str) -> bool {
    engines.lines().skip(1).any(|line| line.trim() == engine)
}

/// A job to be run.
pub struct Fio {
    command: Command,
    side: &'static str,
}

impl Fio {
    /// A job of random transfers of `length` bytes, for `window`. What it writes is new in every
    /// block (refill_buffers), as in Filermark.
    pub fn new(engine: &str, write: bool, length: u32, window: Duration) -> Self {
        let (side, pattern) = match write {
            true => ("write", "randwrite"),
            false => ("read", "randread"),
        };
        let mut command = Command::new("fio");
        command
            .args(["--name=bench", "--thread", "--time_based", "--ramp_time=0"])
            .args([
                "--output-format=json",
                "--norandommap=1",
                "--refill_buffers=1",
            ])
            .arg(format!("--ioengine={engine}"))
            .arg(format!("--rw={pattern}"))
            .arg(format!("--bs={length}"))
            .arg(format!("--runtime={}ms", window.as_millis()));
        Self { command, side }
    }

    /// Adds an option.
    pub fn arg(&mut self, option: impl AsRef<std::ffi::OsStr>) {
        self.command.arg(option);
    }

    /// Runs the job.
    ///
    /// # Errors
    /// It does not start, fails, or prints no figures.
    pub fn turn(&mut self) -> Result<Turn, String> {
        let output = self.command.stdin(Stdio::null()).output();
        let output = output.map_err(|e| format!("start fio: {e}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let failed = || {
            let errors = String::from_utf8_lossy(&output.stderr);
            format!("fio ({}): {}", output.status, errors.trim())
        };
        let from = text.find('{').ok_or_else(failed)?;
        let value: Value = serde_json::from_str(&text[from..]).map_err(|_| failed())?;
        parse(&value["jobs"][0], self.side).ok_or_else(failed)
    }
}

/// The figures of a job; its processor time is given in percent of its run time.
fn parse(job: &Value, side: &str) -> Option<Turn> {
    let number = |value: &Value| value.as_f64();
    let seconds = number(&job[side]["runtime"])? / 1e3;
    let cpu_pcnt = number(&job["usr_cpu"])? + number(&job["sys_cpu"])?;
    let job_ms = number(&job["job_runtime"])?;
    Some(Turn {
        ops: number(&job[side]["total_ios"])?,
        seconds,
        cpu_ns: cpu_pcnt / 100.0 * job_ms * 1e6,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_in_percent_of_the_run_time_of_the_job() {
        let job = serde_json::json!({
            "read": {"runtime": 1500, "total_ios": 3000},
            "job_runtime": 1600,
            "usr_cpu": 25.0,
            "sys_cpu": 50.0,
        });
        let turn = parse(&job, "read").expect("figures");
        assert_eq!((turn.ops, turn.seconds, turn.cpu_ns), (3000.0, 1.5, 1.2e9));
        assert_eq!(parse(&job, "write"), None);
    }

    #[test]
    fn engines_are_found_in_the_list_with_and_without_options_of_their_own() {
        let list = "Available IO engines:\n\tpsync\n\tpvsync2\n\tlibaio\n";
        let found = ["psync", "libaio", "pvsync", "nfs", ""].map(|engine| lists(list, engine));
        assert_eq!(found, [true, true, false, false, false]);
        assert!(!has_engine("no-such-engine"));
    }
}
