//! The driver of mounted file systems: netmist's operations by system calls.
//!
//! It uses the interface of drivers and the platform; it does not depend on mixes,
//! load points or results.
//!
//! | module | contents |
//! |---|---|
//! | `driver` | claims directories, opens shards |
//! | `claim` | making, marking, emptying and removing a run's directory; what its file system can do |
//! | `place`, `limits` | where the run's directory is; how many files may be open |
//! | `shard` | carries out the actions, one file per kind |
//! | `handles`, `cache`, `names`, `buffer` | open directories and files, names and memory without the heap |
//! | `custom` | the user's own programs |
//! | `spec` | the driver in the list of drivers |
//! | `survey` | inspects mounted directories before a run |
//! | `status`, `counters` | error numbers as text; counters of the driver |
//! | `sys` | the platform |
//!
//! What is measured: from just before the first system call of an operation to just
//! after its last. Opening a file that is not open yet is part of the operation that
//! needs it (the seed says nothing about it), as is closing the one that gives way;
//! making data to write and checking data that was read are not, even where they
//! happen between two transfers of a whole-file operation.

//!
//! The system calls of an operation, once its bucket's directory and its file are open:
//!
//! | operation | calls |
//! |---|---|
//! | read, read_random, write, write_random, append | pread, pwrite; fsync where it commits |
//! | read_file, write_file, copyfile | the same, one per drawn size |
//! | rmw | pread, pwrite |
//! | mmap_read, mmap_write | mmap, madvise, msync where it commits, munmap |
//! | locking | fcntl twice |
//! | access, stat, chmod | faccessat, newfstatat, fchmodat2 (fchmodat before Linux 6.6) |
//! | statfs, pathconf | openat (O_PATH), fstatfs, close |
//! | readdir | openat, getdents64 to the end, close |
//! | create, unlink, unlink2 | openat and close; unlinkat |
//! | mkdir, rmdir, rename | mkdirat, unlinkat, renameat |
//!
//! A file that is not open costs an openat (counter `opens`), a bucket's directory an
//! openat2 (`dir_opens`), and a close of the one that gives way.

mod buffer;
mod cache;
mod claim;
mod counters;
mod custom;
mod driver;
pub mod fetched;
mod handles;
mod limits;
mod names;
mod owned;
mod probe;
mod run_dir;
mod shard;
mod spec;
mod status;
mod survey;
mod sys;
#[cfg(test)]
mod testing;

pub use driver::PosixDriver;
pub use probe::takes_direct;
pub use shard::PosixShard;
pub use spec::DRIVER;
