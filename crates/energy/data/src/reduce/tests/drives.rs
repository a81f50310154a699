//! Best foot forward.

use super::*;

fn with_drives(drives: u32, mib_per_s_per_w: f64) -> WorkloadReduction {
    let mut workload = metered(&[(1, Role::Server, &|_| Some(500.0))], 5);
    workload.drives = Some(drives);
    workload.points[0].mib_per_s_per_w = Some(mib_per_s_per_w);
    workload.name = format!("with {drives}");
    workload
}

#[test]
fn best_foot_forward_gives_the_best_and_what_to_measure_next() {
    let of = |figures: &[(u32, f64)]| {
        let runs: Vec<_> = figures.iter().map(|(d, e)| with_drives(*d, *e)).collect();
        best_foot::best_foot(&runs).remove(0)
    };
    let foot = of(&[(24, 10.0), (12, 7.0), (48, 8.0)]);
    assert_eq!(
        foot.measured.iter().map(|m| m.drives).collect::<Vec<_>>(),
        [12, 24, 48]
    );
    assert_eq!((foot.best, foot.enclosed), (Some(1), true));
    let (low, high) = (
        foot.low.clone().expect("low"),
        foot.high.clone().expect("high"),
    );
    // 24 * 0.6 = 14.4, 24 * 1.15 = 27.6.
    assert_eq!((low.drives_wanted, high.drives_wanted), (14, 28));
    // From 10 to 7 over 12 drives: 8.5 is halfway. From 10 to 8 over 24: three quarters.
    assert_eq!(low.drives_15_pcnt_below, Some(18.0));
    assert_eq!(high.drives_15_pcnt_below, Some(42.0));
    assert_eq!(foot.next.len(), 2, "{:?}", foot.next);

    let done = of(&[(14, 9.0), (24, 10.0), (28, 9.5)]);
    assert_eq!(done.low.as_ref().and_then(|p| p.by_drives), Some(0));
    assert!(done.next.is_empty(), "{:?}", done.next);

    let rising = of(&[(12, 7.0), (24, 10.0)]);
    assert!(!rising.enclosed);
    assert!(rising.next[0].starts_with("measure with more than 24"));
    assert!(best_foot::best_foot(&[metered(&[(1, Role::Server, &|_| Some(1.0))], 5)]).is_empty());
}
