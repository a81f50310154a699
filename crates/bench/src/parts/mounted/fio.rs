//! fio on the same file system: psync, one job, the same block and file size. What it writes
//! is new in every block (refill_buffers), as ours is.

use super::FILE_BYTES;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Operations per second.
pub fn rate(dir: &Path, write: bool, window: Duration) -> Result<f64, String> {
    let file = dir.join("fio.data");
    let output = Command::new("fio")
        .args(["--name=bench", "--ioengine=psync", "--bs=4k", "--numjobs=1"])
        .args(["--time_based", "--ramp_time=0", "--output-format=json"])
        .arg(format!(
            "--rw={}",
            if write { "randwrite" } else { "randread" }
        ))
        .arg(format!("--size={FILE_BYTES}"))
        .arg(format!("--runtime={}ms", window.as_millis()))
        .arg(format!("--filename={}", file.display()))
        .args(["--invalidate=0", "--norandommap=1", "--allow_file_create=1"])
        .arg("--refill_buffers=1")
        .output()
        .map_err(|e| format!("cannot be started: {e} (Debian package fio)"))?;
    let _ = std::fs::remove_file(&file);
    let text = String::from_utf8_lossy(&output.stdout);
    let from = text.find('{').ok_or("it printed no JSON")?;
    let value: serde_json::Value =
        serde_json::from_str(&text[from..]).map_err(|e| e.to_string())?;
    let side = if write { "write" } else { "read" };
    value["jobs"][0][side]["iops"]
        .as_f64()
        .ok_or_else(|| String::from_utf8_lossy(&output.stderr).into_owned())
}
