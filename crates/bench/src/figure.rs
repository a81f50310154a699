//! A measured figure, its bar, and how both are printed.

use serde_json::{Value, json};

/// What a part gives back: figures, or why there are none.
pub type FiguresOrSkip = Result<Vec<Figure>, String>;

/// What a figure is held against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bar {
    /// It is only told; less is better.
    Less,
    /// It is only told; more is better.
    More,
    /// It should be this or more.
    AtLeast(f64),
    /// It should be this or less.
    AtMost(f64),
}

/// Whether a bar is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is no bar.
    Informational,
    /// By the median.
    Reached,
    /// Only by the best round.
    AtBest,
    /// Not at all.
    Short,
}

impl Verdict {
    const fn text(self) -> &'static str {
        match self {
            Self::Informational => "",
            Self::Reached => "reached",
            Self::AtBest => "at best",
            Self::Short => "short",
        }
    }
}

/// One figure, measured in one or more rounds.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What was measured.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
    /// What it is held against.
    pub bar: Bar,
    rounds: Vec<f64>,
}

impl Figure {
    /// A figure without a bar, of which less is better.
    pub fn new(name: impl Into<String>, unit: &'static str, rounds: Vec<f64>) -> Self {
        Self {
            name: name.into(),
            unit,
            bar: Bar::Less,
            rounds,
        }
    }

    /// The same with a bar.
    pub fn bar(mut self, bar: Bar) -> Self {
        self.bar = bar;
        self
    }

    /// The middle round (of two: the mean).
    pub fn median(&self) -> f64 {
        let mut sorted = self.rounds.clone();
        sorted.sort_by(f64::total_cmp);
        match sorted.len() {
            0 => f64::NAN,
            n if n % 2 == 1 => sorted[n / 2],
            n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
        }
    }

    /// The best round.
    pub fn best(&self) -> f64 {
        let rounds = self.rounds.iter().copied();
        match self.bar {
            Bar::AtLeast(_) | Bar::More => rounds.fold(f64::NAN, f64::max),
            _ => rounds.fold(f64::NAN, f64::min),
        }
    }

    /// The lowest and the highest round.
    pub fn spread(&self) -> (f64, f64) {
        let rounds = || self.rounds.iter().copied();
        (
            rounds().fold(f64::NAN, f64::min),
            rounds().fold(f64::NAN, f64::max),
        )
    }

    /// Whether the bar is reached.
    pub fn verdict(&self) -> Verdict {
        let reaches = |value: f64| match self.bar {
            Bar::Less | Bar::More => None,
            Bar::AtLeast(bar) => Some(value >= bar),
            Bar::AtMost(bar) => Some(value <= bar),
        };
        match (reaches(self.median()), reaches(self.best())) {
            (None, _) => Verdict::Informational,
            (Some(true), _) => Verdict::Reached,
            (_, Some(true)) => Verdict::AtBest,
            _ => Verdict::Short,
        }
    }

    /// For `--json`.
    pub fn to_json(&self) -> Value {
        let bar = match self.bar {
            Bar::Less | Bar::More => Value::Null,
            Bar::AtLeast(at) => json!({"at_least": at}),
            Bar::AtMost(at) => json!({"at_most": at}),
        };
        json!({
            "name": self.name,
            "unit": self.unit,
            "median": self.median(),
            "best": self.best(),
            "lowest": self.spread().0,
            "highest": self.spread().1,
            "rounds": self.rounds,
            "bar": bar,
            "verdict": self.verdict().text(),
        })
    }

    fn cells(&self) -> [String; 6] {
        let bar = match self.bar {
            Bar::Less | Bar::More => String::new(),
            Bar::AtLeast(at) => format!(">= {}", short(at)),
            Bar::AtMost(at) => format!("<= {}", short(at)),
        };
        let (lowest, highest) = self.spread();
        let spread = match self.rounds.len() {
            0 | 1 => String::new(),
            _ => format!("{} to {}", short(lowest), short(highest)),
        };
        [
            self.name.clone(),
            short(self.median()),
            spread,
            self.unit.into(),
            bar,
            self.verdict().text().into(),
        ]
    }
}

/// Four significant digits, thousands apart.
fn short(value: f64) -> String {
    let digits = match value.abs() {
        v if v == 0.0 || v >= 1000.0 => 0,
        v if v >= 100.0 => 1,
        v if v >= 10.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    let (whole, rest) = text.split_once('.').map_or((&*text, ""), |(w, r)| (w, r));
    let mut out = String::new();
    for (at, c) in whole.chars().enumerate() {
        let left = whole.len() - at;
        if at > 0 && left.is_multiple_of(3) && !out.ends_with('-') {
            out.push(' ');
        }
        out.push(c);
    }
    if !rest.is_empty() {
        out = format!("{out}.{rest}");
    }
    out
}

/// Figures as a text table.
pub fn table(figures: &[Figure]) -> String {
    let head = ["figure", "median", "spread", "unit", "bar", ""].map(String::from);
    let rows: Vec<_> = std::iter::once(head)
        .chain(figures.iter().map(Figure::cells))
        .collect();
    let widths: Vec<usize> = (0..6)
        .map(|c| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0))
        .collect();
    let mut out = String::new();
    for row in &rows {
        let mut line = String::from("  ");
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let pad = " ".repeat(width - cell.chars().count());
            let is_number = column == 1 || column == 2;
            line += &if is_number {
                format!("{pad}{cell}  ")
            } else {
                format!("{cell}{pad}  ")
            };
        }
        out += line.trim_end();
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_best_and_verdict() {
        let f = Figure::new("x", "op/s", vec![3.0, 9.0, 4.0]).bar(Bar::AtLeast(5.0));
        assert_eq!(
            (f.median(), f.best(), f.verdict()),
            (4.0, 9.0, Verdict::AtBest)
        );
        let f = Figure::new("x", "us", vec![3.0, 9.0]).bar(Bar::AtMost(6.0));
        assert_eq!((f.median(), f.verdict()), (6.0, Verdict::Reached));
        assert_eq!(f.bar(Bar::AtMost(1.0)).verdict(), Verdict::Short);
    }

    #[test]
    fn the_spread_is_shown_where_there_is_one() {
        let f = Figure::new("x", "us", vec![3.0, 9.0, 4.0]).bar(Bar::AtMost(5.0));
        assert_eq!(f.spread(), (3.0, 9.0));
        let shown = table(&[f, Figure::new("y", "s", vec![1.0])]);
        assert_eq!(
            shown,
            "  figure  median          spread  unit  bar\n\
             \x20 x        4.000  3.000 to 9.000  us    <= 5.000  reached\n\
             \x20 y        1.000                  s\n"
        );
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(short(1_234_567.8), "1 234 568");
        assert_eq!(short(0.5), "0.500");
        assert_eq!(short(-12.345), "-12.35");
        assert_eq!(short(999.94), "999.9");
    }
}
