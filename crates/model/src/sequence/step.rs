//! What a walker does, what it has open, and which of the one goes with which of the
//! other: the rules that every sequence keeps to.

use crate::op::Op;
use serde::{Deserialize, Serialize};

/// What a walker has open before it shows an operation of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Nothing: operations on paths, and opens.
    Idle,
    /// A file or directory that is not read or written: attributes only.
    Attributes,
    /// A file opened to be read.
    Reading,
    /// A file opened to be written (and read).
    Writing,
    /// The same, with a range of it locked.
    Locked,
    /// A file that was cut to nothing and has to be written before it is closed.
    Emptied,
    /// The same, with something in it again.
    Filling,
    /// A new file that goes when it is closed.
    Temporary,
}

impl Level {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Idle,
        Self::Attributes,
        Self::Reading,
        Self::Writing,
        Self::Locked,
        Self::Emptied,
        Self::Filling,
        Self::Temporary,
    ];

    /// As definitions spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Attributes => "attributes",
            Self::Reading => "reading",
            Self::Writing => "writing",
            Self::Locked => "locked",
            Self::Emptied => "emptied",
            Self::Filling => "filling",
            Self::Temporary => "temporary",
        }
    }

    /// What is open after a step; `None`: the step would be wrong here. This table is
    /// what a sequence must keep to, and all that it must keep to.
    pub const fn after(self, step: Step) -> Option<Self> {
        use Level as L;
        use Step as S;
        match (self, step) {
            (L::Idle, S::Echo | S::QueryPath | S::QueryFs | S::Find) => Some(L::Idle),
            (L::Idle, S::OpenAttributes | S::OpenDirectory) => Some(L::Attributes),
            (L::Idle, S::OpenRead) => Some(L::Reading),
            (L::Idle, S::OpenUpdate) => Some(L::Writing),
            (L::Idle, S::OpenReplace) => Some(L::Emptied),
            (L::Idle, S::OpenTemporary) => Some(L::Temporary),
            (L::Idle, _) => None,
            (L::Attributes | L::Reading | L::Writing | L::Filling | L::Temporary, S::Close) => {
                Some(L::Idle)
            }
            (_, S::QueryFile | S::QuerySecurity) => Some(self),
            (L::Reading | L::Writing | L::Locked, S::ReadSequential | S::ReadRandom) => Some(self),
            (L::Writing | L::Locked, S::WriteSequential | S::WriteRandom) => Some(self),
            (L::Emptied | L::Filling, S::WriteSequential) => Some(L::Filling),
            (L::Temporary, S::WriteSequential | S::SetDelete) => Some(self),
            (L::Writing, S::LockRange) => Some(L::Locked),
            (L::Locked, S::UnlockRange) => Some(L::Writing),
            (
                L::Writing | L::Locked | L::Emptied | L::Filling | L::Temporary,
                S::Flush | S::SetTimes | S::SetSize,
            ) => Some(self),
            _ => None,
        }
    }
}

macro_rules! steps {
    ($($variant:ident = $name:literal => $op:ident, $doc:literal;)*) => {
        /// An operation, as exactly as the model says it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(Serialize, Deserialize)]
        pub enum Step { $(#[doc = $doc] #[serde(rename = $name)] $variant,)* }

        impl Step {
            /// All of them.
            pub const ALL: &'static [Step] = &[$(Step::$variant),*];

            /// As definitions spell it.
            pub const fn name(self) -> &'static str {
                match self { $(Step::$variant => $name,)* }
            }

            /// The operation that it is counted as.
            pub const fn op(self) -> Op {
                match self { $(Step::$variant => Op::$op,)* }
            }
        }
    };
}

steps! {
    Echo = "echo" => Echo, "ECHO.";
    QueryPath = "query-path" => QueryPath, "QUERY_PATH: attributes of a file by its path.";
    QueryFs = "query-fs" => QueryFs, "QUERY_FS.";
    Find = "find" => Find, "FIND: a directory, by a pattern.";
    OpenAttributes = "open-attributes" => Open,
        "OPEN of a file that is there, for its attributes only; leads to `Attributes`.";
    OpenDirectory = "open-directory" => Open, "OPEN of a directory; leads to `Attributes`.";
    OpenRead = "open-read" => Open,
        "OPEN of a file that is there, to read it; leads to `Reading`.";
    OpenUpdate = "open-update" => Open,
        "OPEN of a file that is there, to change it; leads to `Writing`.";
    OpenReplace = "open-replace" => Open,
        "OPEN of a small file that is there, cutting it to nothing; leads to `Emptied`.";
    OpenTemporary = "open-temporary" => Open,
        "OPEN of a file that is not there and goes when it is closed; leads to `Temporary`.";
    Close = "close" => Close, "CLOSE; leads to `Idle`.";
    ReadSequential = "read-sequential" => Read,
        "READ where the last one of this open ended; restarts at the end of the file.";
    ReadRandom = "read-random" => Read, "READ anywhere in the file.";
    WriteSequential = "write-sequential" => Write,
        "WRITE where the last one of this open ended: behind the end of the file for the \
         benchmark's share of opens (APPEND_PCNT), else over what is there. Leads from \
         `Emptied` to `Filling`.";
    WriteRandom = "write-random" => Write, "WRITE over what is there, anywhere in the file.";
    Flush = "flush" => Flush, "FLUSH.";
    LockRange = "lock-range" => Lock, "LOCK of a range; leads from `Writing` to `Locked`.";
    UnlockRange = "unlock-range" => Lock,
        "LOCK that gives the range back; leads from `Locked` to `Writing`.";
    QueryFile = "query-file" => QueryFile, "QUERY_FILE.";
    QuerySecurity = "query-security" => QuerySecurity, "QUERY_SECURITY.";
    SetTimes = "set-times" => SetFile, "SET_FILE: times and attributes.";
    SetSize = "set-size" => SetFile, "SET_FILE: the size, to what it is already.";
    SetDelete = "set-delete" => SetFile,
        "SET_FILE: the file is to go when it is closed; for temporary files only, which go \
         anyway.";
}

impl Step {
    /// A step by its name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|s| s.name() == name)
    }

    /// The levels at which it may be done.
    pub fn levels(self) -> impl Iterator<Item = Level> {
        let fits = move |level: &Level| level.after(self).is_some();
        Level::ALL.into_iter().filter(fits)
    }
}
