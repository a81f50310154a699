//! One run on several hosts: figures that add up, file sets that meet or lie apart,
//! and nothing left anywhere.

use crate::client_hosts::{Field, assert_adds_up};
use crate::sweep::{Ended, PROGRAM, Sweep};
use crate::turns::{beside_others, patiently};
use filermark_results::{Outcome, read_record};
use filermark_testbed::Hosts;

/// The run came to its end, and all clients took part.
#[track_caller]
fn assert_complete(ended: &Ended, clients: &[&str]) {
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    ended.assert_tame();
    let record = ended.record();
    assert_eq!(record.end.expect("an end").outcome, Outcome::Complete);
    assert_eq!(record.environments.len(), clients.len());
    for point in &record.points {
        assert_adds_up(point, clients);
        let start = point.start.as_ref().expect("how they began together");
        assert_eq!(start.clients.len(), clients.len());
        assert_eq!(start.spread_ns > 0, clients.len() > 1, "{start:?}");
        assert!(start.spread_ns < 1_000_000_000, "{start:?}");
    }
}

/// The clients' own logs, one each.
#[track_caller]
fn assert_client_logs(ended: &Ended, clients: &[&str]) {
    for number in 1..=clients.len() {
        let log = ended.file(&format!("sfsc{number:04}"));
        let first = log.lines().next().unwrap_or_default();
        assert!(first.contains(clients[number - 1]), "{first}");
    }
    let one_more = format!("sfsc{:04}.s", clients.len() + 1);
    assert!(!ended.path(&one_more).exists());
}

#[test]
fn the_same_rc_file_runs_on_one_two_and_three_hosts() {
    let _turn = beside_others();
    let Some(field) = Field::with_ganesha(3) else {
        return;
    };
    for clients in ["h1", "h1 h2", "h1 h2 h3"] {
        let names: Vec<&str> = clients.split(' ').collect();
        // As users do it: all in one file, CLIENTS on the command line.
        let sweep = field.sweep("h1").into_rc().set("CLIENTS", clients);
        patiently(|| {
            let ended = sweep.run();
            assert_complete(&ended, &names);
            assert_client_logs(&ended, &names);
            field.assert_clean();
            let point = ended.point(1);
            let stats = point.measured().expect("measured");
            assert_eq!(stats.procs.len(), 4 * names.len());
            let rate = stats.achieved_ops_per_sec();
            match point.is_valid() && (rate - 120.0).abs() < 6.0 {
                true => Ok(()),
                false => Err(format!("{rate} op/s, {:?}", point.findings)),
            }
        });
    }
}

/// Both forms of CLIENT_MOUNTPOINTS; on a mount that all have, and on one of each.
#[test]
fn composites_meet_on_a_shared_mount_and_work_apart_on_own_ones() {
    let _turn = beside_others();
    let Some(field) = Field::bare(3) else {
        return;
    };
    let names = ["h1", "h2", "h3"];
    let swbuild = field.composite("SWBUILD", &format!("h1:{0} h2:{0} h3:{0}", Hosts::SHARED));
    let file = swbuild.write(
        "places",
        &format!("# all on their own\nh[1-3] {}\n", Hosts::OWN),
    );
    let metadata = field.composite("METADATA", &file.display().to_string());
    let apart = swbuild.clone().set("CLIENT_MOUNTPOINTS", file.display());
    for (sweep, seen) in [
        (&swbuild, Hosts::SHARED),
        (&apart, Hosts::OWN),
        (&metadata, Hosts::OWN),
    ] {
        let mut started = sweep.elsewhere().start();
        started.wait_until("RUN", |s| s.stderr().contains("Starting RUN phase"));
        let files = names.map(|name| field.below(name, seen));
        let ended = started.wait();
        assert_complete(&ended, &names);
        field.assert_clean();
        // While it ran, every host had its share of the files, or saw all of them.
        assert!(files.iter().all(|f| f.len() > 10), "{files:?}");
        match seen {
            Hosts::SHARED => assert!(files[0] == files[1] && files[1] == files[2]),
            _ => assert!(files[0] != files[1] && files[1] != files[2] && files[0] != files[2]),
        }
    }
}

#[test]
fn netmist_takes_a_token_file_with_two_hosts() {
    let _turn = beside_others();
    let Some(field) = Field::bare(2) else {
        return;
    };
    let sweep = field.composite("METADATA", "").command("netmist");
    let line = |host: &str| {
        format!(
            "Clientname={host} Username=root Workdir={} Execpath={PROGRAM} Workload=METADATA Instances=2\n",
            Hosts::OWN
        )
    };
    sweep.write("client_list", &(line("h1") + &line("h2")));
    let words = "-g client_list -d 1 -O 100 -N --exact-time -t 2 -w 0 -o FILE_SIZE=8k -o DIR_COUNT=2 -o FILES_PER_DIR=3";
    let sweep = words.split(' ').fold(sweep, Sweep::arg);
    let ended = sweep.run();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    ended.assert_tame();
    assert!(ended.stderr.contains("Starting test client:    3 Host: h2"), "{}", ended.stderr);
    let record = read_record(&ended.path("netmist.run.jsonl")).expect("the record");
    assert_adds_up(&record.points[0], &["h1", "h2"]);
    assert!(record.points[0].clients.iter().all(|c| c.proc_count == 2));
    field.assert_clean();
}
