//! A figure that may be a lower bound only: operations that it depends on had not
//! ended when the measurement did.

/// Printed before a lower bound.
const AT_LEAST: &str = ">=";

/// A figure of a distribution of latencies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figure {
    /// The figure, or its lower bound.
    pub value: f64,
    /// The true figure is this or more.
    pub at_least: bool,
}

impl Figure {
    /// A figure that is known.
    pub const fn exact(value: f64) -> Self {
        Self {
            value,
            at_least: false,
        }
    }

    /// The same figure in milliseconds, where this one is in nanoseconds.
    pub fn ms(self) -> Self {
        Self {
            value: self.value / 1e6,
            ..self
        }
    }

    /// What is printed before the number: `>=` or nothing.
    pub const fn mark(self) -> &'static str {
        match self.at_least {
            true => AT_LEAST,
            false => "",
        }
    }

    /// The number as `number` prints it, with its mark.
    pub fn text(self, number: impl FnOnce(f64) -> String) -> String {
        format!("{}{}", self.mark(), number(self.value))
    }

    /// Reads a number that may have a mark.
    pub fn parse(text: &str) -> Option<Self> {
        let number = text.strip_prefix(AT_LEAST);
        Some(Self {
            value: number.unwrap_or(text).parse().ok()?,
            at_least: number.is_some(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lower_bound_is_printed_as_one_and_read_again() {
        let bound = Figure {
            value: 12.5e6,
            at_least: true,
        };
        let text = bound.ms().text(|ms| format!("{ms:.1}"));
        assert_eq!(text, ">=12.5");
        assert_eq!(Figure::parse(&text), Some(bound.ms()));
        let exact = Figure::exact(3.0);
        assert_eq!(exact.text(|n| n.to_string()), "3");
        assert_eq!(Figure::parse("3"), Some(exact));
        assert_eq!(Figure::parse(">="), None);
    }
}
