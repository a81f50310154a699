//! Writes the report of the synthetic record, for a visual check:
//! `cargo run -p filermark-report --example synthetic -- report.html`; with
//! `build` or `vda` as further argument that of a composite, with `old` that of an older generation
//! with the historical systems. A name that ends in `.png` gets
//! the heat map of the peak.

use std::process::ExitCode;

fn main() -> ExitCode {
    let record = match std::env::args().nth(2).as_deref() {
        Some("build") => filermark_results::testing::composite::composite_record(),
        Some("old") => filermark_results::testing::heritage::heritage_record(),
        Some("vda") => filermark_results::testing::composite::stream_record(),
        _ => filermark_results::testing::record(),
    };
    let Some(path) = std::env::args_os().nth(1) else {
        print!("{}", filermark_report::summary(&record, true, 110));
        return ExitCode::SUCCESS;
    };
    if std::path::Path::new(&path).extension() == Some("png".as_ref()) {
        let heat = filermark_report::CHARTS.iter().find(|c| c.name == "heat");
        let svg = heat.and_then(|heat| filermark_report::chart_svg(&record, heat, None));
        let png = svg.and_then(|svg| filermark_report::chart_png(&svg).ok());
        return match png.map(|png| std::fs::write(&path, png)) {
            Some(Ok(())) => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        };
    }
    let old = record.run.plan.benchmark.heritage.is_some();
    let historical = filermark_results::Historical::shipped()
        .ok()
        .filter(|_| old);
    let templates = filermark_report::Templates::builtin();
    let options = filermark_report::ReportOptions {
        historical: historical.as_ref(),
        ..filermark_report::ReportOptions::new(&templates)
    };
    let page = filermark_report::html(&record, &options).map_err(|e| e.to_string());
    match page.and_then(|page| std::fs::write(&path, page).map_err(|e| e.to_string())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{}: {reason}", path.display());
            ExitCode::FAILURE
        }
    }
}
