//! `--metrics`: read during a run, checked by promtool, scraped by Prometheus.

use crate::load_guard::beside_others;
use crate::second_client::serve;
use crate::sweep::{Started, Sweep};
use filermark_server::ServerOptions;
use filermark_testbed::{Error, available};
use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The address that the run has printed.
fn address(started: &mut Started) -> String {
    started.wait_for("/metrics\n");
    let text = started.stderr();
    let line = text
        .lines()
        .find_map(|l| l.strip_prefix("metrics: http://"));
    let address = line.and_then(|l| l.strip_suffix("/metrics"));
    address.expect("an address").to_owned()
}

/// The answer to a request, empty if there is none yet.
pub fn ask(address: &str, path: &str, headers: &str) -> String {
    let mut text = String::new();
    if let Ok(mut stream) = TcpStream::connect(address) {
        let limit = Some(Duration::from_secs(60));
        stream.set_read_timeout(limit).expect("a limit");
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n");
        if stream.write_all(request.as_bytes()).is_ok() {
            let _ = stream.read_to_string(&mut text);
        }
    }
    text
}

fn content(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").expect("a head").1
}

/// The value of a sample without labels.
fn value(text: &str, name: &str) -> f64 {
    let line = text
        .lines()
        .find_map(|l| l.strip_prefix(&format!("{name} ")));
    line.and_then(|v| v.parse().ok()).unwrap_or(0.0)
}

/// Ended when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn needed(program: &str) -> Option<()> {
    let found = Command::new(program).arg("--version").output();
    available(match found {
        Ok(_) => Ok(()),
        Err(e) => Err(Error::Unavailable(format!(
            "{program}: {e}; install prometheus"
        ))),
    })
}

/// The address in the line of Prometheus' log that has it.
fn listening_address(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("msg=\"Listening on\" address=")?;
    rest.split_whitespace().next()
}

/// A query as part of an address.
fn encoded(query: &str) -> String {
    query.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// A run that lasts until it is interrupted.
fn long_run(server: &filermark_server::RunningServer) -> Sweep {
    let sweep = Sweep::on(server).set("RUNTIME", 600);
    sweep.arg("--metrics").arg("0")
}

#[test]
fn a_run_offers_its_figures_and_promtool_accepts_them() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let mut started = long_run(&server).start();
    let address = address(&mut started);
    started.wait_until("operations in the metrics", |_| {
        value(&ask(&address, "/metrics", ""), "filermark_operations_total") > 0.0
    });
    let answer = ask(&address, "/metrics", "");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    let kind = "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n";
    assert!(
        answer.contains(kind) && answer.ends_with("\n# EOF\n"),
        "{answer}"
    );
    // Every operation has a response time in one of the buckets, and the last one has them all.
    let groups = ["lookups", "reads", "writes", "changes"];
    let of_groups = |sample: &str, le: &str| -> f64 {
        let name =
            |group| format!("filermark_response_time_seconds_{sample}{{group=\"{group}\"{le}}}");
        groups.iter().map(|g| value(&answer, &name(g))).sum()
    };
    let operations = value(&answer, "filermark_operations_total");
    assert_eq!(of_groups("count", ""), operations, "{answer}");
    assert_eq!(of_groups("bucket", ",le=\"+Inf\""), operations, "{answer}");
    assert!(of_groups("sum", "") > 0.0, "{answer}");
    for wanted in [
        "filermark_clients_connected 1\n",
        "filermark_load_point 1\n",
        "filermark_run_active 1\n",
        "filermark_requested_ops_per_second 100\n",
    ] {
        assert!(answer.contains(wanted), "{wanted}\n{answer}");
    }
    assert!(
        value(&answer, "filermark_objects_made_total") > 0.0,
        "{answer}"
    );
    assert!(ask(&address, "/", "").starts_with("HTTP/1.1 404 "));
    if needed("promtool").is_some() {
        let text = ask(&address, "/metrics", "Accept: text/plain\r\n");
        let mut promtool = Command::new("promtool")
            .args(["check", "metrics"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("promtool starts");
        let mut stdin = promtool.stdin.take().expect("its stdin");
        stdin.write_all(content(&text).as_bytes()).expect("written");
        drop(stdin);
        let output = promtool.wait_with_output().expect("it ends");
        let output_text = String::from_utf8_lossy(&output.stderr).into_owned()
            + &String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && output_text.is_empty(),
            "{output_text}\n{text}"
        );
    }
    started.signal(Signal::INT);
    assert_eq!(started.wait().code, 130);
    assert_eq!(ask(&address, "/metrics", ""), "", "it ends with the run");
}

#[test]
fn prometheus_scrapes_a_run_and_answers_a_query() {
    if needed("prometheus").is_none() {
        return;
    }
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let sweep = long_run(&server);
    let token = "0123456789abcdef0123456789abcdef";
    sweep.write("token", token);
    let sweep = sweep.arg("--metrics-token-file").arg("token");
    let mut started = sweep.start();
    let address = address(&mut started);
    assert!(ask(&address, "/metrics", "").starts_with("HTTP/1.1 401 "));
    let config = format!(
        "global: {{scrape_interval: 1s}}\nscrape_configs:\n  - job_name: fm\n    authorization: {{credentials_file: token}}\n    static_configs: [{{targets: [\"{address}\"]}}]\n"
    );
    sweep.write("prometheus.yml", &config);
    let log_path = sweep.dir().join("prometheus.log");
    let log = std::fs::File::create(&log_path).expect("a log");
    let prometheus = Command::new("prometheus")
        .args(["--config.file=prometheus.yml", "--storage.tsdb.path=data"])
        .arg("--web.listen-address=127.0.0.1:0")
        .current_dir(sweep.dir())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn();
    let _prometheus = Running(prometheus.expect("prometheus starts"));
    // Prometheus takes a free port and logs it.
    let mut web = String::new();
    started.wait_until("the address of Prometheus", |_| {
        std::thread::sleep(Duration::from_millis(100));
        let log = std::fs::read_to_string(&log_path).unwrap_or_default();
        let address = log.lines().find_map(listening_address);
        web = address.unwrap_or_default().to_owned();
        !web.is_empty()
    });
    for query in [
        "filermark_operations_total > 0",
        "filermark_service_time_seconds_bucket{le=\"+Inf\"} > 0",
        "histogram_quantile(0.99, sum by (job, le) (rate(filermark_response_time_seconds_bucket[30s]))) > 0",
        "histogram_quantile(0.5, rate(filermark_response_time_seconds_bucket{group=\"reads\"}[30s])) > 0",
        "sum by (job, group) (rate(filermark_response_time_seconds_sum[30s])) > 0",
    ] {
        let path = format!("/api/v1/query?query={}", encoded(query));
        started.wait_until(&format!("an answer to {query}"), |_| {
            std::thread::sleep(Duration::from_millis(100));
            let answer = ask(&web, &path, "");
            answer.contains("\"status\":\"success\"") && answer.contains("\"job\":\"fm\"")
        });
    }
    started.signal(Signal::INT);
    assert_eq!(started.wait().code, 130);
}

#[test]
fn other_hosts_need_a_token() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let open = Sweep::on(&server).arg("--metrics").arg("0.0.0.0:0");
    open.fail(2).assert_sentence(&[
        "0.0.0.0:0",
        "--metrics-token-file",
        "FILERMARK_METRICS_TOKEN",
    ]);
    let short = open.elsewhere().env("FILERMARK_METRICS_TOKEN", "short");
    short
        .fail(2)
        .assert_sentence(&["FILERMARK_METRICS_TOKEN", "16 to 256", "openssl"]);
    let missing = open.elsewhere().args("--metrics-token-file nowhere");
    missing
        .fail(2)
        .assert_sentence(&["nowhere", "cannot be read"]);
    let with = open.elsewhere();
    let with = with.env("FILERMARK_METRICS_TOKEN", "0123456789abcdef");
    assert!(with.succeed().stderr.contains("metrics: http://0.0.0.0:"));
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("its address").port().to_string();
    let busy = Sweep::on(&server).arg("--metrics").arg(port);
    busy.fail(1)
        .assert_sentence(&["cannot listen", "choose another port"]);
}
