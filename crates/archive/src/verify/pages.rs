//! HTML reports. Those of the shipped templates are made again; of others only the
//! headline can be looked for, because nobody has their templates.

use super::renderings::difference;
use super::types::{CheckStatus, Run, Verification};
use crate::bundle::{Bundle, Member};
use crate::page::{has_headline, has_verdict, is_ours};
use filermark_results::RunRecord;
use filermark_results::output::{Make, Output, OutputTable};

/// A page in its editions.
type Editions = &'static [fn(&RunRecord) -> Option<String>];

/// A row of the table whose files are pages, with what makes them.
fn page_row(row: &'static Output) -> Option<(&'static Output, Editions)> {
    match row.make {
        Make::Page(editions) => Some((row, editions)),
        _ => None,
    }
}

/// Gives the names that were looked at.
pub(super) fn check<'a>(
    bundle: &Bundle,
    runs: &'a [Run<'a>],
    table: OutputTable<'_>,
    told: &mut Verification,
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
        if one(name, member, &made, told) {
            checked.push(name.to_owned());
        }
    }
    checked
}

/// A run and its report in every edition.
struct RenderedRun<'a> {
    run: &'a Run<'a>,
    /// What its own pages are called.
    names: Vec<String>,
    pages: Vec<String>,
    /// The pages of what its record was when load points had ended.
    earlier: Vec<(&'a RunRecord, Vec<String>)>,
}

/// Whether there was something to look at.
fn one(name: &str, member: &Member, made: &[RenderedRun<'_>], told: &mut Verification) -> bool {
    let page = String::from_utf8_lossy(&member.bytes);
    let is_same = |m: &&RenderedRun<'_>| m.pages.iter().any(|made| *made == page);
    if let Some(same) = made.iter().find(is_same) {
        told.push(
            CheckStatus::Ok,
            name,
            format!("as {} makes it", same.run.name),
        );
        return true;
    }
    let earlier = made
        .iter()
        .flat_map(|m| m.earlier.iter().map(move |e| (m.run, e)));
    let is_as_then = |(_, (_, pages)): &(&Run<'_>, &(&RunRecord, Vec<String>))| {
        pages.iter().any(|made| *made == page)
    };
    if let Some((run, (then, _))) = { earlier }.find(is_as_then) {
        told.push(CheckStatus::Ok, name, run.made_it(then));
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
    // Nothing but digits is another: that is no other template.
    let only_digits = candidates.iter().find_map(|m| {
        let changed = m
            .pages
            .iter()
            .find(|made| without_digits(made) == without_digits(&page));
        changed.map(|made| (m.run.name, made))
    });
    if let Some((record, made)) = only_digits {
        let text = format!("not as {record} makes it: {}", difference(member, made));
        told.push(CheckStatus::Fail, name, text);
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
        told.push(CheckStatus::Fail, name, text);
    } else if candidates
        .iter()
        .any(|m| has_headline(&page, &m.run.record) && has_verdict(&page, &m.run.record))
    {
        let text = "its text is not checked: it was made by another version; the peak, the overall response time and the verdict of the record are in it";
        told.push(CheckStatus::Skip, name, text);
    } else {
        let names: Vec<&str> = candidates.iter().map(|m| m.run.name).collect();
        let text = format!(
            "not as {} makes it, and the peak, the overall response time or the verdict is not in it",
            names.join(" or ")
        );
        told.push(CheckStatus::Fail, name, text);
    }
    true
}

fn is_own_version(record: &RunRecord) -> bool {
    record.run.version == env!("CARGO_PKG_VERSION")
}

fn without_digits(page: &str) -> String {
    page.replace(|c: char| c.is_ascii_digit(), "")
}
