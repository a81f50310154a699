//! The driver of mounted file systems: netmist's operations by system calls.
//!
//! Knows the engine's driver contract and the platform; knows nothing of mixes,
//! load points or results.
//!
//! | module | room |
//! |---|---|
//! | `driver` | claims directories, opens shards |
//! | `claim` | making, marking, emptying and removing a run's directory; what its file system can do |
//! | `place`, `limits` | where the run's directory is; how many files may be open |
//! | `shard` | carries out the actions, one file per kind |
//! | `handles`, `cache`, `names`, `buffer` | open directories and files, names and memory without the heap |
//! | `custom` | the user's own programs |
//! | `status`, `counters` | error numbers in words; what is counted besides |
//! | `sys` | the platform |
//!
//! What is measured: from just before the first system call of an operation to just
//! after its last. Opening a file that is not open yet is part of the operation that
//! needs it (the seed says nothing about it), as is closing the one that gives way;
//! making data to write and checking data that was read are not, even where they
//! happen between two transfers of a whole-file operation.

mod buffer;
mod cache;
mod claim;
mod counters;
mod custom;
mod driver;
mod handles;
mod limits;
mod names;
mod place;
mod shard;
mod status;
mod sys;

pub use driver::PosixDriver;
pub use shard::PosixShard;
