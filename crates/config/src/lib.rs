//! rc files, mix files and parameters: text in, a typed run plan out.
//!
//! No other crate parses these texts. This crate reads the files that the parameters name
//! (rc, mix, mount point, block size and benchmark files) and nothing else; it implements no
//! protocol, opens no connection and starts no process.
//!
//! Every parameter is declared once, in [`params`]; the parser, the help, the
//! template, the reference page and the "not standard" findings are made from
//! that declaration.

pub mod blockfile;
mod classic;
mod composite;
pub mod debug;
pub mod definitions;
mod drivers;
pub mod error;
mod explain;
mod given;
mod hints;
pub mod hosts;
pub mod import;
mod inline;
mod launch_settings;
mod layout;
mod loads;
pub mod mixfile;
pub mod mounts;
pub mod netmist;
pub mod netmist_text;
mod network;
pub mod nfsstat;
pub mod params;
mod plan;
mod protocol;
pub mod rc;
mod reading;
mod reference;
mod resolve;
mod resolved;
mod search;
mod sources;
mod space;
mod stop_command;
mod stop_if;
mod template;
mod text;
mod trial;
mod workload;

pub use composite::mounts::is_drive_relative;
pub use debug::{debug_filter, parse_debug};
pub use error::{ConfigError, SourceLocation};
pub use explain::{explain, explain_launch};
pub use inline::inline_procs;
pub use layout::mount_point_count;
pub use params::Parameter;
pub use reference::{help_parameter, help_params, reference_markdown};
pub use resolve::resolve;
pub use resolved::{NetmistOutput, Resolved};
pub use sources::{Host, InputLog, RcFile, Sources};
pub use template::{template_rc, template_rc_of};
