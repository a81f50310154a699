//! The portmapper and rpcbind, as far as NFS clients ask them: everything is on this port.

use super::answer::{PROC_UNAVAIL, Refusal, mismatch, put, reply};
use super::context::{Peer, ReplyAction, Service};
use filermark_onc::rpc::CallHeader;
use filermark_onc::rpcbind::{self, GetaddrArgs, GetaddrRes, Rpcb};
use filermark_onc::xdr::{self, Decoder, Encoder, encode_list};
use filermark_onc::{mount, mount1, nfs2, nfs3, nfs4, portmap};
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

/// Version 4 is served over TCP alone.
const NFS4: (u32, u32) = (nfs4::PROGRAM, nfs4::VERSION);

/// What is served over which transport.
#[derive(Clone, Copy)]
struct Offer {
    udp: bool,
    version4: bool,
}

impl Offer {
    /// Programs and versions of a transport.
    fn programs(self, is_udp: bool) -> impl Iterator<Item = (u32, u32)> {
        let version4 = (self.version4 && !is_udp).then_some(NFS4);
        PROGRAMS.into_iter().chain(version4)
    }

    fn has(self, is_udp: bool, program: (u32, u32)) -> bool {
        (self.udp || !is_udp) && self.programs(is_udp).any(|one| one == program)
    }
}

impl Service {
    pub(super) fn portmap(
        &mut self,
        call: &CallHeader<'_>,
        d: &mut Decoder<'_>,
        peer: &Peer,
        out: &mut Vec<u8>,
    ) -> Result<ReplyAction, Refusal> {
        let offer = Offer {
            udp: self.shared.options.udp,
            version4: !self.shared.options.null,
        };
        match call.vers {
            portmap::VERSION => version2(call, d, peer, offer, out)?,
            rpcbind::VERSION3 | rpcbind::VERSION4 => version3(call, d, peer, offer, out)?,
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
    offer: Offer,
    out: &mut Vec<u8>,
) -> Result<(), Refusal> {
    use portmap::{GetportArgs, IPPROTO_TCP, IPPROTO_UDP, Mapping, Procedure};
    let port = u32::from(peer.local.port());
    match Procedure::from_u32(call.proc) {
        Some(Procedure::Null) => reply(out, call.xid, |_| ()),
        Some(Procedure::Getport) => {
            let asked = xdr::finish::<GetportArgs>(d)?.mapping;
            let program = (asked.prog, asked.vers);
            let here = match asked.prot {
                IPPROTO_TCP => offer.has(false, program),
                IPPROTO_UDP => offer.has(true, program),
                _ => false,
            };
            reply(out, call.xid, |out| put(out, &if here { port } else { 0 }));
        }
        Some(Procedure::Dump) => reply(out, call.xid, |out| {
            let transports = [IPPROTO_TCP, IPPROTO_UDP]
                .into_iter()
                .take(1 + usize::from(offer.udp));
            let all = transports.flat_map(|prot| {
                let programs = offer.programs(prot == IPPROTO_UDP);
                programs.map(move |(prog, vers)| Mapping {
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
    offer: Offer,
    out: &mut Vec<u8>,
) -> Result<(), Refusal> {
    use rpcbind::Procedure;
    let ip = peer.local.ip();
    let transports = [
        (rpcbind::netid(&ip), false),
        (rpcbind::netid_udp(&ip), true),
    ];
    let mut transports = transports.into_iter().take(1 + usize::from(offer.udp));
    let address = rpcbind::format_uaddr(&peer.local);
    let procedure = Procedure::from_u32(call.proc);
    match procedure {
        Some(Procedure::Null) => reply(out, call.xid, |_| ()),
        Some(Procedure::Getaddr | Procedure::Getversaddr)
            if procedure == Some(Procedure::Getaddr) || call.vers == rpcbind::VERSION4 =>
        {
            let asked = xdr::finish::<GetaddrArgs<'_>>(d)?.rpcb;
            // An empty netid means the transport of the call.
            let is_udp = match asked.netid {
                b"" => Some(peer.is_datagram()),
                netid => transports
                    .find(|(name, _)| name.as_bytes() == netid)
                    .map(|(_, is_udp)| is_udp),
            };
            let program = (asked.prog, asked.vers);
            let here = is_udp.is_some_and(|is_udp| offer.has(is_udp, program));
            let address = rpcbind::format_uaddr(&reachable(peer.local, asked.addr));
            let addr = if here { address.as_bytes() } else { b"" };
            reply(out, call.xid, |out| put(out, &GetaddrRes { addr }));
        }
        Some(Procedure::Dump) => reply(out, call.xid, |out| {
            let address = address.as_bytes();
            let all = transports.flat_map(|(netid, is_udp)| {
                let programs = offer.programs(is_udp);
                programs.map(move |(prog, vers)| Rpcb {
                    prog,
                    vers,
                    netid: netid.as_bytes(),
                    addr: address,
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
