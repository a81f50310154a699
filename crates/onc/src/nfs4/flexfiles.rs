//! The bodies of layouts of flexible files (RFC 8435): copies of a file on data servers that are NFS servers.

use super::basic::{Netaddr4, Nfstime4};
use super::device::Deviceid4;
use super::layout::{DeviceError4, IoInfo4};
use super::state::Stateid4;
use super::{FileHandle4, MAX_ITEMS, MAX_OWNER};
use crate::xdr::Array;

/// Bits of [`FfLayout4::flags`].
pub mod ff_flags {
    /// No LAYOUTCOMMIT is needed.
    pub const NO_LAYOUTCOMMIT: u32 = 1;
    /// No transfers by the metadata server while the layout is held.
    pub const NO_IO_THRU_MDS: u32 = 2;
    /// A layout for reading and writing is not used for READ: one for reading is asked for.
    pub const NO_READ_IO: u32 = 4;
    /// One copy is written; the server makes the others.
    pub const WRITE_ONE_MIRROR: u32 = 8;
}

/// The most copies, data servers of a copy, handles of a data server, and addresses taken.
const MAX_MIRRORS: usize = MAX_ITEMS;

xdr_struct! {
    /// `ff_data_server4`: a data server of a copy.
    pub struct FfDataServer4<'a> {
        /// The data server.
        deviceid: Deviceid4,
        /// The higher, the better for reading.
        efficiency: u32,
        /// To be sent to the data server, if it is tightly coupled.
        stateid: Stateid4,
        /// The file there, for each version of the protocol.
        fh_vers: Array<'a, FileHandle4<'a>, MAX_MIRRORS>,
        /// The user to be sent to it, as a number in digits.
        user: &'a [u8] => MAX_OWNER,
        /// The group to be sent to it, as a number in digits.
        group: &'a [u8] => MAX_OWNER,
    }
}

xdr_struct! {
    /// `ff_mirror4`: a copy.
    pub struct FfMirror4<'a> {
        /// The data servers over which it is striped.
        data_servers: Array<'a, FfDataServer4<'a>, MAX_MIRRORS>,
    }
}

xdr_struct! {
    /// `ff_layout4`: where a part of a file is.
    pub struct FfLayout4<'a> {
        /// Size of a stripe, in bytes.
        stripe_unit: u64,
        /// The copies.
        mirrors: Array<'a, FfMirror4<'a>, MAX_MIRRORS>,
        /// Bits of [`ff_flags`].
        flags: u32,
        /// How often LAYOUTSTATS should be sent, in seconds.
        stats_collect_hint: u32,
    }
}

xdr_struct! {
    /// `ff_device_versions4`: a version that a data server has.
    pub struct FfDeviceVersions4 {
        /// Version of NFS.
        version: u32,
        /// Minor version.
        minorversion: u32,
        /// Largest READ, in bytes.
        rsize: u32,
        /// Largest WRITE, in bytes.
        wsize: u32,
        /// Whether the metadata server's stateids are valid there.
        tightly_coupled: bool,
    }
}

xdr_struct! {
    /// `ff_device_addr4`: where a data server is.
    pub struct FfDeviceAddr4<'a> {
        /// Its addresses (`multipath_list4`).
        netaddrs: Array<'a, Netaddr4<'a>, MAX_MIRRORS>,
        /// Its versions.
        versions: Array<'a, FfDeviceVersions4, MAX_MIRRORS>,
    }
}

xdr_struct! {
    /// `ff_ioerr4`: errors of data servers.
    pub struct FfIoerr4<'a> {
        /// From this byte.
        offset: u64,
        /// This many bytes.
        length: u64,
        /// The layout.
        stateid: Stateid4,
        /// What happened.
        errors: Array<'a, DeviceError4, MAX_MIRRORS>,
    }
}

xdr_struct! {
    /// `ff_io_latency4`: transfers with a data server.
    pub struct FfIoLatency4 {
        /// Requests that were sent.
        ops_requested: u64,
        /// Their bytes.
        bytes_requested: u64,
        /// Requests that were answered.
        ops_completed: u64,
        /// Their bytes.
        bytes_completed: u64,
        /// Bytes that were not transferred.
        bytes_not_delivered: u64,
        /// For how long requests were in flight.
        total_busy_time: Nfstime4,
        /// Sum of the times of the requests.
        aggregate_completion_time: Nfstime4,
    }
}

xdr_struct! {
    /// `ff_layoutupdate4`: what a client reports in LAYOUTSTATS.
    pub struct FfLayoutupdate4<'a> {
        /// The data server's address.
        addr: Netaddr4<'a>,
        /// The file there.
        fhandle: FileHandle4<'a>,
        /// READs.
        read: FfIoLatency4,
        /// WRITEs.
        write: FfIoLatency4,
        /// For how long.
        duration: Nfstime4,
        /// Whether the client reached it without the network.
        local: bool,
    }
}

xdr_struct! {
    /// `ff_iostats4`: statistics of a data server.
    pub struct FfIostats4<'a> {
        /// From this byte.
        offset: u64,
        /// This many bytes.
        length: u64,
        /// The layout.
        stateid: Stateid4,
        /// READs.
        read: IoInfo4,
        /// WRITEs.
        write: IoInfo4,
        /// The data server.
        deviceid: Deviceid4,
        /// The statistics.
        layoutupdate: FfLayoutupdate4<'a>,
    }
}

xdr_struct! {
    /// `ff_layoutreturn4`: what a client reports in LAYOUTRETURN.
    pub struct FfLayoutreturn4<'a> {
        /// Errors.
        ioerr_report: Array<'a, FfIoerr4<'a>, MAX_MIRRORS>,
        /// Statistics.
        iostats_report: Array<'a, FfIostats4<'a>, MAX_MIRRORS>,
    }
}
