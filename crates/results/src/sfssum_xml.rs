//! `sfssum_<suffix>.xml`: the content of `sfssum_<suffix>.txt` for programs: a
//! `<run>` per load point with the element and metric names of the 2014
//! generation (sources.md 3.9) below our own root element.

use crate::figures::plain;
use crate::record::{PointRecord, RunRecord, definition_fingerprint};
use crate::sfssum::reasons;
use crate::sfssum_txt::{INVALID_RUN, Row};
use filermark_model::composite::DataSet;
use filermark_model::text::one_line;
use filermark_model::{NOT_A_SPEC_RESULT, PointStats};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use std::io;

type Xml = Writer<Vec<u8>>;

/// The whole file.
pub fn sfssum_xml(record: &RunRecord) -> String {
    let mut xml = Writer::new_with_indent(Vec::new(), b' ', 2);
    // Writing into memory does not fail.
    let _ = document(&mut xml, record);
    let mut text = String::from_utf8(xml.into_inner()).unwrap_or_default();
    text.push('\n');
    text
}

fn document(xml: &mut Xml, record: &RunRecord) -> io::Result<()> {
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let version = one_line(&record.run.version);
    xml.create_element("filermark")
        .with_attribute(("version", version.as_str()))
        .write_inner_content(|xml| {
            element(xml, "notice", NOT_A_SPEC_RESULT)?;
            element(xml, "suffix", &record.run.suffix)?;
            element(xml, "started", &record.run.started.to_string())?;
            let verdict = record.verdict();
            element(xml, "verdict", verdict.label())?;
            for reason in verdict.reasons() {
                element(xml, "verdict_reason", reason)?;
            }
            for point in &record.points {
                run(xml, record, point)?;
            }
            Ok(())
        })?;
    Ok(())
}

fn element(xml: &mut Xml, name: &str, text: &str) -> io::Result<()> {
    let text = one_line(text);
    xml.create_element(name)
        .write_text_content(BytesText::new(&text))?;
    Ok(())
}

fn run(xml: &mut Xml, record: &RunRecord, point: &PointRecord) -> io::Result<()> {
    let benchmark = &record.run.plan.benchmark;
    let units = crate::figures::Planned::of(&record.run.plan, point.load).business_metric;
    xml.create_element("run").write_inner_content(|xml| {
        xml.create_element("benchmark")
            .with_attributes([
                ("name", one_line(&benchmark.name).as_str()),
                ("version", benchmark.version.to_string().as_str()),
                ("fingerprint", definition_fingerprint(benchmark).0.as_str()),
            ])
            .write_empty()?;
        xml.create_element("business_metric")
            .with_attribute(("unit", one_line(&benchmark.unit).as_str()))
            .write_text_content(BytesText::new(&plain(units)))?;
        let valid = if point.is_valid() { "" } else { INVALID_RUN };
        element(xml, "valid_run", valid)?;
        match (point.measured(), point.failure()) {
            (Some(stats), _) => {
                metrics(xml, record, point, stats)?;
                if !point.is_valid() {
                    element(xml, "reason", &reasons(point))?;
                }
            }
            (None, reason) => element(xml, "failure", reason.unwrap_or_default())?,
        }
        Ok(())
    })?;
    Ok(())
}

fn metrics(
    xml: &mut Xml,
    record: &RunRecord,
    point: &PointRecord,
    stats: &PointStats,
) -> io::Result<()> {
    let row = Row::of(record, point, stats);
    let mib = |bytes: u64| DataSet::mib(bytes).to_string();
    let three = |figure: f64| format!("{figure:.3}");
    for (name, units, value) in [
        ("op rate", "Ops/sec", format!("{:.2}", row.requested)),
        ("achieved rate", "Ops/sec", three(row.achieved)),
        ("average latency", "Milliseconds", three(row.mean_ms)),
        ("overall throughput", "KBps", three(row.moved.total())),
        ("read throughput", "KBps", three(row.moved.read)),
        ("write throughput", "KBps", three(row.moved.write)),
        ("run time", "Seconds", format!("{:.0}", row.run_seconds)),
        ("clients", "", row.client_count.to_string()),
        ("processes per client", "", row.procs_per_client.to_string()),
        ("file size", "KB", row.file_kib.to_string()),
        ("client data set size", "MiB", mib(row.data.client_bytes)),
        ("starting data set size", "MiB", mib(row.data.start_bytes)),
        ("initial file space", "MiB", mib(row.data.init_bytes)),
        ("maximum file space", "MiB", mib(row.data.max_bytes)),
    ] {
        xml.create_element("metric")
            .with_attributes([("name", name), ("units", units)])
            .write_text_content(BytesText::new(&value))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::composite::composite_record;
    use std::process::{Command, Stdio};

    /// Names of elements and texts, by a reader that checks the nesting.
    fn read(text: &str) -> Vec<String> {
        let mut reader = quick_xml::Reader::from_str(text);
        let mut all = Vec::new();
        loop {
            match reader.read_event().unwrap() {
                Event::Eof => return all,
                Event::Start(e) | Event::Empty(e) => {
                    all.push(e.name().as_ref().to_owned());
                }
                _ => {}
            }
        }
    }

    #[test]
    fn every_load_point_is_a_run() {
        let text = sfssum_xml(&composite_record());
        let names = read(&text);
        let count = |name: &str| names.iter().filter(|n| *n == name).count();
        assert_eq!(names[0], "filermark");
        assert_eq!(
            (count("run"), count("benchmark"), count("metric")),
            (4, 4, 42)
        );
        assert_eq!((count("reason"), count("failure")), (1, 1));
        assert_eq!(
            text.matches("<valid_run>INVALID_RUN</valid_run>").count(),
            2
        );
        assert!(text.contains("<business_metric unit=\"BUILD\">2</business_metric>"));
        let metric = "<metric name=\"maximum file space\" units=\"MiB\">9375</metric>";
        assert!(text.contains(metric), "{text}");
        assert!(text.contains(NOT_A_SPEC_RESULT));
    }

    /// An independent parser, Python's expat, reads it, with any text in the names.
    #[test]
    #[cfg_attr(windows, ignore = "a program of Windows cannot start Debian's python3")]
    fn odd_names_are_escaped_and_another_parser_reads_it() {
        let mut record = composite_record();
        record.run.plan.benchmark.name = "<a&\"'>\u{0}\u{ffff}ü".into();
        record.run.suffix = "]]>&amp;".into();
        let text = sfssum_xml(&record);
        read(&text);
        let script = "import sys,xml.dom.minidom as m;d=m.parse(sys.stdin.buffer);\
            print(d.getElementsByTagName('benchmark')[0].getAttribute('name'),end='')";
        let child = Command::new("python3")
            .args(["-c", script])
            .env("PYTHONIOENCODING", "utf-8")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.expect("python3 is in ci/apt-packages");
        io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
        let out = child.wait_with_output().unwrap();
        assert!(out.status.success());
        assert_eq!(
            String::from_utf8_lossy(&out.stdout),
            "<a&\"'>\u{fffd}\u{fffd}ü"
        );
    }
}
