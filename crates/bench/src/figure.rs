//! A measured figure and its bar.

use serde_json::{Value, json};

/// Figures, or the reason why there are none.
pub type Figures = Result<Vec<Figure>, String>;

/// The bar of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bar {
    /// None; less is better.
    Less,
    /// None; more is better.
    More,
    /// This or more.
    AtLeast(f64),
    /// This or less.
    AtMost(f64),
}

/// Whether a bar is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// There is no bar.
    Informational,
    /// By the median.
    Reached,
    /// Only by the best round.
    AtBest,
    /// Not even by the best round.
    Short,
}

impl Verdict {
    /// For tables and JSON.
    pub const fn text(self) -> &'static str {
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
    /// Its bar.
    pub bar: Bar,
    rounds: Vec<f64>,
}

impl Figure {
    /// A figure without a bar; less is better.
    pub fn new(name: impl Into<String>, unit: &'static str, rounds: Vec<f64>) -> Self {
        Self {
            name: name.into(),
            unit,
            bar: Bar::Less,
            rounds,
        }
    }

    /// Sets the bar.
    pub fn bar(mut self, bar: Bar) -> Self {
        self.bar = bar;
        self
    }

    /// Adds a prefix to the name.
    pub fn prefixed(mut self, prefix: &str) -> Self {
        self.name.insert_str(0, prefix);
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

    /// The median, for tables.
    pub fn median_text(&self) -> String {
        short(self.median())
    }

    /// The lowest and the highest round, for tables; empty with one round.
    pub fn spread_text(&self) -> String {
        let (lowest, highest) = self.spread();
        match self.rounds.len() {
            0 | 1 => String::new(),
            _ => format!("{} to {}", short(lowest), short(highest)),
        }
    }

    /// The bar, for tables; empty without one.
    pub fn bar_text(&self) -> String {
        match self.bar {
            Bar::Less | Bar::More => String::new(),
            Bar::AtLeast(at) => format!(">= {}", short_bar(at)),
            Bar::AtMost(at) => format!("<= {}", short_bar(at)),
        }
    }
}

/// A bar as it was written in the source: without trailing zeros.
fn short_bar(value: f64) -> String {
    match value.abs() {
        v if v >= 1000.0 => short(value),
        _ => {
            let text = format!("{value:.3}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
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
    fn the_spread_is_shown_where_there_are_several_rounds() {
        let f = Figure::new("x", "us", vec![3.0, 9.0, 4.0]).bar(Bar::AtMost(5.0));
        assert_eq!(f.spread(), (3.0, 9.0));
        assert_eq!(f.spread_text(), "3.000 to 9.000");
        assert_eq!((&*f.median_text(), &*f.bar_text()), ("4.000", "<= 5"));
        assert_eq!(Figure::new("y", "s", vec![1.0]).spread_text(), "");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(short(1_234_567.8), "1 234 568");
        assert_eq!(short(0.5), "0.500");
        assert_eq!(short(-12.345), "-12.35");
        assert_eq!(short(999.94), "999.9");
        assert_eq!(
            [1.35, 0.5, 64.0, 1e5].map(short_bar),
            ["1.35", "0.5", "64", "100 000"]
        );
    }
}
