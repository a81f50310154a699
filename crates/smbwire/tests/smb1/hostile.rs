//! Invalid bytes, to every decoder of SMB1, NTLM and SPNEGO.

use crate::answers;
use filermark_smbwire::frame;
use filermark_smbwire::smb1::{Reply, fuzzing as smb1};
use filermark_smbwire::spnego::{Mech, init, response};
use filermark_smbwire::{ntlm, spnego};
use proptest::prelude::*;

type Target = (&'static str, fn(&[u8]));

/// The fuzz targets of `fuzz/` by their names.
const TARGETS: [Target; 4] = [
    ("smb1", smb1::smb1),
    ("smb1_handshake", smb1::smb1_handshake),
    ("ntlm", ntlm::fuzzing::ntlm),
    ("spnego", spnego::fuzzing::spnego),
];

fn run_all(data: &[u8]) {
    for (_, target) in TARGETS {
        target(data);
    }
}

/// Messages with their marks, one after the other.
fn framed(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for message in messages {
        let at = frame::begin(&mut out);
        out.extend(message);
        frame::finish(&mut out, at);
    }
    out
}

/// Sound messages, each for one target.
fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let mut seeds: Vec<_> = answers::all()
        .into_iter()
        .map(|(_, message)| ("smb1", message))
        .collect();
    for prefix in ["", "signed-"] {
        let names = ["negotiated", "challenged", "logged-in", "tree"];
        let messages = names.map(|name| answers::answer(&format!("{prefix}{name}")));
        seeds.push(("smb1_handshake", framed(&messages)));
    }
    let token = |name| {
        let message = answers::answer(name);
        let bytes = Reply::read(&message).expect("sound").bytes.to_vec();
        // NEGOTIATE has a GUID in front of its token.
        bytes[if name == "negotiated" { 16 } else { 0 }..].to_vec()
    };
    let challenged = token("challenged");
    let at = challenged.windows(8).position(|w| w == b"NTLMSSP\0");
    seeds.push(("ntlm", challenged[at.expect("a challenge")..].to_vec()));
    seeds.extend(["negotiated", "challenged", "logged-in"].map(|n| ("spnego", token(n))));
    seeds.push(("spnego", init(&[Mech::MsKerberos, Mech::Ntlm], b"token")));
    seeds.push(("spnego", response(Some(b"token"), Some(b"mic"))));
    seeds
}

/// Also writes them where FILERMARK_FUZZ_SEEDS says (a directory for each target), for ci/fuzz.
#[test]
fn sound_messages_pass_every_target() {
    let corpus = std::env::var_os("FILERMARK_FUZZ_SEEDS").map(std::path::PathBuf::from);
    for (number, (name, seed)) in seeds().into_iter().enumerate() {
        run_all(&seed);
        assert!(TARGETS.iter().any(|(target, _)| *target == name), "{name}");
        if let Some(corpus) = &corpus {
            let folder = corpus.join(name);
            std::fs::create_dir_all(&folder).expect("create the corpus folder");
            std::fs::write(folder.join(format!("seed-{number}")), seed).expect("write a seed");
        }
    }
}

#[test]
fn every_cut_is_survived() {
    for (_, seed) in seeds() {
        for cut in 0..seed.len() {
            run_all(&seed[..cut]);
        }
    }
}

/// Every byte set to what lengths and offsets lie with.
#[test]
fn every_byte_may_lie() {
    for (_, seed) in seeds() {
        for at in 0..seed.len() {
            for lie in [0, 1, 0x7F, 0x80, 0xFF] {
                let mut bytes = seed.clone();
                bytes[at] = lie;
                run_all(&bytes);
            }
        }
    }
}

proptest! {
    #[test]
    fn noise_never_panics(noise in proptest::collection::vec(any::<u8>(), 0..600)) {
        run_all(&noise);
    }

    #[test]
    fn corruption_never_panics(
        which in any::<proptest::sample::Index>(),
        hits in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let seeds = seeds();
        let mut bytes = which.get(&seeds).1.clone();
        for (at, byte) in hits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        run_all(&bytes);
    }
}
