//! What subcommands share, in the program itself and in the crates that bring subcommands of
//! their own: how the program ends ([`exit`]), signals ([`interrupt`]), files that are written
//! whole or not at all ([`files`]), standard output ([`output`]), the live view on stderr
//! ([`view`]), and what may go on beside a run ([`companion`]).
//!
//! Knows no server, no subcommand, and of runs only their record.

pub mod companion;
pub mod exit;
pub mod files;
mod fold;
pub mod interrupt;
pub mod output;
pub mod view;
