//! Tests with random workloads and random text.

use super::super::*;
use filermark_model::transfer::{TransferSlot, TransferTable};
use filermark_model::workload::{Attributes, HotSpot};
use filermark_model::{Mix, Op, WorkloadObject};
use proptest::prelude::*;

/// Shares whose total is 100 within the tolerance.
fn shares(count: usize) -> impl Strategy<Value = Vec<f64>> {
    let weights = proptest::collection::vec(prop_oneof![Just(0u32), 1u32..1000], count);
    weights.prop_map(|weights| {
        let total: u32 = weights.iter().sum();
        let share = |w: &u32| f64::from(*w) * 100.0 / f64::from(total.max(1));
        let mut shares: Vec<f64> = weights.iter().map(share).collect();
        if total == 0 {
            shares[0] = 100.0;
        }
        shares
    })
}

fn tables() -> impl Strategy<Value = TransferTable> {
    let sizes = proptest::collection::vec((1u32..64 << 20, 0u32..1 << 20), 16);
    let slots = (1usize..=16).prop_flat_map(shares);
    (sizes, slots).prop_map(|(sizes, shares)| {
        let slot = |((min, more), percent): ((u32, u32), f64)| TransferSlot {
            min_bytes: min,
            max_bytes: if percent == 0.0 {
                more
            } else {
                (min + more).min(64 << 20)
            },
            percent,
        };
        TransferTable::new(sizes.into_iter().zip(shares).map(slot).collect()).unwrap()
    })
}

fn attributes() -> impl Strategy<Value = Attributes> {
    let percent = || prop_oneof![Just(0.0), 0.0..=100.0f64, Just(100.0), Just(1e-7)];
    let spot = proptest::option::of((percent(), 0.01..100.0f64, 0.1..1e6f64));
    let percents = [
        percent(),
        percent(),
        percent(),
        percent(),
        percent(),
        percent(),
    ];
    let align = prop_oneof![Just(4096u32), 1u32..1 << 20];
    let depth = prop_oneof![Just(1u32), 1..=Attributes::DEPTH_MAX];
    let rest = (align, depth, spot);
    (percents, any::<[bool; 3]>(), rest).prop_map(|(p, flags, (align, depth, spot))| Attributes {
        write_commit_pcnt: p[0],
        // Not with each size of writes.
        direct_pcnt: if depth > 1 { 0.0 } else { p[1] },
        osync_pcnt: p[2],
        geometric_pcnt: p[3],
        compress_pcnt: p[4],
        dedupe_pcnt: p[5],
        background: flags[0],
        sharemode: flags[1],
        uniform_size_dist: flags[2],
        random_align_bytes: align,
        depth,
        hot_spot: spot.map(|(access_pcnt, area_pcnt, move_every_s)| HotSpot {
            access_pcnt,
            area_pcnt,
            move_every_s,
        }),
        ..Attributes::default()
    })
}

fn objects() -> impl Strategy<Value = WorkloadObject> {
    let name = prop_oneof![
        "[A-Za-z0-9_]{1,32}",
        Just("METADATA".to_owned()),
        Just("vdi".to_owned())
    ];
    let title = "[^\\p{C}\\s]([^\\p{C}]{0,40}[^\\p{C}\\s])?|";
    (name, title, shares(26), tables(), tables(), attributes()).prop_map(
        |(name, title, shares, read_transfers, write_transfers, attributes)| WorkloadObject {
            name,
            title,
            mix: Mix::new(Op::POSIX.iter().copied().zip(shares)).unwrap(),
            read_transfers,
            write_transfers,
            attributes,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_in_an_export_and_import(object in objects()) {
        prop_assert_eq!(object.check(), Ok(()));
        let text = export([&object]);
        let again = parse("w", &text).unwrap();
        prop_assert_eq!(&again, std::slice::from_ref(&object));
        prop_assert_eq!(export(&again), text);
        // The TOML form loses nothing either.
        let mut registry = Registry::default();
        registry.put_workload(object.clone());
        let toml = registry.workload_toml(&object.name).unwrap();
        let mut taken = Registry::default();
        taken.take_toml("t", &toml).unwrap();
        prop_assert_eq!(taken.workload(&object.name), Ok(&object));
    }

    #[test]
    fn noise_never_panics(text in "(?s).{0,300}", at in 0usize..4000, cut in 0usize..40) {
        let _ = parse("w", &text);
        static SOUND: OnceLock<String> = OnceLock::new();
        let sound = SOUND.get_or_init(|| export([Registry::shipped().workload("DB_TABLE").unwrap()]));
        let mut near = sound.clone();
        let at = at.min(near.len());
        near.replace_range(at..(at + cut).min(near.len()), &text);
        if let Err(errors) = parse("w", &near) {
            for error in errors {
                prop_assert!(!error.to_string().chars().any(char::is_control));
            }
        }
    }
}
