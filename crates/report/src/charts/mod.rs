//! The charts of the report, each a function from a record to an SVG text.
//!
//! The larger ones are drawn twice, for a desk and for a phone; the style
//! sheet shows the one that fits, so that no text is ever scaled to nothing.

mod bare_curve;
mod clients;
mod curve;
mod curves;
mod forest;
mod frame;
mod heatmap;
mod histogram;
mod historical;
mod lines;
mod ops;
mod percentiles;
mod phases;
mod procs;
mod series;

pub use bare_curve::{CurveLabels, CurvePoint, curve_chart};
pub use clients::{ClientFigures, client_charts};
pub use curve::{knee_point, load_chart, response_chart};
pub use curves::curves_chart;
pub use forest::{Bar, forest_chart};
pub use frame::{Area, axes_at, legend};
pub use heatmap::{columns_for, heat_chart};
pub use histogram::{groups_chart, overlay_chart};
pub use ops::{op_charts, ops_chart};
pub use percentiles::{Measure, PERCENTILES, percentiles, percentiles_chart, waiting_chart};
pub use phases::phases_chart;
pub use procs::{BalanceOf, procs_chart};
pub use series::series_chart;

/// For which width a chart is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChartWidth {
    /// The whole width of the page on a desk.
    Wide,
    /// Half of that width.
    Half,
    /// A phone.
    Narrow,
    /// One of several small charts beside each other, on a desk and on a phone.
    Multiple,
}

impl ChartWidth {
    /// The drawing's width, in its own units; text is 12 to 13 units high.
    pub const fn width(self) -> f64 {
        match self {
            Self::Wide => 1040.0,
            Self::Half => 510.0,
            Self::Narrow => 380.0,
            Self::Multiple => 330.0,
        }
    }

    /// A word for identifiers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wide => "wide",
            Self::Half => "half",
            Self::Narrow => "narrow",
            Self::Multiple => "multiple",
        }
    }
}
