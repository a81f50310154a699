//! Compares the renderings of the made-up reduction and of unusual ones.

use super::*;
use filermark_energy_data::reduce::testing::{SEED_ROWS, reduction};
use filermark_energy_data::reduce::{
    BestFoot, DriveEfficiency, PointEfficiency, Reduction, Series, SeriesKind, Stats,
    WorkloadReduction,
};
use filermark_model::NOT_A_SPEC_RESULT;
use filermark_results::Timestamp;

/// Compares with a file of `tests/golden`, or makes it with `UPDATE_GOLDEN=1`.
fn golden(name: &str, text: &str) {
    filermark_results::testing::golden(env!("CARGO_MANIFEST_DIR"), name, text);
}

/// Golden files do not change with the program's version.
fn without_version(text: &str) -> String {
    text.replace(env!("CARGO_PKG_VERSION"), "VERSION")
}

/// All renderings that are text.
fn all(reduction: &Reduction) -> Vec<String> {
    vec![
        html(reduction).unwrap(),
        text(reduction, 100),
        csv(reduction),
        json(reduction).to_string(),
    ]
}

/// The contents of the workbook's files.
fn workbook(reduction: &Reduction) -> String {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.xlsx");
    std::fs::write(&path, xlsx(reduction).unwrap()).unwrap();
    let out = std::process::Command::new("unzip")
        .arg("-p")
        .arg(&path)
        .output()
        .unwrap();
    assert!(out.status.success());
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn renderings_match_the_golden_files() {
    let mut reduction = reduction();
    golden("energy.txt", &text(&reduction, 100));
    golden("energy.csv", &csv(&reduction));
    // A golden page with all of the series would be too long to review.
    for series in reduction.workloads.iter_mut().flat_map(|r| &mut r.series) {
        let kept = series.values.iter().step_by(26).copied().collect();
        series.values = kept;
    }
    golden("energy.html", &without_version(&html(&reduction).unwrap()));
    let json = format!("{:#}\n", json(&reduction));
    golden("energy.json", &without_version(&json));
}

#[test]
fn the_seeds_rows_are_in_every_rendering() {
    let reduction = reduction();
    let (page, text, csv) = (
        html(&reduction).unwrap(),
        text(&reduction, 100),
        csv(&reduction),
    );
    for (run, mib_per_s, power_w, efficiency) in SEED_ROWS {
        let row = format!("{run}</th><td>{mib_per_s}</td><td>{power_w}</td><td>{efficiency}</td>");
        assert!(page.contains(&row), "{row}");
        let squeezed = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let row = format!(" {run} {mib_per_s} {power_w} {efficiency} ");
        assert!(squeezed.contains(&row), "{row}");
        let row = csv
            .lines()
            .find(|l| l.starts_with(&format!("swbuild,swbuild,{run},")))
            .unwrap();
        assert_eq!(row.split(',').nth(7), Some(efficiency), "{row}");
    }
    for maximum in [
        "13.83 MiB/sec/Watt",
        "18.75 MiB/sec/Watt",
        "20.20 MiB/sec/Watt",
    ] {
        assert!(
            page.contains(maximum) && text.contains(maximum),
            "{maximum}"
        );
    }
}

#[test]
fn the_page_is_self_contained() {
    let page = html(&reduction()).unwrap();
    for foreign in ["http://", "https://", "src=", "@import", "url(", "<script"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    let mut seen = std::collections::BTreeSet::new();
    for piece in page.split(" id=\"").skip(1) {
        let id = piece.split('"').next().unwrap();
        assert!(seen.insert(id), "twice: {id}");
    }
    for link in page.split("href=\"#").skip(1) {
        let name = link.split('"').next().unwrap();
        assert!(seen.contains(name), "{name}");
    }
}

#[test]
fn made_up_figures_and_notices_are_in_every_rendering() {
    let with = reduction();
    let mut without = reduction();
    without.simulated = false;
    without.findings.clear();
    for run in &mut without.workloads {
        run.simulated = false;
        run.sources.iter_mut().for_each(|s| s.simulated = false);
    }
    for (with, without) in all(&with).iter().zip(all(&without)) {
        assert!(with.contains(NOT_A_SPEC_RESULT));
        let marked = |t: &str| {
            let t = t.to_lowercase();
            t.contains(SIMULATED) || t.contains("\"simulated\":true") || t.contains(",true,this is")
        };
        assert!(marked(with), "{with}");
        assert!(!marked(&without), "{without}");
    }
    assert!(workbook(&with).contains(SIMULATED));
    assert!(!workbook(&without).contains(SIMULATED));
    let marks = html(&with)
        .unwrap()
        .matches("badge warning\">simulated")
        .count();
    assert!(marks >= 8, "{marks}");
}

#[test]
fn the_json_matches_its_schema() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../schema/energy-report-v1.json")).unwrap();
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("s.json", schema).unwrap();
    let mut schemas = boon::Schemas::new();
    let index = compiler.compile("s.json", &mut schemas).unwrap();
    for reduction in [reduction(), Reduction::default()] {
        let value = json(&reduction);
        schemas
            .validate(&value, index)
            .unwrap_or_else(|e| panic!("{e}"));
    }
    let mut wrong = json(&reduction());
    wrong["workloads"][0]["points"][0]["number"] = "one".into();
    assert!(schemas.validate(&wrong, index).is_err());
}

#[test]
fn one_number_of_drives_is_a_sentence_and_no_section() {
    let mut reduction = reduction();
    let plan = &mut reduction.best_foot[0];
    plan.measured = vec![plan.measured.remove(2)];
    (plan.best, plan.enclosed) = (Some(0), false);
    let sentence = "Best foot forward, SWBUILD: one number of drives was measured (24); measure others: 14 and 28 drives.";
    let page = html(&reduction).unwrap();
    assert!(page.contains(sentence) && !page.contains("id=\"best-foot\""));
    assert!(!page.contains("Measure next"));
    let text = text(&reduction, 100);
    assert!(text.contains(sentence) && !text.contains("BEST FOOT FORWARD"));
}

#[test]
fn runs_of_one_name_are_distinguished_in_every_rendering() {
    let mut reduction = reduction();
    reduction.workloads.truncate(1);
    let mut second = reduction.workloads[0].clone();
    second.drives = Some(36);
    reduction.workloads.push(second);
    let page = html(&reduction).unwrap();
    let book = workbook(&reduction);
    for drives in [24, 36] {
        let title = format!("SWBUILD, {drives} drives");
        // Contents, heading of the workload, head of the summary, legend, time line.
        assert!(page.matches(&title).count() >= 5, "{title}");
        assert!(text(&reduction, 100).contains(&format!("{title}, run swbuild, {drives} drives")));
        assert!(
            book.contains(&format!("<sheet name=\"{title}\"")),
            "{title}"
        );
    }
}

#[test]
fn the_time_at_rest_is_shaded_where_the_log_has_no_phase_of_it() {
    let mut reduction = reduction();
    reduction.workloads.truncate(1);
    let run = &mut reduction.workloads[0];
    run.phases.retain(|p| p.point > 0);
    let label = "at rest: 2018-03-12 13:14:26 UTC, 600 s";
    assert!(html(&reduction).unwrap().contains(label));
    reduction.workloads[0].idle = None;
    assert!(!html(&reduction).unwrap().contains(label));
}

#[test]
fn only_plain_suffixes_are_links_to_the_runs_page() {
    let mut reduction = reduction();
    let page = html(&reduction).unwrap();
    assert!(page.contains("<a href=\"swbuild.html\">swbuild.html</a>"));
    for name in ["../secret", "javascript:alert(1)//", ".hidden", "", "a b"] {
        reduction.workloads[0].name = name.into();
        let page = html(&reduction).unwrap();
        assert!(!page.contains(&format!("href=\"{name}.html")), "{name}");
    }
}

/// A run of which only the name is known.
fn bare(name: &str) -> WorkloadReduction {
    let mut run = reduction().workloads.remove(3);
    run.name = name.into();
    run.benchmark = String::new();
    run.points.clear();
    run.phases.clear();
    run.findings.clear();
    run
}

fn bare_point(number: u32) -> PointEfficiency {
    let mut point = reduction().workloads.remove(3).points.remove(0);
    point.number = number;
    (point.load, point.achieved_ops_per_s, point.latency_ms_mean) = (None, None, None);
    (point.began, point.ended) = (None, None);
    point
}

#[test]
fn missing_figures_still_give_a_report() {
    let mut only_none = bare("none");
    only_none.points = vec![bare_point(1)];
    only_none.best = Some(99);
    let mut nan = reduction().workloads.remove(0);
    let wrong = Stats {
        mean: f64::NAN,
        min: f64::INFINITY,
        coverage: f64::NAN,
        ..nan.points[0].power_w.unwrap()
    };
    for point in &mut nan.points {
        point.power_w = Some(wrong);
        point.mib_per_s_per_w = Some(f64::NAN);
        point.load = Some(f64::INFINITY);
    }
    nan.series[0].values[3].1 = Some(f64::NAN);
    let plan = BestFoot {
        benchmark: String::new(),
        measured: vec![DriveEfficiency {
            drives: 0,
            mib_per_s_per_w: f64::NAN,
            run: "x".into(),
        }],
        best: Some(7),
        enclosed: false,
        low: None,
        high: None,
        next: Vec::new(),
    };
    for reduction in [
        Reduction::default(),
        Reduction {
            workloads: vec![bare("a"), only_none, nan],
            best_foot: vec![plan],
            ..Reduction::default()
        },
    ] {
        for text in all(&reduction).iter().take(3) {
            for wrong in ["NaN", "inf ", ">inf", "inf<", "Infinity"] {
                assert!(!text.contains(wrong), "{wrong}");
            }
        }
        let book = workbook(&reduction);
        assert!(!book.contains("NaN") && !book.contains("#NUM"));
    }
}

#[test]
fn names_are_never_markup_and_the_size_has_limits() {
    let hostile = format!(
        "</title><script>alert(1)</script>\u{1b}[2J{}",
        "x".repeat(5_000)
    );
    let mut run = reduction().workloads.remove(0);
    (run.name, run.benchmark) = (hostile.clone(), hostile.clone());
    run.load_unit = hostile.clone();
    run.sources[0].name = hostile.clone();
    run.events
        .push((Timestamp::from_unix_seconds(0.0), hostile.clone()));
    let began = run.series[0].values[0].0;
    run.series = (0..40)
        .map(|i| Series {
            kind: if i == 0 {
                SeriesKind::Power
            } else {
                SeriesKind::Meter
            },
            label: hostile.clone(),
            unit: "W".into(),
            values: (0..2_000)
                .map(|n| (began.plus_seconds(f64::from(n)), Some(f64::from(n % 97))))
                .collect(),
        })
        .collect();
    let point = run.points[0].clone();
    run.points = (1..=400)
        .map(|number| PointEfficiency {
            number,
            ..point.clone()
        })
        .collect();
    run.best = Some(399);
    // A page of many runs with many load points has a limited size.
    let reduction = Reduction {
        workloads: vec![run; 2],
        ..Reduction::default()
    };
    let page = html(&reduction).unwrap();
    assert!(!page.contains("<script") && !page.contains('\u{1b}'));
    assert!(page.len() < 4_000_000, "{}", page.len());
    assert!(!text(&reduction, 80).contains('\u{1b}'));
    assert!(xlsx(&reduction).is_ok());
}

#[test]
fn the_workbook_is_sound_and_always_the_same() {
    let reduction = reduction();
    let bytes = xlsx(&reduction).unwrap();
    assert_eq!(bytes, xlsx(&reduction).unwrap());
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.xlsx");
    std::fs::write(&path, &bytes).unwrap();
    // Independent readers: the archive by unzip, the sheets by xmllint.
    let run = |program: &str, args: &[&str]| {
        let out = std::process::Command::new(program)
            .args(args)
            .current_dir(dir.path())
            .output()
            .unwrap_or_else(|e| panic!("{program}: {e}"));
        assert!(out.status.success(), "{program}: {out:?}");
        String::from_utf8(out.stdout).unwrap()
    };
    run("unzip", &["-q", "a.xlsx", "-d", "book"]);
    let names = run(
        "xmllint",
        &[
            "--xpath",
            "//*[local-name()='sheet']/@name",
            "book/xl/workbook.xml",
        ],
    );
    for name in [
        "Summary",
        "SWBUILD",
        "VDI",
        "VDA",
        "DATABASE",
        "Series",
        "Findings",
        "Best foot",
        "Sources",
    ] {
        assert!(names.contains(&format!("name=\"{name}\"")), "{names}");
    }
    // The seed's table as numbers: columns B to D of the second sheet, from its fifth row.
    for (row, (_, mib_per_s, power_w, efficiency)) in (5..).zip(SEED_ROWS) {
        let cell = |column: &str| {
            let path = format!("string(//*[local-name()='c'][@r='{column}{row}']/*)");
            let value = run(
                "xmllint",
                &["--xpath", &path, "book/xl/worksheets/sheet2.xml"],
            );
            value.trim().parse::<f64>().unwrap()
        };
        assert_eq!(format!("{:.0}", cell("B")), mib_per_s);
        assert_eq!(format!("{:.0}", cell("C")), power_w);
        assert_eq!(format!("{:.2}", cell("D")), efficiency);
    }
}
