//! The few macros that turn a field table into a type with its codec, so that the wire order of a
//! message is written down once and encode and decode cannot drift apart.

/// A structure whose XDR form is its fields in order.
///
/// `field: Type` goes through the type's own codec; `field: &'a [u8] => MAX` is variable-length opaque
/// or string data of at most `MAX` bytes.
macro_rules! xdr_struct {
    (
        $(#[$meta:meta])*
        pub struct $name:ident<$lt:lifetime> {
            $($(#[$fmeta:meta])* $field:ident : $ty:ty $(=> $max:expr)?,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name<$lt> { $($(#[$fmeta])* pub $field: $ty,)* }

        impl $crate::xdr::Encode for $name<'_> {
            #[inline]
            fn encode(&self, e: &mut $crate::xdr::Encoder<'_>) {
                $(xdr_field!(@encode e, self.$field $(, $max)?);)*
            }
        }

        impl<$lt> $crate::xdr::Decode<$lt> for $name<$lt> {
            #[inline]
            fn decode_as(
                d: &mut $crate::xdr::Decoder<$lt>,
                _what: &'static str,
            ) -> Result<Self, $crate::xdr::DecodeError> {
                Ok(Self {
                    $($field: xdr_field!(
                        @decode d, $ty, concat!(stringify!($name), ".", stringify!($field)) $(, $max)?
                    ),)*
                })
            }
        }
    };
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[$fmeta:meta])* $field:ident : $ty:ty,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name { $($(#[$fmeta])* pub $field: $ty,)* }

        impl $crate::xdr::Encode for $name {
            #[inline]
            fn encode(&self, _e: &mut $crate::xdr::Encoder<'_>) {
                $(xdr_field!(@encode _e, self.$field);)*
            }
        }

        impl<'de> $crate::xdr::Decode<'de> for $name {
            #[inline]
            fn decode_as(
                _d: &mut $crate::xdr::Decoder<'de>,
                _what: &'static str,
            ) -> Result<Self, $crate::xdr::DecodeError> {
                Ok(Self {
                    $($field: xdr_field!(
                        @decode _d, $ty, concat!(stringify!($name), ".", stringify!($field))
                    ),)*
                })
            }
        }
    };
}

/// One field of an [`xdr_struct!`].
macro_rules! xdr_field {
    (@encode $e:ident, $value:expr) => {
        $crate::xdr::Encode::encode(&$value, $e)
    };
    (@encode $e:ident, $value:expr, $max:expr) => {
        $e.opaque($value)
    };
    (@decode $d:ident, $ty:ty, $what:expr) => {
        <$ty as $crate::xdr::Decode<'_>>::decode_as($d, $what)?
    };
    (@decode $d:ident, $ty:ty, $what:expr, $max:expr) => {
        $d.opaque($max, $what)?
    };
}

/// A closed XDR enumeration: a number that is not listed is a decode error.
macro_rules! xdr_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $($(#[$vmeta:meta])* $variant:ident = $number:literal $rfc:literal,)* }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u32)]
        pub enum $name { $($(#[$vmeta])* $variant = $number,)* }

        impl $name {
            /// Every value, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The value with this number on the wire.
            #[inline]
            pub const fn from_u32(number: u32) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)* _ => None }
            }

            /// The number on the wire.
            #[inline]
            pub const fn to_u32(self) -> u32 { self as u32 }

            /// The RFC's name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $rfc,)* }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl $crate::xdr::Encode for $name {
            #[inline]
            fn encode(&self, e: &mut $crate::xdr::Encoder<'_>) { e.u32(self.to_u32()) }
        }

        impl<'de> $crate::xdr::Decode<'de> for $name {
            #[inline]
            fn decode_as(
                d: &mut $crate::xdr::Decoder<'de>,
                what: &'static str,
            ) -> Result<Self, $crate::xdr::DecodeError> {
                let at = d.offset();
                let number = d.u32(what)?;
                Self::from_u32(number)
                    .ok_or_else(|| $crate::xdr::DecodeError::unexpected(at, what, number))
            }
        }
    };
}

/// A status: an enumeration that peers extend at will, so an unlisted number is kept as `Unknown`
/// rather than refused, and every value has a hint for the person who meets it.
macro_rules! xdr_status {
    (
        $(#[$meta:meta])*
        pub enum $name:ident ($unknown:literal) {
            $($(#[$vmeta:meta])* $variant:ident = $number:literal $rfc:literal $advice:literal,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$vmeta])* $variant,)*
            /// A number that the RFC does not list.
            Unknown(u32),
        }

        impl $name {
            /// Every listed value, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The value with this number; never fails.
            #[inline]
            pub const fn from_u32(number: u32) -> Self {
                match number { $($number => Self::$variant,)* other => Self::Unknown(other) }
            }

            /// The number on the wire.
            #[inline]
            pub const fn to_u32(self) -> u32 {
                match self { $(Self::$variant => $number,)* Self::Unknown(number) => number }
            }

            /// The RFC's name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $rfc,)* Self::Unknown(_) => $unknown }
            }

            /// What it means and what to try next, in plain English.
            pub const fn advice(self) -> &'static str {
                match self {
                    $(Self::$variant => $advice,)*
                    Self::Unknown(_) => "the peer sent a number that the standard does not list; look at its log",
                }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self {
                    Self::Unknown(number) => write!(f, "{} ({number})", self.name()),
                    _ => f.pad(self.name()),
                }
            }
        }

        impl $crate::xdr::Encode for $name {
            #[inline]
            fn encode(&self, e: &mut $crate::xdr::Encoder<'_>) { e.u32(self.to_u32()) }
        }

        impl<'de> $crate::xdr::Decode<'de> for $name {
            #[inline]
            fn decode_as(
                d: &mut $crate::xdr::Decoder<'de>,
                what: &'static str,
            ) -> Result<Self, $crate::xdr::DecodeError> {
                d.u32(what).map(Self::from_u32)
            }
        }
    };
}

/// Ties argument types to their procedures and results: `Args, Procedure, Results;`.
macro_rules! xdr_calls {
    ($($args:ty, $procedure:ident, $res:ty;)*) => {$(
        impl<'a> $crate::rpc::Call for $args {
            const PROC: u32 = Procedure::$procedure.to_u32();
            const NAME: &'static str = Procedure::$procedure.name();
            type Res<'r> = $res;
        }
    )*};
}

/// A program: `Procedure`, `Args` and `Results` from one list of its procedures, and which arguments and
/// results belong together. Arguments borrow for `'a`, results for `'r`.
macro_rules! xdr_program {
    ($($(#[$meta:meta])* $variant:ident = $number:literal $rfc:literal ($args:ty) -> $res:ty;)*) => {
        xdr_enum! {
            /// A procedure of the program.
            pub enum Procedure { $($(#[$meta])* $variant = $number $rfc,)* }
        }

        impl Procedure {
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();
        }

        xdr_calls! { $($args, $variant, $res;)* }

        /// Arguments of any procedure.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Args<'a> {
            $(#[doc = "Of the procedure with this name."] $variant($args),)*
        }

        impl<'a> Args<'a> {
            /// Reads the arguments of `procedure`, which must end the message.
            ///
            /// # Errors
            /// What is wrong with them: a server answers GARBAGE_ARGS.
            pub fn decode(procedure: Procedure, d: &mut $crate::xdr::Decoder<'a>) -> Result<Self, $crate::xdr::DecodeError> {
                Ok(match procedure {
                    $(Procedure::$variant => Self::$variant($crate::xdr::finish(d)?),)*
                })
            }

            /// Whose arguments these are.
            pub const fn procedure(&self) -> Procedure {
                match self { $(Self::$variant(_) => Procedure::$variant,)* }
            }
        }

        impl $crate::xdr::Encode for Args<'_> {
            fn encode(&self, e: &mut $crate::xdr::Encoder<'_>) {
                match self { $(Self::$variant(args) => args.encode(e),)* }
            }
        }

        /// Results of any procedure.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Results<'r> {
            $(#[doc = "Of the procedure with this name."] $variant($res),)*
        }

        impl<'r> Results<'r> {
            /// Reads the results of `procedure`, which must end the message.
            ///
            /// # Errors
            /// What is wrong with them.
            pub fn decode(procedure: Procedure, d: &mut $crate::xdr::Decoder<'r>) -> Result<Self, $crate::xdr::DecodeError> {
                Ok(match procedure {
                    $(Procedure::$variant => Self::$variant($crate::xdr::finish(d)?),)*
                })
            }

            /// Whose results these are.
            pub const fn procedure(&self) -> Procedure {
                match self { $(Self::$variant(_) => Procedure::$variant,)* }
            }
        }

        impl $crate::xdr::Encode for Results<'_> {
            fn encode(&self, e: &mut $crate::xdr::Encoder<'_>) {
                match self { $(Self::$variant(results) => results.encode(e),)* }
            }
        }
    };
}
