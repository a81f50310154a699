//! The set-up of version 4.0: a client ID by SETCLIENTID and SETCLIENTID_CONFIRM (RFC 7530 sections 16.33 and
//! 16.34). There is no session: [`Session`] has the client ID, and slots that no call needs.

use super::{Failure, SessionSetup, SetupStep, Stage, stated_lease};
use crate::version4::session::Session;
use crate::version4::wire::{self, RowError};
use filermark_onc::nfs4::{
    CbClient4, Clientid4, CompoundWriter, Netaddr4, Nfsstat4, Operation, SetclientidArgs,
    SetclientidConfirmArgs,
};

/// No address for callbacks: the server grants no delegations (RFC 7530 section 10.2.1).
const NO_CALLBACKS: CbClient4<'_> = CbClient4 {
    cb_program: 0,
    cb_location: Netaddr4 {
        netid: b"",
        addr: b"",
    },
};

impl SessionSetup {
    pub(super) fn setclientid<'c, 'o>(
        &self,
        compound: &'c mut CompoundWriter<'o, Operation>,
    ) -> &'c mut CompoundWriter<'o, Operation> {
        compound.op(&SetclientidArgs {
            client: self.identity.client_owner(),
            callback: NO_CALLBACKS,
            callback_ident: 0,
        })
    }

    pub(super) fn setclientid_results(&mut self, results: &[u8]) -> Result<SetupStep, Failure> {
        let ok = wire::only::<SetclientidArgs<'_>>(results)?;
        let ok = ok.map_err(|failed| RowError::Status(failed.status()))?;
        self.is_new_client = true;
        self.stage = Stage::Confirm {
            clientid: ok.clientid,
            verifier: ok.setclientid_confirm,
        };
        Ok(SetupStep::Call)
    }

    pub(super) fn confirm_results(
        &mut self,
        results: &[u8],
        clientid: Clientid4,
    ) -> Result<SetupStep, Failure> {
        let mut compound = wire::compound(results)?;
        match compound.read::<SetclientidConfirmArgs>()? {
            Ok(()) => {}
            Err(status @ Nfsstat4::StaleClientid) => return self.start_again(status),
            Err(status) => return Err(RowError::Status(status).into()),
        }
        self.lease = stated_lease(&mut compound)?.unwrap_or(self.lease);
        let (fore, back) = (self.request.fore, self.request.back);
        let session = Session::new(self.request.minor, [0; 16], clientid, 0, fore, back);
        Ok(self.up(session))
    }
}
