//! Memory that a client's program takes: the engine's own bounds, for estimates
//! before a run.

/// Histograms, buffers and the program itself, on every client, in bytes.
pub const CLIENT_BYTES: u64 = 64 << 20;
/// Per file of a classical file set, in bytes.
pub const CLASSIC_FILE_BYTES: u64 = 64;
/// Per proc of a classical benchmark, in bytes.
pub const CLASSIC_PROC_BYTES: u64 = 64 << 10;
/// Per proc of a composite, without its transfer buffer, in bytes.
pub const COMPOSITE_PROC_BYTES: u64 = 256 << 10;
