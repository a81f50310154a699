//! Pieces of the view's lines: coloured text that is cut to a width, bars, sparklines, times.
//! Widths are in columns of a terminal.

use std::fmt::Write;
use std::time::Duration;

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// As the terminal's text.
    Plain,
    /// Bold: figures.
    Strong,
    /// Dim: labels.
    Faint,
    /// Green.
    Good,
    /// Red: problems.
    Bad,
}

impl Paint {
    const fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Strong => "\x1b[1m",
            Self::Faint => "\x1b[2m",
            Self::Good => "\x1b[32m",
            Self::Bad => "\x1b[31m",
        }
    }
}

/// The characters that pictures are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// Blocks and check marks.
    Unicode,
    /// For terminals without UTF-8.
    Ascii,
}

impl Charset {
    /// From the locale of the environment (LC_ALL, LC_CTYPE, LANG).
    pub fn detect() -> Self {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .iter()
            .filter_map(std::env::var_os)
            .find(|value| !value.is_empty())
            .unwrap_or_default();
        Self::of_locale(&locale.to_string_lossy())
    }

    fn of_locale(locale: &str) -> Self {
        let locale = locale.to_ascii_lowercase();
        match locale.contains("utf-8") || locale.contains("utf8") {
            true => Self::Unicode,
            false => Self::Ascii,
        }
    }

    /// A bar of `width` characters: its full part, `share` of it, and its empty part.
    pub fn bar(self, share: f64, width: usize) -> (String, String) {
        let (full, empty) = match self {
            Self::Unicode => ("█", "░"),
            Self::Ascii => ("#", "."),
        };
        let done = (share.clamp(0.0, 1.0) * width as f64).round() as usize;
        (full.repeat(done), empty.repeat(width - done))
    }

    /// Figures as a row of small bars; `most` is a full one.
    pub fn sparks<'a>(self, figures: impl Iterator<Item = &'a u64>, most: f64) -> String {
        let levels: &[char] = match self {
            Self::Unicode => &['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
            Self::Ascii => &['_', '.', ':', '-', '=', '+', '*', '#'],
        };
        let last = levels.len() - 1;
        let level = |figure: &u64| {
            let share = *figure as f64 / most.max(1.0);
            levels[((share * last as f64).round() as usize).min(last)]
        };
        figures.map(level).collect()
    }
}

/// A line in pieces.
#[derive(Clone, Debug, Default)]
pub struct Line(Vec<(Paint, String)>);

impl Line {
    /// A line that begins with a label.
    pub fn new(label: &str) -> Self {
        let mut line = Self::default();
        line.add(Paint::Faint, format!(" {label:<8}"));
        line
    }

    /// Removes its first piece, the label.
    pub fn drop_label(&mut self) {
        if !self.0.is_empty() {
            self.0.remove(0);
        }
    }

    /// Adds a piece.
    pub fn add(&mut self, paint: Paint, text: impl Into<String>) -> &mut Self {
        self.0.push((paint, text.into()));
        self
    }

    /// The text without colours and without the label that it begins with.
    pub fn without_label(&self) -> String {
        self.0.iter().skip(1).map(|(_, text)| &**text).collect()
    }

    /// Columns that it takes.
    pub fn columns(&self) -> usize {
        self.0.iter().map(|(_, text)| columns(text)).sum()
    }

    /// The line as text, cut to `width` columns.
    pub fn render(&self, width: usize, colour: bool) -> String {
        let mut out = String::new();
        let mut space = width;
        for (paint, text) in &self.0 {
            let mut piece = String::new();
            for c in text.chars() {
                let wide = columns(c.encode_utf8(&mut [0; 4]));
                if wide > space {
                    space = 0;
                    break;
                }
                space -= wide;
                piece.push(c);
            }
            match paint.code() {
                code if colour && !code.is_empty() && !piece.is_empty() => {
                    // Writing to a String cannot fail.
                    let _ = write!(out, "{code}{piece}\x1b[0m");
                }
                _ => out.push_str(&piece),
            }
        }
        out.truncate(out.trim_end().len());
        out
    }
}

/// A line broken between words into rows of at most `width` columns; the later ones are indented.
/// A word that is longer than a row stays whole.
pub fn wrapped(line: &str, width: usize, indent: usize) -> String {
    let (mut out, mut used) = (String::new(), 0);
    for (at, word) in line.split(' ').enumerate() {
        let wide = columns(word);
        if at > 0 && used > indent && used + 1 + wide > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            used = indent;
        } else if at > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += wide;
    }
    out
}

/// Columns that a text takes on a terminal.
pub fn columns(text: &str) -> usize {
    console::measure_text_width(text)
}

/// A span as a clock shows it: `0:05`, `12:34`, `1:02:03`.
pub fn clock(span: Duration) -> String {
    let s = span.as_secs();
    match s / 3600 {
        0 => format!("{}:{:02}", s / 60, s % 60),
        h => format!("{h}:{:02}:{:02}", s / 60 % 60, s % 60),
    }
}

/// A figure with thousands separators and `decimals` digits behind the point.
pub fn number(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let (whole, fraction) = match text.find('.') {
        Some(at) => text.split_at(at),
        None => (text.as_str(), ""),
    };
    let mut grouped = String::new();
    for (i, c) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(c);
    }
    grouped + fraction
}

/// Nanoseconds as milliseconds with about three digits.
pub fn ms(ns: f64) -> String {
    let ms = ns / 1e6;
    let decimals = match ms {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    number(ms, decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_and_escapes_take_no_columns() {
        let text = "point  1 of 4: \x1b[32mVALID\x1b[0m and more";
        assert_eq!(super::wrapped(text, 80, 4), text);
        assert_eq!(
            super::wrapped(text, 20, 4),
            "point  1 of 4: \x1b[32mVALID\x1b[0m\n    and more"
        );
        assert_eq!(
            super::wrapped("averylongword b", 6, 2),
            "averylongword\n  b"
        );
        assert_eq!(super::wrapped("", 6, 2), "");
    }

    #[test]
    fn figures_and_times_read_well() {
        assert_eq!(clock(Duration::from_secs(65)), "1:05");
        assert_eq!(clock(Duration::from_secs(3_723)), "1:02:03");
        assert_eq!(
            (number(1_234_567.8, 1), number(12.0, 0)),
            ("1,234,567.8".into(), "12".into())
        );
        assert_eq!(
            (ms(290_000.0), ms(1_234e6)),
            ("0.29".into(), "1,234".into())
        );
    }

    #[test]
    fn bars_and_sparks_keep_their_width() {
        for share in [-1.0, 0.0, 0.4, 1.0, 7.0, f64::NAN] {
            let (full, empty) = Charset::Unicode.bar(share, 10);
            assert_eq!(columns(&full) + columns(&empty), 10, "{share}");
        }
        assert_eq!(Charset::Ascii.bar(0.5, 4), ("##".into(), "..".into()));
        assert_eq!(
            Charset::Unicode.sparks([0, 50, 100, 300].iter(), 100.0),
            "▁▅██"
        );
        assert_eq!(Charset::Unicode.sparks([0, 0].iter(), 0.0), "▁▁");
    }

    #[test]
    fn lines_are_cut_by_columns_and_painted_whole() {
        let mut line = Line::new("rate");
        line.add(Paint::Bad, "漢字x").add(Paint::Plain, "yz");
        assert_eq!(line.columns(), 9 + 5 + 2);
        assert_eq!(line.render(80, false), " rate    漢字xyz");
        assert_eq!(line.render(12, false), " rate    漢");
        assert_eq!(
            line.render(13, true),
            "\x1b[2m rate    \x1b[0m\x1b[31m漢字\x1b[0m"
        );
        assert_eq!(line.render(0, true), "");
    }

    #[test]
    fn the_locale_states_what_can_be_shown() {
        for locale in ["en_US.UTF-8", "C.utf8", "de_AT.utf-8@euro"] {
            assert_eq!(Charset::of_locale(locale), Charset::Unicode);
        }
        for locale in ["", "C", "POSIX", "en_US.ISO-8859-1"] {
            assert_eq!(Charset::of_locale(locale), Charset::Ascii);
        }
    }
}
