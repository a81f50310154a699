//! Fills a document with the values of the run's files: results and parameters always, other
//! fields only if they are blank.

use crate::document::{Document, Element};
use crate::form::Node;
use crate::outcome::put_result;
use filermark_model::plan::RunPlan;
use filermark_model::text::one_line;
use filermark_model::{Rule, Severity};
use filermark_results::figures::plain;
use filermark_results::{Curve, Environment, RunRecord};
use std::collections::BTreeMap;

/// A file that a result comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultFile {
    /// Its name, without a folder.
    pub name: String,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
}

impl ResultFile {
    /// Describes a file with this name and content.
    pub fn new(name: impl Into<String>, content: &[u8]) -> Self {
        Self {
            name: name.into(),
            sha256: filermark_results::sha256(content),
        }
    }
}

/// The data of one run.
#[derive(Clone, Copy, Debug)]
pub struct RunFiles<'a> {
    /// The plan, from the record or else from the rc file.
    pub plan: &'a RunPlan,
    /// The load points.
    pub curve: &'a Curve,
    /// The verdict of the summary file, used without a record.
    pub verdict: &'static str,
    /// The run record, if there is one.
    pub record: Option<&'a RunRecord>,
    /// The `sfssum` file.
    pub summary_file: &'a ResultFile,
    /// The rc file.
    pub rc_file: &'a ResultFile,
    /// The record's file.
    pub record_file: Option<&'a ResultFile>,
}

/// Fills a document from the runs. Results and parameters of earlier runs are
/// replaced. Parameters and hosts are those of the first run.
pub fn fill(document: &mut Document, runs: &[RunFiles<'_>]) {
    let root = &mut document.root;
    let Some(first) = runs.first() else {
        return;
    };
    if let Some(results) = root.get_mut("results") {
        let items = runs.iter().map(|run| {
            let mut item = Element::blank(item_of(results.node()));
            put_result(&mut item, run);
            item
        });
        let items = items.collect();
        results.set_items(items);
    }
    put_parameters(root, first);
    put_compliance(root, runs);
    if let Some(record) = first.record {
        let tested = month(&record.run.started.to_string());
        root.put("productInfo.vendorAndProduct.dateTested", tested);
        put_hosts(root, record);
        put_file_systems(root, record);
    }
}

/// A run that is not standard does not follow all rules of the benchmark: if the document is
/// still marked as compliant, it is marked as non-compliant, with the reasons.
fn put_compliance(root: &mut Element, runs: &[RunFiles<'_>]) {
    if root.value("resultCompliance.isCompliant") != "yes" {
        return;
    }
    let records = runs.iter().filter_map(|run| run.record);
    let findings = records.flat_map(RunRecord::run_findings);
    let findings =
        findings.filter(|f| f.rule == Rule::NotStandard && f.severity == Severity::Warning);
    let words = |f: &filermark_model::Finding| {
        one_line(
            f.message
                .strip_prefix("not standard: ")
                .unwrap_or(&f.message),
        )
    };
    let reasons: Vec<String> = findings.map(words).collect();
    if !reasons.is_empty() {
        root.put("resultCompliance.isCompliant", "no");
        root.put(
            "resultCompliance.reason",
            format!("Not a standard run: {}", reasons.join("; ")),
        );
    }
}

/// The value of a parameter, or `(given)` if it may be a secret.
fn shown(name: &str, value: &str) -> String {
    let text = format!("{name}={value}").to_ascii_lowercase();
    let is_secret = ["passw", "pasword", "secret", "token="]
        .iter()
        .any(|word| text.contains(word));
    let names_a_file = name.ends_with("_FILE");
    match is_secret && !names_a_file && !value.is_empty() {
        true => "(given)".into(),
        false => value.into(),
    }
}

/// The item of a list.
fn item_of(list: &'static Node) -> &'static Node {
    list.children().first().unwrap_or(list)
}

/// `2026-11-22T...` as `Nov 2026`.
fn month(instant: &str) -> String {
    let year = instant.get(..4).unwrap_or_default();
    let number: usize = instant.get(5..7).and_then(|m| m.parse().ok()).unwrap_or(0);
    match number
        .checked_sub(1)
        .and_then(|m| crate::check::MONTHS.get(m))
    {
        Some(month) => format!("{month} {year}"),
        None => String::new(),
    }
}

fn put_parameters(root: &mut Element, run: &RunFiles<'_>) {
    let plan = run.plan;
    let biods = plan.driver.facts().biods;
    let figures = |of: &dyn Fn(&filermark_results::CurvePoint) -> Option<f64>| {
        let all: Vec<f64> = run.curve.points.iter().filter_map(of).collect();
        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
        let most = all.iter().copied().fold(0.0, f64::max);
        (!all.is_empty()).then_some((least, most))
    };
    let procs = match figures(&|p| p.procs_per_client.map(|n| n as f64)) {
        Some((least, most)) if least < most => format!("{} to {}", plain(least), plain(most)),
        Some((_, most)) => plain(most),
        None => plan.procs_per_client.to_string(),
    };
    let Some(group) = root
        .get_mut("testInfo")
        .and_then(|t| t.get_mut("benchmarkParameters"))
    else {
        return;
    };
    let storage_type = match run.curve.protocol.as_str() {
        "" => plan.benchmark.protocol.sfssum_name(),
        protocol => protocol,
    };
    group.put("attachedStorageType", storage_type);
    group.put("lgCount", plan.clients.len().to_string());
    group.put("procsPerLg", procs);
    if biods.0 > 0 {
        group.put("biodMaxReads", biods.0.to_string());
        group.put("biodMaxWrites", biods.1.to_string());
    }
    let given = |name: &str| plan.parameters.iter().find(|(n, _)| n == name);
    let block_size = given("BLOCK_SIZE").map_or("AUTO", |(_, value)| value.as_str());
    group.put("blockSize", block_size);
    if let Some(list) = group.get_mut("rcParameters") {
        let item = item_of(list.node());
        let all = plan.parameters.iter().map(|(name, value)| {
            let mut element = Element::blank(item);
            element.put("name", name.as_str());
            element.put("value", shown(name, value));
            element
        });
        list.set_items(all.collect());
    }
    if let Some((_, most)) = figures(&|p| p.fileset_kib) {
        let gib = most / f64::from(1 << 20);
        root.put(
            "productInfo.disksAndFilesystems.filesetSizeGib",
            format!("{gib:.3}"),
        );
    }
}

/// A type of load generator: hosts with the same properties.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct HostType {
    processor: String,
    cores: u32,
    memory_gib: u64,
    system: String,
}

impl HostType {
    fn of(host: &Environment) -> Self {
        let parts = [
            host.os.as_str(),
            host.kernel.as_str(),
            host.architecture.as_str(),
        ];
        let parts: Vec<&str> = parts.into_iter().filter(|p| !p.is_empty()).collect();
        Self {
            processor: host.cpu_model.clone(),
            cores: host.core_count,
            // Rounded: the kernel of a host with 24 GiB reports 23.5.
            memory_gib: host.memory_bytes.saturating_add(1 << 29) >> 30,
            system: parts.join(", "),
        }
    }
}

fn put_hosts(root: &mut Element, record: &RunRecord) {
    let mut types: BTreeMap<HostType, Vec<&Environment>> = BTreeMap::new();
    for host in &record.environments {
        types.entry(HostType::of(host)).or_default().push(host);
    }
    let Some(test) = root.get_mut("testInfo") else {
        return;
    };
    if let Some(list) = test.get_mut("loadGeneratorTypes")
        && list.is_blank()
    {
        let item = item_of(list.node());
        let all = types.keys().zip(1..).map(|(host, number)| {
            let mut element = Element::blank(item);
            element.put("name", format!("LG{number}"));
            element.put("processorName", host.processor.as_str());
            element.put("coreCount", host.cores.to_string());
            element.put("memoryGib", host.memory_gib.to_string());
            element.put("operatingSystem", host.system.as_str());
            element
        });
        let all = all.collect();
        list.set_items(all);
    }
    if let Some(list) = test.get_mut("testEnvBomList")
        && list.is_blank()
    {
        let item = item_of(list.node());
        let all = types.iter().map(|(host, hosts)| {
            let mut element = Element::blank(item);
            element.put("quantity", hosts.len().to_string());
            element.put("type", "Load generator");
            element.put(
                "description",
                format!(
                    "{}, {} cores, {} GiB of memory",
                    host.processor, host.cores, host.memory_gib
                ),
            );
            element
        });
        let all = all.collect();
        list.set_items(all);
    }
    put_testbed(test, record, &types);
}

/// Adds one row for all load generators of the same type with the same mount points.
fn put_testbed(
    test: &mut Element,
    record: &RunRecord,
    types: &BTreeMap<HostType, Vec<&Environment>>,
) {
    let list = test
        .get_mut("testbed")
        .and_then(|t| t.get_mut("testbedItems"));
    let Some(list) = list.filter(|list| list.is_blank()) else {
        return;
    };
    let mut rows: Vec<(String, String, Vec<usize>)> = Vec::new();
    for (number, client) in (1..).zip(&record.run.plan.clients) {
        // The environment of a client: by its name, or by its position.
        let host = record
            .environments
            .iter()
            .find(|host| host.host == client.name)
            .or_else(|| record.environments.get(number - 1))
            .or_else(|| record.environments.first());
        let at = host.and_then(|host| types.keys().position(|t| *t == HostType::of(host)));
        let type_name = format!("LG{}", at.unwrap_or(0) + 1);
        let mut mounts: Vec<String> = client.mounts.iter().map(ToString::to_string).collect();
        mounts.sort();
        mounts.dedup();
        let mounts = mounts.join(", ");
        match rows
            .iter_mut()
            .find(|(t, m, _)| (t, m) == (&type_name, &mounts))
        {
            Some((_, _, numbers)) => numbers.push(number),
            None => rows.push((type_name, mounts, vec![number])),
        }
    }
    let item = item_of(list.node());
    let rows = rows.into_iter().map(|(type_name, mounts, numbers)| {
        let mut element = Element::blank(item);
        element.put("lgNumber", ranges(&numbers));
        element.put("lgType", type_name);
        element.put("targetFilesystems", mounts);
        element
    });
    list.set_items(rows.collect());
}

/// `1, 2, 3, 5` as `1..3, 5`.
fn ranges(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [first, .., last] => format!("{first}..{last}"),
        [one] => one.to_string(),
        [] => String::new(),
    });
    runs.collect::<Vec<_>>().join(", ")
}

fn put_file_systems(root: &mut Element, record: &RunRecord) {
    let plan = &record.run.plan;
    let mut mounts: Vec<String> = plan
        .clients
        .iter()
        .flat_map(|c| &c.mounts)
        .map(ToString::to_string)
        .collect();
    mounts.sort();
    mounts.dedup();
    if mounts.is_empty() {
        return;
    }
    put_if_blank(root, "filesystemCount", mounts.len().to_string());
    let facts: Vec<_> = mounts.iter().map(|m| facts_of(record, m)).collect();
    // Only if all sizes are known: a partial sum would be wrong.
    let sizes =
        of_all(&facts, "total bytes").map(|sizes| sizes.iter().map(|s| s.parse::<f64>()).collect());
    if let Some(Ok(sizes)) = sizes {
        let sizes: Vec<f64> = sizes;
        let gib = sizes.iter().sum::<f64>() / f64::from(1 << 30);
        put_if_blank(root, "exportedCapacityGib", format!("{gib:.1}"));
    }
    if let Some(mut types) = of_all(&facts, "file system") {
        types.sort_unstable();
        types.dedup();
        put_if_blank(root, "filesystemType", types.join(", "));
    }
}

/// The values of a fact, if all of these have it.
fn of_all<'a>(all: &[&'a [(String, String)]], name: &str) -> Option<Vec<&'a str>> {
    let value = |facts: &&'a [(String, String)]| {
        let found = facts.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    };
    all.iter().map(value).collect()
}

/// The facts that the server of a mount point reported to the first client.
fn facts_of<'a>(record: &'a RunRecord, mount: &str) -> &'a [(String, String)] {
    let mut all = record.environments.iter().flat_map(|e| &e.mounts);
    let found = all.find(|facts| facts.mount == mount);
    found.map_or(&[], |facts| &facts.facts)
}

fn put_if_blank(root: &mut Element, name: &str, text: String) {
    let path = format!("productInfo.disksAndFilesystems.{name}");
    if root.value(&path).is_empty() {
        root.put(&path, text);
    }
}

/// Why a summary file cannot belong to an rc file; empty: no contradiction.
pub fn mismatches(plan: &RunPlan, curve: &Curve, biods: Option<(u32, u32)>) -> Vec<String> {
    let mut found = Vec::new();
    let is_composite = plan.benchmark.composite().is_some();
    if is_composite == curve.is_classical() {
        let (file, rc) = match is_composite {
            true => ("rates in op/s", "a business metric"),
            false => ("a business metric", "rates in op/s"),
        };
        return vec![format!(
            "its load points are in {file}, those of the rc file in {rc}"
        )];
    }
    let mut compare = |what: &str, file: String, rc: String| {
        if file != rc {
            found.push(format!(
                "{what}: {file} in the summary, {rc} in the rc file"
            ));
        }
    };
    let protocol = plan.benchmark.protocol.sfssum_name();
    if !curve.protocol.is_empty() && curve.protocol != "NULL" {
        compare("protocol", curve.protocol.clone(), protocol.into());
    } else if is_composite {
        compare(
            "workload",
            curve.benchmark.clone(),
            plan.benchmark.name.clone(),
        );
    }
    let planned = plan.points.iter();
    let planned: Vec<f64> = planned
        .map(|p| match is_composite {
            true => filermark_results::figures::Planned::of(plan, *p).business_metric,
            false => p.requested.0.round(),
        })
        .collect();
    let unplanned = curve.points.iter().filter(|p| !planned.contains(&p.load));
    let unplanned: Vec<String> = unplanned.map(|p| plain(p.load)).collect();
    if !unplanned.is_empty() {
        let known: Vec<String> = planned.iter().map(|load| plain(*load)).collect();
        compare("load points", unplanned.join(", "), known.join(", "));
    }
    if let Some(clients) = curve.points.first().and_then(|p| p.client_count) {
        compare(
            "clients",
            clients.to_string(),
            plan.clients.len().to_string(),
        );
    }
    if let Some(procs) = curve.points.first().and_then(|p| p.procs_per_client)
        && !is_composite
    {
        compare(
            "procs per client",
            procs.to_string(),
            plan.procs_per_client.to_string(),
        );
    }
    if let (Some(file), rc) = (biods, plan.driver.facts().biods)
        && rc != (0, 0)
    {
        let text = |(reads, writes): (u32, u32)| format!("{reads} and {writes}");
        compare("BIOD_MAX_READS and BIOD_MAX_WRITES", text(file), text(rc));
    }
    found
}
