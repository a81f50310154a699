//! Objectives of a search (GOAL): limits of latency figures, as `p99<5ms, mean<2ms`.

use crate::assertion::{AssertedFigure, Assertion, AssertionError, Assertions, Comparison};
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

    /// Reads conditions ([`crate::assertion`]) that limit latencies from above.
    fn from_str(text: &str) -> Result<Self, String> {
        let all: Assertions = text.parse().map_err(|e: AssertionError| e.to_string())?;
        all.0.iter().map(term).collect::<Result<_, _>>().map(Self)
    }
}

fn term(assertion: &Assertion) -> Result<GoalTerm, String> {
    let figure = match assertion.what.figure {
        AssertedFigure::Mean => Some(GoalFigure::Mean),
        AssertedFigure::Max => Some(GoalFigure::Max),
        AssertedFigure::Percentile(pcnt) => Some(GoalFigure::Percentile(pcnt)),
        _ => None,
    };
    let or_equal = match assertion.comparison {
        Comparison::Below => Some(false),
        Comparison::AtMost => Some(true),
        _ => None,
    };
    let is_of_all = assertion.what.op.is_none() && assertion.what.point.is_none();
    let is_limit = assertion.limit > 0.0 && is_of_all;
    match (figure, or_equal) {
        (Some(figure), Some(or_equal)) if is_limit => Ok(GoalTerm {
            figure,
            or_equal,
            limit_ms: assertion.limit,
        }),
        _ => Err(format!(
            "'{}' is no limit of a latency of all operations",
            crate::text::one_line(&assertion.text)
        )),
    }
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
