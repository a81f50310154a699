//! What a process reads about its own host: an agent about its client, the prime about its
//! host. Facts only, without evaluation.

pub mod addresses;
pub mod firewall;
pub mod names;
pub mod system;
