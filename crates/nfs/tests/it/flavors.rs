//! What the list of authentication flavors in the reply of MNT leads to.

use crate::proxy::{ReplacedReply, ReplyEditor, lie_at_will};
use crate::support::{claim, mount, plan, start};
use filermark_driver_kit::driver::{Driver, ReleaseScope};
use filermark_nfs::driver::NfsDriver;
use filermark_onc::mount;
use filermark_server::ServerOptions;

/// The reply of MNT lists this one flavor.
fn listing(flavor: u32) -> ReplyEditor {
    Box::new(move |call, results| {
        let mnt = call.prog == mount::PROGRAM && call.proc == 1;
        let results = results.filter(|_| mnt)?;
        // Status, length of the handle, handle; then the list.
        let word = |at: usize| {
            results
                .get(at..at + 4)?
                .try_into()
                .ok()
                .map(u32::from_be_bytes)
        };
        let list_at = 8 + (word(4)? as usize).next_multiple_of(4);
        let mut out = results.get(..list_at)?.to_vec();
        out.extend([1, flavor].iter().flat_map(|word| word.to_be_bytes()));
        Some(ReplacedReply::Results(out))
    })
}

fn driver(port: u16) -> NfsDriver {
    NfsDriver::new(plan(port))
}

#[test]
fn an_export_that_lists_auth_none_alone_is_tried_with_auth_sys() {
    let (_server, port) = start(ServerOptions::default());
    let driver = driver(lie_at_will(port, listing(0)));
    let report = driver.claim(&mount(), &claim()).expect("claimed");
    assert!(
        report
            .lacking
            .iter()
            .any(|w| w.contains("AUTH_NONE") && w.contains("anonymous")),
        "{:?}",
        report.lacking
    );
    driver
        .release(&mount(), &claim(), ReleaseScope::All)
        .expect("released");
}

#[test]
fn an_export_that_takes_kerberos_alone_is_refused() {
    let (_server, port) = start(ServerOptions::default());
    let driver = driver(lie_at_will(port, listing(390_003)));
    let error = driver.claim(&mount(), &claim()).expect_err("refused");
    assert!(error.to_string().contains("krb5"), "{error}");
}

#[test]
fn the_space_of_an_export_is_what_the_server_states() {
    let options = ServerOptions {
        capacity_bytes: 64 << 20,
        ..ServerOptions::default()
    };
    let (_server, port) = start(options);
    let driver = driver(port);
    let space = driver.space(&mount()).expect("asked").expect("stated");
    assert_eq!(space.total_bytes, 64 << 20);
    assert!(space.free_bytes <= space.total_bytes && space.free_bytes > 60 << 20);
}
