//! Hints where the spelling alone does not show what is meant: names of the older
//! generations' programs, and words for transports. Texts only; no other module decides by them.

use crate::error::nearest;
use crate::params::Parameter;

/// Names of the generations and protocols, and the benchmark that is like each.
const BENCHMARKS: [(&str, &str); 15] = [
    ("eda", "EDA_BLENDED"),
    ("laddis", "nfs2-1993"),
    ("sfs1", "nfs2-1993"),
    ("sfs1.1", "nfs2-1993"),
    ("sfs93", "nfs2-1993"),
    ("sfs2", "nfs2-1997"),
    ("sfs2.0", "nfs2-1997"),
    ("sfs97", "nfs2-1997"),
    ("nfs2", "nfs2-1997"),
    ("nfsv2", "nfs2-1997"),
    ("sfs3", "nfs3-2001"),
    ("sfs3.0", "nfs3-2001"),
    ("sfs97_r1", "nfs3-2001"),
    ("nfs3", "general-nfs3"),
    ("nfsv3", "general-nfs3"),
];

/// Parameters that other programs have for the transport.
const TRANSPORTS: [&str; 6] = [
    "UDP",
    "PROTO",
    "PROTOCOL",
    "TRANSPORT",
    "MNT_PROTO",
    "NFS_PROTO",
];

/// The benchmark of `known` that an unknown name may stand for.
pub(crate) fn benchmark<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let called = |(n, _): &&(&str, &str)| n.eq_ignore_ascii_case(name);
    match BENCHMARKS.iter().find(called) {
        Some((_, meant)) => Some(*meant),
        None => nearest(name, known),
    }
}

/// What to try in place of a parameter that does not exist.
pub(crate) fn parameter(name: &str) -> String {
    parameter_near(name).unwrap_or_else(|| {
        "'filermark params' lists all parameters; 'filermark import' makes an rc file \
         without those of other programs, IGNORE_UNKNOWN=on leaves them out"
            .to_owned()
    })
}

/// The parameter that an unknown name may stand for, as a question.
pub(crate) fn parameter_near(name: &str) -> Option<String> {
    if TRANSPORTS.iter().any(|t| t.eq_ignore_ascii_case(name)) {
        return Some("did you mean TCP (off: UDP)?".to_owned());
    }
    let names = Parameter::all().flat_map(|p| std::iter::once(&p.name).chain(p.aliases).copied());
    // Nearly every other short name is similar to a short name.
    let near =
        nearest(name, names).filter(|near| name.len() > 3 || near.len() == name.len() + 1)?;
    Some(format!("did you mean {near}?"))
}

/// What to write in place of an invalid value, where a better hint exists
/// than the list of valid values.
pub(crate) fn value(parameter: &str, text: &str) -> Option<&'static str> {
    let text = text.to_ascii_lowercase();
    match (parameter, text.as_str()) {
        ("TCP", "udp") => Some("UDP is TCP=off"),
        ("TCP", "tcp") => Some("TCP is TCP=on"),
        ("NFS_VERSION", "v2" | "v3" | "v4" | "v4.0" | "v4.1" | "v4.2" | "nfs4" | "nfs3") => {
            Some("give the number alone: 2, 3, 4.0, 4.1 or 4.2")
        }
        ("NFS_VERSION", v) if v.trim_start_matches('v').starts_with('4') => {
            Some("give 2, 3, 4.0, 4.1 or 4.2: NFSv4 has no other minor version (RFC 8178)")
        }
        _ => None,
    }
}

/// The valid range of a number, as a hint: "give 1 to 9 procs", "give a port from 1 to 9".
pub(crate) fn within(min: &str, max: &str, unit: &str) -> String {
    match unit {
        "version" | "port" | "seed" | "user id" | "group id" => {
            format!("give a {unit} from {min} to {max}")
        }
        _ => format!("give {min} to {max} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definitions::benchmark_names;

    #[test]
    fn old_names_lead_to_the_similar_benchmarks() {
        let names = benchmark_names();
        let meant = |name| benchmark(name, names.iter().map(String::as_str));
        for (name, want) in [
            ("LADDIS", Some("nfs2-1993")),
            ("sfs2", Some("nfs2-1997")),
            ("sfs3", Some("nfs3-2001")),
            ("nfs2", Some("nfs2-1997")),
            ("nfs2-2997", Some("nfs2-1997")),
            ("nonsense", None),
        ] {
            assert_eq!(meant(name), want, "{name}");
        }
        for (_, meant) in BENCHMARKS {
            assert!(names.iter().any(|n| n == meant), "{meant}");
        }
    }

    #[test]
    fn transports_and_versions_have_a_hint() {
        for name in ["UDP", "proto", "TRANSPORT", "MNT_PROTO"] {
            assert_eq!(parameter(name), "did you mean TCP (off: UDP)?");
        }
        assert_eq!(parameter("RUNTIM"), "did you mean RUNTIME?");
        assert_eq!(value("TCP", "UDP"), Some("UDP is TCP=off"));
        for version in ["4.3", "v4.3", "41"] {
            assert!(value("NFS_VERSION", version).unwrap().contains("4.0, 4.1"));
        }
        for version in ["v4.0", "v4.1", "V4.2"] {
            assert!(value("NFS_VERSION", version).unwrap().contains("alone"));
        }
        assert_eq!(value("NFS_VERSION", "1"), None);
        assert_eq!(within("2", "3", "version"), "give a version from 2 to 3");
        assert_eq!(within("1", "9", "procs"), "give 1 to 9 procs");
    }
}
