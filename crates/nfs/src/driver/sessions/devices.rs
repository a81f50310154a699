//! What LAYOUTGET and GETDEVICEINFO return, as far as this client uses it: one copy of the file on one data
//! server of NFSv3 that is loosely coupled (RFC 8435 section 2).

use super::layouts::Access;
use filermark_onc::nfs3::FHSIZE3;
use filermark_onc::nfs4::flexfiles::{
    FfDataServer4, FfDeviceAddr4, FfLayout4, FfMirror4, ff_flags,
};
use filermark_onc::nfs4::{Deviceid4, Fh4, GetdeviceinfoOk, LayoutgetOk, Nfsstat4, layout_type};
use filermark_onc::rpcbind::parse_uaddr;
use filermark_onc::xdr;
use std::net::SocketAddr;

/// Most data servers that a client knows.
pub(super) const DEVICES_MAX: usize = 256;
/// The smallest READ and WRITE that a data server is to take, in bytes. 0: it does not say.
const TRANSFER_LEAST: u32 = 4096;
/// The version of NFS that is spoken with data servers.
const DATA_SERVER_VERSION: u32 = 3;

/// A layout that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UsableLayout {
    pub(super) device: Deviceid4,
    pub(super) handle: Fh4,
    /// How many handles there were: with several, which one is right follows from the data server's versions.
    pub(super) handles: usize,
    /// User and group.
    pub(super) user: (u32, u32),
    pub(super) flags: u32,
}

/// A data server that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UsableDevice {
    pub(super) address: SocketAddr,
    /// The place of its version among its versions.
    pub(super) version: usize,
    /// Largest READ and WRITE, in bytes.
    pub(super) rsize: u32,
    pub(super) wsize: u32,
}

/// What is known of a device ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeviceState {
    /// Nothing.
    Unknown,
    /// GETDEVICEINFO is under way.
    Asked,
    /// It is this data server, with this place among its versions.
    Known { server: u32, version: usize },
    /// It cannot be used.
    Unusable,
}

/// A device ID of a client (RFC 8881 section 12.2.10).
#[derive(Clone, Copy, Debug)]
pub(super) struct Device {
    pub(super) id: Deviceid4,
    pub(super) state: DeviceState,
}

/// What is used of a layout. `version` is that of a device, once it is known. `None`: nothing can be.
pub(super) fn usable_layout(
    granted: &LayoutgetOk<'_>,
    access: Access,
    version: impl Fn(&Deviceid4) -> Option<usize>,
) -> Option<UsableLayout> {
    let whole = |offset, length| offset == 0 && length == u64::MAX;
    let mut parts = granted.layout.iter();
    let part = parts.find(|part| {
        let is_flexible = part.content.layout_type == layout_type::FLEX_FILES;
        let serves = part.iomode == access.iomode() || access == Access::Read;
        is_flexible && serves && whole(part.offset, part.length)
    })?;
    let layout: FfLayout4<'_> = xdr::decode(part.content.body).ok()?;
    let must_write_all = layout.flags & ff_flags::WRITE_ONE_MIRROR == 0 && layout.mirrors.len() > 1;
    if access == Access::Write && must_write_all {
        return None;
    }
    let best = layout
        .mirrors
        .iter()
        .filter_map(|mirror| only_server(&mirror))
        .max_by_key(|server| server.efficiency)?;
    let handles = best.fh_vers.len();
    let place = version(&best.deviceid).filter(|_| handles > 1).unwrap_or(0);
    let handle = best.fh_vers.iter().nth(place)?;
    if handle.as_bytes().len() > FHSIZE3 {
        return None;
    }
    Some(UsableLayout {
        device: best.deviceid,
        handle: handle.to_fh(),
        handles,
        user: (number(best.user)?, number(best.group)?),
        flags: layout.flags,
    })
}

/// The data server of a copy that is not striped.
fn only_server<'a>(mirror: &FfMirror4<'a>) -> Option<FfDataServer4<'a>> {
    let mut servers = mirror.data_servers.iter();
    let first = servers.next()?;
    servers.next().is_none().then_some(first)
}

/// A user or group: a number in digits (RFC 8435 section 5.1).
fn number(digits: &[u8]) -> Option<u32> {
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(digits).ok().filter(|_| is_number)?;
    text.parse().ok()
}

/// What is used of a data server, or why nothing can be: a sentence.
pub(super) fn usable_device(answer: &GetdeviceinfoOk<'_>) -> Result<UsableDevice, &'static str> {
    if answer.device_addr.layout_type != layout_type::FLEX_FILES {
        return Err("GETDEVICEINFO has returned another layout type than that of flexible files");
    }
    let device: FfDeviceAddr4<'_> = xdr::decode(answer.device_addr.body)
        .map_err(|_| "the answer to GETDEVICEINFO is malformed (RFC 8435 section 4.1)")?;
    let is_usable =
        |version: u32, tightly_coupled: bool| version == DATA_SERVER_VERSION && !tightly_coupled;
    let mut versions = device.versions.iter().enumerate();
    let (place, version) = versions
        .find(|(_, v)| is_usable(v.version, v.tightly_coupled))
        .ok_or("it has no NFSv3 that is loosely coupled (RFC 8435 section 2)")?;
    let is_small = |bytes: u32| (1..TRANSFER_LEAST).contains(&bytes);
    if is_small(version.rsize) || is_small(version.wsize) {
        return Err("its READs or WRITEs are smaller than 4096 bytes (ffdv_rsize, ffdv_wsize)");
    }
    let address = device
        .netaddrs
        .iter()
        .find_map(|of| match of.netid {
            b"tcp" | b"tcp6" => parse_uaddr(of.addr).ok().flatten(),
            _ => None,
        })
        .ok_or("it has no TCP address")?;
    Ok(UsableDevice {
        address,
        version: place,
        rsize: version.rsize,
        wsize: version.wsize,
    })
}

/// Whether a refusal of GETDEVICEINFO stays (RFC 8881 section 15.2): of the device ID, or of what is asked. After
/// others it is asked for again with the next layout.
pub(super) const fn is_lasting(status: Nfsstat4) -> bool {
    matches!(
        status,
        Nfsstat4::Noent
            | Nfsstat4::Inval
            | Nfsstat4::Notsupp
            | Nfsstat4::Toosmall
            | Nfsstat4::RepTooBig
            | Nfsstat4::UnknownLayouttype
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_onc::nfs4::flexfiles::FfDeviceVersions4;
    use filermark_onc::nfs4::{
        Bitmap4, FileHandle4, Layout4, LayoutContent4, Layoutiomode4, Netaddr4, Stateid4,
    };
    use filermark_onc::xdr::Array;

    fn server<'a>(
        number: u8,
        efficiency: u32,
        handles: &'a [FileHandle4<'a>],
    ) -> FfDataServer4<'a> {
        FfDataServer4 {
            deviceid: [number; 16],
            efficiency,
            stateid: Stateid4::ANONYMOUS,
            fh_vers: Array::new(handles).expect("few"),
            user: b"1000",
            group: b"0",
        }
    }

    /// The layout with these copies, each of these data servers.
    fn layout(
        mirrors: &[&[FfDataServer4<'_>]],
        flags: u32,
        access: Access,
    ) -> Option<UsableLayout> {
        let mirrors: Vec<FfMirror4<'_>> = mirrors
            .iter()
            .map(|servers| FfMirror4 {
                data_servers: Array::new(servers).expect("few"),
            })
            .collect();
        let mut body = Vec::new();
        xdr::append(
            &mut body,
            &FfLayout4 {
                stripe_unit: 4096,
                mirrors: Array::new(&mirrors).expect("few"),
                flags,
                stats_collect_hint: 0,
            },
        );
        let parts = [Layout4 {
            offset: 0,
            length: u64::MAX,
            iomode: access.iomode(),
            content: LayoutContent4 {
                layout_type: layout_type::FLEX_FILES,
                body: &body,
            },
        }];
        let granted = LayoutgetOk {
            return_on_close: true,
            stateid: Stateid4::ANONYMOUS,
            layout: Array::new(&parts).expect("one"),
        };
        usable_layout(&granted, access, |_| Some(1))
    }

    #[test]
    fn the_most_efficient_copy_is_read_and_one_copy_is_written() {
        let one = [FileHandle4::new(b"file").expect("short")];
        let two = ["a", "b"].map(|text| FileHandle4::new(text.as_bytes()).expect("short"));
        let (a, b) = ([server(1, 5, &one)], [server(2, 9, &two)]);
        let read = layout(&[&a, &b], 0, Access::Read).expect("usable");
        assert_eq!((read.device, read.user), ([2; 16], (1000, 0)));
        // The second handle is that of the second version.
        assert_eq!((read.handle.as_bytes(), read.handles), (&b"b"[..], 2));
        assert_eq!(layout(&[&a, &b], 0, Access::Write), None);
        let flags = ff_flags::WRITE_ONE_MIRROR;
        assert!(layout(&[&a, &b], flags, Access::Write).is_some());
        assert!(layout(&[&a], 0, Access::Write).is_some());
        let striped = [a[0], b[0]];
        assert_eq!(layout(&[&striped], 0, Access::Read), None);
    }

    #[test]
    fn users_that_are_no_numbers_and_long_handles_are_not_used() {
        let long = [7; FHSIZE3 + 1];
        let handles = [FileHandle4::new(&long).expect("of version 4")];
        assert_eq!(layout(&[&[server(1, 0, &handles)]], 0, Access::Read), None);
        let short = [FileHandle4::new(b"file").expect("short")];
        for user in [&b""[..], b"root", b"+1", b"4294967296"] {
            let named = FfDataServer4 {
                user,
                ..server(1, 0, &short)
            };
            assert_eq!(layout(&[&[named]], 0, Access::Read), None, "{user:?}");
        }
    }

    fn device(netid: &[u8], addr: &[u8], versions: &[(u32, bool)]) -> Option<UsableDevice> {
        device_with((65536, 32768), netid, addr, versions)
    }

    fn device_with(
        (rsize, wsize): (u32, u32),
        netid: &[u8],
        addr: &[u8],
        versions: &[(u32, bool)],
    ) -> Option<UsableDevice> {
        let versions: Vec<FfDeviceVersions4> = versions
            .iter()
            .map(|(version, tightly_coupled)| FfDeviceVersions4 {
                version: *version,
                minorversion: 0,
                rsize,
                wsize,
                tightly_coupled: *tightly_coupled,
            })
            .collect();
        let mut body = Vec::new();
        let addresses = [Netaddr4 { netid, addr }];
        xdr::append(
            &mut body,
            &FfDeviceAddr4 {
                netaddrs: Array::new(&addresses).expect("one"),
                versions: Array::new(&versions).expect("few"),
            },
        );
        usable_device(&GetdeviceinfoOk {
            device_addr: LayoutContent4 {
                layout_type: layout_type::FLEX_FILES,
                body: &body,
            },
            notification: Bitmap4::EMPTY,
        })
        .ok()
    }

    #[test]
    fn a_data_server_with_tiny_transfers_is_not_used() {
        for (sizes, is_used) in [
            ((1, 65536), false),
            ((65536, 1), false),
            ((4095, 4096), false),
            ((4096, 4096), true),
            ((0, 0), true),
        ] {
            let found = device_with(sizes, b"tcp", b"10.1.2.3.8.1", &[(3, false)]);
            let found = found.map(|found| (found.rsize, found.wsize));
            assert_eq!(found, is_used.then_some(sizes));
        }
    }

    #[test]
    fn a_loosely_coupled_data_server_of_version_3_is_used() {
        let found = device(b"tcp", b"10.1.2.3.8.1", &[(4, false), (3, false)]).expect("usable");
        assert_eq!(found.address, "10.1.2.3:2049".parse().expect("an address"));
        assert_eq!((found.version, found.rsize, found.wsize), (1, 65536, 32768));
        let found = device(b"tcp6", b"fe80::1.8.1", &[(3, false)]).expect("usable");
        assert_eq!(found.address, "[fe80::1]:2049".parse().expect("an address"));
        for (netid, addr, version) in [
            (&b"tcp"[..], &b"10.1.2.3.8.1"[..], (3, true)),
            (b"tcp", b"10.1.2.3.8.1", (4, false)),
            (b"udp", b"10.1.2.3.8.1", (3, false)),
            (b"tcp", b"10.1.2.3", (3, false)),
            (b"tcp", b"", (3, false)),
        ] {
            assert_eq!(device(netid, addr, &[version]), None);
        }
        assert_eq!(
            Access::ALL.map(Access::iomode),
            [Layoutiomode4::Read, Layoutiomode4::Rw]
        );
    }
}
