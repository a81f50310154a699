//! Entry point for the fuzzer (`fuzz/`): tokens of any bytes.

use super::{Offer, Response, response};
use crate::auth::Authenticator as _;
use crate::ntlm::Anonymous;

/// A token, as an offer, as a response, and in an exchange.
pub fn spnego(data: &[u8]) {
    let _ = Offer::read(data).map(|offer| offer.to_string());
    if let Ok(read) = Response::read(data) {
        let again = response(read.token, read.mic);
        let twice = Response::read(&again);
        assert_eq!(twice.map(|r| (r.token, r.mic)), Ok((read.token, read.mic)));
    }
    let mut exchange = Anonymous::new();
    if exchange.step(data).is_ok() {
        for _ in 0..10 {
            let _ = exchange.step(data);
        }
        assert!(exchange.step(data).is_err(), "it ends");
    }
}
