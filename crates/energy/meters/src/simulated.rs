//! A made-up source: its figure follows the traffic of the chosen interfaces.
//!
//! For the demo and for trials. Every output marks its figures as made up.

use crate::meter::{ReadFailure, Sample, Source};
use filermark_energy_data::Quantity;
use filermark_energy_data::setup;
use filermark_model::rng::Rng;
use std::sync::Arc;

/// A made-up source. The same seed gives the same noise, reading for reading.
pub(crate) struct Simulated {
    made: setup::Simulated,
    traffic: Arc<dyn Fn() -> f64 + Send + Sync>,
    rng: Rng,
}

impl Simulated {
    pub(crate) fn new(made: setup::Simulated, traffic: Arc<dyn Fn() -> f64 + Send + Sync>) -> Self {
        Self {
            made,
            traffic,
            rng: Rng::new(made.seed, 0),
        }
    }

    /// Normal, of mean 0 and deviation 1 (Box and Muller). Two draws each time.
    fn chance(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.rng.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.rng.unit()).cos()
    }
}

impl Source for Simulated {
    fn figures(&mut self) -> Result<Sample, ReadFailure> {
        let traffic = (self.traffic)();
        let chance = self.chance();
        if !traffic.is_finite() {
            return Err(ReadFailure::new(
                "follow the traffic",
                "there is no rate yet",
            ));
        }
        let mut value = self.made.idle + self.made.per_mib * traffic + self.made.noise * chance;
        if self.made.quantity != Quantity::Temperature {
            value = value.max(0.0);
        }
        Ok(Sample::now(vec![(self.made.quantity, value)]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(text: &str, traffic: f64, count: usize) -> Vec<f64> {
        let spec = text.parse().expect("a source");
        let setup::SourceSpec::Simulated(made) = spec else {
            panic!("{spec}")
        };
        let mut source = Simulated::new(made, Arc::new(move || traffic));
        let mut read = || source.figures().expect("a figure").values[0].1;
        (0..count).map(|_| read()).collect()
    }

    #[test]
    fn it_follows_the_traffic() {
        assert_eq!(figures("sim:idle=200,per-mib=0.5", 0.0, 2), [200.0; 2]);
        assert_eq!(figures("sim:idle=200,per-mib=0.5", 100.0, 2), [250.0; 2]);
        assert_eq!(figures("sim:idle=10,per-mib=-1", 100.0, 1), [0.0]);
        assert_eq!(
            figures("sim:idle=-5,quantity=temperature_c", 0.0, 1),
            [-5.0]
        );
    }

    #[test]
    fn noise_follows_from_the_seed() {
        let noisy = |seed| figures(&format!("sim:idle=200,noise=2,seed={seed}"), 0.0, 10_000);
        let (a, b) = (noisy(7), noisy(7));
        assert_eq!(a, b);
        assert_ne!(a, noisy(8));
        let mean = a.iter().sum::<f64>() / 1e4;
        let spread = (a.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 1e4).sqrt();
        assert!((mean - 200.0).abs() < 0.1, "{mean}");
        assert!((spread - 2.0).abs() < 0.1, "{spread}");
    }

    #[test]
    fn without_a_rate_there_is_no_figure() {
        let made = setup::Simulated {
            quantity: Quantity::Power,
            idle: 1.0,
            per_mib: 1.0,
            noise: 0.0,
            seed: 1,
        };
        let mut source = Simulated::new(made, Arc::new(|| f64::NAN));
        assert!(source.figures().is_err());
    }
}
