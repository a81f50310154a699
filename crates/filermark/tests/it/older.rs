//! The older generations: NFSv2, and the benchmarks after them.

use crate::peek::{assert_empty, serve};
use crate::sweep::Sweep;
use crate::turns::{alone, beside_others};
use filermark_model::Op;
use filermark_onc::nfs2::Procedure;
use filermark_server::ServerOptions;
use filermark_testbed::{Capture, Sandbox, available};
use std::collections::{BTreeMap, BTreeSet};

/// A mix file with every operation of version 2, and the two that it knows by name.
fn all_of_version_2() -> String {
    let mut mix = String::from("SFS MIXFILE VERSION 2\nroot 0%\nwrcache 0%\n");
    for op in Op::NFS2 {
        let share = match op {
            Op::Null => 100 - 6 * (Op::NFS2.len() - 1),
            _ => 6,
        };
        mix.push_str(&format!("{op} {share}%\n"));
    }
    mix
}

/// Every operation of the mix is done, counted as the server counts it, and seen by
/// Wireshark's dissectors, to which every message is well formed.
#[test]
fn version_2_is_whole() {
    let _turn = alone();
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let server = sandbox.run(|| serve(ServerOptions::default()));
    let port = server.addrs()[0].port();
    let Some(capture) = available(Capture::start(&sandbox, "lo", &[port])) else {
        return;
    };
    let sweep = Sweep::on(&server)
        .in_network_of(&sandbox)
        .set("NFS_VERSION", 2)
        .set("LOAD", 400)
        .set("RUNTIME", 2)
        .set("FILESET_MB_PER_OP", 0.005)
        .set("INIT_WINDOW", 2)
        .set("VERIFY", "on")
        .set("MIXFILE", "all.mix");
    std::fs::create_dir_all(sweep.result("")).expect("the result directory");
    std::fs::write(sweep.result("all.mix"), all_of_version_2()).expect("the mix file");
    let ended = sweep.succeed();
    let stats = ended.point(1).stats.expect("figures");
    assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
    let done: BTreeSet<Op> = stats
        .ops
        .iter()
        .filter(|o| o.success_count > 0)
        .map(|o| o.op)
        .collect();
    assert_eq!(done, Op::NFS2.iter().copied().collect());
    assert_eq!(server.stats().nfs, [0; 22], "nothing of version 3");
    let pcap = capture.stop().expect("the capture ends");
    assert_eq!((pcap.malformed().expect("tshark"), pcap.dropped()), (0, 0));
    let seen = pcap.calls_of(2).expect("tshark");
    let served = Procedure::ALL
        .iter()
        .map(|p| (p.to_u32(), server.stats().of2(*p)));
    let served: BTreeMap<u32, u64> = served.filter(|(_, count)| *count > 0).collect();
    assert_eq!(seen, served);
    // All but ROOT and WRITECACHE, which nobody sends.
    assert_eq!(seen.len(), Procedure::COUNT - 2, "{seen:?}");
    sandbox.run(|| assert_empty(&server));
}

#[test]
fn what_version_2_lacks_is_refused_before_anything_is_made() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let refused = [
        ("access 100%\n", "access"),
        ("root 1%\nnull 99%\n", "root"),
        ("wrcache 1%\nnull 99%\n", "wrcache"),
    ];
    for (shares, named) in refused {
        let sweep = Sweep::on(&server)
            .set("BENCHMARK", "nfs2-1993")
            .set("MIXFILE", "bad.mix");
        std::fs::create_dir_all(sweep.result("")).expect("the result directory");
        let mix = format!("SFS MIXFILE VERSION 2\n{shares}");
        std::fs::write(sweep.result("bad.mix"), mix).expect("the mix file");
        let ended = sweep.run();
        assert_eq!(ended.code, 2, "{}", ended.stderr);
        assert!(ended.stderr.contains(named), "{}", ended.stderr);
    }
    assert_eq!(server.stats().nfs2, [0; 18]);
}
