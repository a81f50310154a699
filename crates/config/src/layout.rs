//! PROCS x CLIENTS x MNT_POINTS: which proc works on what.

use crate::error::{SourceLocation, quoted};
use crate::given::gather;
use crate::hosts::{CLIENTS_MAX, ClientNames, SLURM, key, split_words};
use crate::mounts::{EXPORTS, MountSyntax, MountWord, deal, looks_like_file, parse_mount_file};
use crate::params::{self, PROCS_MAX};
use crate::reading::{Reading, Reports};
use crate::sources::Sources;
use filermark_model::plan::{ClientPlan, MountPoint};
use filermark_model::{Rule, Severity};
use std::collections::{BTreeSet, HashSet};

/// The most mistakes in CLIENTS that are reported.
const ERRORS_MAX: usize = 50;

/// Clients with their mount points.
#[derive(Debug)]
pub(crate) struct Layout {
    pub clients: Vec<ClientPlan>,
    pub procs_per_client: u32,
    /// The port that nfs:// URLs name.
    pub url_port: Option<u16>,
}

/// Resolves the three parameters; `None`: something was wrong, which is reported. `nowhere` is
/// the name of the driver that needs no mount points.
pub(crate) fn layout(
    r: &mut Reading<'_>,
    syntax: &MountSyntax,
    nowhere: Option<&str>,
) -> Option<Layout> {
    let values = r.values;
    let before = r.reports.errors.len();
    let clients = clients(r);
    let procs = values
        .get(&params::PROCS)
        .filter(|_| !values.is_bad(&params::PROCS));
    if procs.is_none() && !values.is_bad(&params::PROCS) {
        r.reports.refuse(
            SourceLocation::Missing,
            "PROCS is not set",
            "give the number of load-generating procs per client, e.g. PROCS=8",
        );
    }
    let too_many = procs.is_some_and(|procs| too_many(r, clients.len(), procs));
    let place = values.place(&params::MNT_POINTS);
    let words = values.get(&params::MNT_POINTS);
    let (plans, mounts) = match (words.as_slice(), nowhere) {
        ([], Some(driver)) => {
            let mount = MountPoint {
                host: driver.to_owned(),
                path: "/".into(),
            };
            (None, vec![MountWord { mount, port: None }])
        }
        ([], None) if values.is_bad(&params::MNT_POINTS) => return None,
        ([], None) => {
            r.reports.refuse(
                SourceLocation::Missing,
                "MNT_POINTS is not set",
                format!(
                    "give the {} to measure, e.g. MNT_POINTS={}",
                    syntax.noun, syntax.example
                ),
            );
            return None;
        }
        ([file], _) if looks_like_file(file) => from_file(r, file, syntax, &clients, procs, &place),
        _ => {
            let found = words.iter().filter_map(|w| {
                (syntax.parse)(w)
                    .map_err(|(what, hint)| r.reports.refuse(place.clone(), what, hint))
                    .ok()
            });
            (None, found.collect())
        }
    };
    let url_port = url_port(&mut r.reports, &mounts, &place);
    let procs_per_client = procs?;
    if r.reports.errors.len() > before || too_many {
        return None;
    }
    let plans = match plans {
        Some(plans) => plans,
        None => {
            let points: Vec<_> = mounts.into_iter().map(|w| w.mount).collect();
            repeated(r, &points, procs_per_client);
            deal(&points, &clients, procs_per_client)
                .map_err(|rule| {
                    let hint =
                        "change PROCS, or list more or fewer; one may be listed several times";
                    r.reports.refuse(place, rule, hint);
                })
                .ok()?
        }
    };
    Some(Layout {
        clients: plans,
        procs_per_client,
        url_port,
    })
}

/// How many mount points MNT_POINTS gives to a client: those of the list, or of the
/// first line of the file that it names. 0 where it is not given, or is wrong, which
/// [`resolve`](crate::resolve) reports.
pub fn mount_point_count(sources: &Sources) -> usize {
    let values = gather(sources, &mut Vec::new());
    let words = values.get(&params::MNT_POINTS);
    match words.as_slice() {
        [file] if looks_like_file(file) => {
            let read = sources.read_beside("MNT_POINTS", file, &[sources.folder()]);
            let Ok((path, text)) = read else {
                return 0;
            };
            let lines = parse_mount_file(&path, &EXPORTS, &text, &mut Vec::new()).lines;
            lines.first().map_or(0, |line| line.field_count)
        }
        words => words.len(),
    }
}

/// The hosts of CLIENTS, each once; with LAUNCHER=slurm those of the allocation where
/// CLIENTS names none.
fn clients(r: &mut Reading<'_>) -> Vec<String> {
    let (values, sources) = (r.values, r.sources);
    if values.is_bad(&params::CLIENTS) {
        return Vec::new();
    }
    let naming = ClientNames::new(values, sources.host.slurm_nodes.as_deref());
    let text = match values.given(&params::CLIENTS) {
        None if naming.is_allocation(SLURM) => SLURM.to_owned(),
        _ => values.get(&params::CLIENTS).join(" "),
    };
    let place = match values.given(&params::CLIENTS) {
        Some(given) => given.location.clone(),
        None => values.place(&params::LAUNCHER),
    };
    let before = r.reports.errors.len();
    let mut report = |message: String, hint: String| {
        r.reports.refuse(place.clone(), message, hint);
        r.reports.errors.len() - before < ERRORS_MAX
    };
    let mut names: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    for word in split_words(&text) {
        let found = naming
            .names(word)
            .map_err(|(what, hint)| (format!("'{}' in CLIENTS {what}", quoted(word)), hint));
        let go_on = match found {
            Err((message, hint)) => report(message, hint),
            Ok(found) if names.len() + found.len() > CLIENTS_MAX => {
                let message = format!("CLIENTS names more than {CLIENTS_MAX} hosts");
                report(message, "that is the maximum".into());
                false
            }
            Ok(found) => match found.iter().find(|name| !seen.insert(key(name))) {
                Some(twice) => report(
                    format!("CLIENTS names {} twice", quoted(twice)),
                    "name every host once; PROCS says how many procs it has".into(),
                ),
                None => {
                    names.extend(found);
                    true
                }
            },
        };
        if !go_on {
            break;
        }
    }
    if names.is_empty() && r.reports.errors.len() == before {
        let hint = "name the hosts that make the load, e.g. CLIENTS=localhost";
        let message = "CLIENTS names no host";
        r.reports.refuse(place, message, hint);
    }
    names
}

/// Compares the procs of all clients with the maximum.
fn too_many(r: &mut Reading<'_>, clients: usize, procs: u32) -> bool {
    let all = clients as u64 * u64::from(procs);
    if all > PROCS_MAX {
        r.refuse(
            &params::PROCS,
            format!("{procs} procs on each of {clients} clients are {all}"),
            format!(
                "{PROCS_MAX} are the most: set PROCS={} or less",
                PROCS_MAX / (clients as u64).max(1)
            ),
        );
    }
    all > PROCS_MAX
}

type ProcDistribution = (Option<Vec<ClientPlan>>, Vec<MountWord>);

fn from_file(
    r: &mut Reading<'_>,
    file: &str,
    syntax: &MountSyntax,
    clients: &[String],
    procs: Option<u32>,
    place: &SourceLocation,
) -> ProcDistribution {
    let sources = r.sources;
    let (path, text) = match sources.read_beside("MNT_POINTS", file, &[sources.folder()]) {
        Ok(found) => found,
        Err(why) => {
            r.reports.refuse(
                place.clone(),
                format!(
                    "MNT_POINTS={} is not a mount point, and a file of that name {why}",
                    quoted(file)
                ),
                format!(
                    "write {0}, or name a file with 'client {0} ...' lines",
                    syntax.form
                ),
            );
            return (Some(Vec::new()), Vec::new());
        }
    };
    let before = r.reports.errors.len();
    let file = parse_mount_file(&path, syntax, &text, &mut r.reports.errors);
    // A client above the limit has no line to be found.
    let few = procs.filter(|p| u64::from(*p) * clients.len() as u64 <= PROCS_MAX);
    let plans = match few {
        Some(procs) if r.reports.errors.len() == before => {
            file.deal(&path, clients, procs, &mut r.reports.errors)
        }
        _ => Vec::new(),
    };
    let words = file.lines.into_iter().flat_map(|line| line.mounts);
    (Some(plans), words.collect())
}

/// The one port that the URLs name.
fn url_port(reports: &mut Reports, mounts: &[MountWord], place: &SourceLocation) -> Option<u16> {
    let ports: BTreeSet<u16> = mounts.iter().filter_map(|w| w.port).collect();
    if ports.len() > 1 {
        let list: Vec<_> = ports.iter().map(u16::to_string).collect();
        reports.refuse(
            place.clone(),
            format!("the URLs name different ports: {}", list.join(", ")),
            "use one port for all servers, or leave the ports out",
        );
    }
    ports.first().copied()
}

fn repeated(r: &mut Reading<'_>, points: &[MountPoint], procs: u32) {
    if let [one] = points
        && procs > 1
        && r.values.given(&params::MNT_POINTS).is_some()
    {
        r.reports.note(
            Rule::NotStandard,
            Severity::Note,
            format!("not classical: all {procs} procs use the one mount point {one}"),
        );
    }
}
