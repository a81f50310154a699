//! What subcommands share, in the program itself and in the crates that bring subcommands of
//! their own: how the program ends ([`exit`]), signals ([`interrupt`]), files that are written
//! whole or not at all ([`files`]), standard output ([`output`]) and the live view on stderr
//! ([`view`]).
//!
//! Knows no run, no server and no subcommand.

pub mod exit;
pub mod files;
pub mod interrupt;
pub mod output;
pub mod view;
