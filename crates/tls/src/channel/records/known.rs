//! Sessions whose keys are known, without a handshake: for fuzzing and tests.

use super::{Half, NextKeys, Records};
use crate::error::TlsError;
use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::{CipherSuite, ConnectionTrafficSecrets, ProtocolVersion};

/// The generations of both keys of one side.
struct KnownKeys {
    is_client: bool,
    tx: u8,
    rx: u8,
}

/// The keys of this generation for what the client, or the server, sends.
fn half(of_client: bool, generation: u8) -> Result<Half, TlsError> {
    let (key, iv) = ([generation; 32], [u8::from(of_client); 12]);
    let secrets = ConnectionTrafficSecrets::Aes256Gcm {
        key: AeadKey::from(key),
        iv: Iv::from(iv),
    };
    Half::new((0, secrets))
}

impl NextKeys for KnownKeys {
    fn next(&mut self, is_tx: bool) -> Result<Half, TlsError> {
        let generation = match is_tx {
            true => &mut self.tx,
            false => &mut self.rx,
        };
        *generation = generation.wrapping_add(1);
        half(self.is_client == is_tx, *generation)
    }

    fn description(&self) -> (ProtocolVersion, CipherSuite) {
        let suite = CipherSuite::TLS13_AES_256_GCM_SHA384;
        (ProtocolVersion::TLSv1_3, suite)
    }
}

impl Records {
    /// The records of one side.
    pub(in crate::channel) fn known(is_client: bool) -> Result<Self, TlsError> {
        Ok(Self {
            keys: Box::new(KnownKeys {
                is_client,
                tx: 0,
                rx: 0,
            }),
            tx: half(is_client, 0)?,
            rx: half(!is_client, 0)?,
            is_client,
            message: Vec::new(),
            messages: 0,
        })
    }

    /// Appends a record of any type.
    pub(in crate::channel) fn append_any(
        &mut self,
        kind: u8,
        plain: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), TlsError> {
        self.append(kind, plain, out)
    }

    /// What is sent has the next key.
    pub(in crate::channel) fn take_next_key(&mut self) -> Result<(), TlsError> {
        self.tx = self.keys.next(true)?;
        Ok(())
    }
}
