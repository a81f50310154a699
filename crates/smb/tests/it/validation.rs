//! The protocol validator against Samba, and against Samba behind a proxy that spoils it.

use super::rig::{mount, plan, samba};
use filermark_engine::driver::{Claim, StopFlag};
use filermark_model::plan::{MountPoint, SmbPlan};
use filermark_model::smb::{Auth, Dialect};
use filermark_smb::login::LoginRefusals;
use filermark_smb::validate::{CheckResult, Level, Report, Verdict, checks, validate};
use filermark_testbed::{Samba, SambaOptions, SmbEncryption, SmbGuests, SmbSigning};
use std::collections::BTreeSet;

pub fn claim() -> Claim {
    Claim {
        dir_name: "filermark.validate".into(),
        run_id: "the validator's test".into(),
    }
}

/// Runs all checks of a range of dialects.
pub fn run(plan: &SmbPlan) -> Report {
    run_on(Samba::DATA, plan)
}

/// The same on a share.
fn run_on(share: &str, plan: &SmbPlan) -> Report {
    let mount = MountPoint {
        path: format!(r"\{share}"),
        ..mount()
    };
    let mut sink = |result: &CheckResult| {
        if *result != passed(result) {
            println!("{}", result.render_text());
        }
    };
    let stop = StopFlag::new();
    validate(
        plan,
        &mount,
        &claim(),
        Level::All,
        &stop,
        &LoginRefusals::default(),
        &mut sink,
    )
    .expect("a share to claim")
}

/// The same result, passed and without notes.
fn passed(result: &CheckResult) -> CheckResult {
    CheckResult {
        verdict: Verdict::Pass,
        notes: Vec::new(),
        ..result.clone()
    }
}

/// Nothing failed, nothing was cut short, nothing stays on the share.
fn assert_sound(report: &Report, samba: &Samba) {
    assert!(report.is_success(), "{}", report.summary());
    assert_eq!(report.not_ours, Vec::<String>::new());
    assert!(!samba.files(Samba::DATA).join("filermark.validate").exists());
}

#[test]
fn samba_passes_by_smb1() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    samba.sandbox().run(|| {
        let report = run(&plan(&samba, Dialect::Nt1));
        println!("{}", report.summary());
        assert_sound(&report, &samba);
        assert_known_departures(&report);
        assert_eq!(skipped(&report), BTreeSet::new());
    });
}

#[test]
fn samba_passes_by_every_dialect_of_smb2_and_3() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    samba.sandbox().run(|| {
        let mut plan = plan(&samba, Dialect::V202);
        plan.dialects.1 = Dialect::V311;
        let report = run(&plan);
        println!("{}", report.summary());
        assert_sound(&report, &samba);
        assert_known_departures(&report);
        let few = BTreeSet::from([("2.0.2", "write.through")]);
        let clear = ["3.0", "3.0.2", "3.1.1"].map(|dialect| (dialect, "encryption.clear"));
        let few = few.into_iter().chain(clear).collect();
        assert_eq!(skipped(&report), few);
        let tried: BTreeSet<_> = report.results.iter().filter_map(|r| r.dialect).collect();
        assert_eq!(
            tried,
            BTreeSet::from(["2.0.2", "2.1", "3.0", "3.0.2", "3.1.1"])
        );
    });
}

/// Where Samba 4.17 departs from the specifications without harm; everything else would be
/// a failure. It lets an open with DesiredAccess 0 through (MS-FSA 2.1.5.1 refuses it), and
/// neither signs nor encrypts the refusal of a compound that makes no sense, whatever the
/// session is (MS-SMB2 3.3.4.1.1). Rarely, and not without harm, a close does not wake who
/// waits for its lock: the check says how that comes.
fn assert_known_departures(report: &Report) {
    let known = [
        "open.no_access",
        "compound.first_related",
        "lock.waits_for_close",
    ];
    for result in report.results.iter().filter(|r| !r.notes.is_empty()) {
        assert!(known.contains(&result.id), "{}", result.render_text());
    }
}

/// The checks that were skipped, whatever the dialect.
fn skipped(report: &Report) -> BTreeSet<(&'static str, &'static str)> {
    let skipped = report.results.iter();
    let skipped = skipped.filter(|r| matches!(r.verdict, Verdict::Skipped { .. }));
    skipped.map(|r| (r.dialect.unwrap_or(""), r.id)).collect()
}

#[test]
fn samba_passes_with_signing_mandatory() {
    let Some(samba) = samba(SambaOptions {
        signing: SmbSigning::Mandatory,
        ..SambaOptions::default()
    }) else {
        return;
    };
    samba.sandbox().run(|| {
        for (low, high) in [(Dialect::Nt1, Dialect::Nt1), (Dialect::V202, Dialect::V311)] {
            let mut plan = plan(&samba, low);
            plan.dialects.1 = high;
            let report = run(&plan);
            println!("{}", report.summary());
            assert_sound(&report, &samba);
            assert_known_departures(&report);
        }
    });
}

/// NT1, 2.0.2 and 2.1 have no encryption: the server does not let them in, and may.
#[test]
fn samba_passes_with_encryption_required() {
    let Some(samba) = samba(SambaOptions {
        encryption: SmbEncryption::Required,
        ..SambaOptions::default()
    }) else {
        return;
    };
    samba.sandbox().run(|| {
        let mut plan = plan(&samba, Dialect::V202);
        plan.dialects.1 = Dialect::V311;
        let report = run(&plan);
        println!("{}", report.summary());
        assert_sound(&report, &samba);
        let skipped = skipped(&report);
        println!("{skipped:?}");
        for dialect in ["2.0.2", "2.1"] {
            assert!(skipped.contains(&(dialect, "session.made")), "{skipped:?}");
        }
        for dialect in ["3.0", "3.0.2", "3.1.1"] {
            assert!(
                !skipped.contains(&(dialect, "encryption.clear")),
                "{skipped:?}"
            );
        }
    });
}

/// Guests have no key to sign or encrypt with, which is no failure.
#[test]
fn a_guest_can_validate() {
    let Some(samba) = samba(SambaOptions {
        guests: SmbGuests::UnknownUsers,
        ..SambaOptions::default()
    }) else {
        return;
    };
    samba.sandbox().run(|| {
        for dialect in [Dialect::Nt1, Dialect::V311] {
            let mut plan = plan(&samba, dialect);
            plan.auth = Auth::Guest;
            let report = run_on(Samba::GUEST, &plan);
            println!("{}", report.summary());
            assert!(report.is_success(), "{}", report.summary());
            let skipped = skipped(&report);
            for id in ["session.user", "signing.works", "signing.tampered"] {
                assert!(skipped.contains(&(dialect.name(), id)), "{skipped:?}");
            }
        }
    });
}

/// What does not fit is not tried; what is tried is right.
#[test]
fn a_share_of_a_few_mib_is_enough_for_most_of_it() {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    samba.sandbox().run(|| {
        let report = run_on(Samba::SMALL, &plan(&samba, Dialect::V311));
        assert!(report.is_success(), "{}", report.summary());
        assert!(report.skipped_count() < 10, "{}", report.summary());
    });
}

#[test]
fn checks_have_one_name_each() {
    let names: BTreeSet<_> = checks().map(|check| check.id).collect();
    assert_eq!(names.len(), checks().count());
    for check in checks() {
        for dialect in Dialect::ALL.into_iter().filter(|d| check.is_for(*d)) {
            assert!(
                check.section(dialect).starts_with("MS-"),
                "{check:?} {dialect}"
            );
        }
    }
}

#[test]
fn the_manual_has_every_check() {
    let page = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/src/reference/validate.md"
    );
    let page = std::fs::read_to_string(page).expect("the manual's page");
    let smb = page.split("\n## SMB\n").nth(1).expect("the part about SMB");
    for check in checks() {
        let row = smb
            .lines()
            .find(|line| line.contains(&format!("`{}`", check.id)));
        let row = row.unwrap_or_else(|| panic!("{} is not there", check.id));
        assert!(row.ends_with(&format!("| {} |", check.title)), "{row}");
    }
    let rows = smb.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, checks().count());
}
