//! What is different where every call is a datagram: how large it may be, and into
//! how many packets it is cut.

use super::Target;
use crate::client::{ClientError, Program, RpcClient, RpcOptions};
use filermark_model::plan::{NfsPlan, Transport};
use filermark_net::{ConnectOptions, connect_datagrams, path_mtu};
use filermark_onc::nfs3::NullArgs;
use filermark_onc::rpc::AuthBody;
use std::net::{IpAddr, SocketAddr};

/// What a WRITE call, or the reply to a READ, has beside its data: headers of RPC with
/// AUTH_SYS and a few groups, a file handle, attributes; and the header of UDP.
const CALL_BYTES: u32 = 160 + 8;
const IPV4_HEADER: u32 = 20;
/// With the fragment header.
const IPV6_HEADER: u32 = 40 + 8;

/// About how many packets a transfer of so many bytes leaves as: 1 where it fits into
/// one of `mtu` bytes.
pub fn fragments(transfer: u32, mtu: u32, ip: IpAddr) -> u32 {
    let header = match ip {
        IpAddr::V4(_) => IPV4_HEADER,
        IpAddr::V6(_) => IPV6_HEADER,
    };
    let datagram = transfer.saturating_add(CALL_BYTES);
    if datagram.saturating_add(header) <= mtu {
        return 1;
    }
    // All but the last one carry whole units of eight bytes.
    let each = mtu.saturating_sub(header) / 8 * 8;
    datagram.div_ceil(each.max(8))
}

/// The largest transfer that a plan allows, in bytes; `None`: as the server likes.
pub(super) fn block_limit(plan: &NfsPlan) -> Option<u32> {
    let limit = plan.version.transfer_bytes_max(plan.transport);
    match (plan.block_size_max, limit) {
        (Some(wanted), Some(limit)) => Some(wanted.min(limit)),
        (wanted, limit) => wanted.or(limit),
    }
}

/// The largest packet that the way to `peer` takes whole, for plans over UDP.
pub(super) fn mtu_to(peer: SocketAddr, plan: &NfsPlan) -> Option<u32> {
    if plan.transport == Transport::Tcp {
        return None;
    }
    let socket = connect_datagrams(peer, ConnectOptions::default()).ok()?;
    path_mtu(&socket)
}

/// Whether a program answers at all: a NULL call; a refusal is an answer as well.
pub(crate) fn ask(
    address: SocketAddr,
    program: Program,
    options: RpcOptions,
) -> Result<(), ClientError> {
    match null(address, program, options) {
        Err(ClientError::Refused { .. }) | Ok(()) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whether a program has this version: its NULL call is executed.
pub(super) fn has_version(address: SocketAddr, program: Program, options: RpcOptions) -> bool {
    null(address, program, options).is_ok()
}

fn null(address: SocketAddr, program: Program, options: RpcOptions) -> Result<(), ClientError> {
    // NULL is procedure 0 of every version of every program.
    let mut rpc = RpcClient::new(address, program, AuthBody::NONE, options);
    rpc.call(&NullArgs {})
}

impl Target {
    /// What carries the calls, for the record.
    pub(super) fn transport_facts(&self, facts: &mut Vec<(&'static str, String)>) {
        facts.push(("transport", self.transport.name().to_owned()));
        if let Some(tls) = &self.tls {
            facts.push(("tls", tls.clone()));
        }
        if self.session.is_none() {
            facts.push(("mount transport", self.mount_transport.name().to_owned()));
        }
        if let Some(mtu) = self.mtu {
            facts.push(("mtu", mtu.to_string()));
        }
    }

    /// Warnings about transfers over UDP, a sentence each.
    pub fn datagram_warnings(&self) -> Vec<String> {
        let Some(mtu) = self.mtu.filter(|_| self.transport == Transport::Udp) else {
            return Vec::new();
        };
        let ip = self.nfs_address.ip();
        let largest = self.rsize.max(self.wsize);
        let count = fragments(largest, mtu, ip);
        if count <= 1 {
            return Vec::new();
        }
        let smaller = match largest > 8192 {
            true => format!(
                "BLOCK_SIZE=8 makes it {}, or use jumbo frames or TCP=on",
                fragments(8192, mtu, ip)
            ),
            false => "use jumbo frames or TCP=on".to_owned(),
        };
        vec![format!(
            "transfers of {largest} bytes over UDP are sent as {count} fragments each at an MTU of \
             {mtu}, and one lost fragment loses the call: {smaller}"
        )]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const V6: IpAddr = IpAddr::V6(std::net::Ipv6Addr::LOCALHOST);

    #[test]
    fn transfers_are_cut_as_ip_does_it() {
        assert_eq!(fragments(32_768, 1500, V4), 23);
        assert_eq!(fragments(32_768, 1500, V6), 23);
        assert_eq!(fragments(8192, 1500, V4), 6);
        assert_eq!(fragments(8192, 9000, V4), 1, "a jumbo frame");
        assert_eq!(fragments(32_768, 9000, V4), 4);
        assert_eq!(fragments(32_768, 65_536, V4), 1, "the loopback");
        assert_eq!(fragments(512, 1500, V4), 1);
        assert!(fragments(u32::MAX, 0, V4) > 1, "nonsense is no panic");
    }
}
