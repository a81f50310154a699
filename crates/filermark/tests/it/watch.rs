//! `watch`: follows a run by the file of its events.

use crate::load_guard::beside_others;
use crate::report_browser::{POLICY, assert_fine};
use crate::second_client::serve;
use crate::sweep::Sweep;
use filermark_server::ServerOptions;
use filermark_testbed::{Browser, Scheme, available};
use rustix::process::Signal;

/// `watch` of the events of a run.
fn watch_of(run: &Sweep) -> Sweep {
    let events = run.dir().join("events");
    let watch = Sweep::bare().command("watch");
    watch.arg(events.display().to_string())
}

#[test]
fn watch_shows_a_run_to_its_end() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let run = Sweep::on(&server).set("RUNTIME", 600);
    let run = run.arg("--events").arg("events");
    let mut started = run.start();
    started.wait_for("] 100 op/s RUN");
    // It begins late: what was before is shown, too.
    let mut watching = watch_of(&run).start();
    watching.wait_for("[1/1] 100 op/s INIT\n");
    watching.wait_for("[1/1] 100 op/s RUN\n");
    // Another one is interrupted; the run goes on.
    let mut other = watch_of(&run).start();
    other.wait_for("] 100 op/s RUN");
    other.signal(Signal::INT);
    assert_eq!(other.wait().code, 130);
    assert!(!started.has_ended());
    started.signal(Signal::INT);
    assert_eq!(started.wait().code, 130);
    let ended = watching.wait();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    for wanted in ["FAILED: the run was interrupted", "\ninterrupted"] {
        assert!(ended.stderr.contains(wanted), "{wanted}: {}", ended.stderr);
    }
}

#[test]
fn watch_of_a_complete_run_prints_the_results_of_its_load_points() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let run = Sweep::on(&server).set("LOAD", "100 200");
    let printed = run.arg("--events").arg("events");
    let own = printed.succeed();
    let ended = watch_of(&printed).succeed();
    // The same lines as those of the run.
    let points = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.starts_with("point "));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(points(&ended.stderr), points(&own.stderr));
    assert_eq!(points(&ended.stderr).len(), 2, "{}", ended.stderr);
    assert!(ended.stderr.contains("\ncomplete, "), "{}", ended.stderr);
}

#[test]
fn watch_refuses_other_files() {
    let sweep = Sweep::bare().command("watch");
    sweep.write("rc", "LOAD=100\n");
    let refused = sweep.clone().arg("rc").fail(2);
    refused.assert_sentence(&["rc", "line 1", "run_began", "--events"]);
    let missing = sweep.arg("nowhere").fail(2);
    missing.assert_sentence(&["nowhere", "cannot be read", "--events"]);
}

/// The state of a page as a document of its own, for the checks of pages in files.
fn as_file(dom: &str) -> String {
    let style = include_str!("../../src/watch/page/page.css");
    let dom = dom.replace(
        "<link rel=\"stylesheet\" href=\"/page.css\">",
        &format!("{POLICY} content=\"connect-src 'none'\"><style>{style}</style>"),
    );
    dom.replace("<script src=\"/page.js\" defer=\"\"></script>", "")
}

#[test]
fn the_page_shows_a_run_in_a_browser() {
    let (Some(browser), Some(axe)) = (available(Browser::new()), available(Browser::axe())) else {
        return;
    };
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let run = Sweep::on(&server).set("LOAD", "100 200");
    let run = run.arg("--events").arg("events");
    let record = run.succeed().record();
    let watch = watch_of(&run).arg("--web").in_network_of(browser.sandbox());
    let mut watching = watch.start();
    watching.wait_for("the page stays at http://");
    let text = watching.stderr();
    let url = text.lines().find_map(|line| line.strip_prefix("page: "));
    let url = url.expect("an address").to_owned();
    let seen = browser.open_url(&url, Scheme::Light, (1280, 1000));
    let seen = seen.expect("it opens");
    // No error, no request that the policy refuses.
    assert!(seen.console.is_empty(), "{:?}", seen.console);
    for wanted in [
        "complete, ",
        "100 op/s",
        "200 op/s",
        "1 of 1 clients connected",
        "<circle",
        "<polyline",
    ] {
        assert!(seen.dom.contains(wanted), "{wanted}: {}", seen.dom);
    }
    assert_eq!(seen.dom.matches("<circle").count(), record.points.len());
    let dir = tempfile::tempdir().expect("a directory");
    let page = as_file(&seen.dom);
    for (scheme, width) in [(Scheme::Light, 1280), (Scheme::Dark, 400)] {
        assert_fine(&browser, dir.path(), &page, &axe, scheme, width);
    }
    watching.signal(Signal::INT);
    assert_eq!(watching.wait().code, 0);
}
