//! What a process reads about the host that it runs on: an agent about its client, the
//! prime about its own host. Facts only; nothing here says whether they are good.

pub mod addresses;
pub mod firewall;
pub mod names;
pub mod system;
