//! PROCS x CLIENTS x MNT_POINTS: who works on what.

use crate::error::{ConfigError, Place, quoted};
use crate::mounts::{MountWord, deal, looks_like_file, parse_mount, parse_mount_file};
use crate::sources::{Sources, read_beside};
use crate::values::Values;
use filermark_model::plan::{ClientPlan, MountPoint};
use filermark_model::{Finding, Rule, Severity};
use std::collections::BTreeSet;

/// Clients with their mount points.
#[derive(Debug)]
pub(crate) struct Layout {
    pub clients: Vec<ClientPlan>,
    pub procs_per_client: u32,
    /// The port that nfs:// URLs name.
    pub url_port: Option<u16>,
}

/// Resolves the three parameters; `None`: something was wrong, which is told.
pub(crate) fn layout(
    values: &Values,
    sources: &Sources,
    findings: &mut Vec<Finding>,
    errors: &mut Vec<ConfigError>,
) -> Option<Layout> {
    let before = errors.len();
    let clients = clients(values, sources, errors);
    let procs = values.int32("PROCS").filter(|_| !values.is_bad("PROCS"));
    if procs.is_none() && !values.is_bad("PROCS") {
        errors.push(ConfigError::new(
            Place::Missing,
            "PROCS is not set",
            "give the number of load-generating procs per client, e.g. PROCS=8",
        ));
    }
    let place = values.place("MNT_POINTS");
    let words = values.list("MNT_POINTS");
    let (plans, mounts) = match words.as_slice() {
        [] if values.word("DRIVER") == "null" => {
            let nowhere = MountPoint {
                host: "null".into(),
                path: "/".into(),
            };
            (
                None,
                vec![MountWord {
                    mount: nowhere,
                    port: None,
                }],
            )
        }
        [] if values.is_bad("MNT_POINTS") => return None,
        [] => {
            errors.push(ConfigError::new(
                Place::Missing,
                "MNT_POINTS is not set",
                "give the export to measure, e.g. MNT_POINTS=server:/export",
            ));
            return None;
        }
        [file] if looks_like_file(file) => {
            from_file(file, &clients, procs, sources, &place, errors)
        }
        _ => {
            let found = words.iter().filter_map(|w| {
                parse_mount(w)
                    .map_err(|(what, hint)| {
                        errors.push(ConfigError::new(place.clone(), what, hint))
                    })
                    .ok()
            });
            (None, found.collect())
        }
    };
    let url_port = url_port(&mounts, &place, errors);
    let procs_per_client = procs?;
    if errors.len() > before {
        return None;
    }
    let plans = match plans {
        Some(plans) => plans,
        None => {
            let points: Vec<_> = mounts.into_iter().map(|w| w.mount).collect();
            repeated(&points, procs_per_client, values, findings);
            deal(&points, &clients, procs_per_client)
                .map_err(|rule| {
                    let hint =
                        "change PROCS, or list more or fewer; one may be listed several times";
                    errors.push(ConfigError::new(place, rule, hint));
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

/// See [`Sources::mount_point_count`].
pub(crate) fn mount_point_count(sources: &Sources) -> usize {
    let values = crate::resolve::gather(sources, &mut Vec::new());
    let words = values.list("MNT_POINTS");
    match words.as_slice() {
        [file] if looks_like_file(file) => {
            let Ok((path, text)) = read_beside(file, &[sources.folder()]) else {
                return 0;
            };
            let lines = parse_mount_file(&path, &text, &mut Vec::new()).lines;
            lines.first().map_or(0, |(.., words)| words.len())
        }
        words => words.len(),
    }
}

fn clients(values: &Values, sources: &Sources, errors: &mut Vec<ConfigError>) -> Vec<String> {
    let clients = values.list("CLIENTS");
    let place = values.place("CLIENTS");
    match clients.as_slice() {
        [one] if sources.host.is_me(one) => {}
        [one] => errors.push(ConfigError::new(
            place,
            format!(
                "client '{}' is not this host ({}), and load is made on this host only",
                quoted(one),
                quoted(&sources.host.name)
            ),
            "set CLIENTS=localhost, or start Filermark there; other hosts are not built yet",
        )),
        several => errors.push(ConfigError::new(
            place,
            format!(
                "CLIENTS names {} hosts; several client hosts are not built yet",
                several.len()
            ),
            "name this host only (CLIENTS=localhost) and raise PROCS instead",
        )),
    }
    clients
}

type Dealt = (Option<Vec<ClientPlan>>, Vec<MountWord>);

fn from_file(
    file: &str,
    clients: &[String],
    procs: Option<u32>,
    sources: &Sources,
    place: &Place,
    errors: &mut Vec<ConfigError>,
) -> Dealt {
    let (path, text) = match read_beside(file, &[sources.folder()]) {
        Ok(found) => found,
        Err(why) => {
            errors.push(ConfigError::new(
                place.clone(),
                format!(
                    "MNT_POINTS={} is no mount point, and a file of that name {why}",
                    quoted(file)
                ),
                "write host:/path, or name a file with 'client host:/path ...' lines",
            ));
            return (Some(Vec::new()), Vec::new());
        }
    };
    let before = errors.len();
    let lines = parse_mount_file(&path, &text, errors);
    let plans = match procs {
        Some(procs) if errors.len() == before => lines.deal(&path, clients, procs, errors),
        _ => Vec::new(),
    };
    let words = lines.lines.into_iter().flat_map(|(.., words)| words);
    (Some(plans), words.collect())
}

/// The one port that the URLs name.
fn url_port(mounts: &[MountWord], place: &Place, errors: &mut Vec<ConfigError>) -> Option<u16> {
    let ports: BTreeSet<u16> = mounts.iter().filter_map(|w| w.port).collect();
    if ports.len() > 1 {
        let list: Vec<_> = ports.iter().map(u16::to_string).collect();
        errors.push(ConfigError::new(
            place.clone(),
            format!("the nfs:// URLs name different ports: {}", list.join(", ")),
            "use one port for all servers, or let the portmapper tell them",
        ));
    }
    ports.first().copied()
}

fn repeated(points: &[MountPoint], procs: u32, values: &Values, findings: &mut Vec<Finding>) {
    if let [one] = points
        && procs > 1
        && values.given("MNT_POINTS").is_some()
    {
        findings.push(Finding::new(
            Rule::NotStandard,
            Severity::Note,
            format!("not classical: all {procs} procs use the one mount point {one}"),
        ));
    }
}
