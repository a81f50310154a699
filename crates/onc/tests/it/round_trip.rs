//! What is encoded decodes to the same value, whatever the values are.

use filermark_onc::mount::{
    ExportArgs, ExportNode, FlavorList, MntArgs, MntOk, MntRes, MountEntry, Mountstat3,
};
use filermark_onc::nfs3::{Args, DirList, FileHandle, Procedure, Results};
use filermark_onc::portmap::Mapping;
use filermark_onc::rpc::*;
use filermark_onc::rpcbind::{GetaddrArgs, Rpcb, format_uaddr, parse_uaddr};
use filermark_onc::xdr::{self, Decoder, Encoder, List, encode_list};
use proptest::prelude::*;

use crate::encoded;
use crate::samples::{Pool, pools};

/// Encodes `$value`, decodes it as `$ty`, and compares.
macro_rules! same {
    ($value:expr, $ty:ty) => {{
        let value: $ty = $value;
        let bytes = encoded(&value);
        prop_assert_eq!(xdr::decode::<$ty>(&bytes), Ok(value));
    }};
}

proptest! {
    #[test]
    fn nfs3_args(pool in pools()) {
        for &procedure in Procedure::ALL {
            let args = pool.args(procedure);
            let bytes = encoded(&args);
            prop_assert_eq!(bytes.len() % 4, 0);
            prop_assert_eq!(Args::decode(procedure, &mut Decoder::new(&bytes)), Ok(args));
        }
    }

    #[test]
    fn nfs3_results(pool in pools()) {
        for &procedure in Procedure::ALL {
            for results in [Some(pool.ok(procedure)), pool.failed(procedure)].into_iter().flatten() {
                let bytes = encoded(&results);
                prop_assert_eq!(bytes.len() % 4, 0);
                prop_assert_eq!(Results::decode(procedure, &mut Decoder::new(&bytes)), Ok(results));
            }
        }
    }

    #[test]
    fn directory_lists(pool in pools()) {
        let list = DirList::from_bytes(&pool.lists[0]);
        let mut entries = list.iter();
        let read: Result<Vec<_>, _> = entries.by_ref().collect();
        prop_assert_eq!(read, Ok(pool.entries().collect()));
        prop_assert_eq!(entries.eof(), Some(pool.flags[0]));
        let list = DirList::from_bytes(&pool.lists[1]);
        let mut entries = list.iter();
        let read: Result<Vec<_>, _> = entries.by_ref().collect();
        prop_assert_eq!(read, Ok(pool.entries_plus().collect()));
        prop_assert_eq!(entries.eof(), Some(pool.flags[1]));
    }

    #[test]
    fn lists(pool in pools(), len in 0..5usize) {
        let groups = pool.groups();
        let mut bytes = Vec::new();
        encode_list(&mut Encoder::new(&mut bytes), (0..len).map(|_| pool.mapping()));
        let list = List::<Mapping>::from_bytes(&bytes).unwrap();
        prop_assert_eq!(list.iter().collect::<Vec<_>>(), vec![pool.mapping(); len]);
        bytes.clear();
        encode_list(&mut Encoder::new(&mut bytes), (0..len).map(|_| pool.export(&groups)));
        let list = List::<ExportNode<'_>>::from_bytes(&bytes).unwrap();
        prop_assert_eq!(list.len(), len);
        for export in &list {
            prop_assert_eq!(export.dir, pool.export(&groups).dir);
            let names: Vec<_> = export.groups.iter().map(|group| group.name.to_vec()).collect();
            prop_assert_eq!(&names, &pool.names);
        }
    }

    #[test]
    fn portmap_rpcbind_and_mount(pool in pools(), status in 1..=u32::MAX) {
        same!(pool.mapping(), Mapping);
        same!(GetaddrArgs { rpcb: pool.rpcb() }, GetaddrArgs<'_>);
        same!(pool.rpcb(), Rpcb<'_>);
        same!(pool.mount_entry(), MountEntry<'_>);
        same!(MntArgs { dirpath: &pool.data }, MntArgs<'_>);
        same!(ExportArgs {}, ExportArgs);
        same!(Err(Mountstat3::from_u32(status)), MntRes<'_>);
        let fhandle = FileHandle::new(&pool.fh[0]).unwrap();
        same!(Ok(MntOk { fhandle, auth_flavors: FlavorList::SYS }), MntRes<'_>);
    }

    #[test]
    fn universal_addresses(v4: u32, v6: u128, port: u16) {
        let v4 = std::net::SocketAddr::from((std::net::Ipv4Addr::from(v4), port));
        let v6 = std::net::SocketAddr::from((std::net::Ipv6Addr::from(v6), port));
        for address in [v4, v6] {
            prop_assert_eq!(parse_uaddr(format_uaddr(&address).as_bytes()), Ok(Some(address)));
        }
    }

    #[test]
    fn headers(
        words: [u32; 6],
        name in proptest::collection::vec(any::<u8>(), 0..=MAX_MACHINENAME),
        gids in proptest::collection::vec(any::<u32>(), 0..=MAX_GIDS),
    ) {
        let [xid, prog, vers, proc, uid, gid] = words;
        let sys = AuthSys::new(proc, &name, uid, gid, &gids);
        let body = sys.to_body();
        let cred = body.as_auth();
        prop_assert_eq!(cred.auth_sys(), Ok(sys));
        prop_assert_eq!(sys.gids.as_slice(), &gids);
        let call = CallHeader { xid, prog, vers, proc, cred, verf: OpaqueAuth::NONE };
        let bytes = encoded(&call);
        let mut d = Decoder::new(&bytes);
        prop_assert_eq!(CallHeader::decode(&mut d), Ok(call));
        prop_assert!(d.end().is_ok());
        for stat in [
            AcceptStat::Success,
            AcceptStat::ProgUnavail,
            AcceptStat::ProgMismatch { low: uid, high: gid },
            AcceptStat::ProcUnavail,
            AcceptStat::GarbageArgs,
            AcceptStat::SystemErr,
        ] {
            same!(ReplyHeader::accepted(xid, stat), ReplyHeader<'_>);
            let body = ReplyBody::Accepted { verf: cred, stat };
            same!(ReplyHeader { xid, body }, ReplyHeader<'_>);
        }
        let mismatch = RejectStat::RpcMismatch { low: uid, high: gid };
        for stat in [mismatch, RejectStat::AuthError(AuthStat::from_u32(prog))] {
            same!(ReplyHeader::denied(xid, stat), ReplyHeader<'_>);
        }
    }

    #[test]
    fn file_handles(bytes in proptest::collection::vec(any::<u8>(), 0..=80)) {
        use filermark_onc::nfs3::{FHSIZE3, Fh};
        let fh = Fh::new(&bytes);
        prop_assert_eq!(fh.is_some(), bytes.len() <= FHSIZE3);
        if let Some(fh) = fh {
            prop_assert_eq!(fh.as_bytes(), &bytes[..]);
            prop_assert_eq!(encoded(&fh), encoded(&fh.handle()));
            same!(fh, Fh);
        }
    }
}

#[test]
fn every_choice_of_a_union_is_covered() {
    let mut pool = Pool::fixed();
    let mut seen = std::collections::HashSet::new();
    for choice in 0..15 {
        pool.choice = choice;
        for procedure in [Procedure::Create, Procedure::Mknod, Procedure::Write] {
            let args = pool.args(procedure);
            let bytes = encoded(&args);
            assert_eq!(Args::decode(procedure, &mut Decoder::new(&bytes)), Ok(args));
            seen.insert(bytes);
        }
    }
    assert_eq!(seen.len(), 3 + 5 + 3);
}
