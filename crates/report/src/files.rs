//! Charts as files of their own: SVG with its colours, and PNG drawn from it.

use crate::charts::{Chart, ChartWidth, curve_chart};
use filermark_results::{Historical, RunRecord};
use resvg::usvg::{Options, Tree, fontdb};
use resvg::{tiny_skia, usvg};
use std::sync::Arc;

pub use crate::charts::{CurveLabels, CurvePoint};

/// The font that PNG files are drawn with; its licence is in the same folder.
const FONT: &[u8] = include_bytes!("../fonts/DejaVuSans.ttf");
/// Pixels per unit of a drawing, and most of a file in either direction.
const PIXELS_PER_UNIT: f32 = 2.0;
const PIXELS_MAX: u32 = 16_384;
/// Units around a drawing.
const MARGIN: f64 = 16.0;

/// A chart cannot be drawn as PNG (a defect, or a drawing that is not ours).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the chart cannot be drawn as PNG: {0}")]
pub struct PngError(String);

/// A chart as an SVG file; `None` where the record has nothing to draw. The results chart
/// also shows historical systems.
pub fn chart_svg(
    record: &RunRecord,
    chart: &Chart,
    historical: Option<&Historical>,
) -> Option<String> {
    (chart.draw)(record, ChartWidth::Wide, historical).map(|svg| standalone(&svg))
}

/// A curve of latency over throughput from plain numbers, as an SVG file; `None`
/// without a point that has both.
pub fn curve_svg(points: &[CurvePoint], labels: &CurveLabels<'_>) -> Option<String> {
    curve_chart(points, labels, ChartWidth::Wide).map(|svg| standalone(&svg))
}

/// The curve to be embedded in a page, which has the style sheet: for a wide page, and
/// for a phone.
pub fn curve_inline(points: &[CurvePoint], labels: &CurveLabels<'_>) -> Option<(String, String)> {
    Some((
        curve_chart(points, labels, ChartWidth::Wide)?,
        curve_chart(points, labels, ChartWidth::Narrow)?,
    ))
}

/// The light colours of the page: `--name: value` of the style sheet's first block.
fn colours() -> impl Iterator<Item = (&'static str, &'static str)> {
    let sheet = include_str!("../templates/report.css");
    let block = sheet.split('}').next().unwrap_or_default();
    block
        .split(['{', ';', '\n'])
        .filter_map(|pair| pair.trim().split_once(": "))
        .filter(|(name, _)| name.starts_with("--"))
}

/// The style of the charts with the colours filled in; rules for pointers are left out.
fn style() -> String {
    let mut style = String::new();
    let rules = include_str!("../templates/chart.css").split_inclusive('}');
    for rule in rules.filter(|r| !r.contains(":hover") && !r.contains("svg.chart")) {
        style.push_str(rule.trim());
    }
    for (name, value) in colours() {
        style = style.replace(&format!("var({name})"), value);
    }
    style
}

/// One of our drawings as a file: with its name space, size, style and background.
pub fn standalone(svg: &str) -> String {
    let (width, height) = size(svg);
    let (all_wide, all_high) = (width + 2.0 * MARGIN, height + 2.0 * MARGIN);
    let inner = svg.split_once('>').map_or("", |(_, inner)| inner);
    let paper = colours()
        .find(|(name, _)| *name == "--card")
        .map_or("#fff", |c| c.1);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{all_wide}\" height=\"{all_high}\" \
         viewBox=\"{0} {0} {all_wide} {all_high}\" role=\"img\" font-family=\"'DejaVu Sans', sans-serif\">\
         <style>{1}</style><rect x=\"{0}\" y=\"{0}\" width=\"{all_wide}\" height=\"{all_high}\" fill=\"{paper}\"/>{inner}\n",
        -MARGIN,
        style(),
    )
}

/// Width and height by a drawing's view box.
fn size(svg: &str) -> (f64, f64) {
    let quoted = svg
        .split_once("viewBox=\"")
        .and_then(|(_, rest)| rest.split_once('"'));
    let mut numbers = quoted
        .map_or("", |q| q.0)
        .split(' ')
        .skip(2)
        .filter_map(|n| n.parse().ok());
    (
        numbers.next().unwrap_or(1040.0),
        numbers.next().unwrap_or(430.0),
    )
}

/// One of our SVG files as PNG, two pixels per unit.
///
/// # Errors
/// It is not SVG, or too large.
pub fn chart_png(svg: &str) -> Result<Vec<u8>, PngError> {
    let failed = |why: &dyn std::fmt::Display| PngError(why.to_string());
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(FONT.to_vec());
    let options = Options {
        fontdb: Arc::new(fonts),
        font_family: "DejaVu Sans".into(),
        // Nothing is loaded from anywhere.
        image_href_resolver: usvg::ImageHrefResolver {
            resolve_data: Box::new(|_, _, _| None),
            resolve_string: Box::new(|_, _| None),
        },
        ..Options::default()
    };
    let tree = Tree::from_str(svg, &options).map_err(|e| failed(&e))?;
    let pixels = |units: f32| (units * PIXELS_PER_UNIT).ceil() as u32;
    let (wide, high) = (pixels(tree.size().width()), pixels(tree.size().height()));
    if wide > PIXELS_MAX || high > PIXELS_MAX {
        return Err(PngError(format!("{wide} by {high} pixels are too many")));
    }
    let mut image = tiny_skia::Pixmap::new(wide, high).ok_or_else(|| failed(&"it is empty"))?;
    let scale = tiny_skia::Transform::from_scale(PIXELS_PER_UNIT, PIXELS_PER_UNIT);
    resvg::render(&tree, scale, &mut image.as_mut());
    image.encode_png().map_err(|e| failed(&e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::CHARTS;
    use filermark_results::testing;

    #[test]
    fn every_chart_is_a_file_with_its_own_colours() {
        let record = testing::record();
        for chart in &CHARTS {
            let svg = chart_svg(&record, chart, None).unwrap();
            assert!(!svg.contains("var("), "{}", chart.name);
            assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"));
            let tree = Tree::from_str(&svg, &Options::default());
            assert!(tree.is_ok(), "{}", chart.name);
        }
        let mut empty = record.clone();
        empty.points.clear();
        assert!(
            CHARTS
                .iter()
                .all(|chart| chart_svg(&empty, chart, None).is_none())
        );
    }

    /// The line of the mean and the text have their colours in the pixels: without a working
    /// style sheet they would be black or missing.
    #[test]
    fn a_png_has_lines_and_letters_in_their_colours() {
        let labels = CurveLabels {
            title: "Results",
            x: "op/s",
            y: "ms",
        };
        let points = [(100.0, 1.0), (200.0, 1.5), (300.0, 4.0)];
        let points = points.map(|(x, y)| CurvePoint { x, y, valid: true });
        let svg = curve_svg(&points, &labels).unwrap();
        let png = chart_png(&svg).unwrap();
        let image = tiny_skia::Pixmap::decode_png(&png).unwrap();
        let count = |r: u8, g: u8, b: u8| {
            let same =
                |p: &&tiny_skia::PremultipliedColorU8| (p.red(), p.green(), p.blue()) == (r, g, b);
            image.pixels().iter().filter(same).count()
        };
        assert!(count(0x17, 0x5e, 0x9e) > 2_000, "the line");
        assert!(count(0x59, 0x65, 0x6f) > 300, "the letters");
        assert!(count(0, 0, 0) < 50, "elements without style are black");
        assert!(count(255, 255, 255) > 500_000, "the background");
    }

    #[test]
    fn invalid_points_give_no_chart() {
        let labels = CurveLabels {
            title: "",
            x: "",
            y: "",
        };
        for (x, y) in [
            (f64::NAN, 1.0),
            (1.0, f64::INFINITY),
            (-1.0, 2.0),
            (1.0, -2.0),
        ] {
            assert!(curve_svg(&[CurvePoint { x, y, valid: true }], &labels).is_none());
        }
        assert!(curve_svg(&[], &labels).is_none());
        assert!(chart_png("<svg").is_err());
        let huge = "<svg xmlns='http://www.w3.org/2000/svg' width='1e6' height='1e6'/>";
        assert!(chart_png(huge).is_err());
    }
}
