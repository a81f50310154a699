//! The end of the clients: CLOSE of what is open, DESTROY_SESSION, DESTROY_CLIENTID. Servers
//! keep clients that do not send them for a long time. Version 4.0 has CLOSE and RELEASE_LOCKOWNER alone: its
//! client IDs end with their leases (RFC 7530 section 9.5).

use super::client::Ending;
use super::compounds::StateCall;
use super::state::Sessions;
use crate::driver::core::Core;
use crate::driver::reply::CallOutcome;

impl Core<Sessions> {
    /// Goes on with the end of all clients; `false`: it is complete.
    pub(super) fn end_clients(&mut self) -> bool {
        self.close_idle();
        let mut is_complete = true;
        for place in 0..self.own.clients.len() {
            if let Some(conn) = self.own.clients[place].conns().first().copied() {
                self.end_client(conn);
                is_complete &= self.own.clients[place].ending == Ending::Done;
            }
        }
        !is_complete
    }

    fn end_client(&mut self, conn: u32) {
        let has_sessions = self.own.has_sessions();
        let releases = self.own.released.iter().any(|owner| owner.conn == conn);
        let client = self.own.client(conn);
        match client.ending {
            Ending::Running if client.session.is_none() => client.ending = Ending::Done,
            Ending::Running => client.ending = Ending::Closing,
            Ending::Closing if client.closing == 0 && !has_sessions && !releases => {
                client.session = None;
                client.ending = Ending::Done;
            }
            // A SEQUENCE over another connection would find the session gone.
            Ending::Closing if client.closing == 0 && has_sessions && !client.is_renewing => {
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

    /// DESTROY_CLIENTID has ended.
    pub(super) fn client_ended(&mut self, conn: u32, outcome: CallOutcome) {
        if outcome != CallOutcome::Ok {
            self.own.client(conn).is_refused = true;
            tracing::warn!(
                conn,
                ?outcome,
                "DESTROY_CLIENTID failed: the client may stay on the server until its lease expires"
            );
        }
        let client = self.own.client(conn);
        client.session = None;
        client.ending = Ending::Done;
    }
}
