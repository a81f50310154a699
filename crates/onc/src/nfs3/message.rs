//! Arguments and results of any procedure: for a server's dispatch, for traces and for tests.

use super::args::*;
use super::procedure::Procedure;
use super::results::*;

xdr_messages! {
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
