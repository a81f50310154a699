//! Lines that runs on mounted file systems add to a record: the rate of every proc
//! during a phase, and the output of the user's scripts.

use crate::record::Phase;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Longest output of a script in a record, in bytes.
pub const SCRIPT_OUTPUT_LEN_MAX: usize = 64 << 10;

/// The rate of every proc since the heartbeat before (`-G`, `-q`,
/// HEARTBEAT_NOTIFICATIONS).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Heartbeat {
    /// When.
    pub at: Timestamp,
    /// The load point, from 1.
    pub point: u32,
    /// WARMUP or RUN.
    pub phase: Phase,
    /// Seconds since the phase began.
    pub seconds: f64,
    /// Operations per second of every proc of the load point, by its number in
    /// the whole run; 0 for a proc without figures.
    pub ops_per_sec: Vec<f64>,
}

impl Heartbeat {
    /// Operations per second of all procs together.
    pub fn total_ops_per_sec(&self) -> f64 {
        self.ops_per_sec.iter().sum()
    }
}

/// One call of a script of the user's: netmist's (manual N, section 21), or
/// PRIME_MON_SCRIPT (manual M, section 3.3.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScriptRecord {
    /// When it was started.
    pub at: Timestamp,
    /// Its file name: `netmist_mon.sh`.
    pub script: String,
    /// Its argument, or the time of the call: `INIT`, `Baseline`, `RUN begin`, `RUN`.
    pub argument: String,
    /// The number of a call of PRIME_MON_SCRIPT, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<u32>,
    /// When the phase of a call of PRIME_MON_SCRIPT began or ended; the call
    /// starts later if the one before it took long. Older records do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_at: Option<Timestamp>,
    /// The load point, from 1; 0: the run as a whole.
    pub point: u32,
    /// The phase that it belongs to, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// How it ended.
    pub status: ScriptStatus,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// What it printed, both of its outputs, at most [`SCRIPT_OUTPUT_LEN_MAX`] bytes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}

/// How a script ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum ScriptStatus {
    /// It ended by itself.
    Exited {
        /// Its exit code; 0: success.
        code: i32,
    },
    /// It ran until the end of RUN, and ended when it was requested to.
    Stopped {
        /// Its exit code, if it ended by itself on the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<i32>,
    },
    /// It is missing, could not be started, was ended by a signal, took too long, or ended
    /// before the RUN that it should accompany.
    Failed {
        /// Which of these, in one sentence.
        reason: String,
    },
}

impl ScriptStatus {
    /// Whether it succeeded.
    pub fn is_ok(&self) -> bool {
        matches!(self, Self::Exited { code: 0 } | Self::Stopped { .. })
    }
}

impl fmt::Display for ScriptStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited { code } => write!(f, "exit code {code}"),
            Self::Stopped { code: None } => f.write_str("ended with RUN"),
            Self::Stopped { code: Some(code) } => write!(f, "ended with RUN, exit code {code}"),
            Self::Failed { reason } => f.write_str(reason),
        }
    }
}

/// The output of a script, truncated where it is too long for a record; invalid UTF-8 is
/// replaced.
pub fn script_output(printed: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(printed).into_owned();
    text.truncate(text.floor_char_boundary(SCRIPT_OUTPUT_LEN_MAX));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_output_is_cut_between_characters() {
        let long = "ü".repeat(SCRIPT_OUTPUT_LEN_MAX);
        let kept = script_output(format!("x{long}").as_bytes());
        assert_eq!(kept.len(), SCRIPT_OUTPUT_LEN_MAX - 1);
        assert!(kept.starts_with("xüü") && kept.ends_with('ü'));
        assert_eq!(script_output(b"a\xffb"), "a\u{fffd}b");
    }

    #[test]
    fn exit_code_0_and_an_end_on_request_are_success() {
        assert!(ScriptStatus::Exited { code: 0 }.is_ok());
        let stopped = ScriptStatus::Stopped { code: Some(143) };
        assert!(stopped.is_ok());
        let json = serde_json::to_string(&stopped).unwrap();
        assert_eq!(json, r#"{"state":"stopped","code":143}"#);
        let failed = ScriptStatus::Failed {
            reason: "took longer than 30 s and was ended".into(),
        };
        assert!(!failed.is_ok() && !ScriptStatus::Exited { code: 1 }.is_ok());
        assert_eq!(ScriptStatus::Exited { code: 3 }.to_string(), "exit code 3");
    }
}
