//! Requests in TRANSACTION2 and NT_TRANSACT (MS-CIFS 2.2.4.46, 2.2.4.62, 2.2.6, 2.2.7).
//!
//! Every request fits into one message; parts of answers are put together in `pieces`.

use super::header::{Command, HEADER};
use super::info::{BasicInfo, level};
use super::writer::{Path, Request, Writer};

/// Longest answer in parameters; the subcommands used here answer with ten bytes at most.
const PARAMETERS_MAX: u16 = 16;

/// Where TRANSACTION2 has its counts: TotalParameterCount, and from ParameterCount on.
const TRANS2_TOTALS: usize = HEADER + 1;
const TRANS2_PARTS: usize = HEADER + 1 + 18;
/// Where NT_TRANSACT has them.
const NT_TOTALS: usize = HEADER + 1 + 3;
const NT_PARTS: usize = HEADER + 1 + 19;

/// Writes a TRANSACTION2: its parameters by one function, its data by another.
fn trans2(
    w: &mut Writer<'_>,
    subcommand: u16,
    max_data: u16,
    parameters: impl FnOnce(&mut Writer<'_>),
    data: impl FnOnce(&mut Writer<'_>),
) {
    w.u32(0);
    w.u16(PARAMETERS_MAX);
    w.u16(max_data);
    w.bytes(&[0; 18]);
    w.u16(1);
    w.u16(subcommand);
    w.end_words();
    // The name, which is empty.
    w.u8(0);
    w.align(4);
    let from = w.here();
    parameters(w);
    let middle = w.here();
    w.align(4);
    let data_from = w.here();
    data(w);
    let (parameters, data) = (middle - from, w.here() - data_from);
    w.patch_u16(TRANS2_TOTALS, parameters);
    w.patch_u16(TRANS2_TOTALS + 2, data);
    w.patch_u16(TRANS2_PARTS, parameters);
    w.patch_u16(TRANS2_PARTS + 2, from);
    w.patch_u16(TRANS2_PARTS + 4, data);
    w.patch_u16(TRANS2_PARTS + 6, data_from);
}

/// Writes an NT_TRANSACT with setup words and parameters.
fn nt_transact(
    w: &mut Writer<'_>,
    function: u16,
    limits: (u32, u32),
    setup: &[u8],
    parameters: &[u8],
) {
    w.bytes(&[0; 3]);
    w.u64(0);
    w.u32(limits.0);
    w.u32(limits.1);
    w.bytes(&[0; 16]);
    w.u8((setup.len() / 2) as u8);
    w.u16(function);
    w.bytes(setup);
    w.end_words();
    w.align(4);
    let from = w.here();
    w.bytes(parameters);
    w.patch_u32(NT_TOTALS, parameters.len());
    w.patch_u32(NT_PARTS, parameters.len());
    w.patch_u32(NT_PARTS + 4, from);
}

/// TRANS2_QUERY_FS_INFORMATION.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryFs {
    /// InformationLevel.
    pub level: u16,
    /// Longest answer, in bytes.
    pub max_data: u16,
}

impl Request for QueryFs {
    const COMMAND: Command = Command::Transaction2;

    fn encode(&self, w: &mut Writer<'_>) {
        trans2(w, 3, self.max_data, |w| w.u16(self.level), |_| {});
    }
}

/// TRANS2_QUERY_FILE_INFORMATION.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryFile {
    /// FID.
    pub fid: u16,
    /// InformationLevel.
    pub level: u16,
    /// Longest answer, in bytes.
    pub max_data: u16,
}

impl Request for QueryFile {
    const COMMAND: Command = Command::Transaction2;

    fn encode(&self, w: &mut Writer<'_>) {
        let parameters = |w: &mut Writer<'_>| {
            w.u16(self.fid);
            w.u16(self.level);
        };
        trans2(w, 7, self.max_data, parameters, |_| {});
    }
}

/// TRANS2_QUERY_PATH_INFORMATION.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryPath<'a> {
    /// Which.
    pub path: Path<'a>,
    /// InformationLevel.
    pub level: u16,
    /// Longest answer, in bytes.
    pub max_data: u16,
}

impl Request for QueryPath<'_> {
    const COMMAND: Command = Command::Transaction2;

    fn encode(&self, w: &mut Writer<'_>) {
        let parameters = |w: &mut Writer<'_>| {
            w.u16(self.level);
            w.u32(0);
            w.path(&self.path);
        };
        trans2(w, 5, self.max_data, parameters, |_| {});
    }
}

/// What is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetInfo<'a> {
    /// Times and attributes; zeros leave as it is.
    Basic(BasicInfo),
    /// The file goes when it is closed, or stays.
    Disposition(bool),
    /// Space on disk, in bytes.
    Allocation(u64),
    /// The size, in bytes.
    EndOfFile(u64),
    /// The name in its directory (FileRenameInformation of MS-FSCC, passed through).
    Rename {
        /// A file of that name may be replaced.
        replace: bool,
        /// A name without a backslash.
        name: &'a str,
    },
}

impl SetInfo<'_> {
    /// InformationLevel (MS-CIFS 2.2.8.4).
    pub const fn level(&self) -> u16 {
        match self {
            Self::Basic(_) => level::SET_BASIC,
            Self::Disposition(_) => level::SET_DISPOSITION,
            Self::Allocation(_) => level::SET_ALLOCATION,
            Self::EndOfFile(_) => level::SET_END_OF_FILE,
            Self::Rename { .. } => level::PASS_RENAME,
        }
    }

    fn put(&self, w: &mut Writer<'_>) {
        match *self {
            Self::Basic(basic) => {
                for time in basic.times() {
                    w.u64(time);
                }
                w.u32(basic.attributes);
                w.u32(0);
            }
            Self::Disposition(goes) => w.u8(goes.into()),
            Self::Allocation(size) | Self::EndOfFile(size) => w.u64(size),
            Self::Rename { replace, name } => {
                w.u32(replace.into());
                w.u32(0);
                w.u32(0);
                let from = w.here();
                w.text(name);
                w.patch_u32(from - 4, w.here() - from);
            }
        }
    }
}

/// TRANS2_SET_FILE_INFORMATION.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetFile<'a> {
    /// FID.
    pub fid: u16,
    /// What.
    pub info: SetInfo<'a>,
}

impl Request for SetFile<'_> {
    const COMMAND: Command = Command::Transaction2;

    fn encode(&self, w: &mut Writer<'_>) {
        let parameters = |w: &mut Writer<'_>| {
            w.u16(self.fid);
            w.u16(self.info.level());
            w.u16(0);
        };
        trans2(w, 8, 0, parameters, |w| self.info.put(w));
    }
}

/// TRANS2_SET_PATH_INFORMATION.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetPath<'a> {
    /// Which.
    pub path: Path<'a>,
    /// What.
    pub info: SetInfo<'a>,
}

impl Request for SetPath<'_> {
    const COMMAND: Command = Command::Transaction2;

    fn encode(&self, w: &mut Writer<'_>) {
        let parameters = |w: &mut Writer<'_>| {
            w.u16(self.info.level());
            w.u32(0);
            w.path(&self.path);
        };
        trans2(w, 6, 0, parameters, |w| self.info.put(w));
    }
}

/// TRANS2_FIND_FIRST2 for FIND_FILE_BOTH_DIRECTORY_INFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindFirst<'a> {
    /// A directory and a pattern: `dir`, `*.txt`.
    pub pattern: Path<'a>,
    /// Entries at most.
    pub count: u16,
    /// 1: close after this, 2: close at the end, 4: resume keys.
    pub flags: u16,
    /// Longest answer, in bytes.
    pub max_data: u16,
}

impl Request for FindFirst<'_> {
    const COMMAND: Command = Command::Transaction2;

    fn encode(&self, w: &mut Writer<'_>) {
        let parameters = |w: &mut Writer<'_>| {
            // Directories, hidden and system files as well.
            w.u16(0x16);
            w.u16(self.count);
            w.u16(self.flags);
            w.u16(level::FIND_BOTH);
            w.u32(0);
            w.path(&self.pattern);
        };
        trans2(w, 1, self.max_data, parameters, |_| {});
    }
}

/// TRANS2_FIND_NEXT2, of the same level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindNext<'a> {
    /// SID of the search.
    pub sid: u16,
    /// Entries at most.
    pub count: u16,
    /// FileIndex of the last entry that came.
    pub resume_key: u32,
    /// As for FIND_FIRST2; 8: go on where the last answer ended.
    pub flags: u16,
    /// Name of the last entry that came.
    pub name: &'a str,
    /// Longest answer, in bytes.
    pub max_data: u16,
}

impl Request for FindNext<'_> {
    const COMMAND: Command = Command::Transaction2;

    fn encode(&self, w: &mut Writer<'_>) {
        let parameters = |w: &mut Writer<'_>| {
            w.u16(self.sid);
            w.u16(self.count);
            w.u16(level::FIND_BOTH);
            w.u32(self.resume_key);
            w.u16(self.flags);
            w.text(self.name);
            w.u16(0);
        };
        trans2(w, 2, self.max_data, parameters, |_| {});
    }
}

/// NT_TRANSACT_QUERY_SECURITY_DESC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuerySecurity {
    /// FID.
    pub fid: u16,
    /// SecurityInfoFields: 1 owner, 2 group, 4 DACL.
    pub fields: u32,
    /// Longest answer, in bytes.
    pub max_data: u32,
}

impl Request for QuerySecurity {
    const COMMAND: Command = Command::NtTransact;

    fn encode(&self, w: &mut Writer<'_>) {
        let mut parameters = [0; 8];
        parameters[..2].copy_from_slice(&self.fid.to_le_bytes());
        parameters[4..].copy_from_slice(&self.fields.to_le_bytes());
        nt_transact(w, 6, (4, self.max_data), &[], &parameters);
    }
}

/// NT_TRANSACT_NOTIFY_CHANGE: answered at the next change, or when it is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotifyChange {
    /// FID of the directory.
    pub fid: u16,
    /// CompletionFilter.
    pub filter: u32,
    /// Directories below as well.
    pub tree: bool,
    /// Longest answer, in bytes: it comes as parameters.
    pub max_parameters: u32,
}

impl Request for NotifyChange {
    const COMMAND: Command = Command::NtTransact;

    fn encode(&self, w: &mut Writer<'_>) {
        let mut setup = [0; 8];
        setup[..4].copy_from_slice(&self.filter.to_le_bytes());
        setup[4..6].copy_from_slice(&self.fid.to_le_bytes());
        setup[6] = self.tree.into();
        nt_transact(w, 4, (self.max_parameters, 0), &setup, &[]);
    }
}
