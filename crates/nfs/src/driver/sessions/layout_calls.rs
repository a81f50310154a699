//! How layouts come: LAYOUTGET and GETDEVICEINFO (RFC 8881 sections 18.43 and 18.40).

use super::compounds::StateCall;
use super::devices::{
    DEVICES_MAX, Device, DeviceState, UsableLayout, usable_device, usable_layout,
};
use super::encode::putfh;
use super::layouts::{Access, FileLayout, Part, PartState};
use super::opens::OpenState;
use super::results::{Early, Results};
use super::state::Sessions;
use crate::driver::core::Core;
use crate::driver::counters::Tally;
use crate::driver::reply::CallOutcome;
use filermark_onc::nfs4::*;

/// Most bytes of a layout, and of the answer to GETDEVICEINFO.
const ANSWER_BYTES: u32 = 4096;
/// The least that a layout is to cover, in bytes: a page, as other clients ask for.
const LEAST_BYTES: u64 = 4096;

impl Core<Sessions> {
    /// Begins LAYOUTGET for an open file; `false`: there is no capacity for a call.
    pub(super) fn ask_layout(&mut self, op: u32, conn: u32, key: u32, access: Access) -> bool {
        let proc = self.ops.get(op).proc;
        if !self.own_call(conn, Some(op), StateCall::Layoutget(key, access)) {
            return false;
        }
        if let Some(file) = self.own.opens[proc as usize].find(key) {
            file.is_asking = true;
            file.is_sent = false;
        }
        if let Some(part) = self.part_of(proc, key, access) {
            part.state = PartState::Asked;
        }
        true
    }

    fn layout_of(&mut self, proc: u32, key: u32) -> Option<&mut FileLayout> {
        let file = self.own.opens[proc as usize].find(key)?;
        let layout = file.layout?;
        self.own.layouts.get_mut(layout)
    }

    fn part_of(&mut self, proc: u32, key: u32, access: Access) -> Option<&mut Part> {
        let layout = self.layout_of(proc, key)?;
        Some(layout.part_mut(access))
    }

    pub(super) fn encode_layoutget(
        &self,
        (proc, key): (u32, u32),
        access: Access,
        compound: &mut CompoundWriter<'_, Operation>,
    ) {
        let file = self.own.opens[proc as usize].get(key);
        let layout = file.and_then(|file| self.own.layouts.get(file.layout?));
        let open = match file.map(|file| file.state) {
            Some(OpenState::Open(stateid)) => Stateid4 {
                seqid: 0,
                ..stateid
            },
            _ => Stateid4::ANONYMOUS,
        };
        let handle = self.handle_of(proc, key);
        compound.op(&putfh(handle.handle())).op(&LayoutgetArgs {
            signal_layout_avail: false,
            layout_type: layout_type::FLEX_FILES,
            iomode: access.iomode(),
            offset: 0,
            length: u64::MAX,
            minlength: LEAST_BYTES,
            stateid: layout.and_then(|layout| layout.stateid).unwrap_or(open),
            maxcount: ANSWER_BYTES,
        });
    }

    pub(super) fn encode_getdeviceinfo(
        &self,
        conn: u32,
        device: u32,
        compound: &mut CompoundWriter<'_, Operation>,
    ) {
        let devices = &self.own.client_of(conn).devices;
        let id = devices.get(device as usize).map(|device| device.id);
        compound.op(&GetdeviceinfoArgs {
            device_id: id.unwrap_or_default(),
            layout_type: layout_type::FLEX_FILES,
            maxcount: ANSWER_BYTES,
            notify_types: Bitmap4::EMPTY,
        });
    }

    /// The results of LAYOUTGET. What the server refuses stays as it was asked for until the call ends.
    pub(super) fn layoutget_results(
        &mut self,
        slot: u32,
        (key, access): (u32, Access),
        compound: &mut Results<'_>,
    ) -> Result<CallOutcome, Early> {
        let granted = match compound.read::<PutfhArgs<'_>>()? {
            Ok(()) => (compound.read::<LayoutgetArgs>()?).map_err(|failed| failed.status()),
            Err(status) => Err(status),
        };
        match granted {
            Ok(granted) => self.layout_granted(slot, (key, access), &granted),
            Err(status @ (Nfsstat4::Delay | Nfsstat4::Grace)) => return Err(status.into()),
            Err(status) => tracing::debug!(%status, "LAYOUTGET was refused"),
        }
        Ok(CallOutcome::Ok)
    }

    fn layout_granted(
        &mut self,
        slot: u32,
        (key, access): (u32, Access),
        granted: &LayoutgetOk<'_>,
    ) {
        let call = self.calls.get(slot);
        let (op, conn) = (call.op, call.conn);
        let proc = self.ops.get(op).proc;
        self.counters.add(match access {
            Access::Read => Tally::LayoutsRead,
            Access::Write => Tally::LayoutsWrite,
        });
        let version = |id: &Deviceid4| self.own.client_of(conn).version_of(id);
        let usable = usable_layout(granted, access, version);
        let credential = usable.and_then(|usable| self.own.data_servers.credential(usable.user));
        let part = match (usable, credential) {
            (Some(usable), Some(credential)) => self.place_layout(op, conn, &usable, credential),
            _ => None,
        };
        if part.is_none_or(|part| part.state == PartState::Refused) {
            self.counters.add(Tally::LayoutsUnusable);
        }
        let Some(layout) = self.layout_of(proc, key) else {
            return;
        };
        layout.stateid = Some(granted.stateid);
        match part {
            Some(part) => *layout.part_mut(access) = part,
            None => layout.part_mut(access).state = PartState::Refused,
        }
    }

    /// Where the calls go that have this layout; begins GETDEVICEINFO if that is not known.
    fn place_layout(
        &mut self,
        op: u32,
        conn: u32,
        usable: &UsableLayout,
        credential: u32,
    ) -> Option<Part> {
        let device = self.own.client(conn).device(usable.device)?;
        let known = self.own.client(conn).devices.get(device as usize)?.state;
        let state = match known {
            DeviceState::Known { server, .. } => PartState::Held(server),
            DeviceState::Unusable => PartState::Refused,
            DeviceState::Asked => PartState::AwaitsDevice,
            DeviceState::Unknown => {
                if !self.own_call(conn, Some(op), StateCall::Getdeviceinfo(device)) {
                    return None;
                }
                self.own.client(conn).set_device(device, DeviceState::Asked);
                PartState::AwaitsDevice
            }
        };
        Some(Part {
            state,
            device: usable.device,
            handle: usable.handle,
            credential,
            flags: usable.flags,
            is_ambiguous: usable.handles > 1,
        })
    }

    /// LAYOUTGET has ended, whatever its outcome: what waits for it goes on, unless the data server is not
    /// known yet.
    pub(super) fn layout_asked(&mut self, op: u32, key: u32, access: Access) {
        let proc = self.ops.get(op).proc;
        let state = self.part_of(proc, key, access).map(|part| part.state);
        match state {
            Some(PartState::AwaitsDevice) => return,
            Some(PartState::Asked) => {
                self.counters.add(Tally::LayoutsRefused);
                if let Some(part) = self.part_of(proc, key, access) {
                    part.state = PartState::Refused;
                }
            }
            _ => {}
        }
        self.end_asking(proc, key);
    }

    pub(super) fn end_asking(&mut self, proc: u32, key: u32) {
        if let Some(file) = self.own.opens[proc as usize].find(key) {
            file.is_asking = false;
        }
        self.wake(proc, key);
    }

    pub(super) fn getdeviceinfo_results(
        &mut self,
        slot: u32,
        device: u32,
        compound: &mut Results<'_>,
    ) -> Result<CallOutcome, Early> {
        let call = self.calls.get(slot);
        let (conn, proc) = (call.conn, self.ops.get(call.op).proc);
        let answer = compound.read::<GetdeviceinfoArgs>()?;
        let usable = match answer.map_err(|failed| failed.status()) {
            Ok(answer) => usable_device(&answer),
            Err(status @ (Nfsstat4::Delay | Nfsstat4::Grace)) => return Err(status.into()),
            Err(status) => {
                tracing::debug!(%status, "GETDEVICEINFO was refused");
                None
            }
        };
        let calls = &mut self.calls;
        let known = usable.and_then(|usable| {
            let servers = &mut self.own.data_servers;
            let server = servers.server_at(usable.address, || calls.add_connection())?;
            Some((server, usable))
        });
        let state = known.map_or(DeviceState::Unusable, |(server, usable)| {
            DeviceState::Known {
                server,
                version: usable.version,
            }
        });
        self.own.client(conn).set_device(device, state);
        if let Some((_, usable)) = known {
            // Later transfers have sizes that both servers take.
            let number = self.procs[proc as usize].file_system;
            let file_system = &mut self.file_systems[number as usize];
            let least = |a: u32, b: u32| if b == 0 { a } else { a.min(b) };
            file_system.rsize = least(file_system.rsize, usable.rsize);
            file_system.wsize = least(file_system.wsize, usable.wsize);
        }
        Ok(CallOutcome::Ok)
    }

    /// GETDEVICEINFO has ended, whatever its outcome: the layouts that wait for it can be used, or not.
    pub(super) fn device_asked(&mut self, conn: u32, device: u32) {
        let client = self.own.client(conn);
        let Some(Device { id, state }) = client.devices.get(device as usize).copied() else {
            return;
        };
        if state == DeviceState::Asked {
            // Without an answer it is asked for again with the next layout.
            client.set_device(device, DeviceState::Unknown);
        }
        for proc in self.procs_of(conn) {
            let waiting: Vec<u32> = self.own.opens[proc].asking().collect();
            for key in waiting {
                self.place_waiting(proc as u32, key, &id, state);
            }
        }
    }

    fn place_waiting(&mut self, proc: u32, key: u32, id: &Deviceid4, state: DeviceState) {
        let Some(layout) = self.layout_of(proc, key) else {
            return;
        };
        let mut refused = 0;
        let mut is_settled = false;
        for access in Access::ALL {
            let part = layout.part_mut(access);
            if part.state != PartState::AwaitsDevice || part.device != *id {
                continue;
            }
            is_settled = true;
            part.state = match state {
                // Which handle is that of its version is known now.
                DeviceState::Known { .. } if part.is_ambiguous => PartState::Unasked,
                DeviceState::Known { server, .. } => PartState::Held(server),
                DeviceState::Unknown | DeviceState::Asked | DeviceState::Unusable => {
                    refused += 1;
                    PartState::Refused
                }
            };
        }
        self.counters.add_many(Tally::LayoutsUnusable, refused);
        if is_settled {
            self.end_asking(proc, key);
        }
    }
}

impl super::client::Client {
    /// The place of a device ID, which is added if it is new; `None`: there are too many.
    fn device(&mut self, id: Deviceid4) -> Option<u32> {
        if let Some(place) = self.devices.iter().position(|device| device.id == id) {
            return Some(place as u32);
        }
        if self.devices.len() >= DEVICES_MAX {
            return None;
        }
        let state = DeviceState::Unknown;
        self.devices.push(Device { id, state });
        Some(self.devices.len() as u32 - 1)
    }

    /// The client ID is another one. Those that are asked for keep their places.
    pub(super) fn forget_devices(&mut self) {
        for device in &mut self.devices {
            if device.state != DeviceState::Asked {
                device.state = DeviceState::Unknown;
            }
        }
    }

    fn set_device(&mut self, place: u32, state: DeviceState) {
        if let Some(device) = self.devices.get_mut(place as usize) {
            device.state = state;
        }
    }

    /// The place of the version that is used with this data server, among its versions.
    fn version_of(&self, id: &Deviceid4) -> Option<usize> {
        let known = self.devices.iter().find(|device| device.id == *id)?;
        match known.state {
            DeviceState::Known { version, .. } => Some(version),
            DeviceState::Unknown | DeviceState::Asked | DeviceState::Unusable => None,
        }
    }

    /// Whether the server is a metadata server (RFC 8881 section 13.1).
    pub(super) fn has_layouts(&self) -> bool {
        let server = self.session.as_ref().map(|up| up.server.flags);
        server.is_some_and(|flags| flags & exchgid::USE_PNFS_MDS != 0)
    }
}
