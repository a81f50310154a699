//! Programs and their messages, each from one list of procedures or operations.

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

        xdr_messages! {
            Procedure, procedure, $crate::xdr::finish, "procedure";
            $($variant ($args) -> $res;)*
        }
    };
}

/// The operations of a COMPOUND: `Operation`, `Args` and `Results` from one list, and which arguments and
/// results belong together. The numbers in brackets are the first and the last minor version that has the
/// operation. Arguments borrow for `'a`, results for `'r`.
macro_rules! xdr_operations {
    ($($(#[$meta:meta])* $variant:ident = $number:literal $rfc:literal [$first:literal $last:literal] ($args:ty) -> $res:ty;)*) => {
        xdr_enum! {
            /// An operation of a COMPOUND.
            pub enum Operation { $($(#[$meta])* $variant = $number $rfc,)* }
        }

        impl Operation {
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();

            /// The minor versions that have it.
            pub const fn minor_versions(self) -> ::std::ops::RangeInclusive<u32> {
                match self { $(Self::$variant => $first..=$last,)* }
            }
        }

        $(
            impl<'a> $crate::nfs4::Arguments for $args {
                type Operation = Operation;
                const OPERATION: Operation = Operation::$variant;
                type Res<'r> = $res;
            }
        )*

        impl $crate::nfs4::OperationSet for Operation {
            type Args<'a> = Args<'a>;
            type Results<'r> = Results<'r>;
            const ILLEGAL: Self = Self::Illegal;

            fn from_u32(number: u32) -> Option<Self> {
                Self::from_u32(number)
            }

            fn to_u32(self) -> u32 {
                self.to_u32()
            }

            fn name(self) -> &'static str {
                self.name()
            }

            fn minor_versions(self) -> ::std::ops::RangeInclusive<u32> {
                self.minor_versions()
            }

            fn decode_args<'a>(self, d: &mut $crate::xdr::Decoder<'a>) -> Result<Args<'a>, $crate::xdr::DecodeError> {
                Args::decode(self, d)
            }

            fn decode_results<'r>(self, d: &mut $crate::xdr::Decoder<'r>) -> Result<Results<'r>, $crate::xdr::DecodeError> {
                Results::decode(self, d)
            }

            fn of_args(args: &Args<'_>) -> Self {
                args.operation()
            }

            fn of_results(results: &Results<'_>) -> Self {
                results.operation()
            }
        }

        xdr_messages! {
            Operation, operation, $crate::xdr::Decode::decode, "operation";
            $($variant ($args) -> $res;)*
        }
    };
}

/// `Args` and `Results`: what belongs to any value of `$key`, read with `$read`.
macro_rules! xdr_messages {
    ($key:ident, $of:ident, $read:path, $noun:literal; $($variant:ident ($args:ty) -> $res:ty;)*) => {
        #[doc = concat!("Arguments of any ", $noun, ".")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Args<'a> {
            $(#[doc = concat!("Of the ", $noun, " with this name.")] $variant($args),)*
        }

        impl<'a> Args<'a> {
            #[doc = concat!("Reads the arguments of this ", $noun, "; those of a procedure must end the message.")]
            ///
            /// # Errors
            /// What is wrong with them: a server answers GARBAGE_ARGS, or BADXDR in a COMPOUND.
            pub fn decode($of: $key, d: &mut $crate::xdr::Decoder<'a>) -> Result<Self, $crate::xdr::DecodeError> {
                Ok(match $of {
                    $($key::$variant => Self::$variant($read(d)?),)*
                })
            }

            /// Whose arguments these are.
            pub const fn $of(&self) -> $key {
                match self { $(Self::$variant(_) => $key::$variant,)* }
            }
        }

        impl $crate::xdr::Encode for Args<'_> {
            fn encode(&self, e: &mut $crate::xdr::Encoder<'_>) {
                match self { $(Self::$variant(args) => args.encode(e),)* }
            }
        }

        #[doc = concat!("Results of any ", $noun, ".")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Results<'r> {
            $(#[doc = concat!("Of the ", $noun, " with this name.")] $variant($res),)*
        }

        impl<'r> Results<'r> {
            #[doc = concat!("Reads the results of this ", $noun, "; those of a procedure must end the message.")]
            ///
            /// # Errors
            /// What is wrong with them.
            pub fn decode($of: $key, d: &mut $crate::xdr::Decoder<'r>) -> Result<Self, $crate::xdr::DecodeError> {
                Ok(match $of {
                    $($key::$variant => Self::$variant($read(d)?),)*
                })
            }

            /// Whose results these are.
            pub const fn $of(&self) -> $key {
                match self { $(Self::$variant(_) => $key::$variant,)* }
            }
        }

        impl $crate::xdr::Encode for Results<'_> {
            fn encode(&self, e: &mut $crate::xdr::Encoder<'_>) {
                match self { $(Self::$variant(results) => results.encode(e),)* }
            }
        }
    };
}
