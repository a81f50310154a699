//! PRIME_MON_SCRIPT: a program that is told when phases begin and end.
//!
//! It is called as
//! `SCRIPT [PRIME_MON_ARGS ...] --phase PHASE --event begin|end --load N --run K --suffix S`
//! and may go on running; what is still there when the run ends is asked to end
//! (SIGTERM) and a little later ended.

use crate::child;
use filermark_model::plan::MonitorPlan;
use filermark_results::Phase;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Most scripts that may run at once.
const CHILDREN_MAX: usize = 64;

/// The monitor of a run; does nothing without a script.
pub struct Monitor {
    plan: Option<MonitorPlan>,
    suffix: String,
    output: Option<File>,
    children: Vec<Child>,
}

impl Monitor {
    /// The monitor; what the scripts print goes to `sfsmon.SUFFIX` in `dir`.
    pub fn new(plan: Option<MonitorPlan>, suffix: &str, dir: &Path) -> Self {
        let output = plan
            .as_ref()
            .and_then(|_| File::create(dir.join(format!("sfsmon.{suffix}"))).ok());
        Self {
            plan,
            suffix: suffix.into(),
            output,
            children: Vec::new(),
        }
    }

    /// Calls the script. Gives a sentence when it could not be started.
    pub fn tell(&mut self, phase: Phase, event: &str, load: f64, number: u32) -> Option<String> {
        let plan = self.plan.as_ref()?;
        self.children.retain_mut(child::is_running);
        if self.children.len() >= CHILDREN_MAX {
            return Some(format!(
                "PRIME_MON_SCRIPT {}: {CHILDREN_MAX} calls are still running; not called again",
                plan.script
            ));
        }
        let stream = || {
            let file = self.output.as_ref().and_then(|f| f.try_clone().ok());
            file.map_or_else(Stdio::null, Stdio::from)
        };
        let mut command = Command::new(&plan.script);
        command
            .args(&plan.args)
            .args(["--phase", phase.name(), "--event", event])
            .args([
                "--load",
                &format!("{load:.0}"),
                "--run",
                &number.to_string(),
            ])
            .args(["--suffix", &self.suffix])
            .stdin(Stdio::null())
            .stdout(stream())
            .stderr(stream());
        match child::in_own_group(&mut command).spawn() {
            Ok(child) => {
                self.children.push(child);
                None
            }
            Err(e) => Some(format!(
                "PRIME_MON_SCRIPT {}: cannot be started: {e}; is it there and executable?",
                plan.script
            )),
        }
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        child::end_all(&mut self.children, child::PATIENCE);
    }
}
