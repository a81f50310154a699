//! From the text of a parameter to a checked value, and the type that it is read as.

use super::decl::{Kind, Parameter};
use filermark_model::launch::OnLost;
use filermark_model::plan::{
    Arrivals, ClientIds, Connections, DelegationUse, IpChoice, LayoutUse, MonitorMode, NfsSecurity,
    NfsVersion, PacingMode,
};
use std::marker::PhantomData;
use std::ops::Deref;

/// A value that is checked against the kind of its parameter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Text(String),
    List(Vec<String>),
    Switch(bool),
    Choice(&'static str),
    Int(u64),
    Real(f64),
}

/// A parameter with the type of its value.
pub(crate) struct Param<T: 'static> {
    pub declaration: Parameter,
    value: PhantomData<fn() -> T>,
}

impl<T> Deref for Param<T> {
    type Target = Parameter;

    fn deref(&self) -> &Parameter {
        &self.declaration
    }
}

impl<T: FromValue> Param<T> {
    /// A declaration under its name. It does not compile where the kind of the declaration is
    /// read as another type, or where the type needs a default and there is none.
    pub const fn new(name: &'static str, mut declaration: Parameter) -> Self {
        declaration.name = name;
        assert!(is_read_as(&declaration.kind, &T::SHAPE));
        match T::DEFAULT {
            Presence::Declared => assert!(!declaration.default.is_empty()),
            Presence::Nothing => assert!(declaration.default.is_empty()),
            Presence::Either => {}
        }
        Self {
            declaration,
            value: PhantomData,
        }
    }
}

/// Declares parameters of one group of rc files, in the order of the reference.
macro_rules! parameters {
    ($($name:ident: $type:ty = $declaration:expr;)+) => {
        $(pub(crate) static $name: $crate::params::Param<$type> =
            $crate::params::Param::new(stringify!($name), $declaration);)+

        pub(crate) static PARAMETERS: &[&$crate::params::Parameter] = &[$(&$name.declaration),+];
    };
}
pub(crate) use parameters;

/// Which kinds of declarations are read as a type.
pub(crate) enum Shape {
    Text,
    List,
    Switch,
    /// One of the words by which drivers are chosen.
    DriverWord,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A whole number up to this.
    Whole(u64),
    Real,
    /// This word, or a whole number up to this.
    WordOrWhole(&'static str, u64),
    /// This word, or a number.
    WordOrReal(&'static str),
}

/// Whether the declaration of a parameter has a default, or needs none.
pub(crate) enum Presence {
    Declared,
    Nothing,
    Either,
}

/// The type of a parameter.
pub(crate) trait FromValue: Sized + 'static {
    const SHAPE: Shape;
    const DEFAULT: Presence;
    /// The given value or the declared default; `None`: there is neither.
    fn from_value(value: Option<&Value>) -> Self;
}

/// The type of one value.
pub(crate) trait Single: Sized + 'static {
    const SHAPE: Shape;
    /// In place of a default that is not a value of its kind; a test checks that all are readable.
    const FALLBACK: Self;
    fn single(value: &Value) -> Option<Self>;
}

impl<T: Single> FromValue for T {
    const SHAPE: Shape = T::SHAPE;
    const DEFAULT: Presence = Presence::Declared;
    fn from_value(value: Option<&Value>) -> Self {
        value.and_then(T::single).unwrap_or(T::FALLBACK)
    }
}

impl<T: Single> FromValue for Option<T> {
    const SHAPE: Shape = T::SHAPE;
    const DEFAULT: Presence = Presence::Nothing;
    fn from_value(value: Option<&Value>) -> Self {
        value.and_then(T::single)
    }
}

/// Empty where nothing is set.
impl FromValue for Vec<String> {
    const SHAPE: Shape = Shape::List;
    const DEFAULT: Presence = Presence::Either;
    fn from_value(value: Option<&Value>) -> Self {
        match value {
            Some(Value::List(words)) => words.clone(),
            _ => Self::new(),
        }
    }
}

impl Single for String {
    const SHAPE: Shape = Shape::Text;
    const FALLBACK: Self = Self::new();
    fn single(value: &Value) -> Option<Self> {
        match value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }
}

impl Single for bool {
    const SHAPE: Shape = Shape::Switch;
    const FALLBACK: Self = false;
    fn single(value: &Value) -> Option<Self> {
        match value {
            Value::Switch(on) => Some(*on),
            _ => None,
        }
    }
}

impl Single for f64 {
    const SHAPE: Shape = Shape::Real;
    const FALLBACK: Self = 0.0;
    fn single(value: &Value) -> Option<Self> {
        match value {
            Value::Real(x) => Some(*x),
            _ => None,
        }
    }
}

macro_rules! whole {
    ($($type:ty),+) => {$(
        impl Single for $type {
            const SHAPE: Shape = Shape::Whole(<$type>::MAX as u64);
            const FALLBACK: Self = 0;
            fn single(value: &Value) -> Option<Self> {
                match value {
                    Value::Int(n) => Self::try_from(*n).ok(),
                    _ => None,
                }
            }
        }
    )+};
}
whole!(u16, u32, u64);

/// WARMUP_TIME.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum WarmUp {
    /// Until the load is steady.
    Auto,
    Seconds(f64),
}

impl Single for WarmUp {
    const SHAPE: Shape = Shape::WordOrReal("auto");
    const FALLBACK: Self = Self::Auto;
    fn single(value: &Value) -> Option<Self> {
        match value {
            Value::Choice(_) => Some(Self::Auto),
            Value::Real(seconds) => Some(Self::Seconds(*seconds)),
            _ => None,
        }
    }
}

impl Single for Connections {
    const SHAPE: Shape = Shape::WordOrWhole("proc", u32::MAX as u64);
    const FALLBACK: Self = Self::PerProc;
    fn single(value: &Value) -> Option<Self> {
        match value {
            Value::Choice(_) => Some(Self::PerProc),
            Value::Int(n) => u32::try_from(*n).ok().map(Self::Shared),
            _ => None,
        }
    }
}

/// DRIVER and FS_PROTOCOL: one of the words by which drivers are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DriverWord(pub &'static str);

impl Single for DriverWord {
    const SHAPE: Shape = Shape::DriverWord;
    const FALLBACK: Self = Self("");
    fn single(value: &Value) -> Option<Self> {
        match value {
            Value::Choice(word) => Some(Self(word)),
            _ => None,
        }
    }
}

/// LAUNCHER.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Launcher {
    Auto,
    Local,
    Ssh,
    Slurm,
    Connect,
    Accept,
}

/// Types of which a word chooses a value. The words are those of the declaration.
macro_rules! choices {
    ($($type:ident { $first:literal => $fallback:ident $(, $word:literal => $value:ident)* })+) => {$(
        impl $crate::params::Single for $type {
            const SHAPE: $crate::params::Shape = $crate::params::Shape::Word(&[$first $(, $word)*]);
            const FALLBACK: Self = Self::$fallback;
            fn single(value: &$crate::params::Value) -> Option<Self> {
                match value {
                    $crate::params::Value::Choice($first) => Some(Self::$fallback),
                    $($crate::params::Value::Choice($word) => Some(Self::$value),)*
                    _ => None,
                }
            }
        }
    )+};
}
pub(crate) use choices;

choices! {
    NfsVersion { "2" => V2, "3" => V3, "4.0" => V40, "4.1" => V41, "4.2" => V42, "4" => V41 }
    NfsSecurity { "sys" => Sys, "krb5" => Krb5, "krb5i" => Krb5i, "krb5p" => Krb5p }
    ClientIds { "connection" => Connection, "shared" => Shared }
    DelegationUse { "refuse" => Refuse, "keep" => Keep }
    LayoutUse { "refuse" => Refuse, "use" => Use }
    IpChoice { "off" => V4, "on" => V6, "any" => Any }
    MonitorMode { "program" => Program, "phases" => Phases }
    PacingMode { "closed" => Closed, "open" => Open }
    Arrivals { "uniform" => Uniform, "poisson" => Poisson }
    OnLost { "end" => End, "continue" => Continue }
    Launcher {
        "auto" => Auto, "local" => Local, "ssh" => Ssh, "slurm" => Slurm, "connect" => Connect,
        "accept" => Accept
    }
}

/// The kind of a parameter that chooses among the values of a type.
pub(crate) const fn choice<T: Single>() -> Kind {
    match T::SHAPE {
        Shape::Word(words) => Kind::Choice(words),
        _ => panic!("no words choose among its values"),
    }
}

impl Launcher {
    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Local => "local",
            Self::Ssh => "ssh",
            Self::Slurm => "slurm",
            Self::Connect => "connect",
            Self::Accept => "accept",
        }
    }
}

const fn is_read_as(kind: &Kind, shape: &Shape) -> bool {
    match (kind, shape) {
        (Kind::Text | Kind::Secret | Kind::Path, Shape::Text)
        | (Kind::List, Shape::List)
        | (Kind::Switch, Shape::Switch)
        | (Kind::Words(_), Shape::DriverWord)
        | (Kind::Real(..), Shape::Real) => true,
        (Kind::Choice(words), Shape::Word(of)) => same_words(words, of),
        (Kind::Int(_, max, _) | Kind::Size(_, max), Shape::Whole(most)) => *max <= *most,
        (Kind::WordOrInt(word, _, max), Shape::WordOrWhole(of, most)) => {
            same_words(&[word], &[of]) && *max <= *most
        }
        (Kind::WordOrReal(word, ..), Shape::WordOrReal(of)) => same_words(&[word], &[of]),
        _ => false,
    }
}

/// `==` cannot be called at compile time.
const fn same_words(a: &[&str], b: &[&str]) -> bool {
    let mut word = 0;
    while word < a.len() && word < b.len() {
        let (x, y) = (a[word].as_bytes(), b[word].as_bytes());
        let mut at = 0;
        while at < x.len() && at < y.len() && x[at] == y[at] {
            at += 1;
        }
        if at < x.len() || at < y.len() {
            return false;
        }
        word += 1;
    }
    a.len() == b.len()
}
