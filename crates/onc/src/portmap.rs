//! The portmapper, version 2 of program 100000 (RFC 1833 section 3): which port a program listens on.

use crate::xdr::List;

/// Program number, shared with rpcbind.
pub const PROGRAM: u32 = 100_000;
/// Version of the portmapper.
pub const VERSION: u32 = 2;
/// The port it listens on, TCP and UDP.
pub const PORT: u16 = 111;
/// `prot` of a program on TCP.
pub const IPPROTO_TCP: u32 = 6;
/// `prot` of a program on UDP.
pub const IPPROTO_UDP: u32 = 17;

xdr_enum! {
    /// The procedures.
    pub enum Procedure {
        /// Does nothing.
        Null = 0 "NULL",
        /// Registers a mapping.
        Set = 1 "SET",
        /// Removes the mappings of a program and version.
        Unset = 2 "UNSET",
        /// Asks for the port of a program.
        Getport = 3 "GETPORT",
        /// Lists all mappings.
        Dump = 4 "DUMP",
        /// Calls a program by way of the portmapper; Filermark neither sends nor serves it.
        Callit = 5 "CALLIT",
    }
}

xdr_struct! {
    /// Which port a version of a program has on a transport.
    pub struct Mapping {
        /// Program.
        prog: u32,
        /// Version of the program.
        vers: u32,
        /// [`IPPROTO_TCP`] or [`IPPROTO_UDP`].
        prot: u32,
        /// Port; without meaning in GETPORT and UNSET.
        port: u32,
    }
}

xdr_struct! {
    /// Arguments of NULL: none.
    pub struct NullArgs {}
}
xdr_struct! {
    /// Arguments of GETPORT; the answer is the port, 0 for "not registered".
    pub struct GetportArgs {
        /// The port in it is ignored.
        mapping: Mapping,
    }
}
xdr_struct! {
    /// Arguments of SET; the answer is whether it was done.
    pub struct SetArgs {
        /// What to register.
        mapping: Mapping,
    }
}
xdr_struct! {
    /// Arguments of UNSET; the answer is whether it was done.
    pub struct UnsetArgs {
        /// Transport and port in it are ignored.
        mapping: Mapping,
    }
}
xdr_struct! {
    /// Arguments of DUMP: none; the answer is the list of all mappings.
    pub struct DumpArgs {}
}

impl GetportArgs {
    /// Asks where version `vers` of `prog` listens on TCP.
    pub const fn tcp(prog: u32, vers: u32) -> Self {
        Self::on(prog, vers, IPPROTO_TCP)
    }

    /// Asks where version `vers` of `prog` listens on UDP.
    pub const fn udp(prog: u32, vers: u32) -> Self {
        Self::on(prog, vers, IPPROTO_UDP)
    }

    const fn on(prog: u32, vers: u32, prot: u32) -> Self {
        Self {
            mapping: Mapping {
                prog,
                vers,
                prot,
                port: 0,
            },
        }
    }
}

xdr_calls! {
    NullArgs, Null, ();
    GetportArgs, Getport, u32;
    SetArgs, Set, bool;
    UnsetArgs, Unset, bool;
    DumpArgs, Dump, List<'r, Mapping>;
}
