use crate::support::{claim, mount, plan, start};
use filermark_engine::driver::StopFlag;
use filermark_nfs::validate::{Level, checks, validate};
use filermark_server::ServerOptions;

#[test]
fn the_embedded_server_passes_every_check() {
    let (_server, port) = start(ServerOptions::default());
    let mut seen = 0;
    let report = validate(
        &plan(port),
        &mount(),
        &claim(),
        Level::All,
        &StopFlag::new(),
        &mut |_| seen += 1,
    )
    .expect("validation runs");
    println!("{}", report.render_text());
    assert!(report.is_success());
    assert_eq!(seen, checks().count());
    assert_eq!(report.passed_count(), seen, "nothing skipped");
    assert_eq!(report.foreign, Vec::<String>::new());
}
