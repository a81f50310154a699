//! Lines through load points, each at its own place on the x axis.

use super::axis::{span, y_axis};
use filermark_report::parts::Scale;
use filermark_report::parts::{Anchor, Svg};
use filermark_report::parts::{Area, ChartWidth, axes_at, legend};

/// A mark on a line.
pub struct Mark {
    pub x: f64,
    pub y: f64,
    /// Crosses do not count.
    pub valid: bool,
    /// The tooltip.
    pub title: String,
}

/// A line: its class in the style sheet, and its name.
pub struct Line {
    pub class: &'static str,
    pub label: String,
    pub marks: Vec<Mark>,
}

/// A dashed line at a value of an axis.
pub enum Guide {
    Across(f64, String),
    Up(f64, String),
}

/// The layout around the lines.
pub struct Sheet<'a> {
    pub id: &'a str,
    pub fit: ChartWidth,
    pub title: &'a str,
    pub x_title: &'a str,
    pub y_title: &'a str,
    pub guides: &'a [Guide],
    /// Only whole numbers are marked on the x axis.
    pub whole_x: bool,
    /// The y axis begins at 0 even if the figures are close to each other.
    pub from_0: bool,
    /// The legend names the lines.
    pub has_legend: bool,
}

/// The lines; `None` without any mark.
pub fn xy_chart(sheet: &Sheet<'_>, lines: &[Line]) -> Option<String> {
    let marks = || lines.iter().flat_map(|l| &l.marks);
    let (_, right) = span(marks().map(|m| m.x))?;
    let across = sheet.guides.iter().filter_map(|g| match g {
        Guide::Across(y, _) => Some(*y),
        Guide::Up(..) => None,
    });
    let up = sheet.guides.iter().filter_map(|g| match g {
        Guide::Up(x, _) => Some(*x),
        Guide::Across(..) => None,
    });
    let (_, right) = span(up.chain([right]))?;
    let (low, high) = span(marks().map(|m| m.y).chain(across))?;
    let height = match sheet.fit {
        ChartWidth::Wide => 380.0,
        _ => 320.0,
    };
    let width = sheet.fit.width();
    let id = format!("{}-{}", sheet.id, sheet.fit.as_str());
    let mut svg = Svg::new(&id, width, height, sheet.title, &describe(sheet, lines));
    let classes: Vec<String> = lines.iter().map(|l| format!("line {}", l.class)).collect();
    let mut top = 34.0;
    if sheet.has_legend {
        let named = classes.iter().zip(lines);
        let entries: Vec<_> = named.map(|(c, l)| (c.as_str(), l.label.as_str())).collect();
        top = legend(&mut svg, &entries, (10.0, 18.0), width - 20.0) + 30.0;
    }
    let area = Area {
        left: 58.0,
        top,
        right: width - 16.0,
        bottom: height - 46.0,
    };
    let low = if sheet.from_0 { low.min(0.0) } else { low };
    let (y, note) = y_axis(low, high, &area);
    let x = Scale::exact(0.0, right * 1.03, area.left, area.right);
    let y_title = format!("{}{note}", sheet.y_title);
    let mut ticks = x.ticks(area.x_tick_count());
    if sheet.whole_x {
        ticks.retain(|t| t.fract() == 0.0);
    }
    axes_at(&mut svg, &area, (&x, &ticks), &y, (sheet.x_title, &y_title));
    guides(&mut svg, sheet.guides, &area, &x, &y);
    draw(&mut svg, lines, &classes, &x, &y);
    Some(svg.finish())
}

fn guides(svg: &mut Svg, guides: &[Guide], area: &Area, x: &Scale, y: &Scale) {
    // Labels of adjacent lines must not overlap.
    let mut label_y = area.bottom - 8.0;
    for guide in guides {
        match guide {
            Guide::Across(value, label) => {
                let at = y.at(*value);
                svg.line("ideal", (area.left, at), (area.right, at));
                svg.text("tick", (area.left + 6.0, at - 5.0), Anchor::Start, label);
            }
            Guide::Up(value, label) => {
                let at = x.at(*value);
                svg.line("ideal", (at, area.top), (at, area.bottom));
                // To the side with more space.
                let anchor = match at > (area.left + area.right) / 2.0 {
                    true => Anchor::End,
                    false => Anchor::Start,
                };
                let aside = if matches!(anchor, Anchor::End) {
                    -5.0
                } else {
                    5.0
                };
                svg.text("tick", (at + aside, label_y), anchor, label);
                label_y -= 16.0;
            }
        }
    }
}

fn draw(svg: &mut Svg, lines: &[Line], classes: &[String], x: &Scale, y: &Scale) {
    let at = |m: &Mark| (x.at(m.x), y.at(m.y));
    for (line, class) in lines.iter().zip(classes) {
        let valid: Vec<_> = line.marks.iter().filter(|m| m.valid).map(at).collect();
        svg.polyline(class, &valid);
        for pair in line.marks.windows(2).filter(|w| !w[0].valid || !w[1].valid) {
            svg.polyline(&format!("{class} void"), &[at(&pair[0]), at(&pair[1])]);
        }
    }
    for line in lines {
        for mark in &line.marks {
            match mark.valid {
                true => svg.circle(&format!("dot {}", line.class), at(mark), 3.2, ""),
                false => svg.cross("cross", at(mark), 4.5),
            }
            svg.circle("hit", at(mark), 9.0, &mark.title);
        }
    }
}

/// A description for screen readers: each line from its first to its last mark.
fn describe(sheet: &Sheet<'_>, lines: &[Line]) -> String {
    let ends = |line: &Line| {
        let (first, last) = (line.marks.first()?, line.marks.last()?);
        Some(format!(
            "{}: from {} to {}",
            line.label, first.title, last.title
        ))
    };
    let all: Vec<String> = lines.iter().take(8).filter_map(ends).collect();
    format!(
        "{} over {}. {}.",
        sheet.y_title,
        sheet.x_title,
        all.join("; ")
    )
}
