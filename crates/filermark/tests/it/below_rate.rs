//! A server that cannot reach the rate: what all outputs of a run report.

use crate::filermark;
use crate::load_guard::{alone, when_quiet};
use crate::second_client::serve;
use crate::sweep::Sweep;
use filermark_model::{Rule, Severity};
use filermark_server::ServerOptions;

/// One GETATTR in 4 ms, one after the other: on any machine 250 op/s at most of the 300 that are
/// requested.
#[test]
fn alone_a_point_below_its_rate_is_reported_in_record_report_csv_and_verify() {
    let _turn = alone();
    let server = serve(ServerOptions {
        delay: "GETATTR=4ms".parse().expect("a delay"),
        queue: true,
        ..ServerOptions::default()
    });
    let sweep = Sweep::on(&server)
        .suffix("slow")
        .set("LOAD", 300)
        .set("PROCS", 2)
        .set("RUNTIME", 3)
        .set("PROC_PCNT_MIN", 1)
        .set("MIXFILE", "look.mix");
    std::fs::create_dir_all(sweep.result("")).expect("the result directory");
    let mix = "SFS MIXFILE VERSION 2\ngetattr 100%\n";
    std::fs::write(sweep.result("look.mix"), mix).expect("the mix file");
    when_quiet(|| {
        let ended = sweep.run();
        assert!(ended.is_complete(), "{}", ended.stderr);
        let point = ended.point(1);
        let stats = point.measured().expect("measured");
        assert_eq!(stats.error_count(), 0);
        let achieved = stats.achieved_ops_per_sec();
        assert!(achieved < 0.95 * 300.0, "{achieved}");
        let found = point.findings.iter().find(|f| f.rule == Rule::AchievedRate);
        let finding = found.expect("it is below its rate").clone();
        let text = format!("{achieved:.1} op/s were achieved of 300.0 requested");
        assert!(finding.message.starts_with(&text), "{finding}");
        // The point counts, unless this machine was at its limit: all files report that.
        let counts = finding.severity == Severity::Warning;
        let prefix = if counts {
            "# BELOW RATE: "
        } else {
            "# INVALID: "
        };
        let line = format!("{prefix}{} [achieved-rate]", finding.message);
        let sfssum = ended.file("sfssum");
        assert!(!counts || sfssum.contains(&line), "{line}\n{sfssum}");
        assert!(sfssum.contains(&finding.message), "{sfssum}");
        assert!(
            ended
                .file("html")
                .contains("were achieved of 300.0 requested")
        );
        let dir = sweep.dir().join("reported");
        std::fs::create_dir_all(&dir).expect("a directory");
        let record = "slow.run.jsonl";
        std::fs::copy(sweep.result(record), dir.join(record)).expect("the record");
        let report = filermark(&dir, &["report", record]);
        assert!(report.status.success(), "{report:?}");
        let csv = std::fs::read_to_string(dir.join("slow.csv")).expect("a table");
        assert!(csv.contains(",reasons,below_rate,run_verdict"), "{csv}");
        let field = format!(",\"{} [achieved-rate]\",", finding.message);
        assert!(!counts || csv.contains(&field), "{field}\n{csv}");
        assert!(csv.contains(&finding.message), "{csv}");
        let verified = filermark(&dir, &["verify", record]);
        let output_text = String::from_utf8_lossy(&verified.stdout).into_owned();
        assert!(verified.status.success(), "{output_text}");
        // The timers of a virtual machine may be late although its processors are idle. If the
        // delays add up to a tenth of what the procs lack, the point does not count.
        let is_late = point.findings.iter().any(|f| f.rule == Rule::Lateness);
        match is_late || (counts && point.is_valid()) {
            true => Ok(()),
            false => Err(format!("{:?}", point.findings)),
        }
    });
}
