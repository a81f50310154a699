//! How a check is declared, and how it is run.

use super::bench::{Bench, Stop, Version};
use super::keeper::Keeper;
use filermark_driver_kit::validation::{CheckResult, Verdict};
use std::time::Instant;

/// One check of a version of NFS.
pub(super) struct Check<V: Version> {
    /// Its name: "lookup.noent".
    pub(super) id: &'static str,
    /// The procedure that it is about.
    procedure: V::Procedure,
    /// What is right, in a few words.
    pub(super) title: &'static str,
    /// Where that is demanded, if not in the procedure's own section.
    rule: Option<&'static str>,
    run: fn(&mut Bench<'_, V>) -> Result<(), Stop>,
}

impl<V: Version> Check<V> {
    pub(super) const fn new(
        id: &'static str,
        procedure: V::Procedure,
        title: &'static str,
        run: fn(&mut Bench<'_, V>) -> Result<(), Stop>,
    ) -> Self {
        Self {
            id,
            procedure,
            title,
            rule: None,
            run,
        }
    }

    pub(super) const fn by(self, rule: &'static str) -> Self {
        Self {
            rule: Some(rule),
            ..self
        }
    }

    /// Where it is written that the check has to come out well.
    pub(super) fn section(&self) -> String {
        match self.rule {
            Some(rule) => rule.to_owned(),
            None => V::section_of(self.procedure),
        }
    }

    pub(super) fn procedure_name(&self) -> &'static str {
        V::name_of(self.procedure)
    }

    /// Runs the check in a new directory, and removes that.
    pub(super) fn run(
        &self,
        bench: &mut Bench<'_, V>,
        keeper: &mut Keeper<'_>,
        number: u32,
    ) -> CheckResult {
        let begun = Instant::now();
        let outcome = keeper.enter(number).and_then(|(name, dir)| {
            bench.dir = dir;
            let outcome = (self.run)(bench);
            if let Err(Stop::Fail { expected, got }) = keeper.leave(&name, &dir) {
                bench.note(format!("cleaning up: {expected}: {got}"));
            }
            outcome
        });
        CheckResult {
            id: self.id,
            procedure: self.procedure_name(),
            dialect: None,
            title: self.title,
            verdict: match outcome {
                Ok(()) => Verdict::Pass,
                Err(Stop::Skip(why)) => Verdict::Skipped { why },
                Err(Stop::Fail { expected, got }) => Verdict::Fail {
                    expected,
                    got,
                    section: self.section(),
                },
            },
            notes: bench.take_notes(),
            elapsed: begun.elapsed(),
        }
    }
}
