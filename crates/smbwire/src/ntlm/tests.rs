//! The known answers of MS-NLMP 4.2, and what bad servers say.

use super::client::Client;
use super::keys::{Side, answers, exchanged, ntowf_v2, rc4, sign_first};
use super::message::{Challenge, flag, negotiate};
use super::*;
use crate::auth::{AuthError, Authenticator as _};
use crate::spnego::{Mech, Mechanism as _, init, mech_list};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).expect("hex") as u8)
        .collect();
    digits.chunks(2).map(|p| p[0] << 4 | p[1]).collect()
}

const SERVER_CHALLENGE: [u8; 8] = [1, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF];

/// The CHALLENGE_MESSAGE of 4.2.4.3.
fn known_challenge() -> Vec<u8> {
    hex(
        "4e544c4d53535000 02000000 0c000c0038000000 33828ae2 0123456789abcdef
         0000000000000000 2400240044000000 060070170000000f
         530065007200760065007200
         02000c0044006f006d00610069006e00 01000c00530065007200760065007200 00000000",
    )
}

fn known_identity() -> Identity {
    let mut random = [0xAA; 32];
    random[16..].fill(0x55);
    Identity {
        username: "User".into(),
        password: Secret::new("Password"),
        domain: "Domain".into(),
        workstation: "COMPUTER".into(),
        server: "Server".into(),
        random,
        filetime: 0,
    }
}

/// 4.2.4.1 and 4.2.4.2.
#[test]
fn known_answers_of_the_specification() {
    let key = ntowf_v2("Password", "User", "Domain");
    assert_eq!(key.to_vec(), hex("0c868a403bfd7a93a3001ef22ef02e3f"));
    let challenge = known_challenge();
    let info = Challenge::read(&challenge).expect("known").info.to_vec();
    let found = answers(&key, &SERVER_CHALLENGE, &[0xAA; 8], 0, &info);
    assert_eq!(
        found.nt[..16].to_vec(),
        hex("68cd0ab851e51c96aabc927bebef6a1c")
    );
    assert_eq!(
        found.lm.to_vec(),
        hex("86c35097ac9cec102554764a57cccc19aaaaaaaaaaaaaaaa")
    );
    assert_eq!(
        found.base_key.to_vec(),
        hex("8de40ccadbc14a82f15cb0ad0de95ca3")
    );
    assert_eq!(
        exchanged(&found.base_key, &[0x55; 16]).to_vec(),
        hex("c5dad2544fc9799094ce1ce90bc9d03e")
    );
}

/// 4.2.4.4: the text is sealed first, and the checksum with what follows of the stream.
#[test]
fn signatures_as_the_specification_has_them() {
    let mut text = Vec::new();
    crate::bytes::Put::put_utf16(&mut text, "Plaintext");
    let plain = sign_first(&[0x55; 16], Side::Client, false, &text);
    let mut sealed = text.clone();
    sealed.extend_from_slice(&plain[4..12]);
    let key = hex("59f600973cc4960a25480a7c196e4c58");
    rc4(&key.try_into().expect("16 bytes"), &mut sealed);
    assert_eq!(
        sealed,
        hex("54e50165bf1936dc996020c1811b0f06fb5f 7fb38ec5c55d4976")
    );
}

#[test]
fn signatures_differ_by_side_and_by_key() {
    let plain = sign_first(&[0x55; 16], Side::Client, false, b"text");
    let sealed = sign_first(&[0x55; 16], Side::Client, true, b"text");
    let server = sign_first(&[0x55; 16], Side::Server, false, b"text");
    for signature in [plain, sealed, server] {
        assert_eq!(
            (&signature[..4], &signature[12..]),
            (&[1, 0, 0, 0][..], &[0; 4][..])
        );
    }
    assert_ne!(plain, sealed);
    assert_ne!(plain, server);
}

#[test]
fn the_challenge_of_the_specification_is_read() {
    let bytes = known_challenge();
    let read = Challenge::read(&bytes).expect("known");
    assert_eq!(read.challenge, SERVER_CHALLENGE);
    assert_eq!(read.flags, 0xE28A_8233);
    assert_eq!(crate::bytes::text_of_utf16(read.target), "Server");
    for cut in 0..bytes.len() {
        assert!(Challenge::read(&bytes[..cut]).is_err(), "cut at {cut}");
    }
}

/// Without the server's time there is no MIC but an LMv2 answer, as 4.2.4.3 has it.
#[test]
fn authenticate_without_a_timestamp() {
    let mut client = Client::new(Some(known_identity()));
    assert_eq!(client.step(&[]), Ok(Some(negotiate(flag::ASKED))));
    let message = client
        .step(&known_challenge())
        .expect("known")
        .expect("one");
    let field = |at: usize| {
        let length = u16::from_le_bytes([message[at], message[at + 1]]) as usize;
        let from = u32::from_le_bytes(message[at + 4..at + 8].try_into().expect("4")) as usize;
        &message[from..from + length]
    };
    assert_eq!(
        field(12),
        hex("86c35097ac9cec102554764a57cccc19aaaaaaaaaaaaaaaa")
    );
    assert_eq!(crate::bytes::text_of_utf16(field(28)), "Domain");
    assert_eq!(crate::bytes::text_of_utf16(field(36)), "User");
    assert_eq!(crate::bytes::text_of_utf16(field(44)), "COMPUTER");
    assert_eq!(field(52).len(), 16);
    assert_eq!(message[72..88], [0; 16], "no MIC");
    assert_eq!(client.session_key(), Some(&[0x55; 16][..]));
}

/// The server's time goes into the answer, a MIC is set, and LM is silent.
#[test]
fn authenticate_with_a_timestamp() {
    let mut challenge = known_challenge();
    challenge.truncate(challenge.len() - 4);
    challenge.extend(hex("07000800 1122334455667788 00000000"));
    for at in [40, 42] {
        challenge[at] = 0x24 + 12;
    }
    let mut client = Client::new(Some(known_identity()));
    client.step(&[]).expect("first");
    let message = client.step(&challenge).expect("known").expect("one");
    assert_ne!(message[72..88], [0; 16], "a MIC");
    assert_eq!(message[88..112], [0; 24], "LM");
    let has = |what: &[u8]| message.windows(what.len()).any(|w| w == what);
    assert!(has(&hex("0600040002000000")), "flag of the MIC");
    assert!(has(&hex("0101000000000000 1122334455667788")), "time");
    let mut target = Vec::new();
    crate::bytes::Put::put_utf16(&mut target, "cifs/Server");
    assert!(has(&target), "target name");
}

#[test]
fn names_come_in_every_form() {
    let mut identity = known_identity();
    assert_eq!(identity.names(), ("User", "Domain"));
    identity.domain.clear();
    assert_eq!(identity.names(), ("User", ""));
    identity.username = "CORP\\User".into();
    assert_eq!(identity.names(), ("User", "CORP"));
    identity.username = "user@corp.example".into();
    assert_eq!(identity.names(), ("user@corp.example", ""));
}

#[test]
fn no_secret_is_in_what_can_be_printed() {
    let mut ntlm = Ntlm::new(known_identity());
    ntlm.step(&[]).expect("first");
    let printed = format!("{ntlm:?}");
    assert!(printed.contains("User"), "{printed}");
    for secret in ["Password", "170", "85", "0x55"] {
        assert!(!printed.contains(secret), "{printed}");
    }
}

#[test]
fn weak_or_broken_challenges_are_refused() {
    let mut weak = known_challenge();
    weak[22] &= !8;
    let mut client = Client::new(Some(known_identity()));
    client.step(&[]).expect("first");
    let error = client.step(&weak).expect_err("no extended security");
    assert!(error.to_string().contains("too old"), "{error}");
    let mut cut = known_challenge();
    let end = cut.len() - 4;
    cut[end - 14] = 0xFF;
    let mut client = Client::new(Some(known_identity()));
    client.step(&[]).expect("first");
    assert!(matches!(client.step(&cut), Err(AuthError::Token(_))));
}

#[test]
fn an_anonymous_user_has_no_key_and_signs_nothing() {
    let mut client = Client::new(None);
    client.step(&[]).expect("first");
    let message = client
        .step(&known_challenge())
        .expect("known")
        .expect("one");
    assert_eq!(message.len(), 89, "nothing but a zero");
    assert_eq!(client.session_key(), None);
    assert_eq!(client.sign(&mech_list(&[Mech::Ntlm])), None);
    assert!(client.is_anonymous() && client.is_done());
}

#[test]
fn the_first_token_is_wrapped() {
    let mut ntlm = Ntlm::new(known_identity());
    let token = ntlm.step(&[]).expect("first");
    assert_eq!(token, init(&[Mech::Ntlm], &negotiate(flag::ASKED)));
}

/// Where the word stands in the writable memory of this process. The word is given in
/// another form, so that the search does not find itself.
fn places_of(masked: &[u8]) -> usize {
    use std::io::{Read, Seek, SeekFrom};
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut memory = std::fs::File::open("/proc/self/mem").unwrap();
    let mut count = 0;
    for line in maps.lines().filter(|line| line.contains(" rw-p ")) {
        let (from, to) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
        let [from, to] = [from, to].map(|n| u64::from_str_radix(n, 16).unwrap());
        // Pieces on the stack, which overlap by more than a word.
        let mut piece = [0; 8192];
        for at in (from..to).step_by(8192 - 256) {
            let len = (to - at).min(8192) as usize;
            if memory.seek(SeekFrom::Start(at)).is_err()
                || memory.read_exact(&mut piece[..len]).is_err()
            {
                continue;
            }
            let is_it = |w: &[u8]| w.iter().zip(masked).all(|(a, b)| *a == b ^ MASK);
            count += piece[..len]
                .windows(masked.len())
                .filter(|w| is_it(w))
                .count();
            piece.fill(0);
        }
    }
    count
}

const MASK: u8 = 0x80;

/// Seen in version 0.1: a password stood in memory two to four times after the login.
#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "Linux shows a process its memory")]
fn a_password_does_not_stay_in_memory() {
    use super::Identity;
    use filermark_model::secret::Secret;
    let letters = b"abcdefghijklmnopqrstuvwxyz";
    let mut state = std::process::id();
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        letters[(state >> 24) as usize % letters.len()] | MASK
    };
    let masked: Vec<u8> = (0..40).map(|_| next()).collect();
    let wide: Vec<u8> = masked.iter().flat_map(|b| [*b, MASK]).collect();
    let secret = {
        let mut word = zeroize::Zeroizing::new(String::with_capacity(64));
        word.extend(masked.iter().map(|b| char::from(b ^ MASK)));
        Secret::new(&word)
    };
    assert!(places_of(&masked) > 0, "the search finds it");
    let identity = Identity {
        username: "user".into(),
        password: secret,
        domain: "domain".into(),
        workstation: String::new(),
        server: "server".into(),
        random: [7; 32],
        filetime: 0,
    };
    let copy = identity.clone();
    let key = ntowf_v2(copy.password.reveal().unwrap(), "user", "domain");
    drop((identity, copy));
    assert_ne!(*key, [0; 16]);
    assert_eq!(places_of(&masked), 0, "as it was given");
    assert_eq!(places_of(&wide), 0, "as it is hashed");
}
