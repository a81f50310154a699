//! The result of a part.

use crate::figure::{Figure, Figures};
use crate::turns::Comparison;

/// The result of a part.
#[derive(Debug, Default)]
pub struct Measured {
    /// The same work by Filermark and by others.
    pub comparisons: Vec<Comparison>,
    /// Everything else.
    pub figures: Vec<Figure>,
}

/// The result of a part, or the reason why it was not measured.
pub type MeasuredOrReason = Result<Measured, String>;

impl Measured {
    /// Adds the result of another section of the part.
    pub fn add(&mut self, other: impl Into<Self>) {
        let other = other.into();
        self.comparisons.extend(other.comparisons);
        self.figures.extend(other.figures);
    }

    /// All figures, those of comparisons first.
    pub fn all_figures(&self) -> Vec<Figure> {
        let compared = self.comparisons.iter().flat_map(Comparison::figures);
        compared.chain(self.figures.iter().cloned()).collect()
    }
}

impl From<Vec<Figure>> for Measured {
    fn from(figures: Vec<Figure>) -> Self {
        Self {
            comparisons: Vec::new(),
            figures,
        }
    }
}

impl From<Figure> for Measured {
    fn from(figure: Figure) -> Self {
        vec![figure].into()
    }
}

impl From<Comparison> for Measured {
    fn from(comparison: Comparison) -> Self {
        Self {
            comparisons: vec![comparison],
            figures: Vec::new(),
        }
    }
}

/// For parts that have figures only.
pub fn figures_only(figures: Figures) -> MeasuredOrReason {
    figures.map(Measured::from)
}
