//! The server over real sockets, called through the codecs.

#![allow(clippy::result_large_err)] // the codecs' own results

mod client;
mod faults;
mod hostile;
mod load;
mod null;
mod procedures;
mod programs;
mod recalls;
mod tls;
mod udp;
mod v2;
mod wire;
