//! Invalid bytes, to every decoder of SMB2 and to its handshake.

use crate::answers;
use filermark_smbwire::crypto::Cipher;
use filermark_smbwire::frame;
use filermark_smbwire::smb2::{EchoRequest, fuzzing};
use proptest::prelude::*;

type Target = (&'static str, fn(&[u8]));

/// The fuzz targets of `fuzz/` by their names.
const TARGETS: [Target; 2] = [
    ("smb2", fuzzing::smb2),
    ("smb2_handshake", fuzzing::smb2_handshake),
];

fn run_all(data: &[u8]) {
    for (_, target) in TARGETS {
        target(data);
    }
}

/// Messages with their marks, one after the other, behind the byte of the settings.
fn framed(choice: u8, messages: &[Vec<u8>]) -> Vec<u8> {
    let mut out = vec![choice];
    for message in messages {
        let at = frame::begin(&mut out);
        out.extend(message);
        frame::finish(&mut out, at);
    }
    out
}

/// A frame that the session of the fuzz target has sealed to itself.
fn sealed(cipher: Cipher) -> Vec<u8> {
    let mut session = fuzzing::session(None, Some(cipher));
    let mut out = Vec::new();
    let frame = session.begin(&mut out);
    session.request(&mut out, 1, &EchoRequest);
    session.protect(&mut out, frame);
    out[frame::MARK..].to_vec()
}

/// Sound messages, each for one target.
fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let mut seeds = Vec::new();
    for (number, (_, message)) in answers::all().into_iter().enumerate() {
        seeds.push(("smb2", [vec![number as u8], message].concat()));
    }
    for (number, cipher) in Cipher::ALL.into_iter().enumerate() {
        let choice = 3 | (number as u8) << 4;
        seeds.push(("smb2", [vec![choice], sealed(cipher)].concat()));
    }
    let setup = answers::answer("v311-challenge");
    // What is sealed cannot be opened there: the tree of another one.
    let mut in_the_clear = answers::handshake("sealed");
    in_the_clear[3] = answers::answer("v311-tree");
    for again in [0, 0x80] {
        let mut add = |choice: u8, mut messages: Vec<Vec<u8>>| {
            let mut last = messages[2].clone();
            last[16] = 1;
            messages.extend([setup.clone(), last]);
            seeds.push(("smb2_handshake", framed(choice | again, &messages)));
        };
        add(1, answers::handshake("v202"));
        add(1 | 1 << 4, answers::handshake("v202"));
        add(2 | 2 << 2, answers::handshake("v302"));
        add(3 | 2 << 2, answers::handshake("v311"));
        add(0x43, answers::handshake("v311"));
        add(3 | 2 << 4, in_the_clear.clone());
    }
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

/// The fuzzer starts from what leads to a session, and to a second login.
#[test]
fn sound_handshakes_lead_to_sessions() {
    let sessions: Vec<usize> = seeds()
        .iter()
        .filter(|(name, _)| *name == "smb2_handshake")
        .map(|(_, seed)| fuzzing::sessions(seed))
        .collect();
    assert_eq!(sessions, [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2]);
}

#[test]
fn every_cut_is_survived() {
    for (name, seed) in seeds() {
        // Cuts of long lists test nothing new.
        let step = if name == "smb2" {
            1 + seed.len() / 300
        } else {
            7
        };
        for cut in (0..seed.len()).step_by(step) {
            run_all(&seed[..cut]);
        }
    }
}

/// Bytes set to what lengths and offsets lie with.
#[test]
fn every_byte_may_lie() {
    for (name, seed) in seeds() {
        let step = if name == "smb2" {
            1 + seed.len() / 300
        } else {
            5
        };
        for at in (0..seed.len()).step_by(step) {
            for lie in [0, 0x7F, 0xFF] {
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
        let mut bytes = seeds[which.index(seeds.len())].1.clone();
        for (place, value) in &hits {
            let at = place.index(bytes.len());
            bytes[at] = *value;
        }
        run_all(&bytes);
    }
}
