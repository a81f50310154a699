//! Whether two runs did the same work: their plans, split into what was done and where it
//! was done.
//!
//! Users compare two servers, so *places* may differ: servers and what is mounted,
//! client names, ports and addresses, TCP or UDP, who logs in, how many files are made at
//! once, monitoring scripts. Everything else is the work.

use crate::record::{RunHeader, RunRecord, json_value};
use filermark_model::plan::{NfsVersion, RunPlan};
use filermark_model::text::{one_line, sanitize};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Most differing fields that are listed.
const FIELDS_MAX: usize = 100;
/// Most characters of a value that is shown.
const VALUE_CHARS_MAX: usize = 120;

/// Compared parts of a plan that are not fields of it, with their names: (path, name).
const NAMES: &[(&str, &str)] = &[
    ("benchmark.name", "benchmark"),
    ("benchmark.version", "version of the benchmark"),
    ("benchmark.work.fileset.mb_per_op", "FILESET_MB_PER_OP"),
    ("client_count", "clients"),
    ("points.load points", "load points (LOAD)"),
    ("points.procs at them", "procs at the load points"),
    ("places.servers", "servers"),
    ("places.mount_points", "mount points"),
    ("places.clients", "client names"),
];

/// A field that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldChange {
    /// Its name for people.
    pub name: String,
    /// What it is in the base; `-`: missing.
    pub before: String,
    /// What it is on the other side.
    pub after: String,
}

/// How the work of two runs compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// The fingerprints are equal.
    Same,
    /// The same work at another place: only places differ.
    SameElsewhere,
    /// Different work.
    Different,
}

/// What was done, and where.
struct Parts {
    work: Value,
    places: Value,
}

/// How the plan of `after` differs from that of `before`: the verdict, the places and
/// the work that differ.
pub fn work(before: &RunHeader, after: &RunHeader) -> (Work, Vec<FieldChange>, Vec<FieldChange>) {
    if before.fingerprint == after.fingerprint && before.plan == after.plan {
        return (Work::Same, Vec::new(), Vec::new());
    }
    let (b, a) = (parts(&before.plan), parts(&after.plan));
    let label = |path: &str| name_of(path, [&before.plan, &after.plan]);
    let places = changes("places", &b.places, &a.places, &label);
    let work = changes("", &b.work, &a.work, &label);
    let verdict = match (work.is_empty(), places.is_empty()) {
        (false, _) => Work::Different,
        (true, false) => Work::SameElsewhere,
        (true, true) => Work::Same,
    };
    (verdict, places, work)
}

/// Splits a plan. What was typed and the findings about it belong to neither part.
fn parts(plan: &RunPlan) -> Parts {
    let mut work = json_value(plan);
    let mut places = Map::new();
    let mounts = plan.clients.iter().flat_map(|c| &c.mounts);
    let mounts: BTreeSet<_> = mounts.chain(plan.procs.iter().map(|p| &p.mount)).collect();
    let servers: BTreeSet<&str> = mounts.iter().map(|m| m.host.as_str()).collect();
    let joined = |names: Vec<String>| Value::from(names.join(" "));
    let names = plan.clients.iter().map(|c| c.name.clone());
    places.insert("clients".into(), joined(names.collect()));
    let servers = servers.into_iter().map(str::to_owned);
    places.insert("servers".into(), joined(servers.collect()));
    let mounts = mounts.iter().map(ToString::to_string);
    places.insert("mount_points".into(), joined(mounts.collect()));
    if let Value::Object(plan_fields) = &mut work {
        for name in ["parameters", "findings", "clients"] {
            plan_fields.remove(name);
        }
        plan_fields.insert("client_count".into(), plan.clients.len().into());
        for name in RunPlan::PLACES {
            if let Some(place) = plan_fields.remove(*name) {
                places.insert((*name).into(), place);
            }
        }
        if let Some(Value::Object(driver)) = plan_fields.get_mut("driver") {
            let mine = plan.driver.places().iter();
            let moved = mine.filter_map(|name| Some(((*name).to_owned(), driver.remove(*name)?)));
            let moved: Map<String, Value> = moved.collect();
            places.insert("driver".into(), moved.into());
        }
        if let Some(Value::Object(fileset)) = plan_fields.get_mut("fileset")
            && let Some(window) = fileset.remove("init_window")
        {
            places.insert("init_window".into(), window);
        }
        plan_fields.insert("points".into(), points(plan));
        plan_fields.insert("procs".into(), procs(plan));
    }
    Parts {
        work,
        places: places.into(),
    }
}

/// The load points, short enough to be read in a sentence.
fn points(plan: &RunPlan) -> Value {
    let one = |p: &filermark_model::LoadPoint| match p.units {
        0.0 => format!("{}", p.requested.0),
        units => format!("{units} ({} op/s)", p.requested.0),
    };
    let all: Vec<String> = plan.points.iter().map(one).collect();
    let counts: Vec<u32> = plan.points.iter().map(|p| p.proc_count).collect();
    let mut shown = serde_json::json!({"load points": all.join(" ")});
    // Classical benchmarks have the same procs at all of them.
    if counts.iter().any(|count| *count > 0) {
        shown["procs at them"] = counts.into();
    }
    shown
}

/// What the procs of a composite do, without where.
fn procs(plan: &RunPlan) -> Value {
    let one = |p: &filermark_model::plan::ProcPlan| {
        let rate = p.ops_per_sec.map_or(-1.0, |r| r.0);
        serde_json::json!([p.client, p.component, p.instance, rate])
    };
    plan.procs.iter().map(one).collect()
}

/// The leaves that differ, by name.
fn changes(root: &str, before: &Value, after: &Value, name_of: NameOf<'_>) -> Vec<FieldChange> {
    let mut found = Vec::new();
    let (name, version) = ("/benchmark/name", "/benchmark/version");
    let differs = |what: &str| before.pointer(what) != after.pointer(what);
    match (before, after) {
        // Another benchmark differs in everything: its name is enough.
        (Value::Object(b), Value::Object(a)) if differs(name) || differs(version) => {
            let named = |fields: &Map<String, Value>| {
                let mut fields = fields.clone();
                if let Some(Value::Object(benchmark)) = fields.get_mut("benchmark") {
                    benchmark.retain(|key, _| ["name", "version"].contains(&key.as_str()));
                }
                Value::Object(fields)
            };
            walk(root, Some(&named(b)), Some(&named(a)), name_of, &mut found);
        }
        _ => walk(root, Some(before), Some(after), name_of, &mut found),
    }
    if found.len() > FIELDS_MAX {
        let more = found.len() - FIELDS_MAX;
        found.truncate(FIELDS_MAX);
        found.push(FieldChange {
            name: format!("and {more} fields more"),
            before: "-".into(),
            after: "-".into(),
        });
    }
    found
}

/// The name of the field with a path.
type NameOf<'a> = &'a dyn Fn(&str) -> String;

fn name_of(path: &str, plans: [&RunPlan; 2]) -> String {
    if let Some((_, name)) = NAMES.iter().find(|(known, _)| *known == path) {
        return (*name).to_owned();
    }
    // `parts` moves this field from the file set to the places.
    let field = match path.trim_start_matches("places.") {
        "init_window" => "fileset.init_window",
        field => field,
    };
    let label = plans.iter().find_map(|plan| plan.label(field));
    label.map_or_else(
        || one_line(path.trim_start_matches("places.")),
        str::to_owned,
    )
}

fn walk(
    path: &str,
    before: Option<&Value>,
    after: Option<&Value>,
    name_of: NameOf<'_>,
    found: &mut Vec<FieldChange>,
) {
    if before == after {
        return;
    }
    // What one side does not have at all is listed by its fields, too.
    let none = Map::new();
    let fields = match (before, after) {
        (Some(Value::Object(b)), Some(Value::Object(a))) => Some((b, a)),
        (Some(Value::Object(b)), None | Some(Value::Null)) => Some((b, &none)),
        (None | Some(Value::Null), Some(Value::Object(a))) => Some((&none, a)),
        _ => None,
    };
    if let Some((b, a)) = fields {
        let names: BTreeSet<&String> = b.keys().chain(a.keys()).collect();
        for name in names {
            let below = match path {
                "" => name.clone(),
                _ => format!("{path}.{name}"),
            };
            walk(&below, b.get(name), a.get(name), name_of, found);
        }
        return;
    }
    found.push(FieldChange {
        name: name_of(path),
        before: value_text(path, before),
        after: value_text(path, after),
    });
}

/// A value for people.
fn value_text(path: &str, value: Option<&Value>) -> String {
    let text = match value {
        None | Some(Value::Null) => "-".into(),
        // As NFS_VERSION has it.
        Some(version @ Value::String(text)) if path.ends_with("version") => {
            let version = serde_json::from_value::<NfsVersion>(version.clone());
            version.map_or_else(|_| text.clone(), |version| version.name().to_owned())
        }
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(n)) if path.starts_with("phases.") => {
            format!("{} s", n.as_f64().unwrap_or(0.0) / 1e9)
        }
        Some(other) => other.to_string(),
    };
    sanitize(&text, VALUE_CHARS_MAX)
}

/// What differs in the set-up according to the records: the program, and of each host its
/// facts, as far as they matter.
pub fn setup(before: &RunRecord, after: &RunRecord) -> Vec<FieldChange> {
    let (b, a) = (setup_rows(before), setup_rows(after));
    let names: BTreeSet<&String> = b.keys().chain(a.keys()).collect();
    let value = |rows: &BTreeMap<String, String>, name| -> String {
        let found: Option<&String> = rows.get(name);
        found.map_or("-".into(), |v| {
            value_text("", Some(&Value::from(v.as_str())))
        })
    };
    names
        .into_iter()
        .filter(|name| b.get(*name) != a.get(*name))
        .take(FIELDS_MAX)
        .map(|name| FieldChange {
            name: one_line(name),
            before: value(&b, name),
            after: value(&a, name),
        })
        .collect()
}

fn setup_rows(record: &RunRecord) -> BTreeMap<String, String> {
    let mut rows = BTreeMap::new();
    let program = format!("{} {}", record.run.program, record.run.version);
    rows.insert("program".to_owned(), program);
    // Hosts by their number: names are listed as places.
    for (number, environment) in (1..).zip(&record.environments) {
        let host = match record.environments.len() {
            1 => "client".to_owned(),
            _ => format!("client {number}"),
        };
        // Values that change by themselves are not set-up; servers and their addresses are places.
        let left_out = ["Host", "Load average before", "Servers"];
        let kept = environment.rows().into_iter();
        for (name, value) in kept.filter(|(name, _)| !left_out.contains(name)) {
            rows.insert(format!("{host}: {}", name.to_lowercase()), value);
        }
        for (number, mount) in (1..).zip(&environment.mounts) {
            let moves = ["free", "avail", "address"];
            let stays = |name: &str| !moves.iter().any(|m| name.contains(m));
            for (name, value) in mount.facts.iter().filter(|(name, _)| stays(name)) {
                rows.insert(format!("mount point {number}: {name}"), value.clone());
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use crate::testing::every_field::plans_with_every_field;
    use filermark_model::Nanos;
    use filermark_model::plan::{DriverPlan, FileSetPlan, Limits, Pacing, PhasePlan};

    #[test]
    fn versions_of_nfs_are_as_the_parameter_has_them() {
        let text = |path: &str, value: &str| value_text(path, Some(&Value::from(value)));
        assert_eq!(text("driver.version", "v41"), "4.1");
        assert_eq!(text("driver.version", "v3"), "3");
        assert_eq!(text("driver.version", "other"), "other");
        assert_eq!(text("driver.transport", "v3"), "v3");
    }

    fn compared(change: impl Fn(&mut RunPlan)) -> (Work, Vec<FieldChange>, Vec<FieldChange>) {
        let before = testing::record().run;
        let mut plan = before.plan.clone();
        change(&mut plan);
        let after = RunHeader::new(env!("CARGO_PKG_VERSION"), "after", plan);
        work(&before, &after)
    }

    fn names(fields: &[FieldChange]) -> Vec<&str> {
        fields.iter().map(|f| f.name.as_str()).collect()
    }

    #[test]
    fn another_server_is_the_same_work_elsewhere() {
        let (verdict, places, work) = compared(|plan| {
            for mount in plan.clients.iter_mut().flat_map(|c| &mut c.mounts) {
                mount.host = "other".into();
            }
            plan.clients[0].name = "client-x".into();
            let DriverPlan::Nfs(nfs3) = &mut plan.driver else {
                panic!("NFSv3");
            };
            (nfs3.nfs_port, nfs3.uid) = (Some(2050), 7);
        });
        assert_eq!((verdict, work), (Work::SameElsewhere, Vec::new()));
        let wanted = [
            "client names",
            "driver.uid",
            "NFS_PORT",
            "mount points",
            "servers",
        ];
        let mut found = names(&places);
        found.sort_by_key(|n| wanted.iter().position(|w| w == n));
        assert_eq!(found, wanted);
        let servers = places.iter().find(|p| p.name == "servers").unwrap();
        assert_eq!((&*servers.before, &*servers.after), ("filer", "other"));
    }

    #[test]
    fn other_changes_are_different_work() {
        type Change = fn(&mut RunPlan);
        let changes: [(&str, Change); 9] = [
            ("RUNTIME", |p| p.phases.runtime = Nanos::from_secs(60)),
            ("load points (LOAD)", |p| p.points[0].requested.0 = 90.0),
            ("procs per client (PROCS)", |p| p.procs_per_client = 3),
            ("SEED", |p| p.seed = 1),
            ("version of the benchmark", |p| p.benchmark.version = 9),
            ("VERIFY", |p| p.fileset.verify = true),
            ("clients", |p| drop(p.clients.pop())),
            ("driver (protocol)", |p| p.driver = DriverPlan::NULL),
            ("RESPONSE_LIMIT_MS", |p| p.limits.response_ms = 5.0),
        ];
        for (name, change) in changes {
            let (verdict, _, work) = compared(change);
            assert_eq!(verdict, Work::Different, "{name}");
            assert!(names(&work).contains(&name), "{name}: {:?}", names(&work));
        }
        let (_, _, work) = compared(|p| p.phases.runtime = Nanos::from_secs(60));
        assert_eq!((&*work[0].before, &*work[0].after), ("30 s", "60 s"));
        let (_, _, work) = compared(|p| p.phases.runtime_max = Some(Nanos::from_secs(600)));
        assert_eq!(work[0].name, "longest RUN, until the data set is touched");
        assert_eq!(&*work[0].after, "600 s");
        let (verdict, _, work) = compared(|p| {
            p.benchmark = filermark_model::Benchmark::shipped("general-smb2").unwrap()
        });
        assert_eq!(verdict, Work::Different);
        assert!(work.len() <= FIELDS_MAX + 1);
    }

    /// A label whose field was renamed would never be shown.
    #[test]
    fn every_label_and_place_is_that_of_a_field() {
        for plan in &plans_with_every_field() {
            let json = serde_json::to_value(plan).unwrap();
            let has = |part: &str, field: &str| {
                let path = format!("{part}/{}", field.replace('.', "/"));
                assert!(json.pointer(&path).is_some(), "{path}");
            };
            for (part, labels) in [
                ("", RunPlan::LABELS),
                ("/phases", PhasePlan::LABELS),
                ("/pacing", Pacing::LABELS),
                ("/fileset", FileSetPlan::LABELS),
                ("/limits", Limits::LABELS),
                ("/driver", plan.driver.labels()),
            ] {
                labels.iter().for_each(|(field, _)| has(part, field));
            }
            RunPlan::PLACES.iter().for_each(|field| has("", field));
            let places = plan.driver.places().iter();
            places.for_each(|field| has("/driver", field));
        }
    }

    #[test]
    fn what_was_typed_does_not_matter() {
        let (verdict, ..) = compared(|p| {
            p.parameters.clear();
            p.findings.clear();
        });
        assert_eq!(verdict, Work::Same);
        let composite = testing::composite::composite_record().run;
        let mut plan = composite.plan.clone();
        for proc in &mut plan.procs {
            proc.mount.path = "/elsewhere".into();
        }
        let elsewhere = RunHeader::new(env!("CARGO_PKG_VERSION"), "after", plan.clone());
        assert_eq!(work(&composite, &elsewhere).0, Work::SameElsewhere);
        plan.procs[0].component += 1;
        let other = RunHeader::new(env!("CARGO_PKG_VERSION"), "after", plan);
        assert_eq!(work(&composite, &other).0, Work::Different);
    }

    #[test]
    fn the_set_up_lists_what_differs() {
        let before = testing::record();
        let mut after = testing::record();
        after.environments[0].kernel = "Linux 7.0".into();
        after.environments[0].load_average = 3.0;
        after.run.version = "9.9.9".into();
        let fields = setup(&before, &after);
        assert_eq!(names(&fields), ["client: kernel", "program"]);
        assert!(setup(&before, &before).is_empty());
    }
}
