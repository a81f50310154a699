//! The server over real sockets, asked through the codecs.

mod client;
mod faults;
mod hostile;
mod load;
mod null;
mod procedures;
mod programs;
