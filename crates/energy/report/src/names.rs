//! Unique labels of runs and sources.

use super::labels::name;
use filermark_energy_data::reduce::WorkloadReduction;

/// The beginning of a simulator's location; its parameters follow.
const SIMULATOR: &str = "sim:";

/// The label of a run in headings, links and legends.
#[derive(Clone, Debug)]
pub struct RunNames {
    /// Its benchmark, and its run where several have the same: `SWBUILD lab, 10 drives`.
    pub title: String,
    /// Its run: `lab, 10 drives`.
    pub run: String,
}

impl RunNames {
    /// Both, where the title does not have the run already.
    pub fn both(&self) -> String {
        match self.title.contains(&self.run) {
            true => self.title.clone(),
            false => format!("{}, run {}", self.title, self.run),
        }
    }
}

/// The names of all runs, in their order.
pub fn of_runs(runs: &[WorkloadReduction]) -> Vec<RunNames> {
    let suffixes = suffixes(runs);
    let named = |(run, suffix): (&WorkloadReduction, &String)| {
        let same_title = runs.iter().filter(|r| key(r) == key(run)).count();
        let title = match run.benchmark.is_empty() {
            true => name(&run.name),
            false => name(&run.benchmark).to_uppercase(),
        };
        let repeats = key(run).eq_ignore_ascii_case(&run.name);
        let title = match (same_title < 2, repeats) {
            (true, _) => title,
            (false, true) => format!("{title}{suffix}"),
            (false, false) => format!("{title} {}{suffix}", name(&run.name)),
        };
        RunNames {
            title,
            run: format!("{}{suffix}", name(&run.name)),
        }
    };
    runs.iter().zip(&suffixes).map(named).collect()
}

/// The base of a run's title.
fn key(run: &WorkloadReduction) -> &str {
    match run.benchmark.is_empty() {
        true => &run.name,
        false => &run.benchmark,
    }
}

/// The suffix of a run's name that other runs have, too: its drives, and its place among
/// those with the same number of drives.
fn suffixes(runs: &[WorkloadReduction]) -> Vec<String> {
    let same = |a: &WorkloadReduction, b: &WorkloadReduction| {
        a.name == b.name && a.benchmark == b.benchmark
    };
    let suffix = |(place, run): (usize, &WorkloadReduction)| {
        let alike: Vec<(usize, &WorkloadReduction)> = runs
            .iter()
            .enumerate()
            .filter(|(_, other)| same(run, other))
            .collect();
        if alike.len() < 2 {
            return String::new();
        }
        let drives = run.drives.map(|d| format!(", {d} drives"));
        let mut same_drives = alike.iter().filter(|(_, other)| other.drives == run.drives);
        let number = 1 + same_drives
            .clone()
            .take_while(|(at, _)| *at < place)
            .count();
        let number = match same_drives.nth(1) {
            Some(_) => format!(" ({number})"),
            None => String::new(),
        };
        drives.unwrap_or_default() + &number
    };
    runs.iter().enumerate().map(suffix).collect()
}

/// The label of a source or of its line in a chart: its name, where it differs from its
/// location; a simulator without a name has no parameters. Sources that would then have
/// the same label keep their locations.
pub fn source(run: &WorkloadReduction, label: &str) -> String {
    let of_run = run.sources.iter();
    let short = of_run
        .clone()
        .find(|s| label == s.name || label == format!("{} ({})", s.name, s.location))
        .map(|s| short(&s.name));
    let Some(short) = short else {
        return name(label);
    };
    match of_run.filter(|s| self::short(&s.name) == short).count() {
        0 | 1 => name(short),
        _ => name(label),
    }
}

/// Without a simulator's parameters.
fn short(source: &str) -> &str {
    match source.starts_with(SIMULATOR) {
        true => SIMULATOR,
        false => source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_energy_data::reduce::testing::reduction;

    fn titles(runs: &[(&str, &str, Option<u32>)]) -> Vec<String> {
        let base = reduction().workloads.remove(3);
        let run = |(benchmark, name, drives): &(&str, &str, Option<u32>)| WorkloadReduction {
            benchmark: (*benchmark).into(),
            name: (*name).into(),
            drives: *drives,
            ..base.clone()
        };
        let runs: Vec<WorkloadReduction> = runs.iter().map(run).collect();
        of_runs(&runs).into_iter().map(|n| n.title).collect()
    }

    #[test]
    fn runs_of_one_name_are_distinguished_by_drives() {
        assert_eq!(
            titles(&[("vda", "x", None), ("vdi", "x", None)]),
            ["VDA", "VDI"]
        );
        assert_eq!(
            titles(&[("vda", "a", Some(10)), ("vda", "b", Some(20))]),
            ["VDA a", "VDA b"]
        );
        assert_eq!(
            titles(&[("nfs", "demo", Some(10)), ("nfs", "demo", Some(20))]),
            ["NFS demo, 10 drives", "NFS demo, 20 drives"]
        );
        assert_eq!(
            titles(&[("", "demo", Some(10)), ("", "demo", Some(20))]),
            ["demo, 10 drives", "demo, 20 drives"]
        );
        assert_eq!(
            titles(&[
                ("vda", "vda", None),
                ("vda", "vda", None),
                ("vda", "vda", Some(4))
            ]),
            ["VDA (1)", "VDA (2)", "VDA, 4 drives"]
        );
    }

    #[test]
    fn sources_are_labelled_with_their_name() {
        let mut run = reduction().workloads.remove(0);
        assert_eq!(source(&run, "wt310 (scpi://wt310:10001)"), "wt310");
        assert_eq!(source(&run, "power of the server"), "power of the server");
        run.sources[0].name = "sim:idle=200,seed=1".into();
        run.sources[0].location = run.sources[0].name.clone();
        assert_eq!(source(&run, "sim:idle=200,seed=1"), "sim:");
        let mut second = run.sources[0].clone();
        second.name = "sim:idle=300".into();
        second.location = second.name.clone();
        run.sources.push(second);
        assert_eq!(source(&run, "sim:idle=300"), "sim:idle=300");
    }
}
