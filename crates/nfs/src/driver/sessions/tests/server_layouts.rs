//! What the server of the tests has of pNFS: layouts of flexible files on one data server.

use filermark_onc::nfs4::flexfiles::{
    FfDataServer4, FfDeviceAddr4, FfDeviceVersions4, FfLayout4, FfLayoutreturn4, FfMirror4,
};
use filermark_onc::nfs4::*;
use filermark_onc::rpcbind::format_uaddr;
use filermark_onc::xdr::{self, Array};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// The handle of every file on the data server.
pub(super) const HANDLE: &[u8] = b"file of data server";
const DEVICE: Deviceid4 = [6; 16];

/// The layouts of the server.
pub(super) struct LayoutServer {
    /// The data server; `None`: the server has no layouts.
    pub(super) data_server: Option<SocketAddr>,
    /// Bits of `ff_flags`.
    pub(super) flags: u32,
    /// How many copies a file has.
    pub(super) copies: usize,
    pub(super) tightly_coupled: bool,
    /// LAYOUTGET is answered with this.
    pub(super) refuses: Option<Nfsstat4>,
    /// LAYOUTGET is answered with NFS4ERR_DELAY, until one has come for an open that is not known.
    pub(super) is_busy: bool,
    /// What is held: the handle of the file, and the sequence number.
    pub(super) held: BTreeMap<[u8; 12], (Vec<u8>, u32)>,
    /// The number of the last state.
    last: u64,
    /// The access of each LAYOUTGET.
    pub(super) asked: Vec<Layoutiomode4>,
    /// The last byte written, of each LAYOUTCOMMIT.
    pub(super) committed: Vec<Option<u64>>,
    /// The status and the operation of errors of the data server.
    pub(super) errors: Vec<(Nfsstat4, u32)>,
}

impl Default for LayoutServer {
    fn default() -> Self {
        Self {
            data_server: None,
            flags: 0,
            copies: 1,
            tightly_coupled: false,
            refuses: None,
            is_busy: false,
            held: BTreeMap::new(),
            last: 0,
            asked: Vec::new(),
            committed: Vec::new(),
            errors: Vec::new(),
        }
    }
}

impl LayoutServer {
    /// The flags of EXCHANGE_ID's answer to these.
    pub(super) fn roles(&self, asked: u32) -> u32 {
        match self.data_server {
            Some(_) => {
                assert_eq!(asked & exchgid::USE_NON_PNFS, 0);
                exchgid::USE_PNFS_MDS
            }
            None => 0,
        }
    }

    /// Executes an operation about layouts; `None`: it is none.
    pub(super) fn execute(
        &mut self,
        op: &Args<'_>,
        current: &[u8],
        compound: &mut CompoundResWriter<'_, Operation>,
    ) -> Option<Nfsstat4> {
        Some(match op {
            Args::Layoutget(args) => self.grant(args, current, compound),
            Args::Getdeviceinfo(args) => {
                assert_eq!((args.device_id, args.layout_type), (DEVICE, 4));
                self.describe(compound)
            }
            Args::Layoutcommit(args) => {
                self.committed.push(args.last_write_offset);
                compound.result::<LayoutcommitArgs<'_>>(&Ok(LayoutcommitOk { newsize: None }))
            }
            Args::Layoutreturn(args) => self.take_back(args, current, compound),
            _ => return None,
        })
    }

    fn grant(
        &mut self,
        args: &LayoutgetArgs,
        current: &[u8],
        compound: &mut CompoundResWriter<'_, Operation>,
    ) -> Nfsstat4 {
        self.asked.push(args.iomode);
        match self.refuses {
            None if self.is_busy => return compound.fail(Operation::Layoutget, Nfsstat4::Delay),
            None => {}
            Some(Nfsstat4::Layouttrylater) => {
                return compound.result::<LayoutgetArgs>(&Err(LayoutgetFailed::With(false)));
            }
            Some(status) => return compound.fail(Operation::Layoutget, status),
        }
        // The first one has the state of the open, the next ones that of the layout.
        let known = self.held.values().find(|(file, _)| file == current);
        let of_layout = self.held.get(&args.stateid.other);
        assert_eq!(of_layout, known, "{:?}", args.stateid);
        let mut other = args.stateid.other;
        let seqid = match of_layout {
            Some((_, seqid)) => {
                assert_eq!(args.stateid.seqid, *seqid);
                seqid + 1
            }
            None => {
                self.last += 1;
                other = [8; 12];
                other[..8].copy_from_slice(&self.last.to_be_bytes());
                1
            }
        };
        self.held.insert(other, (current.to_vec(), seqid));
        let handles = [FileHandle4::new(HANDLE).expect("short")];
        let servers = [FfDataServer4 {
            deviceid: DEVICE,
            efficiency: 1,
            stateid: Stateid4::ANONYMOUS,
            fh_vers: Array::new(&handles).expect("one"),
            user: b"1234",
            group: b"56",
        }];
        let data_servers = Array::new(&servers).expect("one");
        let mirrors = vec![FfMirror4 { data_servers }; self.copies];
        let mut body = Vec::new();
        xdr::append(
            &mut body,
            &FfLayout4 {
                stripe_unit: 0,
                mirrors: Array::new(&mirrors).expect("few"),
                flags: self.flags,
                stats_collect_hint: 0,
            },
        );
        let parts = [Layout4 {
            offset: 0,
            length: u64::MAX,
            iomode: args.iomode,
            content: LayoutContent4 {
                layout_type: layout_type::FLEX_FILES,
                body: &body,
            },
        }];
        compound.result::<LayoutgetArgs>(&Ok(LayoutgetOk {
            return_on_close: true,
            stateid: Stateid4 { seqid, other },
            layout: Array::new(&parts).expect("one"),
        }))
    }

    fn describe(&self, compound: &mut CompoundResWriter<'_, Operation>) -> Nfsstat4 {
        let address = format_uaddr(&self.data_server.expect("it has granted a layout"));
        let addresses = [Netaddr4 {
            netid: b"tcp",
            addr: address.as_bytes(),
        }];
        let versions = [FfDeviceVersions4 {
            version: 3,
            minorversion: 0,
            rsize: 1 << 20,
            wsize: 1 << 20,
            tightly_coupled: self.tightly_coupled,
        }];
        let mut body = Vec::new();
        xdr::append(
            &mut body,
            &FfDeviceAddr4 {
                netaddrs: Array::new(&addresses).expect("one"),
                versions: Array::new(&versions).expect("one"),
            },
        );
        compound.result::<GetdeviceinfoArgs>(&Ok(GetdeviceinfoOk {
            device_addr: LayoutContent4 {
                layout_type: layout_type::FLEX_FILES,
                body: &body,
            },
            notification: Bitmap4::EMPTY,
        }))
    }

    fn take_back(
        &mut self,
        args: &LayoutreturnArgs<'_>,
        current: &[u8],
        compound: &mut CompoundResWriter<'_, Operation>,
    ) -> Nfsstat4 {
        let Layoutreturn4::File(of) = &args.layoutreturn else {
            panic!("{args:?}");
        };
        let report: FfLayoutreturn4<'_> = xdr::decode(of.body).expect("a report");
        for errors in report.ioerr_report.iter() {
            let errors = errors.errors.iter();
            self.errors.extend(errors.map(|e| (e.status, e.opnum)));
        }
        let held = (current.to_vec(), of.stateid.seqid);
        if self.held.get(&of.stateid.other) != Some(&held) {
            return compound.fail(Operation::Layoutreturn, Nfsstat4::BadStateid);
        }
        self.held.remove(&of.stateid.other);
        compound.result::<LayoutreturnArgs<'_>>(&Ok(LayoutreturnOk { stateid: None }))
    }
}
