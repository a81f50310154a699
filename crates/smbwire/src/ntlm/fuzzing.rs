//! Entry point for the fuzzer (`fuzz/`): challenges of any bytes.

use super::{Challenge, Client, Identity};
use crate::spnego::Mechanism as _;
use filermark_model::secret::Secret;

/// A challenge, and what a client makes of it.
pub fn ntlm(data: &[u8]) {
    let identity = Identity {
        username: "user".into(),
        password: Secret::new("password"),
        domain: String::new(),
        workstation: "HERE".into(),
        server: "server".into(),
        random: [7; 32],
        filetime: 0,
    };
    for identity in [Some(identity), None] {
        let mut client = Client::new(identity);
        let first = client.step(&[]);
        assert!(matches!(first, Ok(Some(_))));
        match client.step(data) {
            Ok(answer) => {
                assert!(Challenge::read(data).is_ok() && client.is_done());
                assert!(answer.is_some_and(|a| a.len() >= 88));
            }
            Err(_) => assert!(!client.is_done() && client.session_key().is_none()),
        }
        assert!(client.step(data).is_err(), "one try only");
    }
}
