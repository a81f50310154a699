//! Small helpers of the text renderers.

use filermark_model::{Benchmark, Finding, RunPlan, Severity};

// Used by the energy crates.
pub use filermark_model::text::one_line;

/// The benchmark of a run, with the version of NFS where it is not the one that its title names.
pub fn benchmark(plan: &RunPlan) -> String {
    let Benchmark {
        name,
        version,
        title,
        ..
    } = &plan.benchmark;
    let protocol = plan.driver.describe().protocol;
    match protocol.starts_with("NFS") && !title.contains(&protocol) {
        true => format!("{name} version {version} over {protocol}"),
        false => format!("{name} version {version}"),
    }
}

/// A finding on one line: its sentence, and its rule.
pub fn finding_line(finding: &Finding) -> String {
    format!("{} [{}]", one_line(&finding.message), finding.rule)
}

/// The severity of a finding, in one word.
pub const fn severity_label(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Invalid => "invalid",
    }
}

/// Load points in a sentence: `load point 3`, `load points 1, 2`, `load points 1, 4–6`; if
/// these are all `planned` ones, `all 10 load points`.
pub fn load_points(numbers: &[u32], planned: Option<usize>) -> String {
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for number in numbers.iter().copied() {
        match spans.last_mut() {
            Some((_, last)) if last.saturating_add(1) == number => *last = number,
            _ => spans.push((number, number)),
        }
    }
    let span = |(first, last): &(u32, u32)| match last - first {
        0 => format!("{first}"),
        1 => format!("{first}, {last}"),
        _ => format!("{first}–{last}"),
    };
    let spans: Vec<String> = spans.iter().map(span).collect();
    let spans = spans.join(", ");
    match numbers.len() {
        1 => format!("load point {spans}"),
        count if planned == Some(count) => format!("all {count} load points"),
        _ => format!("load points {spans}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{benchmark, load_points};
    use crate::testing;
    use filermark_model::plan::{DriverPlan, NfsVersion};

    #[test]
    fn a_benchmark_over_another_version_of_nfs_names_it() {
        let mut plan = testing::plan();
        assert_eq!(benchmark(&plan), "general-nfs3 version 2");
        let DriverPlan::Nfs(nfs) = &mut plan.driver else {
            panic!("{:?}", plan.driver);
        };
        nfs.version = NfsVersion::V41;
        assert_eq!(benchmark(&plan), "general-nfs3 version 2 over NFSv4.1");
    }

    #[test]
    fn load_points_are_listed_as_ranges() {
        let cases: [(&[u32], &str); 6] = [
            (&[3], "load point 3"),
            (&[1, 2], "load points 1, 2"),
            (&[2, 3, 4], "load points 2–4"),
            (&[1, 4, 5, 6], "load points 1, 4–6"),
            (&[u32::MAX], "load point 4294967295"),
            (&[1, 2, 3, 4, 5], "all 5 load points"),
        ];
        for (numbers, expected) in cases {
            assert_eq!(load_points(numbers, Some(5)), expected);
        }
        assert_eq!(load_points(&[1], Some(1)), "load point 1");
        assert_eq!(load_points(&[1, 2, 3], None), "load points 1–3");
    }
}
