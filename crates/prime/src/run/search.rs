//! The search for the highest load (LOAD=search): its load points, before those of the sweep.
//! The state machine of `filermark_results::search` says which load comes next.

use super::state::Run;
use super::types::Progress;
use filermark_link::agents::{Agents, OrderError};
use filermark_link::space;
use filermark_model::plan::{PhasePlan, SearchPlan};
use filermark_model::{LoadPoint, Rule, RunPlan};
use filermark_results::Timestamp;
use filermark_results::record::{Line, PointRecord, PointStatus};
use filermark_results::search::{Decided, SearchKind, SearchPoint, SearchResult, SearchStep};

impl Run<'_> {
    /// Searches for the highest load, and sets the load points of the sweep; nothing without
    /// a search in the plan. In a resumed run it continues after the loads in the record.
    pub fn search(&mut self, agents: &mut Agents) -> Result<(), OrderError> {
        let Some(plan) = self.options.plan.search.clone() else {
            return Ok(());
        };
        let found = match self.journal.record().found.clone() {
            Some(found) => found,
            None => self.find(&plan, agents)?,
        };
        self.options.plan.points.clone_from(&found.points);
        (self.options.observe)(Progress::SearchEnded(&self.options.plan));
        // Without a sweep the last full load point that held is the result.
        if !plan.sweep && self.journal.record().points.is_empty() {
            let tried = self.journal.record().search.iter().rev();
            let mut confirmed = tried.filter(|p| p.held && p.kind == SearchKind::Confirm);
            let confirmed = confirmed.next().map(|p| p.point.clone());
            if let (Some(mut point), Some(load)) = (confirmed, found.points.first()) {
                point.load = *load;
                self.keep_point(point);
            }
        }
        Ok(())
    }

    fn find(&mut self, plan: &SearchPlan, agents: &mut Agents) -> Result<SearchResult, OrderError> {
        loop {
            if let Some(found) = SearchResult::of(plan, &self.journal.record().search) {
                self.remark("prime", found.text(plan));
                self.journal.push(Line::Found(Box::new(found.clone())));
                // The sweep begins with a file set of its own, as a run without a search.
                let last = self.journal.record().search.last().map(|p| p.point.load);
                if plan.sweep && self.options.plan.fileset.reuse && found.load.is_some() {
                    self.clean_up(agents, last)?;
                }
                return Ok(found);
            }
            let tried = &self.journal.record().search;
            let (kind, load) = match Decided::of(plan, tried).next_step(plan) {
                SearchStep::Probe(load) => (SearchKind::Probe, load),
                // `SearchResult::of` has handled the end.
                SearchStep::Confirm(load) => (SearchKind::Confirm, load),
                SearchStep::End(_) => (SearchKind::Confirm, plan.first),
            };
            let nth = u32::try_from(tried.len())
                .unwrap_or(u32::MAX)
                .saturating_add(1);
            self.try_load(plan, kind, plan.point(nth, load), agents)?;
        }
    }

    /// Measures a load point of the search and adds it to the record.
    fn try_load(
        &mut self,
        plan: &SearchPlan,
        kind: SearchKind,
        load: LoadPoint,
        agents: &mut Agents,
    ) -> Result<(), OrderError> {
        let began = Timestamp::now();
        let tried = match self.lacking_space(load) {
            Some(reason) => {
                let status = PointStatus::Failed { reason };
                let point = self.judged_point(load, began, (status, Rule::Failed), None, agents);
                SearchPoint::too_large(kind, point)
            }
            None => {
                let point = self.measured(kind, plan, load, agents)?;
                SearchPoint::judged(kind, point, &self.options.plan, plan)
            }
        };
        self.journal.push(Line::Search(Box::new(tried)));
        if !self.options.plan.fileset.reuse {
            self.clean_up(agents, Some(load))?;
        }
        let record = self.journal.record();
        if let Some(tried) = record.search.last() {
            (self.options.observe)(Progress::SearchTried(record, tried));
        }
        Ok(())
    }

    fn measured(
        &mut self,
        kind: SearchKind,
        plan: &SearchPlan,
        load: LoadPoint,
        agents: &mut Agents,
    ) -> Result<PointRecord, OrderError> {
        let began = Timestamp::now();
        let whole = self.options.plan.phases;
        if kind == SearchKind::Probe {
            self.is_probe = true;
            self.options.plan.phases = PhasePlan {
                warmup: plan.probe_warmup,
                warmup_until_steady: false,
                runtime: plan.probe_runtime,
                runtime_max: None,
                ..whole
            };
        }
        let measured = self.measure_point(agents, load);
        self.report_losses(agents);
        let point = measured.map(|measured| {
            let outcome = (PointStatus::Measured, Rule::Failed);
            self.judged_point(load, began, outcome, Some(measured), agents)
        });
        self.is_probe = false;
        self.options.plan.phases = whole;
        point
    }

    /// Why the file set of a load does not fit the file systems, if it does not.
    fn lacking_space(&self, load: LoadPoint) -> Option<String> {
        let free: Vec<_> = (0..self.options.plan.clients.len())
            .map(|at| self.free.get(&at).cloned().unwrap_or_default())
            .collect();
        let plan = RunPlan {
            points: vec![load],
            ..self.options.plan.clone()
        };
        space::check(&plan, &free).refusal
    }
}
