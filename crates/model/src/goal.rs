//! Objectives of a search (GOAL): limits of latency figures, as `p99<5ms, mean<2ms`.

use std::fmt;
use std::str::FromStr;

/// A figure of the service time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GoalFigure {
    /// `mean`.
    Mean,
    /// `max`.
    Max,
    /// `p99`, `p99.9`: a percentile.
    Percentile(f64),
}

/// A figure and what it must be below.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GoalTerm {
    /// The figure.
    pub figure: GoalFigure,
    /// Whether the limit itself is allowed (`<=`).
    pub or_equal: bool,
    /// The limit, in ms.
    pub limit_ms: f64,
}

impl GoalTerm {
    /// Whether a figure, in ms, keeps it.
    pub fn is_kept(&self, value_ms: f64) -> bool {
        value_ms < self.limit_ms || (self.or_equal && value_ms <= self.limit_ms)
    }
}

/// An objective: all of its terms have to be kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal(pub Vec<GoalTerm>);

impl FromStr for Goal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let terms = text.split(',').map(str::trim).map(|term| {
            parse_term(term).ok_or_else(|| {
                format!("'{}' is no limit of a latency", crate::text::one_line(term))
            })
        });
        terms.collect::<Result<_, _>>().map(Self)
    }
}

fn parse_term(term: &str) -> Option<GoalTerm> {
    let (figure, limit) = term.split_once('<')?;
    let (or_equal, limit) = match limit.strip_prefix('=') {
        Some(limit) => (true, limit),
        None => (false, limit),
    };
    let figure = match figure.trim() {
        "mean" => GoalFigure::Mean,
        "max" => GoalFigure::Max,
        other => {
            let pcnt: f64 = other.strip_prefix('p')?.parse().ok()?;
            (pcnt > 0.0 && pcnt < 100.0).then_some(GoalFigure::Percentile(pcnt))?
        }
    };
    let limit = limit.trim();
    let at = limit.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = limit.split_at(at);
    let unit_ms = match unit {
        "us" => 1e-3,
        "ms" => 1.0,
        "s" => 1e3,
        _ => return None,
    };
    let limit_ms = number.trim().parse::<f64>().ok()? * unit_ms;
    let is_limit = limit_ms.is_finite() && limit_ms > 0.0;
    is_limit.then_some(GoalTerm {
        figure,
        or_equal,
        limit_ms,
    })
}

impl fmt::Display for GoalFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mean => f.write_str("mean"),
            Self::Max => f.write_str("max"),
            Self::Percentile(pcnt) => write!(f, "p{pcnt}"),
        }
    }
}

impl fmt::Display for GoalTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.or_equal { "<=" } else { "<" };
        write!(f, "{}{sign}{}ms", self.figure, self.limit_ms)
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms: Vec<String> = self.0.iter().map(GoalTerm::to_string).collect();
        f.write_str(&terms.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_read_and_shown() {
        let goal: Goal = "p99<5ms, mean <= 500us,max<1s,p99.9<0.02s".parse().unwrap();
        assert_eq!(
            goal.to_string(),
            "p99<5ms, mean<=0.5ms, max<1000ms, p99.9<20ms"
        );
        assert_eq!(goal.to_string().parse::<Goal>().unwrap(), goal);
        assert!(goal.0[0].is_kept(4.9) && !goal.0[0].is_kept(5.0));
        assert!(goal.0[1].is_kept(0.5));
    }

    #[test]
    fn what_is_no_limit_is_refused() {
        for text in [
            "",
            "p99",
            "p99<5",
            "p99<ms",
            "p100<5ms",
            "p0<5ms",
            "px<5ms",
            "ops<5ms",
            "mean<-1ms",
            "mean<nanms",
            "mean<5ms,",
            "mean<5 minutes",
            "mean>5ms",
        ] {
            assert!(text.parse::<Goal>().is_err(), "{text}");
        }
    }
}
