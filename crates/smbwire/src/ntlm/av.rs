//! AV_PAIRs (MS-NLMP 2.2.2.1): facts that the server sends about itself, and what we add.

use crate::auth::AuthError;
use crate::bytes::{ByteReader, Put};

const EOL: u16 = 0;
const FLAGS: u16 = 6;
const TIMESTAMP: u16 = 7;
const TARGET_NAME: u16 = 9;
const CHANNEL_BINDINGS: u16 = 10;
/// MsvAvFlags: the AUTHENTICATE message carries a MIC.
const FLAG_MIC: u32 = 2;

const BAD: AuthError = AuthError::Token("its target information is truncated");

/// The pairs up to the end mark, with their ids.
fn pairs(info: &[u8]) -> impl Iterator<Item = Result<(u16, &[u8]), AuthError>> {
    let mut reader = ByteReader::new(info);
    let mut ended = false;
    std::iter::from_fn(move || {
        if ended {
            return None;
        }
        let pair = (|| {
            let id = reader.u16()?;
            let length = reader.u16()?;
            Ok((id, reader.take(length.into())?))
        })();
        ended = !matches!(pair, Ok((id, _)) if id != EOL);
        match pair {
            Ok((EOL, _)) => None,
            Ok(pair) => Some(Ok(pair)),
            Err(crate::error::DecodeError::TooShort) => Some(Err(BAD)),
            Err(_) => Some(Err(BAD)),
        }
    })
}

/// What goes into our answer.
#[derive(Debug, PartialEq, Eq)]
pub struct TargetInfo {
    /// The pairs, with an end mark.
    pub pairs: Vec<u8>,
    /// The server's time, if it is sent; then a MIC is required.
    pub timestamp: Option<u64>,
}

/// The server's pairs with ours: the flag of the MIC, empty channel bindings, and the name
/// of the server as we know it (MS-NLMP 3.1.5.1.2).
pub fn target_info(info: &[u8], server: &str) -> Result<TargetInfo, AuthError> {
    let mut out = Vec::with_capacity(info.len() + 64);
    let mut timestamp = None;
    let mut flags = 0;
    let put = |out: &mut Vec<u8>, id: u16, value: &[u8]| {
        // Every value comes from 16-bit lengths, or is ours and short.
        out.put_u16(id);
        out.put_u16(value.len() as u16);
        out.extend_from_slice(value);
    };
    for pair in pairs(info) {
        let (id, value) = pair?;
        match id {
            FLAGS => flags = ByteReader::new(value).u32().map_err(|_| BAD)?,
            TARGET_NAME | CHANNEL_BINDINGS => continue,
            _ => put(&mut out, id, value),
        }
        if id == TIMESTAMP {
            timestamp = Some(ByteReader::new(value).u64().map_err(|_| BAD)?);
        }
    }
    if timestamp.is_some() {
        flags |= FLAG_MIC;
    }
    if flags != 0 {
        put(&mut out, FLAGS, &flags.to_le_bytes());
    }
    put(&mut out, CHANNEL_BINDINGS, &[0; 16]);
    let mut name = Vec::new();
    name.put_utf16("cifs/");
    name.put_utf16(server);
    name.truncate(0x7FFE);
    put(&mut out, TARGET_NAME, &name);
    put(&mut out, EOL, &[]);
    Ok(TargetInfo {
        pairs: out,
        timestamp,
    })
}
