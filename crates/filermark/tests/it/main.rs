//! The whole program, as its user sees it: command lines in, files and exit
//! codes out, and a server that nobody may find changed afterwards.
//!
//! `sweep` is how the tests start the program, `peek` how they look into an
//! export, `turns` who may run beside whom. The server is the embedded one,
//! inside the test, where its faults and its exact counts are the yardstick,
//! and the testbed's real ones where somebody else's judgement is.

mod peek;
mod sweep;
mod turns;

mod bad_input;
mod claims;
mod counts;
mod faults;
mod gone;
mod kernel_client;
mod options;
mod real;
mod results;
mod scale;
mod stopped;
mod validate;
mod wire;
