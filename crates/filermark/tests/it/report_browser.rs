//! The report in a browser: in both colour schemes, on a desktop and on a phone, printed; and
//! checked by axe-core.

use crate::report::write_record;
use crate::{filermark, stderr_text};
use filermark_results::RunRecord;
use filermark_results::testing::{self, composite};
use filermark_testbed::{Browser, Scheme, available};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

pub const POLICY: &str = "<meta http-equiv=\"Content-Security-Policy\"";

/// What is added to a copy of the page: axe-core, and a script that writes the results into the
/// document.
fn judged(page: &str, axe: &str) -> String {
    let script = "window.addEventListener('load', async () => {
        const found = {
            width: window.innerWidth,
            dark: matchMedia('(prefers-color-scheme: dark)').matches,
            loaded: performance.getEntriesByType('resource').map(e => e.name),
            document_width: document.documentElement.scrollWidth,
        };
        document.querySelectorAll('details').forEach(d => d.open = true);
        found.open_width = document.documentElement.scrollWidth;
        const result = await axe.run(document, {resultTypes: ['violations']});
        found.passes = result.passes.length;
        found.violations = result.violations.map(v =>
            [v.impact, v.id, v.nodes.length, v.nodes[0].html, v.nodes[0].failureSummary]);
        parent.postMessage(encodeURIComponent(JSON.stringify(found)), '*');
    });";
    let start = page.find(POLICY).expect("the page has a policy");
    let end = start + page[start..].find('>').expect("the policy ends") + 1;
    let own = format!("<script>{axe}</script><script>{script}</script>");
    format!("{}{own}{}", &page[..start], &page[end..])
}

/// A page around it with the requested width (windows cannot be as narrow as a phone), which keeps
/// the results of the script.
fn frame(width: u32) -> String {
    format!(
        "<!doctype html><style>:root {{ color-scheme: light dark }} body {{ margin: 0 }}</style>
        <script>addEventListener('message', e => document.body.dataset.found = e.data)</script>
        <iframe src='page.html' width={width} height=900 style='border: 0'></iframe>"
    )
}

/// Opens a page in a frame; returns the results, and the console's lines.
fn judge(
    browser: &Browser,
    dir: &Path,
    page: &str,
    scheme: Scheme,
    width: u32,
) -> (Value, Vec<String>) {
    std::fs::write(dir.join("page.html"), page).expect("written");
    let file = dir.join("frame.html");
    std::fs::write(&file, frame(width)).expect("written");
    let seen = browser.open(&file, scheme, (1300, 1000)).expect("it opens");
    (found(&seen.dom), seen.console)
}

/// The results of the script, from the document around the page.
fn found(dom: &str) -> Value {
    let text = dom.split("data-found=\"").nth(1).expect("the script ran");
    let text = text.split('"').next().unwrap_or_default();
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let hex = [rest.next(), rest.next()].map(Option::unwrap_or_default);
                let hex = String::from_utf8_lossy(&hex).into_owned();
                u8::from_str_radix(&hex, 16).expect("two digits")
            }
            byte => byte,
        });
    }
    serde_json::from_slice(&bytes).expect("it is JSON")
}

fn page_of(dir: &Path, record: &RunRecord, args: &[&str]) -> String {
    write_record(record, &dir.join("r.run.jsonl"));
    let all: Vec<&str> = [&["report", "-f", "html", "r.run.jsonl"], args].concat();
    let output = filermark(dir, &all);
    assert!(output.status.success(), "{}", stderr_text(&output));
    String::from_utf8(output.stdout).expect("a page")
}

/// Checks a page in one scheme at one width.
pub fn assert_fine(
    browser: &Browser,
    dir: &Path,
    page: &str,
    axe: &str,
    scheme: Scheme,
    width: u32,
) {
    let (found, console) = judge(browser, dir, &judged(page, axe), scheme, width);
    let place = format!("{scheme:?}, {width} wide");
    assert_eq!(found["width"], width, "{place}");
    assert_eq!(found["dark"], scheme == Scheme::Dark, "{place}");
    assert_eq!(found["document_width"], width, "{place}: it overflows");
    assert_eq!(
        found["open_width"], width,
        "{place}: it overflows with open details"
    );
    assert!(
        found["passes"].as_u64() > Some(10),
        "{place}: axe did nothing"
    );
    assert_eq!(
        found["violations"],
        serde_json::json!([]),
        "{place}: {:#}",
        found["violations"]
    );
    assert_eq!(
        found["loaded"],
        serde_json::json!([]),
        "{place}: it loads something"
    );
    assert!(console.is_empty(), "{place}: {console:?}");
}

#[test]
fn the_page_is_correct_in_both_schemes_on_a_desktop_and_on_a_phone() {
    let (Some(browser), Some(axe)) = (available(Browser::new()), available(Browser::axe())) else {
        return;
    };
    let dir = tempfile::tempdir().expect("a directory");
    let page = page_of(dir.path(), &testing::record(), &[]);
    let fine = |page: &str, scheme, width| {
        assert_fine(&browser, dir.path(), page, &axe, scheme, width);
    };
    fine(&page, Scheme::Light, 1280);
    fine(&page, Scheme::Dark, 390);
    let page = page_of(dir.path(), &composite::composite_record(), &["-r"]);
    fine(&page, Scheme::Dark, 1280);
    fine(&page, Scheme::Light, 390);
    // Unchanged, with its policy: no output on the console.
    let file = dir.path().join("page.html");
    std::fs::write(&file, &page).expect("written");
    let seen = browser
        .open(&file, Scheme::Light, (1280, 900))
        .expect("it opens");
    assert!(
        seen.dom.contains("</footer>") && seen.console.is_empty(),
        "{:?}",
        seen.console
    );
}

/// The checks work: each kind of error in a page is found.
#[test]
fn errors_in_a_page_are_found() {
    let (Some(browser), Some(axe)) = (available(Browser::new()), available(Browser::axe())) else {
        return;
    };
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("page.html");
    let wrong = format!(
        "<!doctype html><html><head>{POLICY} content=\"\"></head><body style='min-width:2000px'>\
         <p style='color:#ddd;background:#fff'>pale</p><img src='http://192.0.2.1/none.png'>\
         <script>console.error('a complaint')</script></body></html>"
    );
    let (found, console) = judge(
        &browser,
        dir.path(),
        &judged(&wrong, &axe),
        Scheme::Light,
        390,
    );
    assert!(found["document_width"].as_u64() >= Some(2000), "{found}");
    assert!(
        console.iter().any(|l| l.contains("a complaint")),
        "{console:?}"
    );
    assert_eq!(found["loaded"][0], "http://192.0.2.1/none.png");
    let text = found["violations"].to_string();
    for rule in ["color-contrast", "image-alt", "html-has-lang"] {
        assert!(text.contains(rule), "{rule}: {text}");
    }
    // The policy of a report does not allow scripts.
    let page = page_of(dir.path(), &testing::record(), &[]);
    let script = "<script>document.title = 'taken over'</script></head>";
    std::fs::write(&file, page.replacen("</head>", script, 1)).expect("written");
    let seen = browser
        .open(&file, Scheme::Light, (1280, 900))
        .expect("it opens");
    assert!(!seen.dom.contains("<title>taken over"), "the script ran");
    assert!(!seen.console.is_empty(), "it was refused without a word");
}

#[test]
fn the_page_is_printed_with_all_that_is_folded_on_the_screen() {
    if available(Browser::new()).is_none() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    write_record(&testing::record(), &dir.path().join("r.run.jsonl"));
    let temporary = tempfile::tempdir().expect("a directory");
    let output = Command::new(env!("CARGO_BIN_EXE_filermark"))
        .args(["report", "-f", "pdf", "-o", "r.pdf", "r.run.jsonl"])
        .current_dir(dir.path())
        .env("TMPDIR", temporary.path())
        .output()
        .expect("it starts");
    assert!(output.status.success(), "{}", stderr_text(&output));
    assert_eq!(stderr_text(&output), "Creating r.pdf\n");
    let text = Command::new("pdftotext")
        .args(["-layout", "r.pdf", "-"])
        .current_dir(dir.path())
        .output()
        .expect("pdftotext");
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    for output_text in ["General file server", "INVALID", "not a SPEC result"] {
        assert!(text.contains(output_text), "{output_text}: {text}");
    }
    // In two charts, and in every load point's table of operations.
    assert_eq!(text.matches("readdirplus").count(), 13, "{text}");
    let is_whole = |l: &&str| {
        let mut cells = l.split_whitespace();
        cells.next() == Some("getattr") && cells.count() == 13
    };
    let whole = text.lines().filter(is_whole).count();
    assert_eq!(whole, 11, "a table is cut off: {text}");
    // No files are left of it.
    let left = std::fs::read_dir(temporary.path()).expect("the directory");
    let own = |n: &std::ffi::OsString| n.to_string_lossy().starts_with("filermark-");
    let names: Vec<_> = left.flatten().map(|e| e.file_name()).filter(own).collect();
    assert!(names.is_empty(), "{names:?}");
}

#[test]
fn without_a_browser_the_message_states_what_to_do() {
    let dir = tempfile::tempdir().expect("a directory");
    write_record(&testing::record(), &dir.path().join("r.run.jsonl"));
    let of = |args: &[&str]| {
        let all: Vec<&str> =
            [&["report", "-f", "pdf", "-o", "r.pdf", "r.run.jsonl"], args].concat();
        let output = Command::new(env!("CARGO_BIN_EXE_filermark"))
            .args(all)
            .current_dir(dir.path())
            .env_remove("FILERMARK_BROWSER")
            .env("PATH", "/nowhere")
            .output()
            .expect("it starts");
        assert_eq!(output.status.code(), Some(1));
        stderr_text(&output)
    };
    assert!(of(&[]).contains("install chromium"), "{}", of(&[]));
    let output_text = of(&["--browser", "/no/such/browser"]);
    assert!(
        output_text.contains("/no/such/browser cannot be started"),
        "{output_text}"
    );
    assert!(!dir.path().join("r.pdf").exists());
}

/// The disclosure with its record, and a comparison.
#[test]
fn disclosures_and_comparisons_are_correct_too() {
    let (Some(browser), Some(axe)) = (available(Browser::new()), available(Browser::axe())) else {
        return;
    };
    let dir = tempfile::tempdir().expect("a directory");
    let fine = |page: &str, scheme, width| {
        assert_fine(&browser, dir.path(), page, &axe, scheme, width);
    };
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/submission");
    for file in [
        "example.xml",
        "sfssum.example",
        "example_rc",
        "example.run.jsonl",
        "example_config.png",
    ] {
        std::fs::copy(shipped.join(file), dir.path().join(file)).expect(file);
    }
    let run = |args: &[&str]| {
        let output = filermark(dir.path(), args);
        let output_text = stderr_text(&output);
        assert!(output.status.success(), "{args:?}: {output_text}");
        String::from_utf8(output.stdout).expect("text")
    };
    run(&[
        "subedit",
        "-b",
        "-o",
        "sub.xml",
        "-i",
        "example.xml",
        "sfssum.example",
        "example_rc",
    ]);
    let page = run(&["report", "-f", "html", "-r", "sub.xml"]);
    assert!(
        page.contains("What was measured"),
        "the record's sections are missing"
    );
    fine(&page, Scheme::Light, 390);
    fine(&page, Scheme::Dark, 1280);
    let record = "example.run.jsonl";
    let page = run(&["compare", "-f", "html", record, record]);
    fine(&page, Scheme::Dark, 390);
    fine(&page, Scheme::Light, 1280);
}
