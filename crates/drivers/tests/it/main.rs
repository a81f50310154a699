//! The list of drivers, and the plans that they are found by.

mod survey;

use filermark_driver_kit::null;
use filermark_driver_kit::spec::DriverSpec;
use filermark_drivers::{DRIVERS, find, find_in, open};
use filermark_model::plan::{DriverPlan, PosixPlan};
use filermark_results::testing;
use std::collections::BTreeSet;

fn plans() -> [DriverPlan; 4] {
    [
        testing::plan().driver,
        DriverPlan::Smb(testing::smb_plan("geheim")),
        DriverPlan::Posix(PosixPlan::default()),
        DriverPlan::NULL,
    ]
}

#[test]
fn every_plan_has_a_driver_of_its_own_with_its_name() {
    let mut seen = BTreeSet::new();
    for plan in plans() {
        assert!(open(&plan).is_ok());
        assert_eq!(find(&plan).unwrap().name, plan.name());
        assert!(seen.insert(plan.name()));
    }
    assert_eq!(seen, DRIVERS.iter().map(|driver| driver.name).collect());
}

#[test]
fn a_driver_takes_no_settings_of_another() {
    for plan in plans() {
        for driver in DRIVERS {
            let is_its_own = driver.name == plan.name();
            assert_eq!(
                (driver.open)(&plan).is_some(),
                is_its_own,
                "{}",
                driver.name
            );
        }
    }
}

#[test]
fn a_driver_has_checks_where_its_plan_names_a_protocol_to_check() {
    for plan in plans() {
        let (driver, facts) = (find(&plan).unwrap(), plan.facts());
        assert_eq!(driver.validate.is_some(), facts.validates.is_some());
    }
}

#[test]
fn a_driver_that_is_not_in_the_list_is_not_found() {
    let only: [&DriverSpec; 1] = [&null::DRIVER];
    assert!(find_in(&only, &DriverPlan::NULL).is_some());
    assert!(find_in(&only, &testing::plan().driver).is_none());
}
