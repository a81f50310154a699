//! The metrics as text: OpenMetrics 1.0, or the text format of Prometheus for readers that ask for
//! it alone.

use super::families::{FAMILIES, Family, Kind};
use super::totals::Totals;
use std::fmt::Write as _;

/// A form of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    OpenMetrics,
    /// The text format 0.0.4 of Prometheus.
    Prometheus,
}

impl Format {
    /// What a reader wants: OpenMetrics, unless it accepts plain text and not that.
    pub fn for_accept(accept: &str) -> Self {
        let accept = accept.to_ascii_lowercase();
        match accept.contains("text/plain") && !accept.contains("openmetrics") {
            true => Self::Prometheus,
            false => Self::OpenMetrics,
        }
    }

    /// The header `Content-Type`.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// Collects the values of one metric.
pub struct Samples {
    name: String,
    text: String,
}

impl Samples {
    /// A value without labels.
    pub fn value(&mut self, value: f64) {
        self.suffixed("", &[], value);
    }

    /// A value, if there is one.
    pub fn optional(&mut self, value: Option<f64>) {
        if let Some(value) = value {
            self.value(value);
        }
    }

    /// A value with labels.
    pub fn labelled(&mut self, labels: &[(&str, &str)], value: f64) {
        self.suffixed("", labels, value);
    }

    /// A value under the name with an ending.
    pub fn suffixed(&mut self, suffix: &str, labels: &[(&str, &str)], value: f64) {
        let _ = write!(self.text, "{}{suffix}", self.name);
        let mut front = "{";
        for (label, content) in labels {
            let _ = write!(self.text, "{front}{label}=\"{}\"", escaped(content));
            front = ",";
        }
        let close = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.text, "{close} {value}");
    }
}

/// All metrics that have values.
pub fn text(totals: &Totals, format: Format) -> String {
    let mut text = String::with_capacity(8 << 10);
    for family in FAMILIES {
        add(&mut text, family, totals, format);
    }
    if format == Format::OpenMetrics {
        text.push_str("# EOF\n");
    }
    text
}

fn add(text: &mut String, family: &Family, totals: &Totals, format: Format) {
    let name = match family.kind {
        Kind::Counter => format!("{}_total", family.name),
        Kind::Gauge | Kind::Histogram => family.name.to_owned(),
    };
    // In OpenMetrics the family of a counter is called without the ending.
    let head = match format {
        Format::OpenMetrics => family.name,
        Format::Prometheus => &name,
    };
    let mut samples = Samples {
        name: name.clone(),
        text: String::new(),
    };
    (family.values)(totals, &mut samples);
    if samples.text.is_empty() {
        return;
    }
    let kind = match family.kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Histogram => "histogram",
    };
    let _ = writeln!(text, "# HELP {head} {}", family.help);
    let _ = writeln!(text, "# TYPE {head} {kind}");
    if format == Format::OpenMetrics && !family.unit.is_empty() {
        let _ = writeln!(text, "# UNIT {head} {}", family.unit);
    }
    text.push_str(&samples.text);
}

/// The value of a label.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' => escaped.push_str("\\\\"),
            '"' => escaped.push_str("\\\""),
            '\n' => escaped.push_str("\\n"),
            other => escaped.push(other),
        }
    }
    escaped
}
