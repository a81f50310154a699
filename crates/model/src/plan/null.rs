//! Settings of the driver that answers every operation at once. It has none.

use super::facts::{DriverFacts, DriverSettings, DriverText};
use crate::counter::{CounterDecl, counters};
use crate::op::OpSet;
use serde::{Deserialize, Serialize};

/// Settings of the driver that answers every operation at once: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NullPlan {}

impl DriverSettings for NullPlan {
    fn facts(&self) -> DriverFacts {
        DriverFacts::default()
    }

    fn describe(&self) -> DriverText {
        DriverText::of("null: answers at once, measures the generator")
    }

    fn ops(&self) -> OpSet {
        OpSet::ALL
    }

    fn counters(&self) -> &'static [CounterDecl] {
        NullCounter::ALL
    }
}

counters! {
    /// What the driver that answers every operation at once counts.
    NullCounter {
        Answered = CounterDecl::new("NULL", "Operations, each answered at once.");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_of_nothing_has_the_default_facts() {
        assert_eq!(NullPlan {}.facts(), DriverFacts::default());
        assert_eq!(NullPlan {}.describe().protocol, "");
    }
}
