//! rpcbind, versions 3 and 4 of program 100000 (RFC 1833 section 2), and universal addresses: the
//! portmapper's successor, which knows IPv6.

use std::net::{IpAddr, SocketAddr};

use crate::xdr::List;

pub use crate::portmap::{PORT, PROGRAM};

/// Version 3.
pub const VERSION3: u32 = 3;
/// Version 4: the same GETADDR and DUMP, and more that Filermark has no use for.
pub const VERSION4: u32 = 4;
/// The most bytes taken for netid, address and owner, each. (The RFC sets no limit.)
pub const MAX_STRING: usize = 1024;

xdr_enum! {
    /// The procedures of both versions.
    pub enum Procedure {
        /// Does nothing.
        Null = 0 "NULL",
        /// Registers a mapping.
        Set = 1 "SET",
        /// Removes mappings.
        Unset = 2 "UNSET",
        /// Asks for the universal address of a program.
        Getaddr = 3 "GETADDR",
        /// Lists all mappings.
        Dump = 4 "DUMP",
        /// Calls a program by way of rpcbind (CALLIT in version 3).
        Bcast = 5 "BCAST",
        /// The server's clock, in seconds since 1970.
        Gettime = 6 "GETTIME",
        /// Turns a universal address into a transport's own form.
        Uaddr2taddr = 7 "UADDR2TADDR",
        /// The reverse.
        Taddr2uaddr = 8 "TADDR2UADDR",
        /// As GETADDR, but never answers with another version (version 4).
        Getversaddr = 9 "GETVERSADDR",
        /// As BCAST, with errors (version 4).
        Indirect = 10 "INDIRECT",
        /// All addresses of a program (version 4).
        Getaddrlist = 11 "GETADDRLIST",
        /// Statistics (version 4).
        Getstat = 12 "GETSTAT",
    }
}

xdr_struct! {
    /// Which universal address a version of a program has on a transport.
    pub struct Rpcb<'a> {
        /// Program.
        prog: u32,
        /// Version of the program.
        vers: u32,
        /// Transport: "tcp", "tcp6", "udp", "udp6"; see [`netid`].
        netid: &'a [u8] => MAX_STRING,
        /// Universal address; see [`parse_uaddr`].
        addr: &'a [u8] => MAX_STRING,
        /// Who registered it.
        owner: &'a [u8] => MAX_STRING,
    }
}
xdr_struct! {
    /// Arguments of NULL: none.
    pub struct NullArgs {}
}
xdr_struct! {
    /// Arguments of GETADDR.
    pub struct GetaddrArgs<'a> {
        /// The address in it, the client's idea of the server's, helps a server with many.
        rpcb: Rpcb<'a>,
    }
}
xdr_struct! {
    /// Answer of GETADDR.
    pub struct GetaddrRes<'a> {
        /// Universal address; empty for "not registered".
        addr: &'a [u8] => MAX_STRING,
    }
}
xdr_struct! {
    /// Arguments of DUMP: none; the answer is the list of all mappings.
    pub struct DumpArgs {}
}

xdr_calls! {
    NullArgs, Null, ();
    GetaddrArgs<'_>, Getaddr, GetaddrRes<'r>;
    DumpArgs, Dump, List<'r, Rpcb<'r>>;
}

/// The netid of TCP to this address: "tcp" or "tcp6".
pub const fn netid(address: &IpAddr) -> &'static str {
    match address {
        IpAddr::V4(_) => "tcp",
        IpAddr::V6(_) => "tcp6",
    }
}

/// The netid of UDP to this address: "udp" or "udp6".
pub const fn netid_udp(address: &IpAddr) -> &'static str {
    match address {
        IpAddr::V4(_) => "udp",
        IpAddr::V6(_) => "udp6",
    }
}

/// Why bytes are not a universal address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is not a universal address (h1.h2.h3.h4.p1.p2, or an IPv6 address followed by .p1.p2)"
)]
pub struct BadUaddr(pub String);

/// Reads a universal address (RFC 5665 section 5.2.3): the host's address, then the port's two bytes,
/// all with dots between. `None` for the empty address, which means "not registered".
///
/// # Errors
/// [`BadUaddr`] with the text.
pub fn parse_uaddr(uaddr: &[u8]) -> Result<Option<SocketAddr>, BadUaddr> {
    if uaddr.is_empty() {
        return Ok(None);
    }
    let bad = || BadUaddr(String::from_utf8_lossy(uaddr).into_owned());
    let text = std::str::from_utf8(uaddr).map_err(|_| bad())?;
    let (rest, low) = text.rsplit_once('.').ok_or_else(bad)?;
    let (host, high) = rest.rsplit_once('.').ok_or_else(bad)?;
    let host: IpAddr = host.parse().map_err(|_| bad())?;
    let (high, low) = (octet(high).ok_or_else(bad)?, octet(low).ok_or_else(bad)?);
    Ok(Some(SocketAddr::new(host, u16::from_be_bytes([high, low]))))
}

/// `u8::from_str` would take "+1".
fn octet(text: &str) -> Option<u8> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// Writes a universal address.
pub fn format_uaddr(address: &SocketAddr) -> String {
    let [high, low] = address.port().to_be_bytes();
    format!("{}.{high}.{low}", address.ip())
}
