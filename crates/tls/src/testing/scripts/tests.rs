use super::*;

/// Also writes them into the directory FILERMARK_FUZZ_SEEDS, for ci/fuzz.
#[test]
fn scripts_of_records_have_their_outcomes() {
    let corpus = std::env::var_os("FILERMARK_FUZZ_SEEDS").map(std::path::PathBuf::from);
    let broken = |error: &Option<TlsError>| matches!(error, Some(TlsError::Broken(_)));
    for (name, script) in samples() {
        let [client, server] = check(&script).expect("keys");
        let text = |received: &Received| String::from_utf8_lossy(&received.plain).into_owned();
        let seen = (
            text(&client),
            text(&server),
            server.is_ended,
            broken(&server.error),
        );
        let (plain, is_ended, is_broken) = match name {
            "data" => ("callanother call", false, false),
            "update" => ("callcall", false, false),
            "end" => ("call", true, false),
            "padding" => ("callmore", false, false),
            // Only a server sends them.
            "ticket" => ("", false, true),
            "parts" => ("", false, true),
            _ => ("call", false, true),
        };
        let of_client = match name {
            "ticket" => "reply",
            _ => plain,
        };
        let wanted = (of_client.to_owned(), plain.to_owned(), is_ended, is_broken);
        assert_eq!(seen, wanted, "{name}");
        assert_eq!(
            server.answers.is_empty(),
            !is_broken && name != "update",
            "{name}"
        );
        if let Some(corpus) = &corpus {
            let folder = corpus.join("tls_records");
            std::fs::create_dir_all(&folder).expect("create the corpus folder");
            std::fs::write(folder.join(name), script).expect("write a seed");
        }
    }
}

/// The same for scripts that were changed at some places, and for noise.
#[test]
fn changed_scripts_do_not_depend_on_where_the_stream_is_cut() {
    let mut state = 1u64;
    let mut random = move |limit: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % limit
    };
    for (_, script) in samples() {
        for _ in 0..200 {
            let mut changed = script.clone();
            for _ in 0..1 + random(3) {
                let place = random(changed.len());
                changed[place] = match random(2) {
                    0 => 20 + random(5) as u8,
                    _ => random(256) as u8,
                };
            }
            changed.truncate(1 + random(2 * changed.len()));
            check(&changed).expect("keys");
        }
    }
}

/// Scripts that are shorter than an input of the fuzzer reach the limits of a channel.
#[test]
fn short_scripts_reach_the_limits() {
    for (name, text) in [("long", "empty or too long"), ("many", "without end")] {
        let (_, script) = (samples().into_iter().find(|(n, _)| *n == name)).expect("a sample");
        assert!(script.len() < 4096, "{name}");
        for received in check(&script).expect("keys") {
            let error = received.error.map(|e| e.to_string()).unwrap_or_default();
            assert!(error.contains(text), "{name}: {error}");
        }
    }
}

/// More than is held of an incomplete message, in the same piece: it is not processed at all.
#[test]
fn what_is_behind_the_end_may_be_long() {
    for (name, script) in samples() {
        if !["end", "junk"].contains(&name) {
            continue;
        }
        let short = check(&script).expect("keys");
        let mut long = script;
        for _ in 0..8 {
            long.extend_from_slice(&[128, 0x40, 0]);
            long.resize(long.len() + (16 << 10), 0xa5);
        }
        assert_eq!(check(&long).expect("keys"), short, "{name}");
    }
}
