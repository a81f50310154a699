//! fio on the same files: psync, one job, the same block size. What it writes is new in every
//! block (refill_buffers), as ours is.

use super::FILE_BYTES;
use crate::turns::Turn;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Whether there is one.
pub fn is_installed() -> bool {
    let version = Command::new("fio").arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

/// One turn. The files exist and keep their size and place.
pub fn turn(files: &[PathBuf], write: bool, window: Duration) -> Result<Turn, String> {
    let names: Vec<_> = files.iter().map(|f| f.display().to_string()).collect();
    let way = if write { "randwrite" } else { "randread" };
    let output = Command::new("fio")
        .args(["--name=bench", "--ioengine=psync", "--bs=4k", "--thread"])
        .args(["--time_based", "--ramp_time=0", "--output-format=json"])
        .arg(format!("--rw={way}"))
        .arg(format!("--filesize={FILE_BYTES}"))
        .arg(format!("--size={}", FILE_BYTES * files.len() as u64))
        .arg(format!("--runtime={}ms", window.as_millis()))
        .arg(format!("--filename={}", names.join(":")))
        .args(["--invalidate=0", "--norandommap=1", "--refill_buffers=1"])
        .arg("--file_service_type=random")
        .output()
        .map_err(|e| format!("fio: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let from = text.find('{').ok_or("fio printed no JSON")?;
    let value: Value = serde_json::from_str(&text[from..]).map_err(|e| format!("fio: {e}"))?;
    let side = if write { "write" } else { "read" };
    parse(&value["jobs"][0], side)
        .ok_or_else(|| format!("fio: {}", String::from_utf8_lossy(&output.stderr)))
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
    fn processor_time_is_in_percent_of_the_job_s_run_time() {
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
}
