//! The few macros that turn a field table into a type with its codec, so that the wire order of a
//! message is written down once and encode and decode cannot drift apart.

#[macro_use]
mod program;

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

/// A union on a number: each value has at most one field. A number that is not listed is a decode error.
macro_rules! xdr_union {
    (
        $(#[$meta:meta])*
        pub enum $name:ident<$lt:lifetime> {
            $($(#[$vmeta:meta])* $variant:ident $(($ty:ty $(=> $max:expr)?))? = $number:literal,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name<$lt> { $($(#[$vmeta])* $variant $(($ty))?,)* }
        xdr_union! { @codec $lt $name [$name<$lt>] $($variant $(($ty $(=> $max)?))? = $number,)* }
    };
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$vmeta:meta])* $variant:ident $(($ty:ty $(=> $max:expr)?))? = $number:literal,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[$vmeta])* $variant $(($ty))?,)* }
        xdr_union! { @codec 'de $name [$name] $($variant $(($ty $(=> $max)?))? = $number,)* }
    };
    (@codec $lt:lifetime $name:ident [$full:ty] $($variant:ident $(($ty:ty $(=> $max:expr)?))? = $number:literal,)*) => {
        impl<$lt> $crate::xdr::Encode for $full {
            fn encode(&self, e: &mut $crate::xdr::Encoder<'_>) {
                match self {
                    $(Self::$variant $((xdr_bind!(value $ty)))? => {
                        e.u32($number);
                        $(xdr_field!(@encode e, *xdr_bind!(value $ty) $(, $max)?);)?
                    })*
                }
            }
        }

        impl<$lt> $crate::xdr::Decode<$lt> for $full {
            fn decode_as(
                d: &mut $crate::xdr::Decoder<$lt>,
                what: &'static str,
            ) -> Result<Self, $crate::xdr::DecodeError> {
                let at = d.offset();
                Ok(match d.u32(what)? {
                    $($number => Self::$variant $((xdr_field!(
                        @decode d, $ty, concat!(stringify!($name), ".", stringify!($variant)) $(, $max)?
                    )))?,)*
                    other => return Err($crate::xdr::DecodeError::unexpected(at, what, other)),
                })
            }
        }
    };
}

/// The name of a union's field, where it has one of this type.
macro_rules! xdr_bind {
    ($value:ident $ty:ty) => {
        $value
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
