//! What the server grants with files that are opened (layouts, delegations), where all files of RUN were
//! opened before it: the counters of RUN have nothing of these OPENs.

use super::case::{Case, OWN, percent_of};
use filermark_model::counter::{
    DATA_SERVER_READS, DATA_SERVER_WRITES, DELEGATIONS_RETURNED, DELEGATIONS_REVOKED,
    LAYOUTS_REFUSED, LAYOUTS_UNUSABLE, OPENS, READS, WRITES,
};
use filermark_model::{Finding, Rule, Severity};

/// The share of READs and WRITEs that may go to the metadata server, in percent: below it no figure that
/// is compared depends on them.
const METADATA_SHARE_MAX: f64 = 1.0;

/// A warning where transfers went to the metadata server although layouts were to be used, and no counter
/// of RUN says that the server has refused them.
pub(super) fn layouts(case: &Case<'_>) -> Option<Finding> {
    let sum = |names: [&str; 2]| -> u64 { names.iter().map(|name| case.count(name)).sum() };
    let is_used = case.plan.driver.facts().uses_layouts;
    if !is_used || sum([LAYOUTS_REFUSED, LAYOUTS_UNUSABLE]) > 0 {
        return None;
    }
    let transfers = sum([READS, WRITES]);
    let there = sum([DATA_SERVER_READS, DATA_SERVER_WRITES]);
    let elsewhere = transfers.saturating_sub(there);
    let share = percent_of(elsewhere as f64, transfers as f64);
    (share > METADATA_SHARE_MAX).then(|| {
        let message = format!(
            "{DATA_SERVER_READS} + {DATA_SERVER_WRITES} = {there}: {elsewhere} of {transfers} READs and WRITEs went \
             to the metadata server (LAYOUTS=use); their files were opened before RUN without a layout that this \
             client can use, or their layouts were returned; check that the export grants layouts of flexible files"
        );
        let finding = Finding::new(Rule::ServerEvent, Severity::Warning, message);
        finding.with_limit(share, METADATA_SHARE_MAX, OWN)
    })
}

/// A note where delegations were to be kept, no file was opened in RUN, and no delegation was left to be
/// returned at its end: the server has granted none with the OPENs before RUN.
pub(super) fn delegations(case: &Case<'_>) -> Option<Finding> {
    let is_kept = case.plan.driver.facts().keeps_delegations;
    let of_some = [OPENS, DELEGATIONS_RETURNED, DELEGATIONS_REVOKED];
    (is_kept && of_some.iter().all(|name| case.count(name) == 0)).then(|| {
        let message = format!(
            "{DELEGATIONS_RETURNED} = 0: the files were opened before RUN, and the server granted no delegation \
             with them (DELEGATIONS=keep); check that delegations are enabled on the server"
        );
        Finding::new(Rule::ServerEvent, Severity::Note, message).with_limit(0.0, 0.0, OWN)
    })
}
