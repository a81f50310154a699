//! The hosts of a run as the prime reaches them: launchers start agents ([`launch`]), the
//! program is installed and ended there ([`admin`]), and [`preflight`] says before a run
//! whether everything is as it should be.

pub mod admin;
pub mod launch;
pub mod preflight;
