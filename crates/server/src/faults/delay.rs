//! `--delay`: how long replies are held back, as distributions that are drawn from the seed.

use super::random::{mix, unit};
use super::spec::{Faulted, Item, MAX_NS, SpecError};
use filermark_onc::nfs3::Procedure;
use filermark_onc::nfs4::Operation;
use std::f64::consts::TAU;
use std::str::FromStr;

/// The largest sigma of a lognormal delay. At 5, one draw in a thousand is already five million
/// times the median.
const MAX_SIGMA: f64 = 5.0;

/// The distribution of the times for which replies are held back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DelayDistribution {
    /// `2ms`: a constant.
    Constant {
        /// In ns.
        ns: u64,
    },
    /// `uniform:1ms-3ms`.
    Uniform {
        /// Least, in ns.
        min_ns: u64,
        /// Most, in ns.
        max_ns: u64,
    },
    /// `exp:2ms`: exponential.
    Exponential {
        /// Mean, in ns.
        mean_ns: u64,
    },
    /// `lognormal:2ms,0.5`: the logarithm has a normal distribution.
    Lognormal {
        /// Median, in ns. The mean is this times exp(sigma squared / 2).
        median_ns: u64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// `bimodal:1ms,50ms,1%`: one of two times.
    Bimodal {
        /// The common one, in ns.
        usual_ns: u64,
        /// The other, in ns.
        other_ns: u64,
        /// How many have the other, 0 to 1.
        other_share: f64,
    },
}

/// `--delay`: `2ms`, `READ=5ms,GETATTR=exp:100us`, `uniform:1ms-3ms,COMMIT=10ms`.
/// Without a procedure it holds for all that are not named.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DelaySpec {
    /// For every procedure that is not in `procedures`.
    pub default: Option<DelayDistribution>,
    /// For single procedures; the last word on one counts.
    pub procedures: Vec<(Procedure, DelayDistribution)>,
    /// For COMPOUNDs with single operations of version 4; the last word on one counts.
    pub operations: Vec<(Operation, DelayDistribution)>,
}

impl DelayDistribution {
    /// The `nth` draw of the stream with this seed, in ns; at most an hour.
    pub(super) fn draw_ns(&self, seed: u64, nth: u64) -> u64 {
        let bits = mix(seed ^ mix(nth));
        match *self {
            DelayDistribution::Constant { ns } => ns,
            DelayDistribution::Uniform { min_ns, max_ns } => {
                min_ns + (unit(bits) * (max_ns - min_ns) as f64) as u64
            }
            DelayDistribution::Exponential { mean_ns } => {
                limited(-unit_above_0(bits).ln() * mean_ns as f64)
            }
            DelayDistribution::Lognormal { median_ns, sigma } => {
                // Box and Muller: two uniform numbers make a normal one.
                let normal =
                    (-2.0 * unit_above_0(bits).ln()).sqrt() * (TAU * unit(mix(bits))).cos();
                limited(median_ns as f64 * (sigma * normal).exp())
            }
            DelayDistribution::Bimodal {
                usual_ns,
                other_ns,
                other_share,
            } => {
                if unit(bits) < other_share {
                    other_ns
                } else {
                    usual_ns
                }
            }
        }
    }

    /// Reads one distribution. Those with several arguments take them from `rest`, since commas
    /// stand between arguments and between rules.
    fn read<'a>(
        item: &Item<'_>,
        text: &str,
        rest: &mut impl Iterator<Item = &'a str>,
    ) -> Result<DelayDistribution, SpecError> {
        let Some((name, first)) = text.trim().split_once(':') else {
            return item
                .time_ns(text)
                .map(|ns| DelayDistribution::Constant { ns });
        };
        let mut next = |what: &str| {
            rest.next()
                .map(str::trim)
                .ok_or_else(|| item.error(format!("{what} is missing")))
        };
        match name.trim() {
            "uniform" => DelayDistribution::uniform(item, first),
            "exp" => item
                .time_ns(first)
                .map(|mean_ns| DelayDistribution::Exponential { mean_ns }),
            "lognormal" => {
                let median_ns = item.time_ns(first)?;
                let sigma = item.number(next("sigma, after the median,")?, MAX_SIGMA)?;
                Ok(DelayDistribution::Lognormal { median_ns, sigma })
            }
            "bimodal" => Ok(DelayDistribution::Bimodal {
                usual_ns: item.time_ns(first)?,
                other_ns: item.time_ns(next("the second time")?)?,
                other_share: item.percentage(next("the share of the second time")?)?,
            }),
            other => Err(item.error(format!(
                "{other:?} is not a distribution (uniform, exp, lognormal, bimodal)"
            ))),
        }
    }

    fn uniform(item: &Item<'_>, range: &str) -> Result<DelayDistribution, SpecError> {
        let (min, max) = range
            .split_once('-')
            .ok_or_else(|| item.error("uniform needs two times, MIN-MAX"))?;
        let (min_ns, max_ns) = (item.time_ns(min)?, item.time_ns(max)?);
        if min_ns > max_ns {
            return Err(item.error("the minimum of the range is greater than its maximum"));
        }
        Ok(DelayDistribution::Uniform { min_ns, max_ns })
    }
}

/// A number in (0, 1], which has a logarithm.
fn unit_above_0(bits: u64) -> f64 {
    1.0 - unit(bits)
}

fn limited(ns: f64) -> u64 {
    ns.clamp(0.0, MAX_NS as f64).round() as u64
}

impl FromStr for DelaySpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<DelaySpec, SpecError> {
        let hint = "write for example 2ms, READ=5ms,GETATTR=100us, COPY=20ms, uniform:1ms-3ms, exp:2ms, \
                    lognormal:2ms,0.5 (median, sigma) or bimodal:1ms,50ms,1%";
        let mut spec = DelaySpec::default();
        let mut parts = text.split(',').map(str::trim);
        while let Some(text) = parts.next() {
            let item = Item { text, hint };
            match text.split_once('=') {
                Some((name, delay)) => {
                    let of = item.faulted(name.trim())?;
                    let delay = DelayDistribution::read(&item, delay, &mut parts)?;
                    match of {
                        Faulted::Procedure(procedure) => spec.procedures.push((procedure, delay)),
                        Faulted::Operation(operation) => spec.operations.push((operation, delay)),
                    }
                }
                None => spec.default = Some(DelayDistribution::read(&item, text, &mut parts)?),
            }
        }
        Ok(spec)
    }
}

impl DelaySpec {
    /// Those for operations of version 4, the last word on each first.
    pub(super) fn per_operation(&self) -> Vec<(Operation, DelayDistribution)> {
        self.operations.iter().rev().copied().collect()
    }

    pub(super) fn per_procedure(&self) -> [Option<DelayDistribution>; Procedure::COUNT] {
        let mut all = [self.default; Procedure::COUNT];
        for (procedure, delay) in &self.procedures {
            all[*procedure as usize] = Some(*delay);
        }
        all
    }
}
