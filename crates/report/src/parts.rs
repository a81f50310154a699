//! The parts of reports that other crates use, so that their reports have the same layout:
//! charts with their axes, also as files of their own, tables of a text, figures and findings as
//! text. Pages are laid
//! out by [`Templates`](crate::Templates), whose style sheets the charts need.

pub use crate::charts::{Area, ChartWidth, axes_at, legend};
pub use crate::files::standalone;
pub use crate::format::{count, number};
pub use crate::html::Chart;
pub use crate::scale::{Scale, nice_step, tick_label};
pub use crate::svg::{Anchor, Svg};
pub use crate::text::{heads, table};
pub use crate::view::messages;
