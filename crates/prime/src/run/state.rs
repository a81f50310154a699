//! A run under way: the state that all of its steps share.

use super::journal::Journal;
use super::types::{Progress, RunError, RunOptions};
use crate::scripts::Scripts;
use filermark_engine::name::RUN_DIR_PREFIX;
use filermark_link::agents::{Agents, LostAgent};
use filermark_link::message::FreeSpace;
use filermark_model::{Finding, Nanos, Rule, Severity};
use filermark_results::record::{Event, Line};
use filermark_results::{ScriptRecord, Timestamp};
use std::collections::BTreeMap;
use std::time::Instant;

/// Additional time limit of a phase beyond its own length.
pub(super) const MARGIN: Nanos = Nanos::from_secs(60);

/// A run under way.
pub(super) struct Run<'a> {
    pub options: RunOptions<'a>,
    pub journal: Journal,
    pub scripts: Scripts,
    pub began: Instant,
    /// Processors of the client hosts, by their names.
    pub core_counts: BTreeMap<String, u32>,
    /// Free space that each client has reported, by its number.
    pub free: BTreeMap<usize, Vec<FreeSpace>>,
    /// Whether all clients were ready: the run's directories are its own.
    pub is_prepared: bool,
    /// A probe of a search is measured: its phases are not those that the agents have.
    pub is_probe: bool,
    /// How many lost agents are in the record.
    reported_loss_count: usize,
}

impl<'a> Run<'a> {
    pub fn begin(options: RunOptions<'a>) -> Result<Self, RunError> {
        let journal = Journal::begin(&options)?;
        let mut scripts = Scripts::new(options.plan.scripts.as_ref());
        scripts.take_earlier(&journal.record().scripts);
        Ok(Self {
            journal,
            scripts,
            began: Instant::now(),
            core_counts: BTreeMap::new(),
            free: BTreeMap::new(),
            is_prepared: false,
            is_probe: false,
            reported_loss_count: 0,
            options,
        })
    }

    /// The name of the run's directory below the mount points.
    pub fn dir_name(&self) -> String {
        format!("{RUN_DIR_PREFIX}{}", self.options.suffix)
    }

    /// Adds the agents that were lost since the last call to the record.
    pub fn report_losses(&mut self, agents: &Agents) {
        let new = agents
            .losses()
            .get(self.reported_loss_count..)
            .unwrap_or_default();
        for loss in new {
            self.report_loss(loss);
        }
        if !new.is_empty() {
            self.report_agent_count(agents.living().len());
        }
    }

    /// Adds the next lost agent to the record.
    pub fn report_loss(&mut self, loss: &LostAgent) {
        self.reported_loss_count += 1;
        self.remark(&loss.client, loss.to_string());
    }

    /// Reports how many agents are connected.
    pub fn report_agent_count(&mut self, living: usize) {
        let all = self.options.launch.hosts.len();
        (self.options.observe)(Progress::Agents { living, all });
    }

    /// Adds the calls of scripts to the record.
    pub fn keep_scripts(&mut self, ended: Vec<ScriptRecord>) {
        for script in ended {
            (self.options.observe)(Progress::Script(&script));
            self.journal.push(Line::Script(script));
        }
    }

    /// Reports what a client waits for.
    pub fn report_waiting(&mut self, client: usize, sentence: String) {
        let client = self.options.plan.clients.get(client);
        let name = client.map_or_else(String::new, |client| client.name.clone());
        self.remark(&name, sentence);
    }

    pub fn remark(&mut self, host: &str, message: String) {
        self.push_event(host, message, None);
    }

    pub fn push_event(&mut self, host: &str, message: String, rule: Option<Rule>) {
        let several = self.options.plan.clients.len() > 1;
        match several && host != "prime" && !message.contains(host) {
            true => (self.options.observe)(Progress::Remark(&format!("{host}: {message}"))),
            false => (self.options.observe)(Progress::Remark(&message)),
        }
        self.journal.push(Line::Event(Event {
            at: Timestamp::now(),
            host: host.into(),
            message,
            rule,
        }));
    }

    /// Adds an event and a finding about the run as a whole; the same one only once.
    pub fn warn(&mut self, host: &str, rule: Rule, message: String) {
        let finding = Finding::new(rule, Severity::Warning, message.clone());
        if self.journal.add_finding(finding) {
            self.push_event(host, message, Some(rule));
        }
    }

    /// Writes the files of what has been measured so far.
    pub fn render(&mut self) {
        // The remark is also a line of the live log.
        if let Some(message) = self.journal.dropped_lines() {
            self.remark("prime", message);
        }
        self.journal.render();
    }
}
