//! Sanitizes what an agent reports: hosts are not trusted, and their text is shown in
//! terminals, records, tables and pages.
//!
//! Called once, where a report is decoded, so that later code need not do it. Figures are not
//! changed. Reports of every second contain no text, so they cost nothing here.

use crate::facts::{CheckVerdict, ValidationFacts};
use crate::facts::{
    ExportInfo, HostFacts, InspectFacts, MountInfo, ProbeOutcome, ServerInfo, ServiceInfo,
};
use crate::message::{ClockCheck, FreeSpace, Hello, Leftover, Report};
use filermark_model::PointStats;
use filermark_model::plan::MountPoint;
use filermark_model::survey::AsyncEngine;
use filermark_model::text;
use filermark_results::Environment;
use std::collections::BTreeMap;

/// Longest message, in characters.
const SENTENCE_CHARS_MAX: usize = 2000;
/// Longest name, in characters.
const NAME_CHARS_MAX: usize = 256;
/// Longest path, or list of mount options, in characters.
const PATH_CHARS_MAX: usize = 4096;
/// Messages of a list at most; the last one then gives the number of further ones.
const SENTENCES_MAX: usize = 1000;
/// Entries of a list or map at most.
const ENTRIES_MAX: usize = 16 << 10;

/// The report with text that is safe for a terminal: no control characters, and no text or list
/// beyond its limit.
pub fn sanitized(mut report: Report) -> Report {
    sanitize_report(&mut report);
    report
}

/// Sanitizes a report in place.
pub fn sanitize_report(report: &mut Report) {
    match report {
        Report::Time { .. }
        | Report::Progress { .. }
        | Report::Second { .. }
        | Report::Heartbeat(_)
        | Report::Alive => {}
        Report::Space { file_system, .. } => name(file_system),
        Report::Populated { space, .. } => entries(space, |change| name(&mut change.file_system)),
        Report::Hello(hello_of) => hello(hello_of),
        Report::Inspected(facts) => inspected(facts),
        Report::Ready {
            environment: host,
            remarks,
            free,
            lacking,
            shard_count: _,
        } => {
            environment(host);
            sentences(remarks);
            sentences(lacking);
            entries(free, free_space);
        }
        Report::Waiting { sentence: hello_of } => sanitize_text(hello_of),
        Report::Leaving { reason } | Report::Failed { reason, .. } => sanitize_text(reason),
        Report::Measured {
            stats: measured,
            clock,
            late_ns: _,
            warmup_ns: _,
            runtime_ns: _,
            run_late_ns: _,
            stalls: _,
            reads,
        } => {
            stats(measured);
            entries(reads, |read| {
                name(&mut read.client);
                name(&mut read.source);
                read.unknown.iter_mut().for_each(sanitize_text);
                name(&mut read.file_system);
                entries(&mut read.mounts, path);
            });
            if let Some(ClockCheck::Failed { reason }) = clock {
                sanitize_text(reason);
            }
        }
        Report::Cleaned { left_behind, .. } => {
            let more = left_behind.len().saturating_sub(SENTENCES_MAX);
            left_behind.truncate(SENTENCES_MAX);
            let hello_of = left_behind.iter_mut();
            hello_of.for_each(|left| sanitize_text(&mut left.sentence));
            if more > 0 {
                left_behind.push(Leftover::ours(format!("and {more} more")));
            }
        }
    }
}

fn cut(text: &mut String, chars_max: usize) {
    // Most texts need no change and are not copied.
    if text.len() > chars_max || !text::is_printable(text) {
        *text = text::sanitize(text, chars_max);
    }
}

fn sanitize_text(text: &mut String) {
    cut(text, SENTENCE_CHARS_MAX);
}

fn name(text: &mut String) {
    cut(text, NAME_CHARS_MAX);
}

fn path(text: &mut String) {
    cut(text, PATH_CHARS_MAX);
}

fn sentences(all: &mut Vec<String>) {
    let more = all.len().saturating_sub(SENTENCES_MAX);
    all.truncate(SENTENCES_MAX);
    all.iter_mut().for_each(sanitize_text);
    if more > 0 {
        all.push(format!("and {more} more"));
    }
}

fn entries<T>(all: &mut Vec<T>, each: impl Fn(&mut T)) {
    all.truncate(ENTRIES_MAX);
    all.iter_mut().for_each(each);
}

fn hello(hello_of: &mut Hello) {
    for text in [
        &mut hello_of.version,
        &mut hello_of.build,
        &mut hello_of.commit,
        &mut hello_of.profile,
        &mut hello_of.host,
        &mut hello_of.key,
    ] {
        name(text);
    }
}

fn environment(host: &mut Environment) {
    for text in [
        &mut host.host,
        &mut host.os,
        &mut host.kernel,
        &mut host.architecture,
        &mut host.cpu_model,
        &mut host.virtualization,
        &mut host.clock_source,
        &mut host.cpu_governor,
        &mut host.program_build,
    ] {
        name(text);
    }
    entries(&mut host.servers, |server| {
        name(&mut server.host);
        entries(&mut server.addresses, name);
    });
    entries(&mut host.mounts, |mount| {
        path(&mut mount.mount);
        entries(&mut mount.facts, |(fact, value)| {
            name(fact);
            sanitize_text(value);
        });
    });
}

fn mount_point(mount: &mut MountPoint) {
    name(&mut mount.host);
    path(&mut mount.path);
}

fn free_space(free: &mut FreeSpace) {
    path(&mut free.file_system);
    entries(&mut free.mounts, mount_point);
}

fn stats(stats: &mut PointStats) {
    counts(&mut stats.counters);
    counts(&mut stats.errors);
    for proc in &mut stats.proc_ops {
        entries(&mut proc.accesses, |(what, _)| name(what));
    }
}

/// Names that become equal are merged.
fn counts(all: &mut BTreeMap<String, u64>) {
    let is_fine = |what: &String| what.len() <= NAME_CHARS_MAX && text::is_printable(what);
    if all.len() <= ENTRIES_MAX && all.keys().all(is_fine) {
        return;
    }
    for (mut what, count) in std::mem::take(all).into_iter().take(ENTRIES_MAX) {
        name(&mut what);
        let sum = all.entry(what).or_default();
        *sum = sum.saturating_add(count);
    }
}

fn inspected(facts: &mut InspectFacts) {
    match facts {
        InspectFacts::Host(facts) => host_facts(facts),
        InspectFacts::Validated(facts) => validated(facts),
        InspectFacts::Probes { outcomes } => entries(outcomes, |outcome| {
            if let ProbeOutcome::Failed { reason } = outcome {
                sanitize_text(reason);
            }
        }),
    }
}

fn validated(facts: &mut ValidationFacts) {
    let validation = match facts {
        ValidationFacts::Done(validation) => validation,
        ValidationFacts::Failed(why) => return sanitize_text(&mut why.reason),
    };
    name(&mut validation.protocol);
    sanitize_text(&mut validation.summary);
    lines(&mut validation.text);
    entries(&mut validation.checks, |check| {
        for text in [&mut check.id, &mut check.procedure] {
            name(text);
        }
        check.dialect.iter_mut().for_each(name);
        sanitize_text(&mut check.title);
        sentences(&mut check.notes);
        lines(&mut check.text);
        match &mut check.verdict {
            CheckVerdict::Pass => {}
            CheckVerdict::Fail {
                expected,
                got,
                section,
            } => [expected, got, section].into_iter().for_each(sanitize_text),
            CheckVerdict::Skipped { why } => sanitize_text(why),
        }
    });
}

/// A text of several lines, each of them sanitized.
fn lines(text: &mut String) {
    let is_fine = |line: &str| line.len() <= SENTENCE_CHARS_MAX && text::is_printable(line);
    if text.split('\n').take(ENTRIES_MAX + 1).count() > ENTRIES_MAX
        || !text.split('\n').all(is_fine)
    {
        let sanitize_line = |line: &str| text::sanitize(line, SENTENCE_CHARS_MAX);
        let all: Vec<String> = text
            .split('\n')
            .take(ENTRIES_MAX)
            .map(sanitize_line)
            .collect();
        *text = all.join("\n");
    }
}

fn host_facts(facts: &mut HostFacts) {
    if let Some(hello_of) = &mut facts.hello {
        hello(hello_of);
    }
    environment(&mut facts.environment);
    facts.program.iter_mut().for_each(path);
    entries(&mut facts.addresses, name);
    entries(&mut facts.own_name.addresses, name);
    if let Some(line) = &mut facts.own_name.loopback_line {
        sanitize_text(line);
    }
    for (mut what, mut value) in std::mem::take(&mut facts.sysctls)
        .into_iter()
        .take(ENTRIES_MAX)
    {
        name(&mut what);
        name(&mut value);
        facts.sysctls.insert(what, value);
    }
    entries(&mut facts.governors, name);
    if let AsyncEngine::Missing(why) = &mut facts.async_engine {
        sanitize_text(why);
    }
    if let Some(why) = &mut facts.firewall.unreadable {
        sanitize_text(why);
    }
    entries(&mut facts.firewall.drop_policies, name);
    if let Some(manager) = &mut facts.firewall.manager {
        name(manager);
    }
    if let Some(busy) = &mut facts.load.busiest {
        name(&mut busy.name);
    }
    entries(&mut facts.mounts, mount_info);
    entries(&mut facts.servers, server_info);
    entries(&mut facts.free, free_space);
}

fn mount_info(mount_info_of: &mut MountInfo) {
    mount_point(&mut mount_info_of.mount);
    match &mut mount_info_of.mounted {
        Ok(there) => {
            name(&mut there.kind);
            path(&mut there.source);
            path(&mut there.mount_point);
            path(&mut there.options);
            if let Some(why) = &mut there.unwritable {
                sanitize_text(why);
            }
        }
        Err(why) => sanitize_text(why),
    }
}

fn server_info(server: &mut ServerInfo) {
    name(&mut server.host);
    entries(&mut server.services, |service: &mut ServiceInfo| {
        name(&mut service.name);
        name(&mut service.address);
        if let Err(why) = &mut service.connected_us {
            sanitize_text(why);
        }
    });
    entries(&mut server.exports, |export: &mut ExportInfo| {
        path(&mut export.path);
        if let Err(why) = &mut export.writable {
            sanitize_text(why);
        }
    });
}

#[cfg(test)]
mod tests;
