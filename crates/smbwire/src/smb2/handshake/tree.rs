//! TREE_CONNECT, and the check that the negotiation was not changed.

use super::super::ioctl::{ValidateRequest, ValidateResponse};
use super::super::session::Share;
use super::super::setup::{SHARE_TYPE_DISK, TreeConnectRequest, TreeConnectResponse, share_flag};
use super::choose;
use super::*;
use filermark_model::smb::Dialect;

impl Handshake {
    pub(super) fn send_tree_connect(&mut self, out: &mut Vec<u8>) -> Result<(), SetupError> {
        let settings = self.settings.clone();
        let request = TreeConnectRequest {
            server: &settings.server,
            share: &settings.share,
        };
        self.send_protected(out, &request)
    }

    pub(super) fn on_tree_connect(
        &mut self,
        header: &Header,
        message: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Next<Session>, SetupError> {
        let sealable = self.negotiated()?.cipher.is_some();
        match header.status {
            status::SUCCESS => {}
            status::PATH_NOT_COVERED => return Err(SetupError::Dfs),
            status::ACCESS_DENIED if !sealable => {
                return Err(SetupError::Refused {
                    step: "TREE_CONNECT (a server that requires encryption \
         also refuses like this, and this session is not encrypted)",
                    status: header.status,
                });
            }
            _ => return Err(self.refused(header.status)),
        }
        let answer = TreeConnectResponse::decode(message).map_err(|e| self.bad(e))?;
        if answer.share_type != SHARE_TYPE_DISK {
            let what = "the share's type (it is a pipe or a printer)";
            return Err(self.bad(DecodeError::Bad(what)));
        }
        let user = self.session()?.user;
        let demanded = answer.flags & share_flag::ENCRYPT_DATA != 0;
        let seal = match demanded && self.session()?.protection.seal.is_none() {
            true => Some(self.seal(self.keys(user)?.as_ref())?),
            false => None,
        };
        let session = self.session_mut()?;
        session.tree_id = header.tree_id;
        session.share = Share {
            flags: answer.flags,
            capabilities: answer.capabilities,
            maximal_access: answer.maximal_access,
        };
        let is_proved = session.protection.signer.is_some();
        if seal.is_some() {
            session.protection.seal = seal;
        }
        let offered = choose::dialects(&self.settings);
        let was_3_offered = offered.last() >= Some(&Dialect::V300);
        if is_proved && was_3_offered && self.negotiated()?.dialect < Dialect::V311 {
            self.send_validate(&offered, out)?;
            self.step = Step::Validate;
            return Ok(Next::Send);
        }
        self.ready()
    }

    pub(super) fn send_validate(
        &mut self,
        offered: &[Dialect],
        out: &mut Vec<u8>,
    ) -> Result<(), SetupError> {
        let request = ValidateRequest {
            capabilities: self.capabilities(offered),
            client_guid: self.settings.client_guid,
            security_mode: choose::mode(self.settings.signing),
            dialects: offered,
        };
        self.send_protected(out, &request)
    }

    /// The reply was signed or encrypted, which has been checked.
    pub(super) fn on_validate(
        &mut self,
        header: &Header,
        message: &[u8],
    ) -> Result<Next<Session>, SetupError> {
        match header.status {
            status::SUCCESS => {}
            // Servers that know no such function say so under their signature: it is they.
            status::NOT_SUPPORTED | status::INVALID_DEVICE_REQUEST | status::FILE_CLOSED => {
                return self.ready();
            }
            _ => return Err(self.refused(header.status)),
        }
        let validated = ValidateResponse::decode(message).map_err(|e| self.bad(e))?;
        let negotiated = self.negotiated()?;
        let same = validated.capabilities == negotiated.capabilities
            && validated.server_guid == negotiated.server_guid
            && validated.security_mode == negotiated.security_mode
            && validated.revision == negotiated.dialect.revision();
        match same {
            true => self.ready(),
            false => Err(SetupError::Tampered("NEGOTIATE")),
        }
    }
}
