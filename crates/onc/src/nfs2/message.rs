//! Arguments and results of any procedure: for a server's dispatch, for traces and for tests.

use super::args::*;
use super::procedure::Procedure;
use super::results::*;

xdr_messages! {
    Null(NullArgs, ()),
    Getattr(GetattrArgs<'a>, AttrstatRes),
    Setattr(SetattrArgs<'a>, AttrstatRes),
    Root(RootArgs, ()),
    Lookup(LookupArgs<'a>, DiropRes<'a>),
    Readlink(ReadlinkArgs<'a>, ReadlinkRes<'a>),
    Read(ReadArgs<'a>, ReadRes<'a>),
    Writecache(WritecacheArgs, ()),
    Write(WriteArgs<'a>, AttrstatRes),
    Create(CreateArgs<'a>, DiropRes<'a>),
    Remove(RemoveArgs<'a>, StatRes),
    Rename(RenameArgs<'a>, StatRes),
    Link(LinkArgs<'a>, StatRes),
    Symlink(SymlinkArgs<'a>, StatRes),
    Mkdir(MkdirArgs<'a>, DiropRes<'a>),
    Rmdir(RmdirArgs<'a>, StatRes),
    Readdir(ReaddirArgs<'a>, ReaddirRes<'a>),
    Statfs(StatfsArgs<'a>, StatfsRes),
}
