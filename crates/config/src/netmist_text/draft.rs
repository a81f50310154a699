//! A workload while its lines are being read.

use super::keys::{BoolAttribute, HotSpotField, Key, PercentAttribute, SlotField, Table};
use super::shipped_title;
use crate::error::quoted;
use filermark_model::transfer::{
    SLOTS_MAX, TRANSFER_BYTES_MAX, TransferError, TransferSlot, TransferTable,
};
use filermark_model::workload::{Attributes, HotSpot, WorkloadError};
use filermark_model::{Mix, Op, WorkloadObject};
use std::collections::BTreeMap;

/// The attributes read so far.
pub(super) struct DefinitionBuilder {
    pub name: String,
    /// The line of its name, from 1.
    pub line: usize,
    /// Its name is wrong; then nothing is reported of it as a whole.
    pub is_unnamed: bool,
    /// Parts that have a wrong line: their totals are not checked.
    bad: Vec<TotalOf>,
    /// The line of each key.
    lines: BTreeMap<Key, usize>,
    shares: Vec<(Op, f64)>,
    read: [TransferSlot; SLOTS_MAX],
    write: [TransferSlot; SLOTS_MAX],
    attributes: Attributes,
    spot: HotSpot,
    title: Option<String>,
}

/// What has a total of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TotalOf {
    /// The mix.
    Mix,
    /// A table of transfer sizes.
    Transfers(Table),
}

/// What is wrong and what to try.
pub(super) type ValueError = (String, String);

const EMPTY: TransferSlot = TransferSlot {
    min_bytes: 0,
    max_bytes: 0,
    percent: 0.0,
};

impl DefinitionBuilder {
    pub fn new(name: &str, line: usize) -> Self {
        Self {
            name: name.to_owned(),
            line,
            is_unnamed: false,
            bad: Vec::new(),
            lines: BTreeMap::new(),
            shares: Vec::new(),
            read: [EMPTY; SLOTS_MAX],
            write: [EMPTY; SLOTS_MAX],
            attributes: Attributes::default(),
            spot: HotSpot {
                access_pcnt: 0.0,
                area_pcnt: 0.0,
                move_every_s: 0.0,
            },
            title: None,
        }
    }

    /// Marks the line of this key as wrong.
    pub fn mark_key_wrong(&mut self, key: Key) {
        match key {
            Key::Share(_) => self.bad.push(TotalOf::Mix),
            Key::Slot(table, ..) => self.bad.push(TotalOf::Transfers(table)),
            _ => {}
        }
    }

    /// Marks the part of an invalid line that begins with this word as wrong.
    pub fn mark_wrong(&mut self, first: &str) {
        let is = |known: &str| first.eq_ignore_ascii_case(known);
        let parts = [
            ("percent", TotalOf::Mix),
            ("read", TotalOf::Transfers(Table::Read)),
            ("write", TotalOf::Transfers(Table::Write)),
        ];
        let part = parts.iter().find(|(word, _)| is(word));
        self.bad.extend(part.map(|(_, part)| *part));
    }

    /// Sets a line's value.
    pub fn set(&mut self, key: Key, value: &str, line: usize) -> Result<(), ValueError> {
        if let Some(first) = self.lines.insert(key, line) {
            return Err((
                format!("'{}' is in line {first} already", key.text()),
                "give every attribute of a workload one line".into(),
            ));
        }
        let a = &mut self.attributes;
        match key {
            Key::Share(op) => self.shares.push((op, percent(value)?)),
            Key::Slot(table, number, part) => {
                let slots = match table {
                    Table::Read => &mut self.read,
                    Table::Write => &mut self.write,
                };
                let slot = &mut slots[number];
                match part {
                    SlotField::Min => slot.min_bytes = parse_integer(value, 0, TRANSFER_BYTES_MAX)?,
                    SlotField::Max => slot.max_bytes = parse_integer(value, 0, TRANSFER_BYTES_MAX)?,
                    SlotField::Percent => slot.percent = percent(value)?,
                }
            }
            Key::Figure(figure) => {
                let place = match figure {
                    PercentAttribute::Commit => &mut a.write_commit_pcnt,
                    PercentAttribute::Direct => &mut a.direct_pcnt,
                    PercentAttribute::Osync => &mut a.osync_pcnt,
                    PercentAttribute::Geometric => &mut a.geometric_pcnt,
                    PercentAttribute::Compress => &mut a.compress_pcnt,
                    PercentAttribute::Dedupe => &mut a.dedupe_pcnt,
                };
                *place = percent(value)?;
            }
            Key::Flag(flag) => {
                let place = match flag {
                    BoolAttribute::Background => &mut a.background,
                    BoolAttribute::Sharemode => &mut a.sharemode,
                    BoolAttribute::UniformSize => &mut a.uniform_size_dist,
                    BoolAttribute::NoAttributeCache => &mut a.no_attribute_cache,
                };
                *place = parse_integer(value, 0, 1)? == 1;
            }
            // One value each: the attribute's default.
            Key::RandDist if value == "0" => {}
            Key::RandDist => return Err(expected(value, "0, which is uniform")),
            Key::FsType if value.eq_ignore_ascii_case("POSIX") => {}
            Key::FsType => return Err(expected(value, "POSIX")),
            Key::SequentialRead => {
                a.sequential_read_bytes = Some(parse_integer(value, 1, TRANSFER_BYTES_MAX)?);
            }
            Key::RandomReadLimit => {
                let limit = number(value).ok_or_else(|| expected(value, "milliseconds"))?;
                a.random_read_limit_ms = Some(limit);
            }
            Key::Depth => a.depth = parse_integer(value, 1, Attributes::DEPTH_MAX)?,
            Key::RandomAlign => a.random_align_bytes = parse_integer(value, 1, 1 << 20)?,
            Key::Spot(HotSpotField::Access) => self.spot.access_pcnt = percent(value)?,
            Key::Spot(HotSpotField::Area) => self.spot.area_pcnt = percent(value)?,
            Key::Spot(HotSpotField::Move) => {
                self.spot.move_every_s =
                    number(value).ok_or_else(|| expected(value, "a number of seconds"))?;
            }
            Key::Title => self.title = Some(value.to_owned()),
        }
        Ok(())
    }

    /// The workload, or everything that is wrong with it as a whole.
    pub fn finish(self) -> Result<WorkloadObject, Vec<ValueError>> {
        let name = &self.name;
        let mut wrong = Vec::new();
        let is_sound = |part| !self.bad.contains(&part);
        let mix = Mix::new(self.shares.iter().copied()).map_err(|e| {
            let hint = "correct the 'Percent' lines of its operations";
            let error = (WorkloadError::of_mix(name, &e).to_string(), hint.into());
            wrong.extend(Some(error).filter(|_| is_sound(TotalOf::Mix)));
        });
        let mut transfers = |table| {
            self.table(table).map_err(|all| {
                let sound = is_sound(TotalOf::Transfers(table));
                wrong.extend(all.into_iter().filter(|_| sound));
            })
        };
        let (read, write) = (transfers(Table::Read), transfers(Table::Write));
        let mut attributes = self.attributes.clone();
        attributes.hot_spot = self.hot_spot().unwrap_or_else(|w| {
            wrong.push(w);
            None
        });
        let (Ok(mix), Ok(read_transfers), Ok(write_transfers)) = (mix, read, write) else {
            return Err(wrong);
        };
        let title = self.title.unwrap_or_else(|| shipped_title(name).to_owned());
        let object = WorkloadObject {
            name: self.name,
            title,
            mix,
            read_transfers,
            write_transfers,
            attributes,
        };
        if let Err(e) = object.check() {
            wrong.push((e.to_string(), "correct that line".into()));
        }
        match wrong.is_empty() {
            true => Ok(object),
            false => Err(wrong),
        }
    }

    /// A transfer table: the slots up to the last one that has a line.
    fn table(&self, table: Table) -> Result<TransferTable, Vec<ValueError>> {
        let (slots, word, key) = match table {
            Table::Read => (&self.read, "read", "Read"),
            Table::Write => (&self.write, "write", "Write"),
        };
        let numbers = self.lines.keys().filter_map(|k| match k {
            Key::Slot(t, number, _) if *t == table => Some(number + 1),
            _ => None,
        });
        let count = numbers.max().unwrap_or(0);
        let located = |reason: TransferError| {
            let hint = match reason {
                TransferError::Count(_) => format!("write '{key} elem 0 xfer min size 8192' etc."),
                TransferError::Slot { slot, .. } => {
                    format!("correct the three '{key} elem {slot} xfer' lines")
                }
                TransferError::Sum(_) => format!("correct the '{key} elem N xfer percent' lines"),
            };
            let error = WorkloadError::Transfers {
                workload: self.name.clone(),
                table: word,
                reason,
            };
            (error.to_string(), hint)
        };
        let slots = &slots[..count];
        let faults = TransferTable::slot_faults(slots);
        match faults.is_empty() {
            true => TransferTable::new(slots.to_vec()).map_err(|reason| vec![located(reason)]),
            false => Err(faults.into_iter().map(located).collect()),
        }
    }

    fn hot_spot(&self) -> Result<Option<HotSpot>, ValueError> {
        let all = [HotSpotField::Access, HotSpotField::Area, HotSpotField::Move].map(Key::Spot);
        let missing = all.iter().find(|k| !self.lines.contains_key(k));
        let count = all.iter().filter(|k| self.lines.contains_key(k)).count();
        match missing {
            None => Ok(Some(self.spot)),
            Some(_) if count == 0 => Ok(None),
            Some(key) => Err((
                format!(
                    "workload {}: its hot spot has no '{}'",
                    self.name,
                    key.text()
                ),
                "write all three 'Hot spot' lines, or none".into(),
            )),
        }
    }
}

fn expected(value: &str, what: &str) -> ValueError {
    (
        format!("'{}' is not {what}", quoted(value)),
        format!("write {what}"),
    )
}

fn percent(value: &str) -> Result<f64, ValueError> {
    number(value)
        .filter(|n| (0.0..=100.0).contains(n))
        .ok_or_else(|| expected(value, "a number from 0 to 100"))
}

fn parse_integer(value: &str, min: u32, max: u32) -> Result<u32, ValueError> {
    let digits = value.bytes().all(|b| b.is_ascii_digit());
    match value.parse() {
        Ok(n) if digits && (min..=max).contains(&n) => Ok(n),
        _ => Err(expected(
            value,
            &format!("a whole number from {min} to {max}"),
        )),
    }
}

/// Digits with at most one point; no sign, no exponent.
fn number(value: &str) -> Option<f64> {
    let plain = |b: u8| b.is_ascii_digit() || b == b'.';
    match value.bytes().all(plain) {
        true => value.parse().ok(),
        false => None,
    }
}
