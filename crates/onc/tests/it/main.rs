//! The codecs as their users see them: bytes against the RFCs, round trips, hostile input, and what the
//! hot path may not do.

mod allocations;
mod callbacks_nfs4;
mod fixtures_gss;
mod fixtures_nfs2;
mod fixtures_nfs3;
mod fixtures_rpc;
mod hostile;
mod messages_nfs4;
mod nfs2;
mod nfs4;
mod oracle;
mod readdir;
mod record;
mod results_nfs4;
mod round_trip;
mod samples;
mod samples_nfs2;
mod samples_nfs4;
mod server_nfs4;
mod wire_nfs4;

/// Bytes written as hex words, with whatever blanks help the reader.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(|byte| (byte as char).to_digit(16).expect("hex digit") as u8)
        .collect();
    assert_eq!(digits.len() % 2, 0, "whole bytes");
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

/// The XDR form of `value`.
fn encoded<T: filermark_onc::xdr::Encode + ?Sized>(value: &T) -> Vec<u8> {
    let mut out = Vec::new();
    filermark_onc::xdr::append(&mut out, value);
    out
}
