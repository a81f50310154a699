//! Tokens as servers send them, and an exchange with a mechanism made for it.

use super::*;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).expect("hex") as u8)
        .collect();
    digits.chunks(2).map(|p| p[0] << 4 | p[1]).collect()
}

/// NegTokenInit2 as a stand-alone server says it: NTLM only, with the usual hint.
fn offer_of_ntlm() -> Vec<u8> {
    hex(
        "604806062b0601050502a03e303ca00e300c060a2b06010401823702020aa32a3028a0261b24
         6e6f745f646566696e65645f696e5f5246433431373840706c656173655f69676e6f7265",
    )
}

/// Sends one token, receives one, signs with a fixed mark.
#[derive(Debug, Default)]
struct Word {
    received: usize,
}

impl Mechanism for Word {
    fn mechs(&self) -> &'static [Mech] {
        &[Mech::Ntlm]
    }
    fn name(&self) -> &'static str {
        "NTLM"
    }
    fn step(&mut self, _: &[u8]) -> Result<Option<Vec<u8>>, AuthError> {
        self.received += 1;
        Ok(Some(vec![self.received as u8]))
    }
    fn is_done(&self) -> bool {
        self.received == 2
    }
    fn sign(&mut self, _: &[u8]) -> Option<Vec<u8>> {
        Some(b"mine".to_vec())
    }
    fn verify(&mut self, data: &[u8], mic: &[u8]) -> Option<bool> {
        Some(data == mech_list(self.mechs()) && mic == b"theirs")
    }
    fn session_key(&self) -> Option<&[u8]> {
        None
    }
}

fn theirs(state: u8, token: Option<&[u8]>, mic: Option<&[u8]>) -> Vec<u8> {
    let mut fields = der::wrap(0xA0, &der::wrap(der::ENUM, &[state]));
    for (tag, value) in [(0xA2, token), (0xA3, mic)] {
        if let Some(value) = value {
            fields.extend(der::wrap(tag, &der::wrap(der::OCTETS, value)));
        }
    }
    der::wrap(0xA1, &der::wrap(der::SEQUENCE, &fields))
}

#[test]
fn an_offer_is_read_and_named() {
    let offer = Offer::read(&offer_of_ntlm()).expect("sound");
    assert!(offer.has(Mech::Ntlm) && !offer.has(Mech::Kerberos));
    assert_eq!(offer.to_string(), "NTLM");
    let both = init(&[Mech::MsKerberos, Mech::Kerberos, Mech::Ntlm], b"x");
    let offer = Offer::read(&both).expect("sound");
    assert_eq!(
        offer.to_string(),
        "Kerberos (old identifier), Kerberos, NTLM"
    );
}

#[test]
fn cut_offers_and_responses_are_refused() {
    let offer = offer_of_ntlm();
    let response = response(Some(b"token"), Some(b"mic"));
    for cut in 0..offer.len() {
        assert!(Offer::read(&offer[..cut]).is_err(), "cut at {cut}");
    }
    for cut in 0..response.len() {
        assert!(Response::read(&response[..cut]).is_err(), "cut at {cut}");
    }
    let read = Response::read(&response).expect("sound");
    assert_eq!(
        (read.token, read.mic),
        (Some(&b"token"[..]), Some(&b"mic"[..]))
    );
}

#[test]
fn an_exchange_from_offer_to_end() {
    let mut spnego = Spnego::new(Word::default());
    let first = spnego.step(&offer_of_ntlm()).expect("first");
    assert_eq!(first, init(&[Mech::Ntlm], &[1]));
    let second = spnego.step(&theirs(1, Some(b"?"), None)).expect("second");
    assert_eq!(second, response(Some(&[2]), Some(b"mine")));
    let last = spnego.step(&theirs(0, None, Some(b"theirs")));
    assert_eq!(last, Ok(Vec::new()));
    assert!(
        spnego.step(&theirs(0, None, None)).is_err(),
        "the exchange is complete"
    );
}

#[test]
fn a_server_without_our_mechanism_is_a_separate_error() {
    let mut spnego = Spnego::new(Word::default());
    let error = spnego
        .step(&init(&[Mech::Kerberos], b""))
        .expect_err("none");
    assert_eq!(
        error.to_string(),
        "the server does not offer NTLM for the login; it offers Kerberos"
    );
}

#[test]
fn wrong_turns_are_refused() {
    let at_second = || {
        let mut spnego = Spnego::new(Word::default());
        spnego.step(&[]).expect("first");
        spnego
    };
    let early = at_second().step(&theirs(0, None, None));
    assert!(
        early
            .expect_err("early")
            .to_string()
            .contains("before it is complete")
    );
    let refused = at_second().step(&theirs(2, None, None));
    assert!(
        refused
            .expect_err("refused")
            .to_string()
            .contains("refuses")
    );
    let mut spnego = at_second();
    spnego.step(&theirs(1, Some(b"?"), None)).expect("second");
    let forged = spnego.step(&theirs(0, None, Some(b"forged")));
    assert!(
        forged
            .expect_err("forged")
            .to_string()
            .contains("signature")
    );
    let mut spnego = at_second();
    spnego.step(&theirs(1, Some(b"?"), None)).expect("second");
    let more = spnego.step(&theirs(1, None, None));
    assert!(
        more.expect_err("more")
            .to_string()
            .contains("after the last one")
    );
}
