//! What drivers find before a run.

use filermark_driver_kit::survey::{Survey, Surveyed};
use filermark_drivers::{DRIVERS, find};
use filermark_model::plan::{DriverPlan, MountPoint};
use filermark_model::survey::ServerInfo;
use std::net::TcpListener;

fn survey(driver: &DriverPlan, mounts: &[MountPoint], log_in: bool) -> Surveyed {
    let what = Survey {
        mounts,
        dir_name: "filermark.x",
        log_in,
        unwritable: |_| None,
    };
    (find(driver).unwrap().survey)(driver, &what).expect("a plan of its own")
}

fn look(driver: &DriverPlan, mounts: &[MountPoint], log_in: bool) -> Vec<ServerInfo> {
    survey(driver, mounts, log_in).servers
}

#[test]
fn nothing_is_found_where_nothing_is_asked() {
    for plan in super::plans() {
        let found = survey(&plan, &[], true);
        assert!(found.servers.is_empty() && found.mounts.is_empty() && found.reports.is_empty());
        let takes = DRIVERS.iter().filter(|driver| {
            let what = Survey {
                mounts: &[],
                dir_name: "filermark.x",
                log_in: false,
                unwritable: |_| None,
            };
            (driver.survey)(&plan, &what).is_some()
        });
        assert_eq!(takes.count(), 1, "{}", plan.name());
    }
}

#[test]
fn an_smb_server_is_reached_on_its_port_or_not() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let share = |host: &str, name: &str| MountPoint {
        host: host.into(),
        path: format!(r"\{name}"),
    };
    let mounts = [
        share("127.0.0.1", "a"),
        share("127.0.0.1", "b"),
        share("no such name.invalid", "a"),
    ];
    let mut plan = filermark_results::testing::smb_plan("geheim");
    plan.port = listener.local_addr().unwrap().port();
    let driver = DriverPlan::Smb(plan.clone());
    let looks = look(&driver, &mounts, false);
    assert_eq!(looks.len(), 2);
    let there = &looks[0].services[0];
    let name = there.name.as_str();
    assert_eq!((name, there.connected_us.is_ok()), ("smb", true));
    assert!(there.address.ends_with(&format!(":{}", plan.port)));
    assert_eq!(looks[1].services[0].name, "name");
    // A server that accepts and closes the connection has accepted no login.
    let closes = std::thread::spawn(move || drop(listener.accept()));
    let looks = look(&driver, &mounts[..2], true);
    assert!(looks[0].exports.iter().all(|e| e.writable.is_err()));
    closes.join().unwrap();
    let looks = look(&driver, &mounts[..1], true);
    assert!(looks[0].services[0].connected_us.is_err());
}
