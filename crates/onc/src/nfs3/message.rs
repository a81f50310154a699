//! Arguments and results of any procedure: for a server's dispatch, for traces and for tests.

use super::args::*;
use super::procedure::Procedure;
use super::results::*;
use crate::xdr::{DecodeError, Decoder, Encode, Encoder};

macro_rules! messages {
    ($($variant:ident($args:ty, $res:ty),)*) => {
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
            pub fn decode(procedure: Procedure, d: &mut Decoder<'a>) -> Result<Self, DecodeError> {
                Ok(match procedure {
                    $(Procedure::$variant => Self::$variant($crate::xdr::finish(d)?),)*
                })
            }

            /// Whose arguments these are.
            pub const fn procedure(&self) -> Procedure {
                match self { $(Self::$variant(_) => Procedure::$variant,)* }
            }
        }

        impl Encode for Args<'_> {
            fn encode(&self, e: &mut Encoder<'_>) {
                match self { $(Self::$variant(args) => args.encode(e),)* }
            }
        }

        /// Results of any procedure.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Results<'a> {
            $(#[doc = "Of the procedure with this name."] $variant($res),)*
        }

        impl<'a> Results<'a> {
            /// Reads the results of `procedure`, which must end the message.
            ///
            /// # Errors
            /// What is wrong with them.
            pub fn decode(procedure: Procedure, d: &mut Decoder<'a>) -> Result<Self, DecodeError> {
                Ok(match procedure {
                    $(Procedure::$variant => Self::$variant($crate::xdr::finish(d)?),)*
                })
            }

            /// Whose results these are.
            pub const fn procedure(&self) -> Procedure {
                match self { $(Self::$variant(_) => Procedure::$variant,)* }
            }
        }

        impl Encode for Results<'_> {
            fn encode(&self, e: &mut Encoder<'_>) {
                match self { $(Self::$variant(results) => results.encode(e),)* }
            }
        }
    };
}

messages! {
    Null(NullArgs, ()),
    Getattr(GetattrArgs<'a>, GetattrRes),
    Setattr(SetattrArgs<'a>, SetattrRes),
    Lookup(LookupArgs<'a>, LookupRes<'a>),
    Access(AccessArgs<'a>, AccessRes),
    Readlink(ReadlinkArgs<'a>, ReadlinkRes<'a>),
    Read(ReadArgs<'a>, ReadRes<'a>),
    Write(WriteArgs<'a>, WriteRes),
    Create(CreateArgs<'a>, CreateRes<'a>),
    Mkdir(MkdirArgs<'a>, CreateRes<'a>),
    Symlink(SymlinkArgs<'a>, CreateRes<'a>),
    Mknod(MknodArgs<'a>, CreateRes<'a>),
    Remove(RemoveArgs<'a>, RemoveRes),
    Rmdir(RmdirArgs<'a>, RemoveRes),
    Rename(RenameArgs<'a>, RenameRes),
    Link(LinkArgs<'a>, LinkRes),
    Readdir(ReaddirArgs<'a>, ReaddirRes<'a>),
    Readdirplus(ReaddirplusArgs<'a>, ReaddirplusRes<'a>),
    Fsstat(FsstatArgs<'a>, FsstatRes),
    Fsinfo(FsinfoArgs<'a>, FsinfoRes),
    Pathconf(PathconfArgs<'a>, PathconfRes),
    Commit(CommitArgs<'a>, CommitRes),
}
