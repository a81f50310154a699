//! The charts of the energy report, each a function that returns an SVG text.

mod axis;
mod curves;
mod downsample;
mod drives;
mod slices;
mod timeline;
mod xy;

pub use curves::{Curve, curves_chart};
pub use drives::drives_chart;
pub use slices::slices_table;
pub use timeline::timeline_chart;
