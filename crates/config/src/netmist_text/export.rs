//! Workload objects written in the text form.

use super::keys::{
    BoolAttribute, HotSpotField, Key, NAME, OPERATIONS, PercentAttribute, SlotField, Table,
};
use super::shipped_title;
use filermark_model::transfer::TransferTable;
use filermark_model::workload::{Attributes, FsType, RandDist};
use filermark_model::{Op, WorkloadObject};
use std::fmt::{Display, Write as _};

/// All of them, one after the other. [`parse`](super::parse()) reads the same
/// objects from it.
pub fn export<'a>(objects: impl IntoIterator<Item = &'a WorkloadObject>) -> String {
    let mut out = String::new();
    for object in objects {
        workload(object, &mut out);
    }
    out
}

fn workload(object: &WorkloadObject, out: &mut String) {
    let _ = writeln!(out, "{NAME} {}", object.name);
    if object.title != shipped_title(&object.name) {
        let _ = writeln!(out, "{}", format!("Title {}", object.title).trim_end());
    }
    for (op, _, always) in OPERATIONS {
        let share = object.mix.percent(*op);
        if *always || share != 0.0 {
            line(out, Key::Share(*op), share);
        }
    }
    slots(out, Table::Read, &object.read_transfers);
    slots(out, Table::Write, &object.write_transfers);
    attributes(out, &object.attributes);
}

fn line(out: &mut String, key: Key, value: impl Display) {
    let _ = writeln!(out, "{} {value}", key.text());
}

fn slots(out: &mut String, table: Table, transfers: &TransferTable) {
    for (number, slot) in transfers.slots().iter().enumerate() {
        line(
            out,
            Key::Slot(table, number, SlotField::Min),
            slot.min_bytes,
        );
        line(
            out,
            Key::Slot(table, number, SlotField::Max),
            slot.max_bytes,
        );
        line(
            out,
            Key::Slot(table, number, SlotField::Percent),
            slot.percent,
        );
    }
}

fn attributes(out: &mut String, a: &Attributes) {
    line(
        out,
        Key::Figure(PercentAttribute::Commit),
        a.write_commit_pcnt,
    );
    line(out, Key::Figure(PercentAttribute::Direct), a.direct_pcnt);
    line(out, Key::Figure(PercentAttribute::Osync), a.osync_pcnt);
    line(
        out,
        Key::Figure(PercentAttribute::Geometric),
        a.geometric_pcnt,
    );
    line(
        out,
        Key::Figure(PercentAttribute::Compress),
        a.compress_pcnt,
    );
    if a.dedupe_pcnt != 0.0 {
        line(out, Key::Figure(PercentAttribute::Dedupe), a.dedupe_pcnt);
    }
    line(
        out,
        Key::Flag(BoolAttribute::Background),
        u8::from(a.background),
    );
    line(
        out,
        Key::Flag(BoolAttribute::Sharemode),
        u8::from(a.sharemode),
    );
    let uniform = u8::from(a.uniform_size_dist);
    line(out, Key::Flag(BoolAttribute::UniformSize), uniform);
    let RandDist::Uniform = a.rand_dist_behavior;
    line(out, Key::RandDist, 0);
    let FsType::Posix = a.fs_type;
    line(out, Key::FsType, "POSIX");
    if a.random_align_bytes != Attributes::RANDOM_ALIGN_BYTES {
        line(out, Key::RandomAlign, a.random_align_bytes);
    }
    if a.depth != 1 {
        line(out, Key::Depth, a.depth);
    }
    if let Some(bytes) = a.sequential_read_bytes {
        line(out, Key::SequentialRead, bytes);
    }
    if let Some(limit) = a.random_read_limit_ms {
        line(out, Key::RandomReadLimit, limit);
    }
    if a.no_attribute_cache {
        line(out, Key::Flag(BoolAttribute::NoAttributeCache), 1);
    }
    if let Some(spot) = a.hot_spot {
        line(out, Key::Spot(HotSpotField::Access), spot.access_pcnt);
        line(out, Key::Spot(HotSpotField::Area), spot.area_pcnt);
        line(out, Key::Spot(HotSpotField::Move), spot.move_every_s);
    }
}

/// Every operation has its line.
const _: () = assert!(OPERATIONS.len() == Op::POSIX.len());
