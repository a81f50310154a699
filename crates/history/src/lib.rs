//! Records of many runs, in directories and without a database: what there is ([`Entry`]), tags
//! and notes in a file beside the records ([`TagFile`]), a figure over runs of the same work with
//! its change points ([`Trend`]), and tables for other programs ([`export`]).
//!
//! A record is never changed. The page for users is docs/src/howto/keep-results.md.

mod change_points;
mod entry;
pub mod export;
mod filter;
mod find;
mod list;
mod tags;
mod trend;

pub use change_points::{ChangePoint, change_points};
pub use entry::{Entry, run_id};
pub use filter::{Filter, parse_day};
pub use find::{Found, RECORD_ENDING, find};
pub use list::{entry_json, list_text};
pub use tags::{TAG_FILE, TagError, TagFile, Tags};
pub use trend::{LeftOut, Trend, TrendPoint, TrendRun, trend, trend_csv, trend_json, trend_text};
