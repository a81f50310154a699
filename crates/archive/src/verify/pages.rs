//! Checks HTML reports. Those of the shipped templates are made again. In those of another
//! version only the headline is checked, because its templates are not available.

use super::renderings::difference;
use super::types::{CheckStatus, Run, Verification};
use crate::bundle::{Bundle, Member};
use crate::page::{has_headline, has_verdict, is_ours};
use filermark_results::RunRecord;
use filermark_results::output::{Make, Output, OutputTable};

/// The editions of a page.
type Editions = &'static [fn(&RunRecord) -> Option<String>];

/// A row of the table whose files are pages, with its editions.
fn page_row(row: &'static Output) -> Option<(&'static Output, Editions)> {
    match row.make {
        Make::Page(editions) => Some((row, editions)),
        _ => None,
    }
}

/// Returns the names of the pages that were checked.
pub(super) fn check<'a>(
    bundle: &Bundle,
    runs: &'a [Run<'a>],
    table: OutputTable<'_>,
    verification: &mut Verification,
) -> Vec<String> {
    let rows = || table.iter().filter_map(page_row);
    let is_page = |name: &str| rows().any(|(row, _)| row.is_name(name));
    let pages: Vec<_> = bundle.members().filter(|(name, _)| is_page(name)).collect();
    if pages.is_empty() || runs.is_empty() {
        return Vec::new();
    }
    let pages_of = |record: &RunRecord| -> Vec<String> {
        let editions = rows().flat_map(|(_, editions)| editions);
        editions.filter_map(|make| make(record)).collect()
    };
    let made = |run: &'a Run<'a>| RenderedRun {
        run,
        names: rows()
            .map(|(row, _)| row.name(&run.record.run.suffix))
            .collect(),
        pages: pages_of(&run.record),
        earlier: run.earlier.iter().map(|e| (e, pages_of(e))).collect(),
    };
    let made: Vec<RenderedRun<'_>> = runs.iter().map(made).collect();
    let mut checked = Vec::new();
    for (name, member) in pages {
        if check_page(name, member, &made, verification) {
            checked.push(name.to_owned());
        }
    }
    checked
}

/// A run and its report in every edition.
struct RenderedRun<'a> {
    run: &'a Run<'a>,
    /// The names of its pages.
    names: Vec<String>,
    pages: Vec<String>,
    /// Earlier states of its record, at the ends of load points, with their pages.
    earlier: Vec<(&'a RunRecord, Vec<String>)>,
}

/// Checks a page; `false`: it is not a page of a run.
fn check_page(
    name: &str,
    member: &Member,
    made: &[RenderedRun<'_>],
    verification: &mut Verification,
) -> bool {
    let page = String::from_utf8_lossy(&member.bytes);
    let is_same = |m: &&RenderedRun<'_>| m.pages.iter().any(|made| *made == page);
    if let Some(same) = made.iter().find(is_same) {
        verification.push(
            CheckStatus::Ok,
            name,
            format!("as {} makes it", same.run.name),
        );
        return true;
    }
    let earlier = made
        .iter()
        .flat_map(|m| m.earlier.iter().map(move |e| (m.run, e)));
    let is_as_earlier = |(_, (_, pages)): &(&Run<'_>, &(&RunRecord, Vec<String>))| {
        pages.iter().any(|made| *made == page)
    };
    if let Some((run, (then, _))) = { earlier }.find(is_as_earlier) {
        verification.push(CheckStatus::Ok, name, run.describe_earlier(then));
        return true;
    }
    let base = name.rsplit('/').next().unwrap_or(name);
    let is_own = |m: &&RenderedRun<'_>| m.names.iter().any(|name| name == base);
    let own: Vec<&RenderedRun<'_>> = made.iter().filter(is_own).collect();
    if own.is_empty() && !is_ours(&page) {
        return false;
    }
    let candidates = if own.is_empty() {
        made.iter().collect()
    } else {
        own
    };
    // Only digits differ: the template is the same.
    let only_digits = candidates.iter().find_map(|m| {
        let changed = m
            .pages
            .iter()
            .find(|made| without_digits(made) == without_digits(&page));
        changed.map(|made| (m.run.name, made))
    });
    if let Some((record, made)) = only_digits {
        let text = format!("not as {record} makes it: {}", difference(member, made));
        verification.push(CheckStatus::Fail, name, text);
    } else if candidates.iter().all(|m| is_own_version(&m.run.record)) {
        let names: Vec<&str> = candidates.iter().map(|m| m.run.name).collect();
        let text = format!(
            "not as {} makes it with the shipped templates: {}; `filermark report` makes it again",
            names.join(" or "),
            candidates
                .iter()
                .flat_map(|m| &m.pages)
                .next()
                .map_or_else(String::new, |made| difference(member, made))
        );
        verification.push(CheckStatus::Fail, name, text);
    } else if candidates
        .iter()
        .any(|m| has_headline(&page, &m.run.record) && has_verdict(&page, &m.run.record))
    {
        let text = "its text is not checked: it was made by another version; it has the peak, the overall response time and the verdict of the record";
        verification.push(CheckStatus::Skip, name, text);
    } else {
        let names: Vec<&str> = candidates.iter().map(|m| m.run.name).collect();
        let text = format!(
            "not as {} makes it: it lacks the peak, the overall response time or the verdict",
            names.join(" or ")
        );
        verification.push(CheckStatus::Fail, name, text);
    }
    true
}

fn is_own_version(record: &RunRecord) -> bool {
    record.run.version == env!("CARGO_PKG_VERSION")
}

fn without_digits(page: &str) -> String {
    page.replace(|c: char| c.is_ascii_digit(), "")
}
