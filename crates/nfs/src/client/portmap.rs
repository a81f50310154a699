//! Asking the portmapper (version 2) or rpcbind (versions 4 and 3) for a port.

use super::{ClientError, Program, RpcClient, RpcOptions};
use filermark_model::plan::Transport;
use filermark_onc::portmap::{self, GetportArgs};
use filermark_onc::rpc::{AuthBody, RpcRefusal};
use filermark_onc::rpcbind::{self, GetaddrArgs, Rpcb, format_uaddr, parse_uaddr};
use std::net::SocketAddr;

/// What the portmapper knows of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortLookup {
    /// It listens on this port.
    Port(u16),
    /// It is not registered for the transport that was asked for.
    NotRegistered,
}

/// Asks the portmapper at `portmapper` on which port of `transport` `program` listens.
/// The request to the portmapper itself uses the transport of `options`; without an answer
/// over UDP, TCP.
///
/// Over IPv4 it tries the portmapper's version 2 first, since all servers have it, and
/// rpcbind if that has no answer; over IPv6, which version 2 does not have, in the other
/// order.
///
/// # Errors
/// Every [`ClientError`]: the portmapper could not be reached or has none of
/// the three versions.
pub fn find_port(
    portmapper: SocketAddr,
    program: Program,
    transport: Transport,
    options: &RpcOptions,
) -> Result<PortLookup, ClientError> {
    match find_port_over(portmapper, program, transport, options) {
        Err(error) if options.transport == Transport::Udp && error.is_unreachable() => {
            let options = RpcOptions {
                transport: Transport::Tcp,
                ..options.clone()
            };
            find_port_over(portmapper, program, transport, &options)
        }
        outcome => outcome,
    }
}

fn find_port_over(
    portmapper: SocketAddr,
    program: Program,
    transport: Transport,
    options: &RpcOptions,
) -> Result<PortLookup, ClientError> {
    const V2: u32 = portmap::VERSION;
    const V3: u32 = rpcbind::VERSION3;
    const V4: u32 = rpcbind::VERSION4;
    let order = match portmapper {
        SocketAddr::V4(_) => [V2, V4, V3],
        SocketAddr::V6(_) => [V4, V3, V2],
    };
    // The portmapper asks for no privilege: reserved ports are too scarce to use one.
    let options = RpcOptions {
        resvport: false,
        ..options.clone()
    };
    let mut refused = None;
    let mut answered = false;
    for vers in order {
        let asked = Program {
            prog: portmap::PROGRAM,
            vers,
        };
        let mut rpc = RpcClient::new(portmapper, asked, AuthBody::NONE, options.clone());
        let port = match vers {
            V2 => getport(&mut rpc, program, transport),
            _ => getaddr(&mut rpc, portmapper, program, transport),
        };
        match port {
            Ok(Some(port)) => return Ok(PortLookup::Port(port)),
            Ok(None) => answered = true,
            // This version or procedure is not there: another may be.
            Err(
                error @ ClientError::Refused {
                    refusal: RpcRefusal::Accepted(_),
                    ..
                },
            ) => refused = Some(error),
            Err(error) => return Err(error),
        }
    }
    match refused {
        Some(error) if !answered => Err(error),
        _ => Ok(PortLookup::NotRegistered),
    }
}

fn getport(
    rpc: &mut RpcClient,
    program: Program,
    transport: Transport,
) -> Result<Option<u16>, ClientError> {
    let port = rpc.call(&match transport {
        Transport::Tcp => GetportArgs::tcp(program.prog, program.vers),
        Transport::Udp => GetportArgs::udp(program.prog, program.vers),
    })?;
    Ok(u16::try_from(port).ok().filter(|port| *port != 0))
}

fn getaddr(
    rpc: &mut RpcClient,
    portmapper: SocketAddr,
    program: Program,
    transport: Transport,
) -> Result<Option<u16>, ClientError> {
    let netid = match transport {
        Transport::Tcp => rpcbind::netid(&portmapper.ip()),
        Transport::Udp => rpcbind::netid_udp(&portmapper.ip()),
    };
    let hint = format_uaddr(&portmapper);
    let answer = rpc.call(&GetaddrArgs {
        rpcb: Rpcb {
            prog: program.prog,
            vers: program.vers,
            netid: netid.as_bytes(),
            addr: hint.as_bytes(),
            owner: b"",
        },
    })?;
    // Only the port counts: the address is the server's own idea of itself. An
    // address that cannot be read is no address.
    let address = parse_uaddr(answer.addr).ok().flatten();
    Ok(address.map(|a| a.port()).filter(|port| *port != 0))
}
