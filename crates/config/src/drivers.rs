//! The drivers in the configuration: the parameters that each adds, and how its
//! settings are made from them. A driver is a module here and an entry of [`DRIVERS`]; its other
//! properties are in `model/src/plan/driver.rs`.

mod entry;
mod nfs;
mod null;
mod posix;
mod smb;

use crate::params::{DriverWord, Parameter, own_parameters};
pub(crate) use entry::{DriverParams, DriverRequest, protocols};
use filermark_model::benchmark::Protocol;

/// All of them.
static DRIVERS: [&DriverParams; 4] = [&nfs::DRIVER, &smb::DRIVER, &posix::DRIVER, &null::DRIVER];

impl Parameter {
    /// All of them: the 2008 ones in their classical order, those of composite benchmarks, those
    /// of client hosts, Filermark's own, then those of the drivers.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        let of_drivers = DRIVERS.iter().flat_map(|driver| driver.parameters);
        own_parameters().chain(of_drivers).copied()
    }

    /// Finds one by name or alias (upper case, as in rc files).
    pub fn find(name: &str) -> Option<&'static Self> {
        Self::all().find(|p| p.name == name || p.aliases.contains(&name))
    }
}

/// All drivers.
pub(crate) fn drivers() -> impl Iterator<Item = &'static DriverParams> {
    DRIVERS.iter().copied()
}

/// The driver of this name, as in plans.
pub(crate) fn driver(name: &str) -> Option<&'static DriverParams> {
    drivers().find(|driver| driver.name == name)
}

/// The driver that a word of DRIVER chooses.
pub(crate) fn driver_of_word(word: DriverWord) -> Option<&'static DriverParams> {
    let protocol = protocols().find(|p| p.decl().driver_word == word.0);
    driver(protocol.map_or(word.0, Protocol::driver))
}

/// The driver of a benchmark's protocol.
///
/// The list of drivers has one for every protocol; a test checks that.
pub(crate) fn driver_of(protocol: Protocol) -> Option<&'static DriverParams> {
    driver(protocol.driver())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::WordList;
    use filermark_model::plan::DriverPlan;

    #[test]
    fn every_driver_of_a_plan_is_in_the_list_and_every_word_chooses_one() {
        let of_plans = DriverPlan::defaults();
        assert!(
            of_plans
                .iter()
                .map(DriverPlan::name)
                .eq(drivers().map(|d| d.name))
        );
        assert!(protocols().all(|protocol| driver_of(protocol).is_some()));
        for word in WordList::Drivers.words() {
            assert!(driver_of_word(DriverWord(word)).is_some(), "{word}");
        }
        assert_eq!(
            WordList::Drivers.words(),
            [
                "nfs2", "nfs3", "nfs40", "nfs41", "nfs42", "smb", "posix", "null"
            ]
        );
        assert_eq!(WordList::Protocols.words(), ["nfs", "cifs", "smb"]);
    }
}
