//! Transfer sizes: between what the server likes, what it can, and what the user allows.

/// The largest transfer used, in bytes, whatever the server offers: buffers are
/// made for it, and nothing in the workload is larger.
pub const MAX_TRANSFER_BYTES: u32 = 4 << 20;
/// The smallest transfer used, in bytes.
pub const MIN_TRANSFER_BYTES: u32 = 512;
/// Taken from a server that gives neither a maximum nor a preference.
const SILENT_SERVER_BYTES: u32 = 8192;

/// The transfer size to use, in bytes: the server's preference (`rtpref`,
/// `wtpref`), not above its maximum (`rtmax`, `wtmax`) nor above `block_size_max`
/// nor [`MAX_TRANSFER_BYTES`], a multiple of `mult` where that is possible, and
/// [`MIN_TRANSFER_BYTES`] at least (RFC 1813 section 3.3.19).
pub fn negotiate(preferred: u32, max: u32, mult: u32, block_size_max: Option<u32>) -> u32 {
    let max = match (max, preferred) {
        (0, 0) => SILENT_SERVER_BYTES,
        (0, preferred) => preferred,
        (max, _) => max,
    };
    let preferred = if preferred == 0 { max } else { preferred };
    let wanted = preferred
        .min(max)
        .min(block_size_max.unwrap_or(u32::MAX))
        .min(MAX_TRANSFER_BYTES);
    let whole = match mult {
        0 => wanted,
        mult => wanted - wanted % mult,
    };
    let size = if whole == 0 { wanted } else { whole };
    size.max(MIN_TRANSFER_BYTES)
}

#[cfg(test)]
mod tests {
    use super::negotiate;

    #[test]
    fn preference_maximum_and_block_size_all_bind() {
        assert_eq!(negotiate(65_536, 1 << 20, 4096, None), 65_536);
        assert_eq!(negotiate(1 << 20, 65_536, 4096, None), 65_536);
        assert_eq!(negotiate(1 << 20, 1 << 20, 4096, Some(32_768)), 32_768);
        assert_eq!(
            negotiate(64 << 20, 64 << 20, 4096, Some(u32::MAX)),
            4 << 20,
            "our own limit"
        );
    }

    #[test]
    fn odd_answers_of_servers_give_usable_sizes() {
        assert_eq!(negotiate(0, 0, 0, None), 8192, "a server that says nothing");
        assert_eq!(negotiate(0, 65_536, 512, None), 65_536);
        assert_eq!(negotiate(16_384, 0, 512, None), 16_384);
        assert_eq!(negotiate(10_000, 10_000, 4096, None), 8192, "whole units");
        assert_eq!(negotiate(3000, 3000, 4096, None), 3000, "less than a unit");
        assert_eq!(negotiate(1, 1, 1, None), 512);
    }
}
