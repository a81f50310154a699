//! A small SVG writer: the elements that the charts need, with all text escaped.
//!
//! Colours and line widths are classes of the page's style sheet, so that a
//! chart follows the light or dark theme of the page.

use std::fmt::Write as _;

/// Which part of a text its position refers to.
#[derive(Clone, Copy, Debug)]
pub enum Anchor {
    /// At its start.
    Start,
    /// In its middle.
    Middle,
    /// At its end.
    End,
}

/// A drawing in progress.
#[derive(Debug)]
pub struct Svg {
    out: String,
}

impl Svg {
    /// A drawing with a title and a description for users who cannot see it;
    /// `id` must be unique on the page.
    pub fn new(id: &str, width: f64, height: f64, title: &str, description: &str) -> Self {
        let mut out = String::new();
        let _ = write!(
            out,
            "<svg class=\"chart\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\"><title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>",
            escape(title),
            escape(description)
        );
        Self { out }
    }

    /// The whole text.
    pub fn finish(mut self) -> String {
        self.out.push_str("</svg>");
        self.out
    }

    /// A straight line.
    pub fn line(&mut self, class: &str, a: (f64, f64), b: (f64, f64)) {
        let _ = write!(
            self.out,
            "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
            a.0, a.1, b.0, b.1
        );
    }

    /// Straight lines through these points; nothing below two.
    pub fn polyline(&mut self, class: &str, points: &[(f64, f64)]) {
        if points.len() < 2 {
            return;
        }
        let _ = write!(self.out, "<polyline class=\"{class}\" points=\"");
        self.points(points);
        self.out.push_str("\"/>");
    }

    /// The area within these points.
    pub fn polygon(&mut self, class: &str, points: &[(f64, f64)]) {
        if points.len() < 3 {
            return;
        }
        let _ = write!(self.out, "<polygon class=\"{class}\" points=\"");
        self.points(points);
        self.out.push_str("\"/>");
    }

    fn points(&mut self, points: &[(f64, f64)]) {
        for (i, (x, y)) in points.iter().enumerate() {
            let blank = if i == 0 { "" } else { " " };
            let _ = write!(self.out, "{blank}{x:.1},{y:.1}");
        }
    }

    /// A rectangle, with its tooltip.
    pub fn rect(&mut self, class: &str, at: (f64, f64), size: (f64, f64), title: &str) {
        let _ = write!(
            self.out,
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"",
            at.0,
            at.1,
            size.0.max(0.0),
            size.1.max(0.0)
        );
        self.close_with_title("rect", title);
    }

    /// Lines of this thickness along a path; nothing for an empty path. `path`
    /// is inserted unescaped.
    pub fn stroke(&mut self, class: &str, thickness: f64, path: &str) {
        if !path.is_empty() {
            let _ = write!(
                self.out,
                "<path class=\"{class}\" stroke-width=\"{thickness:.1}\" d=\"{path}\"/>"
            );
        }
    }

    /// A circle.
    pub fn circle(&mut self, class: &str, at: (f64, f64), radius: f64, title: &str) {
        let _ = write!(
            self.out,
            "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius}\"",
            at.0, at.1
        );
        self.close_with_title("circle", title);
    }

    /// A cross: a point that does not count.
    pub fn cross(&mut self, class: &str, at: (f64, f64), radius: f64) {
        let ((x, y), r) = (at, radius);
        self.line(class, (x - r, y - r), (x + r, y + r));
        self.line(class, (x - r, y + r), (x + r, y - r));
    }

    /// A text.
    pub fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let _ = write!(
            self.out,
            "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
            at.0,
            at.1,
            escape(text)
        );
    }

    fn close_with_title(&mut self, element: &str, title: &str) {
        if title.is_empty() {
            self.out.push_str("/>");
        } else {
            let _ = write!(self.out, "><title>{}</title></{element}>", escape(title));
        }
    }
}

/// Text escaped for an element or an attribute.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_leave_their_element() {
        let mut svg = Svg::new("a", 10.0, 10.0, "<t>", "d&");
        svg.text("x", (1.0, 2.0), Anchor::Start, "<script>\"'");
        svg.circle("p", (1.0, 2.0), 3.0, "</title>");
        let text = svg.finish();
        assert!(text.contains("&lt;script&gt;&quot;&#39;"), "{text}");
        assert!(text.contains("&lt;/title&gt;"), "{text}");
        assert!(text.starts_with("<svg") && text.ends_with("</svg>"));
    }
}
