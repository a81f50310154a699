use super::*;
use crate::testing::composite::{composite_record, stream_record};

fn squeezed(text: &str) -> Vec<String> {
    let words = |l: &str| l.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().map(words).collect()
}

#[test]
fn a_procs_operations_are_all_in_its_logs() {
    let record = stream_record();
    let logs = proc_logs(&record, 1).unwrap();
    assert_eq!(logs.workload, "VDA2");
    let stats = record.points[0].measured().unwrap();
    let own = stats.proc_ops.iter().find(|p| p.proc == 1).unwrap();
    let total: u64 = own.ops.iter().map(|o| o.success_count).sum();
    let results = squeezed(&logs.results);
    assert!(results.contains(&format!("Total file ops = {total}")));
    assert!(results.contains(&"Client 1 results:".to_owned()));
    assert!(results.contains(&"Write ops = 0".to_owned()));
    let rates = results.iter().filter(|l| l.contains(" throughput = "));
    let moved = |ops: &[ProcOp]| -> usize {
        let both = |o: &ProcOp| usize::from(o.read_bytes > 0) + usize::from(o.written_bytes > 0);
        ops.iter().map(both).sum()
    };
    let later = record.points[1].measured().unwrap();
    let later = later.proc_ops.iter().find(|p| p.proc == 1).unwrap();
    assert_eq!(rates.count(), moved(&own.ops) + moved(&later.ops));
    let operations = squeezed(&logs.operations);
    assert!(operations.contains(&format!("Total Ops : {total}")));
    assert!(operations.contains(&"Write ops : 0 Avg Latency: Not collected".to_owned()));
    let read = own.ops.iter().find(|o| o.op == Op::ReadRandom).unwrap();
    let seconds = read.service_sum_ns as f64 / 1e9 / read.success_count as f64;
    let line = format!(
        "read_rand ops : {} Avg Latency: {seconds:.6}",
        read.success_count
    );
    assert!(operations.contains(&line), "{line}");
}

#[test]
fn procs_that_come_later_are_only_in_later_points() {
    let record = composite_record();
    let logs = proc_logs(&record, 9).unwrap();
    assert!(!logs.results.contains("Load point 1:"));
    assert!(logs.results.contains("Load point 2: 2 BUILDs"));
    assert_eq!(
        logs.progress.matches("Client 9: My_workload id 0").count(),
        3
    );
    assert_eq!(logs.progress.matches("-> 90 percent").count(), 2);
    assert_eq!(proc_logs(&record, 20), None);
    assert_eq!(logs.results.lines().last(), Some(NOT_A_SPEC_RESULT));
}

#[test]
fn accesses_and_heartbeats_are_in_the_logs() {
    let record = stream_record();
    let logs = proc_logs(&record, 3).unwrap();
    assert!(logs.results.contains("File accesses:\n"));
    assert!(logs.results.contains(" 7 CL3_data_0/5/f1\n"));
    assert!(!logs.results.contains('\x1b'));
    assert!(logs.progress.contains("warm-up "));
    let log = heartbeat_log(&record);
    assert_eq!(
        log.lines()
            .filter(|l| l.contains("Heartbeat Client 17: "))
            .count(),
        8
    );
}
