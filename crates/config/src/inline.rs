//! A workload on one line: `read_random=70,write_random=30,size=4k,direct`.
//!
//! The line becomes the text of a definition file, so that it means exactly what a file with
//! the same figures means.

use crate::error::{nearest, quoted};
use crate::given::{number, parse_size};
use crate::params::SIZE_MAX;
use filermark_model::Op;
use filermark_model::transfer::TRANSFER_BYTES_MAX;
use filermark_model::units::Bytes;
use filermark_model::workload::Attributes;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The name of the benchmark and of its workload.
pub(crate) const INLINE_NAME: &str = "INLINE";

/// Its title.
const TITLE: &str = "A workload on one line";

/// The longest line, in characters.
const CHARS_MAX: usize = 4096;

/// The most procs of a unit of load.
const PROCS_MAX: u32 = 10_000;

/// The sum of the shares may differ from 100 by so much, as in definition files.
const SUM_TOLERANCE: f64 = 1e-3;

/// The settings, and what each is.
const SETTINGS: [(&str, Setting); 12] = [
    ("size", Setting::Size),
    ("read_size", Setting::ReadSize),
    ("write_size", Setting::WriteSize),
    ("direct", Setting::Direct),
    ("osync", Setting::Osync),
    ("fsync", Setting::Fsync),
    ("procs", Setting::Procs),
    ("depth", Setting::Depth),
    ("rate", Setting::Rate),
    ("dirs", Setting::Dirs),
    ("files", Setting::Files),
    ("file_size", Setting::FileSize),
];

/// Names that other programs use, and what to write.
const FOREIGN: [(&str, &str); 14] = [
    ("randread", "write read_random=PERCENT"),
    ("randwrite", "write write_random=PERCENT"),
    ("randrw", "write read_random=PERCENT,write_random=PERCENT"),
    (
        "rw",
        "write read=PERCENT,write=PERCENT, or read_random and write_random",
    ),
    (
        "rwmixread",
        "write read_random=PERCENT,write_random=PERCENT",
    ),
    ("bs", "write size=4k"),
    ("blocksize", "write size=4k"),
    ("numjobs", "write procs=N"),
    ("threads", "write procs=N"),
    ("nrfiles", "write files=N"),
    ("filesize", "write file_size=1m"),
    (
        "rate_iops",
        "write rate=N, operations per second of each proc",
    ),
    (
        "runtime",
        "the parameter RUNTIME has the time: -o RUNTIME=30",
    ),
    (
        "iodepth",
        "write depth=N, operations that each proc keeps under way",
    ),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Setting {
    Size,
    ReadSize,
    WriteSize,
    Direct,
    Osync,
    Fsync,
    Procs,
    Depth,
    Rate,
    Dirs,
    Files,
    FileSize,
}

/// One thing that is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InlineFault {
    /// Where, in characters from 1; 0: the line as a whole.
    pub column: usize,
    /// What.
    pub message: String,
    /// What to try.
    pub hint: String,
}

/// A workload, read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InlineWorkload {
    /// Operations and their shares, in percent.
    mix: BTreeMap<Op, f64>,
    read_size: (u32, u32),
    write_size: (u32, u32),
    direct_pcnt: f64,
    osync_pcnt: f64,
    commit_pcnt: f64,
    procs: u32,
    depth: u32,
    ops_per_proc: Option<f64>,
    dirs: u32,
    files: u32,
    file_bytes: u64,
}

/// One item of the line.
struct Item<'a> {
    column: usize,
    name: &'a str,
    value: Option<&'a str>,
}

impl Item<'_> {
    fn fault(&self, message: impl Into<String>, hint: impl Into<String>) -> InlineFault {
        InlineFault {
            column: self.column,
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// The value as a number within bounds; `missing` where there is none.
    fn number(
        &self,
        unit: &str,
        (min, max): (f64, f64),
        missing: Option<f64>,
    ) -> Result<f64, InlineFault> {
        let name = self.name;
        let hint = || format!("write {name}=N, from {min} to {max}");
        let Some(text) = self.value else {
            return missing.ok_or_else(|| self.fault(format!("{name} has no value"), hint()));
        };
        match number(text, unit) {
            Some(x) if (min..=max).contains(&x) => Ok(x),
            _ => {
                let shown = quoted(text);
                Err(self.fault(format!("'{shown}' is no number for {name}"), hint()))
            }
        }
    }

    /// A count.
    fn count(&self, max: u32) -> Result<u32, InlineFault> {
        let x = self.number("", (1.0, f64::from(max)), None)?;
        match x.fract() == 0.0 {
            true => Ok(x as u32),
            false => {
                let name = self.name;
                Err(self.fault(
                    format!("{name} is not a whole number"),
                    format!("write {name}=4"),
                ))
            }
        }
    }

    /// An amount of data, in bytes: `4k`, `512`.
    fn bytes(&self, text: &str, max: u64) -> Result<u64, InlineFault> {
        let read = text.parse().ok().or_else(|| parse_size(text));
        match read.filter(|n| (1..=max).contains(n)) {
            Some(n) => Ok(n),
            None => {
                let (name, shown) = (self.name, quoted(text));
                let message = format!("'{shown}' is no amount of data for {name}");
                let hint = format!("write {name}=4k, from 1 byte to {}", Bytes(max));
                Err(self.fault(message, hint))
            }
        }
    }

    /// The sizes of transfers: `4k`, `4k-64k`.
    fn sizes(&self) -> Result<(u32, u32), InlineFault> {
        let text = self.value.unwrap_or_default();
        let (from, to) = text.split_once('-').unwrap_or((text, text));
        let bytes = |text: &str| {
            let n = self.bytes(text.trim(), u64::from(TRANSFER_BYTES_MAX))?;
            Ok(u32::try_from(n).unwrap_or(TRANSFER_BYTES_MAX))
        };
        match (bytes(from)?, bytes(to)?) {
            (from, to) if from <= to => Ok((from, to)),
            _ => Err(self.fault(
                format!("{}: the first size is the larger one", self.name),
                "write the smaller one first: 4k-64k",
            )),
        }
    }
}

impl InlineWorkload {
    /// Reads a line.
    ///
    /// # Errors
    /// Everything that is wrong with it, in its order.
    pub fn parse(text: &str) -> Result<Self, Vec<InlineFault>> {
        let whole = |message: String, hint: &str| InlineFault {
            column: 0,
            message,
            hint: hint.to_owned(),
        };
        if text.chars().count() > CHARS_MAX {
            let message = format!("the workload is longer than {CHARS_MAX} characters");
            return Err(vec![whole(
                message,
                "write a definition file: -b mine.toml",
            )]);
        }
        let mut reading = LineReader::default();
        for item in items(text) {
            reading.take(&item);
        }
        reading.finish(whole)
    }

    /// The same as a definition file (TOML).
    pub fn to_toml(&self) -> String {
        let mut out = format!("[[workload]]\nname = \"{INLINE_NAME}\"\ntitle = \"{TITLE}\"\n");
        for (table, (min, max)) in [("read", self.read_size), ("write", self.write_size)] {
            let _ = writeln!(
                out,
                "{table}_transfers = [{{ min_bytes = {min}, max_bytes = {max}, percent = 100 }}]"
            );
        }
        out += "[workload.mix]\n";
        for (op, share) in &self.mix {
            let _ = writeln!(out, "{op} = {share:?}");
        }
        let _ = write!(
            out,
            "[workload.attributes]\ndirect_pcnt = {:?}\nosync_pcnt = {:?}\n\
             write_commit_pcnt = {:?}\nuniform_size_dist = true\ndepth = {}\n\
             [[benchmark]]\nname = \"{INLINE_NAME}\"\ntitle = \"{TITLE}\"\nunit = \"JOB\"\n\
             [[benchmark.component]]\nworkload = \"{INLINE_NAME}\"\ninstances = {}\n",
            self.direct_pcnt, self.osync_pcnt, self.commit_pcnt, self.depth, self.procs
        );
        if let Some(rate) = self.ops_per_proc {
            let _ = writeln!(out, "ops_per_proc = {rate:?}");
        }
        let _ = writeln!(
            out,
            "dir_count = {}\nfiles_per_dir = {}\nfile_kib = {:?}",
            self.dirs,
            self.files,
            self.file_bytes as f64 / 1024.0
        );
        out
    }
}

/// The items of a line that are not empty, with their columns.
fn items(text: &str) -> impl Iterator<Item = Item<'_>> {
    let mut column = 1;
    text.split(',').filter_map(move |part| {
        let blanks = part.chars().take_while(|c| c.is_whitespace()).count();
        let at = column + blanks;
        column += part.chars().count() + 1;
        let (name, value) = match part.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (part.trim(), None),
        };
        (!part.trim().is_empty()).then_some(Item {
            column: at,
            name,
            value,
        })
    })
}

/// The procs that a line names; `None`: it names none, or what it names is wrong.
pub fn inline_procs(text: &str) -> Option<u32> {
    let mut named = items(text).filter(|item| item.name.eq_ignore_ascii_case("procs"));
    named.next()?.count(PROCS_MAX).ok()
}

/// The settings of a line that `refused` has something to write in place of.
pub(crate) fn refused_settings(
    text: &str,
    refused: impl Fn(&str) -> Option<&'static str>,
) -> Vec<InlineFault> {
    let fault = |item: Item<'_>| {
        let hint = refused(&item.name.to_ascii_lowercase())?;
        Some(item.fault(format!("{} cannot be set here", quoted(item.name)), hint))
    };
    items(text).filter_map(fault).collect()
}

/// What was read of a line so far.
#[derive(Default)]
struct LineReader {
    faults: Vec<InlineFault>,
    /// Names that occurred.
    seen: Vec<String>,
    mix: BTreeMap<Op, f64>,
    /// The operation without a share: it has the rest.
    rest: Option<Op>,
    read_size: Option<(u32, u32)>,
    write_size: Option<(u32, u32)>,
    direct_pcnt: f64,
    osync_pcnt: f64,
    commit_pcnt: f64,
    procs: Option<u32>,
    depth: Option<u32>,
    ops_per_proc: Option<f64>,
    dirs: Option<u32>,
    files: Option<u32>,
    file_bytes: Option<u64>,
}

impl LineReader {
    /// Takes an item, or what is wrong with it.
    fn take(&mut self, item: &Item<'_>) {
        let name = item.name.to_ascii_lowercase();
        let taken = match self.seen.contains(&name) {
            true => Err(item.fault(format!("{name} is given twice"), "leave one of them out")),
            false => self.take_new(item, &name),
        };
        self.seen.push(name);
        self.faults.extend(taken.err());
    }

    fn take_new(&mut self, item: &Item<'_>, name: &str) -> Result<(), InlineFault> {
        if let Some((_, setting)) = SETTINGS.iter().find(|(n, _)| *n == name) {
            return self.set(*setting, item);
        }
        let op = Op::from_name(name).filter(|op| Op::POSIX.contains(op));
        match (op, item.value, self.rest) {
            (None, ..) => Err(unknown(item, name)),
            (Some(op), None, None) => {
                self.rest = Some(op);
                Ok(())
            }
            (Some(_), None, Some(other)) => Err(item.fault(
                format!("{other} and {name} have no share"),
                "only one operation may have the rest to 100 percent",
            )),
            (Some(op), Some(_), _) => {
                let share = item.number("percent", (0.0, 100.0), None)?;
                self.mix.insert(op, share);
                Ok(())
            }
        }
    }

    fn set(&mut self, setting: Setting, item: &Item<'_>) -> Result<(), InlineFault> {
        let percent = || item.number("percent", (0.0, 100.0), Some(100.0));
        match setting {
            Setting::Size => {
                let sizes = item.sizes()?;
                self.read_size = self.read_size.or(Some(sizes));
                self.write_size = self.write_size.or(Some(sizes));
            }
            Setting::ReadSize => self.read_size = Some(item.sizes()?),
            Setting::WriteSize => self.write_size = Some(item.sizes()?),
            Setting::Direct => self.direct_pcnt = percent()?,
            Setting::Osync => self.osync_pcnt = percent()?,
            Setting::Fsync => self.commit_pcnt = percent()?,
            Setting::Procs => self.procs = Some(item.count(PROCS_MAX)?),
            Setting::Depth => self.depth = Some(item.count(Attributes::DEPTH_MAX)?),
            Setting::Rate => self.ops_per_proc = Some(item.number("op/s", (1e-6, 1e9), None)?),
            Setting::Dirs => self.dirs = Some(item.count(9_999)?),
            Setting::Files => self.files = Some(item.count(1_000_000)?),
            Setting::FileSize => {
                self.file_bytes = Some(item.bytes(item.value.unwrap_or_default(), SIZE_MAX)?);
            }
        }
        Ok(())
    }

    fn finish(
        mut self,
        whole: impl Fn(String, &str) -> InlineFault,
    ) -> Result<InlineWorkload, Vec<InlineFault>> {
        let sum: f64 = self.mix.values().sum();
        if let Some(op) = self.rest {
            self.mix.insert(op, (100.0 - sum).max(0.0));
        }
        let total: f64 = self.mix.values().sum();
        let read_size = self.read_size.unwrap_or(TRANSFER_DEFAULT);
        let write_size = self.write_size.unwrap_or(TRANSFER_DEFAULT);
        let largest = u64::from(read_size.1.max(write_size.1));
        // A wrong item may be what is missing.
        if self.faults.is_empty() {
            let example = "such as read_random=70,write_random=30";
            if self.mix.is_empty() {
                self.faults
                    .push(whole("there is no operation in it".into(), example));
            } else if (total - 100.0).abs() > SUM_TOLERANCE {
                let message = format!("the operations total {total} percent, not 100");
                self.faults.push(whole(message, example));
            }
            if let Some(bytes) = self.file_bytes.filter(|bytes| *bytes < largest) {
                let (size, file) = (Bytes(largest), Bytes(bytes));
                let message = format!("a transfer of {size} is larger than a file, {file}");
                self.faults
                    .push(whole(message, "raise file_size, or lower size"));
            }
        }
        if !self.faults.is_empty() {
            return Err(self.faults);
        }
        Ok(InlineWorkload {
            mix: self.mix,
            read_size,
            write_size,
            direct_pcnt: self.direct_pcnt,
            osync_pcnt: self.osync_pcnt,
            commit_pcnt: self.commit_pcnt,
            procs: self.procs.unwrap_or(1),
            depth: self.depth.unwrap_or(1),
            ops_per_proc: self.ops_per_proc,
            dirs: self.dirs.unwrap_or(1),
            files: self.files.unwrap_or(FILES_DEFAULT),
            file_bytes: self.file_bytes.unwrap_or(FILE_BYTES_DEFAULT.max(largest)),
        })
    }
}

const TRANSFER_DEFAULT: (u32, u32) = (4096, 4096);
const FILES_DEFAULT: u32 = 16;
const FILE_BYTES_DEFAULT: u64 = 1 << 20;

/// The fault of an item that is neither an operation nor a setting.
fn unknown(item: &Item<'_>, name: &str) -> InlineFault {
    let message = format!("there is no operation or setting '{}'", quoted(item.name));
    let operations = Op::POSIX.iter().map(|op| op.name());
    let known = operations.chain(SETTINGS.iter().map(|(name, _)| *name));
    let hint = match FOREIGN.iter().find(|(n, _)| *n == name) {
        Some((_, hint)) => (*hint).to_owned(),
        None => match nearest(name, known) {
            Some(near) => format!("did you mean {near}?"),
            None => {
                let settings: Vec<&str> = SETTINGS.iter().map(|(name, _)| *name).collect();
                format!(
                    "settings: {}; operations: see `filermark workload show METADATA`",
                    settings.join(", ")
                )
            }
        },
    };
    item.fault(message, hint)
}

#[cfg(test)]
mod tests;
