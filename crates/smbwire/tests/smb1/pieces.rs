//! Answers to transactions in several messages, as they should be and as they should not.

use filermark_smbwire::error::DecodeError;
use filermark_smbwire::smb1::{Command, Header, Part, Pieces, Reply, flags};
use proptest::prelude::*;

/// One message of an answer to TRANSACTION2.
fn message(totals: [u16; 2], parameters: (u16, &[u8]), data: (u16, &[u8])) -> Vec<u8> {
    let mut out = Vec::new();
    Header {
        command: Command::Transaction2.code(),
        flags: flags::REPLY,
        ..Header::default()
    }
    .put(&mut out);
    out.push(10);
    let from = 32 + 1 + 20 + 2;
    let middle = from + parameters.1.len() as u16;
    let words = [
        totals[0],
        totals[1],
        0,
        parameters.1.len() as u16,
        from,
        parameters.0,
        data.1.len() as u16,
        middle,
        data.0,
        0,
    ];
    words.iter().for_each(|w| out.extend(w.to_le_bytes()));
    let count = parameters.1.len() + data.1.len();
    out.extend((count as u16).to_le_bytes());
    out.extend(parameters.1);
    out.extend(data.1);
    out
}

/// Parameters and data.
type Whole = (Vec<u8>, Vec<u8>);

fn add(pieces: &mut Pieces, message: &[u8]) -> Result<Option<Whole>, DecodeError> {
    let reply = Reply::read(message)?;
    let part = Part::read(&reply)?;
    let whole = pieces.add(&part)?;
    Ok(whole.map(|t| (t.parameters.to_vec(), t.data.to_vec())))
}

#[test]
fn an_answer_in_three_messages() {
    let mut pieces = Pieces::new(100);
    for _ in 0..2 {
        let first = message([3, 6], (0, b"par"), (0, b"da"));
        assert_eq!(
            Part::read(&Reply::read(&first).expect("sound"))
                .expect("sound")
                .whole(),
            None
        );
        assert_eq!(add(&mut pieces, &first), Ok(None));
        let second = message([3, 6], (0, b""), (2, b"ta"));
        assert_eq!(add(&mut pieces, &second), Ok(None));
        // The server has found out that there is less.
        let third = message([3, 5], (0, b""), (4, b"!"));
        let whole = (b"par".to_vec(), b"data!".to_vec());
        assert_eq!(add(&mut pieces, &third), Ok(Some(whole)));
        pieces.clear();
    }
}

#[test]
fn pieces_that_lie_are_refused() {
    let refused = |messages: &[Vec<u8>]| {
        let mut pieces = Pieces::new(100);
        let error = messages.iter().find_map(|m| add(&mut pieces, m).err());
        error.expect("refused").to_string()
    };
    let first = message([0, 6], (0, b""), (0, b"da"));
    for (what, second) in [
        ("size", message([0, 7], (0, b""), (2, b"ta"))),
        ("size", message([0, 101], (0, b""), (0, &[0; 50]))),
        ("order", message([0, 6], (0, b""), (3, b"a"))),
        ("order", message([0, 6], (0, b""), (0, b"da"))),
        ("empty", message([0, 6], (0, b""), (2, b""))),
        ("place", message([0, 6], (0, b""), (5, b"ta"))),
    ] {
        let refusal = refused(&[first.clone(), second]);
        assert!(refusal.contains(what), "{what}: {refusal}");
    }
    let mut outside = first.clone();
    outside[33 + 14] = 0xFF;
    assert_eq!(refused(&[outside]), DecodeError::TooShort.to_string());
    let mut within = first;
    within[33 + 14] = 34;
    assert!(refused(&[within]).contains("offset"));
}

proptest! {
    #[test]
    fn however_it_is_cut_it_comes_together(
        parameters in proptest::collection::vec(any::<u8>(), 0..40),
        data in proptest::collection::vec(any::<u8>(), 1..400),
        step in 1usize..90,
    ) {
        let totals = [parameters.len() as u16, data.len() as u16];
        let mut pieces = Pieces::new(400);
        let mut whole = None;
        for (at, piece) in data.chunks(step).enumerate() {
            prop_assert!(whole.is_none());
            let sent: &[u8] = if at == 0 { &parameters } else { &[] };
            let bytes = message(totals, (0, sent), ((at * step) as u16, piece));
            whole = add(&mut pieces, &bytes).expect("in order");
        }
        prop_assert_eq!(whole, Some((parameters, data)));
    }
}
