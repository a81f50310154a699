//! The end of the clients: CLOSE of what is open, DESTROY_SESSION, DESTROY_CLIENTID. Servers
//! keep clients that do not send them for a long time.

use super::Sessions;
use super::rows::StateCall;
use crate::driver::core::Core;

/// How far the end of a client is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It has not begun.
    #[default]
    Running,
    /// CLOSEs are under way.
    Closing,
    /// DESTROY_SESSION is under way.
    Session,
    /// DESTROY_CLIENTID is to be sent.
    Client,
    /// It is under way.
    LastCall,
    /// Nothing is left to do.
    Done,
}

impl Ending {
    /// A connection that is made now needs no session.
    pub(super) const fn is_without_session(self) -> bool {
        matches!(self, Self::Client | Self::LastCall | Self::Done)
    }
}

impl Core<Sessions> {
    /// Goes on with the end of all clients; `false`: it is complete.
    pub(super) fn end_clients(&mut self) -> bool {
        self.close_idle();
        let mut is_complete = true;
        for conn in 0..self.own.clients.len() as u32 {
            self.end_client(conn);
            is_complete &= self.own.client(conn).ending == Ending::Done;
        }
        !is_complete
    }

    fn end_client(&mut self, conn: u32) {
        let client = self.own.client(conn);
        match client.ending {
            Ending::Running if client.session.is_none() => client.ending = Ending::Done,
            Ending::Running => client.ending = Ending::Closing,
            Ending::Closing if client.closing == 0 => {
                if client.to_be_destroyed().is_none() {
                    client.ending = Ending::Client;
                } else if self.own_call(conn, None, StateCall::DestroySession) {
                    self.own.client(conn).ending = Ending::Session;
                }
            }
            Ending::Client => {
                if self.own_call(conn, None, StateCall::DestroyClientid) {
                    self.own.client(conn).ending = Ending::LastCall;
                }
            }
            Ending::Closing | Ending::Session | Ending::LastCall | Ending::Done => {}
        }
    }

    /// DESTROY_SESSION has ended, whatever its outcome.
    pub(super) fn session_ended(&mut self, conn: u32) {
        let client = self.own.client(conn);
        client.end_session();
        // There may be another one.
        client.ending = Ending::Closing;
    }

    /// DESTROY_CLIENTID has ended, whatever its outcome.
    pub(super) fn client_ended(&mut self, conn: u32) {
        let client = self.own.client(conn);
        client.session = None;
        client.ending = Ending::Done;
    }
}
