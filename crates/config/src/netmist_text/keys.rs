//! The lines of the text form: the name of each and what it sets.

use filermark_model::Op;
use filermark_model::transfer::SLOTS_MAX;

/// What a line sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    /// `Percent OPERATION`.
    Share(Op),
    /// `Read elem N xfer ...` and `Write elem N xfer ...`.
    Slot(Table, usize, SlotField),
    /// An attribute that is a percentage.
    Figure(PercentAttribute),
    /// An attribute that is 0 or 1.
    Flag(BoolAttribute),
    /// `Rand dist behavior`.
    RandDist,
    /// `FS Type`.
    FsType,
    /// `Depth`.
    Depth,
    /// `Random align`.
    RandomAlign,
    /// `Sequential read size`.
    SequentialRead,
    /// `Random read limit`.
    RandomReadLimit,
    /// `Hot spot ...`.
    Spot(HotSpotField),
    /// `Title`, whose value is the rest of the line.
    Title,
}

/// Which transfer table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Table {
    Read,
    Write,
}

/// Which member of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SlotField {
    Min,
    Max,
    Percent,
}

/// Attributes that are percentages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PercentAttribute {
    Commit,
    Direct,
    Osync,
    Geometric,
    Compress,
    Dedupe,
}

/// Attributes that are 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BoolAttribute {
    Background,
    Sharemode,
    UniformSize,
    NoAttributeCache,
}

/// Members of a hot spot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HotSpotField {
    Access,
    Area,
    Move,
}

/// The operations in the order of an export; those that the seed's example lacks are
/// written only where they are used.
pub(super) const OPERATIONS: &[(Op, &str, bool)] = &[
    (Op::Read, "Percent read", true),
    (Op::ReadFile, "Percent read file", true),
    (Op::MmapRead, "Percent mmap read", true),
    (Op::ReadRandom, "Percent rand read", true),
    (Op::Write, "Percent write", true),
    (Op::WriteFile, "Percent write file", true),
    (Op::MmapWrite, "Percent mmap write", true),
    (Op::WriteRandom, "Percent rand write", true),
    (Op::Rmw, "Percent rmw", true),
    (Op::Mkdir, "Percent mkdir", true),
    (Op::Rmdir, "Percent rmdir", false),
    (Op::Create, "Percent create", true),
    (Op::Unlink, "Percent unlink", true),
    (Op::Unlink2, "Percent unlink2", false),
    (Op::Append, "Percent append", true),
    (Op::Locking, "Percent locking", true),
    (Op::Access, "Percent access", true),
    (Op::Stat, "Percent stat", true),
    (Op::Chmod, "Percent chmod", true),
    (Op::Readdir, "Percent readdir", true),
    (Op::Copyfile, "Percent copyfile", true),
    (Op::Rename, "Percent rename", true),
    (Op::Statfs, "Percent statfs", true),
    (Op::Pathconf, "Percent pathconf", true),
    (Op::Custom1, "Percent custom1", false),
    (Op::Custom2, "Percent custom2", false),
];

/// The other lines, except those of the slots.
const OTHERS: &[(Key, &str)] = &[
    (
        Key::Figure(PercentAttribute::Commit),
        "Percent write commit",
    ),
    (Key::Figure(PercentAttribute::Direct), "Percent direct"),
    (Key::Figure(PercentAttribute::Osync), "Percent osync"),
    (
        Key::Figure(PercentAttribute::Geometric),
        "Percent geometric",
    ),
    (Key::Figure(PercentAttribute::Compress), "Percent compress"),
    (Key::Figure(PercentAttribute::Dedupe), "Percent dedupe"),
    (Key::Flag(BoolAttribute::Background), "Background"),
    (Key::Flag(BoolAttribute::Sharemode), "Sharemode"),
    (Key::Flag(BoolAttribute::UniformSize), "Uniform size dist"),
    (Key::RandDist, "Rand dist behavior"),
    (Key::FsType, "FS Type"),
    (Key::Depth, "Depth"),
    (Key::RandomAlign, "Random align"),
    (Key::SequentialRead, "Sequential read size"),
    (Key::RandomReadLimit, "Random read limit"),
    (
        Key::Flag(BoolAttribute::NoAttributeCache),
        "No attribute cache",
    ),
    (Key::Spot(HotSpotField::Access), "Hot spot access percent"),
    (Key::Spot(HotSpotField::Area), "Hot spot area percent"),
    (Key::Spot(HotSpotField::Move), "Hot spot move seconds"),
    (Key::Title, "Title"),
];

/// The line that begins a workload.
pub(super) const NAME: &str = "Workload name";

/// The result of looking up a key.
pub(super) enum KeyLookup {
    Key(Key),
    /// A slot line whose number is not from 0 to 15.
    SlotNumber,
    Unknown,
}

impl Key {
    /// The words of a line without its value, in any case.
    pub fn find(words: &[&str]) -> KeyLookup {
        if let Some(found) = slot(words) {
            return found;
        }
        let is = |text: &str| {
            let mut known = text.split(' ');
            let mut same = |w: &str| known.next().is_some_and(|k| k.eq_ignore_ascii_case(w));
            words.iter().all(|w| same(w)) && known.next().is_none()
        };
        let op = OPERATIONS.iter().find(|(_, text, _)| is(text));
        let other = || OTHERS.iter().find(|(_, text)| is(text));
        match op {
            Some((op, _, _)) => KeyLookup::Key(Key::Share(*op)),
            None => other().map_or(KeyLookup::Unknown, |(key, _)| KeyLookup::Key(*key)),
        }
    }

    /// The words of its line.
    pub fn text(self) -> String {
        match self {
            Key::Slot(table, slot, part) => {
                let table = match table {
                    Table::Read => "Read",
                    Table::Write => "Write",
                };
                let part = match part {
                    SlotField::Min => "min size",
                    SlotField::Max => "max size",
                    SlotField::Percent => "percent",
                };
                format!("{table} elem {slot} xfer {part}")
            }
            Key::Share(op) => {
                let row = OPERATIONS.iter().find(|(o, _, _)| *o == op);
                row.map_or("", |(_, text, _)| text).to_owned()
            }
            other => {
                let row = OTHERS.iter().find(|(key, _)| *key == other);
                row.map_or("", |(_, text)| text).to_owned()
            }
        }
    }
}

/// The words of all lines except those of the slots.
pub(super) fn known() -> impl Iterator<Item = &'static str> {
    let operations = OPERATIONS.iter().map(|(_, text, _)| *text);
    let others = OTHERS.iter().map(|(_, text)| *text);
    operations.chain(others).chain([NAME])
}

/// A slot line, if these words can only be one.
fn slot(words: &[&str]) -> Option<KeyLookup> {
    let [table, elem, number, xfer, part @ ..] = words else {
        return None;
    };
    let is = |word: &str, known: &str| word.eq_ignore_ascii_case(known);
    if !is(elem, "elem") || !is(xfer, "xfer") {
        return None;
    }
    let table = match table {
        t if is(t, "read") => Table::Read,
        t if is(t, "write") => Table::Write,
        _ => return None,
    };
    let part = match part {
        [a, b] if is(a, "min") && is(b, "size") => SlotField::Min,
        [a, b] if is(a, "max") && is(b, "size") => SlotField::Max,
        [a] if is(a, "percent") => SlotField::Percent,
        _ => return None,
    };
    let digits = number.bytes().all(|b| b.is_ascii_digit());
    Some(match number.parse::<usize>() {
        Ok(slot) if digits && slot < SLOTS_MAX => KeyLookup::Key(Key::Slot(table, slot, part)),
        _ => KeyLookup::SlotNumber,
    })
}
