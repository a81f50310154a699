//! The charts of the report, each a function from a record to an SVG text; [`CHARTS`] lists
//! those that can be files of their own.
//!
//! The larger ones are drawn twice, for a wide screen and for a phone; the style sheet
//! shows the one that fits, so that text is never scaled down.

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

use filermark_results::{Historical, RunRecord};

/// The width for which a chart is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChartWidth {
    /// The whole width of the page on a wide screen.
    Wide,
    /// Half of that width.
    Half,
    /// A phone.
    Narrow,
    /// One of several small charts side by side, on a wide screen and on a phone.
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

    /// The name in identifiers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wide => "wide",
            Self::Half => "half",
            Self::Narrow => "narrow",
            Self::Multiple => "multiple",
        }
    }
}

/// A chart of a run record that can be a file of its own.
#[derive(Clone, Copy, Debug)]
pub struct Chart {
    /// Its name in `--chart`.
    pub name: &'static str,
    /// What it shows.
    pub about: &'static str,
    /// Its name in the template of the page.
    pub(crate) page_name: &'static str,
    /// Its width on the page, on a wide screen.
    pub(crate) page_width: ChartWidth,
    /// Draws it; `None`: the record has nothing to draw.
    pub(crate) draw: fn(&RunRecord, ChartWidth, Option<&Historical>) -> Option<String>,
}

/// All charts; the first one is the default.
pub const CHARTS: [Chart; 7] = [
    Chart {
        name: "results",
        about: "Latency over the achieved rate",
        page_name: "curve",
        page_width: ChartWidth::Wide,
        draw: response_chart,
    },
    Chart {
        name: "load",
        about: "Achieved over requested rate",
        page_name: "load",
        page_width: ChartWidth::Half,
        draw: |record, fit, _| load_chart(record, fit),
    },
    Chart {
        name: "service",
        about: "Percentiles of the service time over load",
        page_name: "percentiles_service",
        page_width: ChartWidth::Half,
        draw: |record, fit, _| percentiles_chart(record, Measure::Service, fit),
    },
    Chart {
        name: "response",
        about: "Percentiles of the response time over load",
        page_name: "percentiles_response",
        page_width: ChartWidth::Half,
        draw: |record, fit, _| percentiles_chart(record, Measure::Response, fit),
    },
    Chart {
        name: "heat",
        about: "Latency by second, at the peak",
        page_name: "heat",
        page_width: ChartWidth::Wide,
        draw: |record, fit, _| heat_chart(record.peak()?, fit, columns_for(1)),
    },
    Chart {
        name: "operations",
        about: "Time by operation, at the peak",
        page_name: "ops_share",
        page_width: ChartWidth::Wide,
        draw: |record, fit, _| ops_chart(record, record.peak()?.measured()?, fit),
    },
    Chart {
        name: "procs",
        about: "The share that every proc got",
        page_name: "procs",
        page_width: ChartWidth::Half,
        draw: |record, fit, _| procs_chart(record, BalanceOf::Share, fit),
    },
];
