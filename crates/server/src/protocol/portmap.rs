//! The portmapper and rpcbind, as far as NFS clients ask them: everything is on this port.

use super::answer::{PROC_UNAVAIL, Refusal, mismatch, put, reply};
use super::context::{Peer, ReplyAction, Service};
use filermark_onc::rpc::CallHeader;
use filermark_onc::rpcbind::{self, GetaddrArgs, GetaddrRes, Rpcb};
use filermark_onc::xdr::{self, Decoder, Encoder, encode_list};
use filermark_onc::{mount, mount1, nfs2, nfs3, portmap};
use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

/// What answers here.
const PROGRAMS: [(u32, u32); 7] = [
    (portmap::PROGRAM, portmap::VERSION),
    (portmap::PROGRAM, rpcbind::VERSION3),
    (portmap::PROGRAM, rpcbind::VERSION4),
    (mount1::PROGRAM, mount1::VERSION),
    (mount::PROGRAM, mount::VERSION),
    (nfs2::PROGRAM, nfs2::VERSION),
    (nfs3::PROGRAM, nfs3::VERSION),
];

impl Service {
    pub(super) fn portmap(
        &mut self,
        call: &CallHeader<'_>,
        d: &mut Decoder<'_>,
        peer: &Peer,
        out: &mut Vec<u8>,
    ) -> Result<ReplyAction, Refusal> {
        let udp = self.shared.options.udp;
        match call.vers {
            portmap::VERSION => version2(call, d, peer, udp, out)?,
            rpcbind::VERSION3 | rpcbind::VERSION4 => version3(call, d, peer, udp, out)?,
            _ => return Err(mismatch(portmap::VERSION, rpcbind::VERSION4)),
        }
        self.counters.portmap.add(1);
        Ok(ReplyAction::Send)
    }
}

fn version2(
    call: &CallHeader<'_>,
    d: &mut Decoder<'_>,
    peer: &Peer,
    udp: bool,
    out: &mut Vec<u8>,
) -> Result<(), Refusal> {
    use portmap::{GetportArgs, IPPROTO_TCP, IPPROTO_UDP, Mapping, Procedure};
    let port = u32::from(peer.local.port());
    match Procedure::from_u32(call.proc) {
        Some(Procedure::Null) => reply(out, call.xid, |_| ()),
        Some(Procedure::Getport) => {
            let asked = xdr::finish::<GetportArgs>(d)?.mapping;
            let transport = asked.prot == IPPROTO_TCP || (udp && asked.prot == IPPROTO_UDP);
            let here = transport && PROGRAMS.contains(&(asked.prog, asked.vers));
            reply(out, call.xid, |out| put(out, &if here { port } else { 0 }));
        }
        Some(Procedure::Dump) => reply(out, call.xid, |out| {
            let transports = [IPPROTO_TCP, IPPROTO_UDP]
                .into_iter()
                .take(1 + usize::from(udp));
            let all = transports.flat_map(|prot| {
                PROGRAMS.map(|(prog, vers)| Mapping {
                    prog,
                    vers,
                    prot,
                    port,
                })
            });
            encode_list(&mut Encoder::new(out), all);
        }),
        // What is registered here stays as it is.
        Some(Procedure::Set | Procedure::Unset) => reply(out, call.xid, |out| put(out, &false)),
        Some(Procedure::Callit) | None => return Err(PROC_UNAVAIL),
    }
    Ok(())
}

fn version3(
    call: &CallHeader<'_>,
    d: &mut Decoder<'_>,
    peer: &Peer,
    udp: bool,
    out: &mut Vec<u8>,
) -> Result<(), Refusal> {
    use rpcbind::Procedure;
    let ip = peer.local.ip();
    let netids = [rpcbind::netid(&ip), rpcbind::netid_udp(&ip)];
    let netids = netids.into_iter().take(1 + usize::from(udp));
    let address = rpcbind::format_uaddr(&peer.local);
    let procedure = Procedure::from_u32(call.proc);
    match procedure {
        Some(Procedure::Null) => reply(out, call.xid, |_| ()),
        Some(Procedure::Getaddr | Procedure::Getversaddr)
            if procedure == Some(Procedure::Getaddr) || call.vers == rpcbind::VERSION4 =>
        {
            let asked = xdr::finish::<GetaddrArgs<'_>>(d)?.rpcb;
            // An empty netid means the transport of the call.
            let transport =
                asked.netid.is_empty() || netids.clone().any(|n| n.as_bytes() == asked.netid);
            let here = transport && PROGRAMS.contains(&(asked.prog, asked.vers));
            let address = rpcbind::format_uaddr(&reachable(peer.local, asked.addr));
            let addr = if here { address.as_bytes() } else { b"" };
            reply(out, call.xid, |out| put(out, &GetaddrRes { addr }));
        }
        Some(Procedure::Dump) => reply(out, call.xid, |out| {
            let all = netids.flat_map(|netid| {
                PROGRAMS.map(|(prog, vers)| Rpcb {
                    prog,
                    vers,
                    netid: netid.as_bytes(),
                    addr: address.as_bytes(),
                    owner: b"filermark",
                })
            });
            encode_list(&mut Encoder::new(out), all);
        }),
        Some(Procedure::Gettime) => {
            let now = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |d| d.as_secs());
            reply(out, call.xid, |out| put(out, &(now as u32)));
        }
        _ => return Err(PROC_UNAVAIL),
    }
    Ok(())
}

/// Where the client reaches us. A socket for datagrams that is bound to all addresses does not know by
/// which of them a question came; the client's own idea of it is good enough then.
fn reachable(local: SocketAddr, asked: &[u8]) -> SocketAddr {
    match rpcbind::parse_uaddr(asked) {
        Ok(Some(address)) if local.ip().is_unspecified() => {
            SocketAddr::new(address.ip(), local.port())
        }
        _ => local,
    }
}
