//! Client IDs of version 4.0: SETCLIENTID and SETCLIENTID_CONFIRM (RFC 7530 sections 16.33 and 16.34).

use super::{Client, ClientRequest, Clients, Record, confirm};
use filermark_onc::nfs4::{Clientid4, Nfsstat4, Verf};
use std::sync::Arc;

/// The names of clients of version 4.0 are apart from those of later versions.
const FRONT: &[u8] = b"\0version 4.0\0";

impl Record {
    fn is_of_40(&self) -> bool {
        self.client.ownerid.starts_with(FRONT)
    }
}

impl Clients {
    /// What SETCLIENTID_CONFIRM has to repeat.
    fn confirmation(&self, id: Clientid4) -> Verf {
        (self.epoch.rotate_left(32) ^ id).to_be_bytes()
    }

    /// SETCLIENTID: the client ID, and what confirms it.
    ///
    /// # Errors
    /// CLID_INUSE: another user's client has this name and something open. DELAY: there are too many.
    pub(crate) fn set_client(
        &self,
        request: &ClientRequest<'_>,
        now_ns: u64,
    ) -> Result<(Clientid4, Verf), Nfsstat4> {
        let name = [FRONT, request.ownerid].concat();
        let request = &ClientRequest {
            ownerid: &name,
            ..*request
        };
        let table = &mut *self.write();
        let known = table.named(&name).confirmed;
        if let Some(record) = known.and_then(|id| table.records.get(&id)) {
            let client = &record.client;
            let is_same_user = client.uid == request.uid;
            if !is_same_user && client.has_states() {
                return Err(Nfsstat4::ClidInuse);
            }
            if is_same_user && client.verifier == request.verifier {
                client.renew(now_ns);
                return Ok((client.id, self.confirmation(client.id)));
            }
        }
        let id = self.add(table, request, now_ns)?;
        Ok((id, self.confirmation(id)))
    }

    /// SETCLIENTID_CONFIRM. The client that this one replaces has ended, as with CREATE_SESSION.
    ///
    /// # Errors
    /// STALE_CLIENTID, CLID_INUSE.
    pub(crate) fn confirm_client(
        &self,
        (id, verifier): (Clientid4, Verf),
        uid: u32,
        now_ns: u64,
    ) -> Result<Option<Arc<Client>>, Nfsstat4> {
        let table = &mut *self.write();
        let record = table.records.get(&id).filter(|record| record.is_of_40());
        let record = record.filter(|_| verifier == self.confirmation(id));
        let client = &record.ok_or(Nfsstat4::StaleClientid)?.client;
        if client.uid != uid {
            return Err(Nfsstat4::ClidInuse);
        }
        client.renew(now_ns);
        // There is no grace period and no RECLAIM_COMPLETE.
        client.complete_reclaim();
        Ok(confirm(table, id))
    }

    /// The confirmed client with this ID; its lease begins again.
    ///
    /// # Errors
    /// EXPIRED: it has ended. STALE_CLIENTID: this server has not made it.
    pub(crate) fn client(&self, id: Clientid4, now_ns: u64) -> Result<Arc<Client>, Nfsstat4> {
        let table = self.read();
        match table.records.get(&id) {
            Some(record) if record.is_confirmed && record.is_of_40() => {
                record.client.renew(now_ns);
                Ok(record.client.clone())
            }
            Some(_) => Err(Nfsstat4::StaleClientid),
            None if id.wrapping_sub(self.epoch << 24).wrapping_sub(1) < table.made => {
                Err(Nfsstat4::Expired)
            }
            None => Err(Nfsstat4::StaleClientid),
        }
    }
}
