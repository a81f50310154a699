//! How layouts come: LAYOUTGET and GETDEVICEINFO (RFC 8881 sections 18.43 and 18.40).

use super::compounds::StateCall;
use super::devices::{
    DEVICES_MAX, Device, DeviceState, UsableLayout, is_lasting, usable_device, usable_layout,
};
use super::encode::putfh;
use super::layouts::{Access, FileLayout, Part, PartState, Standing};
use super::opens::{self, OpenState};
use super::results::{Early, Results};
use super::state::{Closing, Sessions};
use crate::driver::core::Core;
use crate::driver::counters::Tally;
use crate::driver::reply::CallOutcome;
use filermark_onc::nfs4::*;

/// Most bytes of a layout, and of the answer to GETDEVICEINFO.
const ANSWER_BYTES: u32 = 4096;
/// The least that a layout is to cover, in bytes: a page, as other clients ask for.
const LEAST_BYTES: u64 = 4096;

impl Core<Sessions> {
    /// Begins a call about the layouts of an open file, as a part of an operation or by itself. The file is not
    /// closed before the end of the call, and its entry in the table of layouts is not used for another file.
    /// `false`: there is no capacity for a call.
    pub(super) fn begin_layout_call(
        &mut self,
        op: Option<u32>,
        conn: u32,
        (proc, key): (u32, u32),
        kind: impl FnOnce(u32) -> StateCall,
    ) -> bool {
        let handle = self.handle_of(proc, key);
        let file = self.own.opens[proc as usize].get(key);
        let Some((open, layout)) = file.and_then(|file| match file.state {
            OpenState::Open(stateid) => Some((stateid, file.layout?)),
            _ => None,
        }) else {
            return false;
        };
        let granted = self.own.layouts.get(layout).and_then(|of| of.stateid);
        let of_open = Stateid4 { seqid: 0, ..open };
        let place = self.own.keep_closing(Closing {
            layout: Some(layout),
            ..Closing::new(granted.unwrap_or(of_open), handle, (proc, key))
        });
        if !self.own_call(conn, op, kind(place)) {
            self.own.forget_closing(place);
            return false;
        }
        self.own.layouts.hold(layout);
        if let Some(file) = self.own.opens[proc as usize].find(key) {
            file.is_asking = true;
            file.is_sent = false;
        }
        self.own.client(conn).closing += 1;
        true
    }

    /// Such a call has ended; returns what it was about, with its entry in the table of layouts, which the call
    /// has until [`Core::end_asking`].
    pub(super) fn layout_call_ended(&mut self, conn: u32, place: u32) -> Option<(Closing, u32)> {
        let client = self.own.client(conn);
        client.closing = client.closing.saturating_sub(1);
        let of = self.own.forget_closing(place)?;
        Some((of, of.layout?))
    }

    /// The file of a call about layouts can be closed again, and what waits for it goes on. A file that was
    /// opened again since then under the same key has another entry in the table of layouts.
    pub(super) fn end_asking(&mut self, of: &Closing, layout: u32) {
        let opens = &mut self.own.opens[of.proc as usize];
        let key = opens.with_layout(layout);
        if let Some(file) = key.and_then(|key| opens.find(key)) {
            file.is_asking = false;
            file.is_sent = false;
        }
        self.own.layouts.let_go(layout);
        self.wake(of.proc, key.unwrap_or(of.key));
        self.close_detached(of.proc, key);
    }

    /// Begins LAYOUTGET for an open file; `false`: there is no capacity for a call.
    pub(super) fn ask_layout(&mut self, op: u32, conn: u32, key: u32, access: Access) -> bool {
        let proc = self.ops.get(op).proc;
        let object = opens::object_of(key).filter(|_| access == Access::Write);
        let held = object.filter(|object| self.uncommitted.find(proc, *object).is_some());
        // What the metadata server has answered is committed there, apart from what a data server will answer.
        if held.is_some_and(|object| !self.settle_file(proc, object)) {
            return false;
        }
        let kind = |place| StateCall::Layoutget(place, access);
        if !self.begin_layout_call(Some(op), conn, (proc, key), kind) {
            return false;
        }
        let file = self.own.opens[proc as usize].get(key);
        if let Some(layout) = file.and_then(|file| file.layout)
            && let Some(layout) = self.own.layouts.get_mut(layout)
        {
            layout.part_mut(access).state = PartState::Asked;
        }
        true
    }

    pub(super) fn encode_layoutget(
        &self,
        place: u32,
        access: Access,
        compound: &mut CompoundWriter<'_, Operation>,
    ) {
        let Some(of) = self.own.closing(place) else {
            return;
        };
        compound.op(&putfh(of.handle.handle())).op(&LayoutgetArgs {
            signal_layout_avail: false,
            layout_type: layout_type::FLEX_FILES,
            iomode: access.iomode(),
            offset: 0,
            length: u64::MAX,
            minlength: LEAST_BYTES,
            stateid: of.stateid,
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
        (place, access): (u32, Access),
        compound: &mut Results<'_>,
    ) -> Result<CallOutcome, Early> {
        let granted = match compound.read::<PutfhArgs<'_>>()? {
            Ok(()) => (compound.read::<LayoutgetArgs>()?).map_err(|failed| failed.status()),
            Err(status) => Err(status),
        };
        match granted {
            Ok(granted) => self.layout_granted(slot, (place, access), &granted),
            Err(status @ (Nfsstat4::Delay | Nfsstat4::Grace)) => return Err(status.into()),
            Err(status) => tracing::debug!(%status, "LAYOUTGET was refused"),
        }
        Ok(CallOutcome::Ok)
    }

    fn layout_granted(
        &mut self,
        slot: u32,
        (place, access): (u32, Access),
        granted: &LayoutgetOk<'_>,
    ) {
        let call = self.calls.get(slot);
        let (op, conn) = (call.op, call.conn);
        let Some(of) = self.own.closing(place).and_then(|of| of.layout) else {
            return;
        };
        self.counters.add(match access {
            Access::Read => Tally::LayoutsRead,
            Access::Write => Tally::LayoutsWrite,
        });
        let is_gone = |entry: &FileLayout| entry.standing == Standing::Gone;
        if self.own.layouts.get(of).is_none_or(is_gone) {
            return self.return_late(slot, place, granted.stateid);
        }
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
        let Some(layout) = self.own.layouts.get_mut(of) else {
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
    pub(super) fn layout_asked(&mut self, conn: u32, place: u32, access: Access) {
        let Some((of, layout)) = self.layout_call_ended(conn, place) else {
            return;
        };
        let Some(entry) = self.own.layouts.get_mut(layout) else {
            return;
        };
        let is_gone = entry.standing == Standing::Gone;
        let part = entry.part_mut(access);
        match part.state {
            _ if is_gone => {}
            // The entry stays with the file.
            PartState::AwaitsDevice => return self.own.layouts.let_go(layout),
            PartState::Asked => {
                part.state = PartState::Refused;
                self.counters.add(Tally::LayoutsRefused);
            }
            PartState::Unasked | PartState::Held(_) | PartState::Refused => {}
        }
        self.end_asking(&of, layout);
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
            Err(status) if is_lasting(status) => {
                tracing::warn!(%status, "GETDEVICEINFO was refused: this data server is not used");
                self.own
                    .client(conn)
                    .set_device(device, DeviceState::Unusable);
                return Ok(CallOutcome::Ok);
            }
            Err(status) => {
                tracing::debug!(%status, "GETDEVICEINFO was refused");
                return Ok(CallOutcome::Ok);
            }
        };
        if let Err(reason) = usable {
            tracing::warn!(
                reason,
                "a data server is not used; its files are read and written by way of the metadata server"
            );
        }
        let calls = &mut self.calls;
        let known = usable.ok().and_then(|usable| {
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
                self.place_waiting((proc as u32, key), &id, state);
            }
        }
    }

    fn place_waiting(&mut self, (proc, key): (u32, u32), id: &Deviceid4, state: DeviceState) {
        let file = self.own.opens[proc as usize].find(key);
        let Some(file) = file else { return };
        let layout = file.layout.and_then(|of| self.own.layouts.get_mut(of));
        let Some(layout) = layout else { return };
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
        if is_settled {
            file.is_asking = false;
            file.is_sent = false;
            self.counters.add_many(Tally::LayoutsUnusable, refused);
            self.wake(proc, key);
            self.close_detached(proc, Some(key));
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
