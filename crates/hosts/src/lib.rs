//! The hosts of a run, seen from the prime: launchers start agents ([`launch`]), the program is
//! installed and its agents are ended ([`admin`]), and [`preflight`] checks before a run
//! whether all requirements are met.

pub mod admin;
pub mod launch;
pub mod preflight;
pub mod programs;
