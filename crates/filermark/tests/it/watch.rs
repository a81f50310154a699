//! `watch`: follows a run by the file of its events, or by its port.

use crate::load_guard::beside_others;
use crate::metrics::ask;
use crate::report_browser::{POLICY, assert_fine};
use crate::second_client::serve;
use crate::sweep::{Started, Sweep};
use crate::terminal::Terminal;
use filermark_server::ServerOptions;
use filermark_testbed::{Browser, Scheme, available};
use rustix::process::Signal;
use std::io::Write;

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
fn watch_names_the_steps_of_a_search_as_the_run_does() {
    let _turn = beside_others();
    let server = serve(ServerOptions {
        capacity_ops: Some("300".parse().expect("a rate")),
        ..ServerOptions::default()
    });
    let run = Sweep::on(&server)
        .set("LOAD", "search")
        .set("FILESET_MB_PER_OP", 0.02)
        .set("ACHIEVED_PCNT_MIN", 50)
        .set("SEARCH_FIRST", 100)
        .set("SEARCH_RUNTIME", 0.5)
        .set("SEARCH_SWEEP", "off")
        .set("RUNTIME", 0.5);
    let run = run.arg("--events").arg("events");
    let own = run.run();
    let ended = watch_of(&run).succeed();
    let steps = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.starts_with("[search "));
        lines.map(str::to_owned).collect()
    };
    let wanted = "[search 1] 100 op/s INIT";
    assert!(steps(&own.stderr).iter().any(|l| l == wanted));
    assert_eq!(steps(&ended.stderr), steps(&own.stderr));
}

#[test]
fn watch_of_a_pipe_ends_at_a_signal() {
    let events = include_str!("../../src/metrics/tests/events.jsonl");
    let fifo = Sweep::bare().command("watch").arg("fifo");
    let path = fifo.dir().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("mkfifo").success());
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let writer = std::fs::File::options().read(true).write(true).open(&path);
        let mut writer = writer.expect("it opens");
        let mut watching = fifo.start();
        writer.write_all(events.as_bytes()).expect("written");
        watching.wait_for("[2/2] 200 op/s RUN");
        watching.signal(signal);
        assert_eq!(watching.wait().code, code);
    }
}

/// A run that offers its events at a port, and the port.
fn offered(run: &Sweep) -> (Started, String) {
    let mut started = run.start();
    started.wait_for("/metrics\n");
    let text = started.stderr();
    let url = text.lines().find_map(|l| l.strip_prefix("metrics: "));
    let url = url.and_then(|l| l.strip_suffix("/metrics"));
    let (_, port) = url.and_then(|l| l.rsplit_once(':')).expect("an address");
    let port = port.to_owned();
    (started, port)
}

fn attach(port: &str) -> Sweep {
    Sweep::bare().command("watch").arg("--attach").arg(port)
}

#[test]
fn watch_attaches_to_a_run_by_its_port() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let run = Sweep::on(&server).set("RUNTIME", 600);
    let (mut started, port) = offered(&run.arg("--metrics").arg("0"));
    started.wait_for("] 100 op/s RUN");
    // It begins late: what was before is shown, too.
    let mut watching = attach(&port).start();
    watching.wait_for("[1/1] 100 op/s INIT\n");
    watching.wait_for("[1/1] 100 op/s RUN\n");
    // Another one, by the address, is interrupted; the run goes on.
    let url = format!("http://127.0.0.1:{port}");
    let mut other = Sweep::bare().command("watch").arg(url).start();
    other.wait_for("] 100 op/s RUN");
    other.signal(Signal::INT);
    assert_eq!(other.wait().code, 130);
    assert!(!started.has_ended());
    let mut page = attach(&port).arg("--web").start();
    page.wait_for("page: http://");
    let text = page.stderr();
    let address = text.lines().find_map(|l| l.strip_prefix("page: http://"));
    let address = address
        .expect("an address")
        .trim_end_matches('/')
        .to_owned();
    page.wait_until("the page follows", |_| {
        ask(&address, "/state.json", "").contains("\"status\":\"RUN of load point 1\"")
    });
    started.signal(Signal::INT);
    assert_eq!(started.wait().code, 130);
    page.wait_for("the page stays at http://");
    assert!(ask(&address, "/state.json", "").contains("\"is_over\":true"));
    page.signal(Signal::INT);
    assert_eq!(page.wait().code, 0);
    let ended = watching.wait();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    for wanted in ["FAILED: the run was interrupted", "\ninterrupted"] {
        assert!(ended.stderr.contains(wanted), "{wanted}: {}", ended.stderr);
    }
    let late = attach(&port).fail(1);
    late.assert_sentence(&["cannot be read", "--metrics", &port]);
}

#[test]
fn watch_on_a_terminal_follows_all_parts_of_quick() {
    let _turn = beside_others();
    let quick = Sweep::bare().command("quick");
    std::fs::create_dir(quick.dir().join("data")).expect("a directory");
    let (started, port) = offered(&quick.args("data 12s --metrics 0"));
    let mut terminal = Terminal::start(&attach(&port), 80, &[]);
    assert!(terminal.wait().success(), "{:#?}", terminal.lines());
    let lines = terminal.lines();
    let count = |front: &str| lines.iter().filter(|l| l.starts_with(front)).count();
    for part in ["METADATA", "RANDOM", "SEQUENTIAL", "MIX"] {
        assert_eq!(count(&format!("QUICK_{part} quick-")), 1, "{lines:#?}");
    }
    assert_eq!(count("complete, "), 4, "{lines:#?}");
    assert_eq!(terminal.cursor_column(), 0);
    let ended = started.wait();
    assert!(matches!(ended.code, 0 | 4), "{}", ended.stderr);
}

#[test]
fn watch_reports_a_run_that_was_killed() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let run = Sweep::on(&server).set("RUNTIME", 600);
    let (started, port) = offered(&run.arg("--metrics").arg("0"));
    let mut watching = attach(&port).start();
    watching.wait_for("] 100 op/s RUN");
    started.signal(Signal::KILL);
    let ended = watching.wait();
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    ended.assert_sentence(&[&port, "ends before the end of the run"]);
    started.wait();
}

#[test]
fn watch_needs_the_token_of_the_run() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let run = Sweep::on(&server).set("RUNTIME", 600);
    let token = "0123456789abcdef0123456789abcdef";
    let run = run.env("FILERMARK_METRICS_TOKEN", token);
    let (started, port) = offered(&run.arg("--metrics").arg("0"));
    let refused = attach(&port).fail(1);
    refused.assert_sentence(&[
        "a token is needed",
        "--metrics-token-file",
        "FILERMARK_METRICS_TOKEN",
    ]);
    let with = attach(&port);
    with.write("token", token);
    let mut watching = with.args("--metrics-token-file token").start();
    watching.wait_for("] 100 op/s RUN");
    started.signal(Signal::INT);
    assert_eq!(started.wait().code, 130);
    assert_eq!(watching.wait().code, 0);
    // Of a file no token is needed.
    let useless = Sweep::bare()
        .command("watch")
        .args("--metrics-token-file token events");
    useless
        .fail(2)
        .assert_sentence(&["--metrics-token-file", "--attach"]);
    let port = attach("0").fail(2).stderr;
    assert!(port.contains("--attach") && port.contains("9464"), "{port}");
    let secure = Sweep::bare().command("watch").arg("https://prime:9464");
    secure
        .fail(2)
        .assert_sentence(&["https://prime:9464", "http://127.0.0.1:9464"]);
}

#[test]
fn watch_refuses_other_files() {
    let sweep = Sweep::bare().command("watch");
    sweep.write("rc", "LOAD=100\n");
    let refused = sweep.clone().arg("rc").fail(2);
    refused.assert_sentence(&["rc", "line 1", "run_began", "--events"]);
    let nothing = sweep.clone().fail(2);
    nothing.assert_sentence(&["no run is named", "--events", "--attach"]);
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

/// Two load points that count, and one between them that does not.
fn events_of_an_invalid_point() -> String {
    let all: Vec<&str> = include_str!("../../src/metrics/tests/events.jsonl")
        .lines()
        .collect();
    let ended = |number: u32, rate: &str, verdict: &str| {
        all[7]
            .replace("\"point\":1,", &format!("\"point\":{number},"))
            .replace(
                "\"achieved_ops_per_sec\":100.0",
                &format!("\"achieved_ops_per_sec\":{rate}"),
            )
            .replace("VALID, CACHED", verdict)
    };
    let end = r#"{"at":"2026-11-27T00:00:09.000Z","seq":12,"type":"run_ended","outcome":"complete","exit_code":4,"wall_seconds":9.0}"#;
    [
        all[0].to_owned(),
        ended(1, "100.0", "VALID, CACHED"),
        ended(2, "150.0", "INVALID"),
        ended(3, "300.0", "VALID"),
        end.to_owned(),
    ]
    .join("\n")
        + "\n"
}

#[test]
fn the_curve_of_the_page_leaves_out_what_does_not_count() {
    let Some(browser) = available(Browser::new()) else {
        return;
    };
    let _turn = beside_others();
    let watch = Sweep::bare().command("watch").arg("events").arg("--web");
    watch.write("events", &events_of_an_invalid_point());
    let mut watching = watch.in_network_of(browser.sandbox()).start();
    watching.wait_for("the page stays at http://");
    let text = watching.stderr();
    let url = text.lines().find_map(|line| line.strip_prefix("page: "));
    let url = url.expect("an address");
    let seen = browser.open_url(url, Scheme::Light, (1280, 1000));
    let dom = seen.expect("it opens").dom;
    assert_eq!(dom.matches("<circle class=\"dot\"").count(), 2, "{dom}");
    assert_eq!(dom.matches("<circle class=\"dot void\"").count(), 1);
    let title = "<title>Load point 2, INVALID: 150 op/s, mean 2 ms</title>";
    assert!(dom.contains(title), "{dom}");
    let (_, line) = dom.split_once(" points=\"").expect("a line");
    let (places, _) = line.split_once('"').expect("its end");
    assert_eq!(places.split(' ').count(), 2, "{places}");
    watching.signal(Signal::INT);
    assert_eq!(watching.wait().code, 0);
}
