//! Files that grow, and events of all kinds.

use super::*;
use crate::events::read_line;
use crate::http::{Body, HttpServer, Listen, Request, Response, ServerUrl};
use crate::progress::{ProgressMode, ProgressStyle};
use std::io::Write;

#[test]
fn lines_are_returned_when_they_are_whole() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("events");
    let mut file = std::fs::File::create(&path).expect("a file");
    let mut tail = Tail::open(&path).expect("it opens");
    assert_eq!(tail.next(), Ok(Next::Wait));
    file.write_all(b"one\ntw").expect("written");
    assert_eq!(tail.next(), Ok(Next::Line("one".into())));
    assert_eq!(tail.next(), Ok(Next::Wait));
    file.write_all(b"o\n\n").expect("written");
    assert_eq!(tail.next(), Ok(Next::Line("two".into())));
    assert_eq!(tail.next(), Ok(Next::Line(String::new())));
    std::fs::write(&path, "").expect("begun again");
    let why = tail.next().expect_err("it is shorter");
    assert!(why.contains("start `watch` again"), "{why}");
    for (path, wanted) in [
        (dir.path().join("nowhere"), "cannot be read"),
        (dir.path().to_owned(), "a directory"),
    ] {
        let why = Tail::open(&path).err().expect("no file");
        assert!(why.contains(wanted) && why.contains("--events"), "{why}");
    }
}

/// A read that goes on would not end at Ctrl-C.
#[test]
fn a_pipe_without_data_returns_to_the_caller() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("mkfifo").success());
    // Open for reading and writing: this does not wait for another process.
    let writer = std::fs::File::options().read(true).write(true).open(&path);
    let mut writer = writer.expect("it opens");
    let mut tail = Tail::open(&path).expect("it opens");
    assert_eq!(tail.next(), Ok(Next::Wait));
    writer.write_all(b"one\ntwo").expect("written");
    assert_eq!(tail.next(), Ok(Next::Line("one".into())));
    assert_eq!(tail.next(), Ok(Next::Wait));
    drop(writer);
    assert_eq!(tail.next(), Ok(Next::End));
}

#[test]
fn all_events_can_be_shown() {
    let style = ProgressStyle {
        mode: ProgressMode::View,
        view: false,
        no_color: true,
        console: false,
    };
    let lines = include_str!("../metrics/tests/events.jsonl").lines();
    let lines: Vec<_> = lines.filter_map(read_line).collect();
    assert!(Shown::begin(&lines[1], style).is_none());
    let mut shown = Shown::begin(&lines[0], style).expect("the first event");
    assert!(lines[1..].iter().all(|line| !shown.receive(line)));
    let end = r#"{"at":"x","seq":12,"type":"run_ended","outcome":"failed","reason":"r","exit_code":1,"wall_seconds":1e300}"#;
    assert!(shown.receive(&read_line(end).expect("an event")));
}

#[test]
fn the_page_has_a_policy_and_its_state_follows_the_events() {
    let page = Page::default();
    let lines = include_str!("../metrics/tests/events.jsonl").lines();
    for line in lines.filter_map(read_line) {
        page.receive(&line);
    }
    let ask = |path: &str| {
        page.answer(&Request {
            path: path.into(),
            accept: String::new(),
        })
    };
    for path in ["/", "/page.css", "/page.js", "/state.json"] {
        let answer = ask(path);
        assert_eq!(answer.status, 200, "{path}");
        let (name, policy) = answer.headers[0];
        assert_eq!(name, "Content-Security-Policy");
        assert!(policy.starts_with("default-src 'none';"), "{policy}");
    }
    assert_eq!(ask("/other").status, 404);
    let Body::Text(state) = ask("/state.json").body else {
        panic!("a stream");
    };
    let state: serde_json::Value = serde_json::from_str(&state).expect("JSON");
    assert_eq!(state["status"], "RUN of load point 2");
    assert_eq!(state["connected_count"], 1);
    assert_eq!(state["points"][0]["verdict"], "VALID, CACHED");
    assert_eq!(state["points"][0]["achieved"], 100.0);
    assert_eq!(state["points"][0]["counts"], true);
    assert_eq!(state["points"][1]["counts"], false, "it has not ended");
    let finding = "short-run: the window was 1.0 s long";
    assert_eq!(state["points"][0]["findings"][0], finding);
    assert_eq!(state["points"][1]["achieved"], serde_json::Value::Null);
    assert_eq!(state["seconds"][1]["at_s"], 6.0);
    assert_eq!(state["phases"].as_array().map(Vec::len), Some(3));
}

#[test]
fn the_page_names_the_steps_of_a_search() {
    let page = Page::default();
    let begin = r#"{"at":"2026-11-27T00:00:00.000Z","seq":0,"type":"phase_began","point":10003,"phase":"WARMUP","search_step":3,"requested_ops_per_sec":40.0}"#;
    let events = include_str!("../metrics/tests/events.jsonl");
    let second = events.lines().nth(11).expect("a second");
    let second = second.replace("\"point\":2", "\"point\":10003");
    for line in [begin, &second] {
        page.receive(&read_line(line).expect("an event"));
    }
    let request = Request {
        path: "/state.json".into(),
        accept: String::new(),
    };
    let Body::Text(state) = page.answer(&request).body else {
        panic!("a stream");
    };
    let state: serde_json::Value = serde_json::from_str(&state).expect("JSON");
    assert_eq!(state["status"], "WARMUP of search step 3, 40 op/s");
    assert_eq!(state["seconds"][0]["search_step"], 3);
    assert_eq!(state["phases"][0]["search_step"], 3);
}

#[test]
fn what_is_no_run_is_refused_with_what_to_do() {
    let answer = |request: &Request| match request.path.as_str() {
        "/events" => Response::text(404, "not here"),
        _ => Response::of("text/plain", String::new()),
    };
    let listen = Listen::parse("0").expect("a port");
    let server = HttpServer::start(listen, None, answer).expect("it listens");
    let port = server.address().port();
    let url = ServerUrl::parse(&port.to_string()).expect("a port");
    let why = Tail::attach(&url, None).err().expect("no events");
    assert!(why.contains("status 404; give the port of"), "{why}");
    drop(server);
    let why = Tail::attach(&url, None).err().expect("no server");
    let wanted = format!("http://127.0.0.1:{port}: cannot be read: ");
    assert!(why.starts_with(&wanted), "{why}");
    assert!(why.contains(&format!("`--metrics {port}`")), "{why}");
}
