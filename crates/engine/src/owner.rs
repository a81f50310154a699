//! Owner files of a classical file set, as INIT names them: their size and their numbers.

/// The size of an owner file, in bytes.
pub const OWNER_BYTES: usize = 512;

/// The number by which drivers identify the owner file of a proc's directory (`dir` is
/// `None`), or of one of its directories of I/O files.
pub const fn owner_number(proc: u32, dir: Option<u32>) -> u64 {
    let dir = match dir {
        Some(dir) => dir as u64 + 1,
        None => 0,
    };
    // Distinct from the numbers of files.
    1 << 63 | (proc as u64) << 32 | dir
}
