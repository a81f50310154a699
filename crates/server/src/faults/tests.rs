//! The languages and the draws.

use super::*;
use crate::ServerOptions;

fn faults(edit: impl FnOnce(&mut ServerOptions)) -> Faults {
    let mut options = ServerOptions::default();
    edit(&mut options);
    Faults::new(&options)
}

#[test]
fn delays_by_procedure_and_default() {
    let faults = faults(|o| {
        o.delay = "2ms, READ=5ms,getattr=uniform:1us-3us"
            .parse()
            .expect("spec")
    });
    assert_eq!(faults.delay_ns(Procedure::Write), 2_000_000);
    assert_eq!(faults.delay_ns(Procedure::Read), 5_000_000);
    let draws: Vec<u64> = (0..1000)
        .map(|_| faults.delay_ns(Procedure::Getattr))
        .collect();
    assert!(draws.iter().all(|ns| (1000..=3000).contains(ns)));
    let mean = draws.iter().sum::<u64>() / 1000;
    assert!((1900..2100).contains(&mean), "{mean}");
}

#[test]
fn a_share_of_errors_comes_out_and_is_the_same_again() {
    let draws = |seed| {
        let faults = faults(|o| {
            o.seed = seed;
            o.errors = "READ=NFS3ERR_IO@10%,READ=NFS3ERR_JUKEBOX@2"
                .parse()
                .expect("spec");
        });
        (0..10_000)
            .map(|_| faults.error(Procedure::Read))
            .collect::<Vec<_>>()
    };
    let first = draws(1);
    let count = |status| first.iter().filter(|s| **s == Some(status)).count();
    assert!(
        (900..1100).contains(&count(Nfsstat3::Io)),
        "{}",
        count(Nfsstat3::Io)
    );
    assert_eq!(count(Nfsstat3::Jukebox), 2);
    assert!(first == draws(1) && first != draws(2));
    let none = faults(|o| o.errors = "READ=NFS3ERR_IO".parse().expect("spec"));
    assert_eq!(none.error(Procedure::Write), None);
    assert_eq!(none.error(Procedure::Read), Some(Nfsstat3::Io));
}

#[test]
fn drops_and_verifiers() {
    let dropping = faults(|o| o.drop = "conn@9,reply@3".parse().expect("spec"));
    assert_eq!(dropping.close_after, Some(9));
    assert_eq!((0..10).filter(|_| dropping.swallow_reply()).count(), 3);
    let every = faults(|o| {
        o.drop = "reply@1/3,call@1/2,copy@2,late@1/4:3s"
            .parse()
            .expect("spec")
    });
    let hits = |draw: &dyn Fn() -> bool| (0..6).map(|_| draw()).collect::<Vec<_>>();
    let (no, yes) = (false, true);
    assert_eq!(hits(&|| every.swallow_reply()), [no, no, yes, no, no, yes]);
    assert_eq!(hits(&|| every.swallow_call()), [no, yes, no, yes, no, yes]);
    assert_eq!(hits(&|| every.repeat_reply()), [yes, yes, no, no, no, no]);
    let late: Vec<u64> = (0..4).map(|_| every.late_ns()).collect();
    assert_eq!(late, [0, 0, 0, 3_000_000_000]);
    assert!(every.delays_replies());
    let unstable = faults(|o| o.unstable = "verf@3".parse().expect("spec"));
    let changes: Vec<bool> = (0..6).map(|_| unstable.verifier_changes()).collect();
    assert_eq!(changes, [false, false, true, false, false, true]);
    assert!(unstable.unstable && !faults(|_| ()).verifier_changes());
}

#[test]
fn errors_name_the_part_and_a_way_out() {
    let delay = |text: &str| text.parse::<DelaySpec>().unwrap_err().to_string();
    assert_eq!(
        delay("2ms,REED=5ms"),
        "--delay: \"REED\" is not a procedure of NFSv3 (NULL, GETATTR, READ ...) in \"REED=5ms\"; \
         write for example 2ms, READ=5ms,GETATTR=100us or uniform:1ms-3ms"
    );
    assert!(delay("5").contains("has no unit"));
    assert!(delay("-5ms").contains("not a time"));
    assert!(delay("infs").contains("no unit"));
    assert!(delay("").contains("no unit"));
    assert!(delay("uniform:3ms-1ms").contains("begins above its end"));
    let error = |text: &str| text.parse::<ErrorSpec>().unwrap_err().to_string();
    assert!(error("READ=EIO").contains("\"EIO\" is not an error of NFSv3"));
    assert!(error("READ=NFS3_OK").contains("is not an error"));
    assert!(error("READ=NFS3ERR_IO@101%").contains("not a percentage"));
    assert!(error("READ=NFS3ERR_IO@0").contains("above 0"));
    assert!(error("NULL=NFS3ERR_IO").contains("NULL cannot fail"));
    assert!("conn@1".parse::<DropSpec>().is_err());
    let drop = |text: &str| text.parse::<DropSpec>().unwrap_err().to_string();
    assert!(drop("late@1%").contains("no time behind the share"));
    assert!(drop("late@1%:3").contains("has no unit"));
    assert!(drop("call@1/0").contains("above 0"));
    assert!("packet@1%".parse::<DropSpec>().is_err());
    assert!("verf@x".parse::<UnstableSpec>().is_err());
}
