//! The headline figure of a benchmark: one, which all outputs name. What else is computed of
//! a run is additional.

use super::types::Benchmark;

/// Which figure is the result of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headline {
    /// The highest measured load point that counts, and the overall response time (manual M,
    /// section 2.2: "the peak achieved throughput").
    Peak,
    /// The throughput at the response limit, or the peak where throughput falls off below it
    /// (guide V: "the throughput figure at 50 ms is reported").
    AtLimit,
    /// The highest load point that counts, in the unit of a composite.
    PeakLoad,
}

impl Headline {
    /// Its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Peak => "peak",
            Self::AtLimit => "at_response_limit",
            Self::PeakLoad => "peak_load",
        }
    }
}

impl Benchmark {
    /// The headline figure: of benchmarks after the generations before 2008 that at the
    /// limit. `limit_ms` is the response limit of the run; 0: none, and the peak it is.
    pub fn headline(&self, limit_ms: f64) -> Headline {
        match (self.classic(), &self.heritage) {
            (None, _) => Headline::PeakLoad,
            (Some(_), Some(_)) if limit_ms > 0.0 => Headline::AtLimit,
            (Some(_), _) => Headline::Peak,
        }
    }

    /// What the headline figure is, in words. `limit_ms` is the response limit of the run;
    /// 0: none.
    pub fn headline_text(&self, limit_ms: f64) -> String {
        let within = match limit_ms > 0.0 {
            true => format!(" within {limit_ms} ms"),
            false => String::new(),
        };
        match self.headline(limit_ms) {
            Headline::Peak if self.heritage.is_some() => {
                "peak: this run has no response limit".to_owned()
            }
            Headline::Peak => {
                format!(
                    "peak: op/s achieved at the highest measured load point that counts{within}"
                )
            }
            Headline::AtLimit => format!(
                "throughput at the response limit of {limit_ms} ms; the peak where throughput falls off below it"
            ),
            Headline::PeakLoad => {
                format!(
                    "peak: highest load point that counts{within}, in {}s",
                    self.unit
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmark::SHIPPED;

    #[test]
    fn every_shipped_benchmark_has_one_headline_figure() {
        for (name, _) in SHIPPED {
            let b = Benchmark::shipped(name).expect("a shipped one");
            let (wanted, words) = match b.heritage.is_none() {
                true => (
                    Headline::Peak,
                    "highest measured load point that counts within 20 ms",
                ),
                false => (Headline::AtLimit, "at the response limit of "),
            };
            let limit_ms = b.standard.response_limit_ms;
            assert_eq!(b.headline(limit_ms), wanted, "{name}");
            let text = b.headline_text(limit_ms);
            assert!(text.contains(words), "{name}: {text}");
        }
        let old = Benchmark::shipped("nfs2-1993").expect("a shipped one");
        assert!(old.headline_text(50.0).contains("of 50 ms"));
        assert!(old.headline_text(0.0).starts_with("peak"));
        assert_eq!(old.headline(0.0), Headline::Peak);
    }
}
