//! One small file per subcommand.

pub mod agent;
pub mod bundle;
pub mod clock;
pub mod compare;
pub mod demo;
#[cfg(feature = "energy")]
pub mod energy;
pub mod history;
pub mod import;
pub mod install;
pub mod keys;
pub mod manual;
pub mod netmist;
pub mod params;
pub mod plan;
mod plan_repeats;
pub mod preflight;
pub mod quick;
pub mod report;
pub mod run;
pub mod serve;
pub mod sign;
pub mod stop;
pub mod subedit;
pub mod validate;
pub mod verify;
pub mod watch;
pub mod workload;
