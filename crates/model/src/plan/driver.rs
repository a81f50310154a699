//! The drivers that a plan can have, and the protocols whose operations they do: one list, from
//! which everything that distinguishes them is made.

mod nfs;
mod null;
mod posix;

use super::Labels;
use super::facts::{DriverFacts, DriverSettings, DriverText};
use crate::counter::CounterDecl;
use crate::mix::Mix;
use crate::op::{Op, OpSet};
use crate::protocol::{NfsVersion, ProtocolDecl};
use crate::secret::Secret;
use crate::smb::{self, SmbPlan};
pub use nfs::{
    ClientIds, DelegationUse, LayoutUse, NfsCounter, NfsPlan, NfsSecurity, TlsCertificate, TlsPlan,
};
pub use null::{NullCounter, NullPlan};
pub use posix::{PosixCounter, PosixPlan};
use serde::{Deserialize, Serialize};

macro_rules! drivers {
    (($dollar:tt) $(
        $(#[$meta:meta])*
        $driver:ident($settings:ident) = $name:literal in [$($entry:tt)+] {
            $($(#[$of_protocol:meta])* $protocol:ident = $decl:path,)*
        }
    )+) => {
        /// Which driver makes the load, and how.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "name")]
        #[allow(clippy::large_enum_variant, reason = "a run has one plan")]
        pub enum DriverPlan {
            $($(#[$meta])* #[serde(rename = $name)] $driver($settings),)+
        }

        /// The protocols whose operations a benchmark can have.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum Protocol {
            $($($(#[$of_protocol])* $protocol,)*)+
        }

        /// Calls a macro with the path of every driver's entry, each in brackets, for the list
        /// of the crate `drivers`.
        #[macro_export]
        macro_rules! for_each_driver {
            ($dollar callback:ident) => {
                $dollar callback! { $([$($entry)+])+ }
            };
        }

        impl DriverPlan {
            /// The driver's name, as plans and records have it.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$driver(_) => $name,)+
                }
            }

            /// Every driver, with the settings of a run whose parameters set none of them.
            pub fn defaults() -> Vec<Self> {
                vec![$(Self::$driver($settings::default()),)+]
            }

            fn settings(&self) -> &dyn DriverSettings {
                match self {
                    $(Self::$driver(settings) => settings,)+
                }
            }

            fn settings_mut(&mut self) -> &mut dyn DriverSettings {
                match self {
                    $(Self::$driver(settings) => settings,)+
                }
            }
        }

        impl Protocol {
            /// All of them.
            pub const ALL: &'static [Self] = &[$($(Self::$protocol,)*)+];

            /// What is known of it.
            pub const fn decl(self) -> &'static ProtocolDecl {
                match self {
                    $($(Self::$protocol => &$decl,)*)+
                }
            }

            /// The name of the driver that its operations belong to.
            pub const fn driver(self) -> &'static str {
                match self {
                    $($(Self::$protocol => $name,)*)+
                }
            }
        }

        $(
            impl $settings {
                /// The name of the driver, as plans and records have it.
                pub const DRIVER: &'static str = $name;

                /// The settings of a plan, if it has this driver.
                pub const fn of(plan: &DriverPlan) -> Option<&Self> {
                    match plan {
                        DriverPlan::$driver(settings) => Some(settings),
                        _ => None,
                    }
                }
            }

            impl From<$settings> for DriverPlan {
                fn from(settings: $settings) -> Self {
                    Self::$driver(settings)
                }
            }
        )+
    };
}

// A new driver: its settings, its name, the module that has its entry `DRIVER`, and the protocols
// that it adds.
drivers! {
    ($)
    /// Speaks NFS version 2 or 3 itself. (Records up to format 1 call it `nfs3`.)
    #[serde(alias = "nfs3")]
    Nfs(NfsPlan) = "nfs" in [filermark_nfs] {
        /// NFS version 2, over TCP or UDP.
        Nfs2 = nfs::NFS2,
        /// NFS version 3, over TCP or UDP.
        Nfs3 = nfs::NFS3,
        /// NFS version 4.0, over TCP.
        Nfs40 = nfs::NFS40,
        /// NFS version 4.1, over TCP.
        Nfs41 = nfs::NFS41,
        /// NFS version 4.2, over TCP.
        Nfs42 = nfs::NFS42,
    }
    /// Speaks SMB itself.
    Smb(SmbPlan) = "smb" in [filermark_smb] {
        /// SMB1 (NT LM 0.12) over TCP: the classical CIFS.
        Smb1 = smb::SMB1,
        /// SMB 2.0.2 to 3.1.1 over TCP.
        Smb2 = smb::SMB2,
    }
    /// Works on mounted file systems by system calls.
    Posix(PosixPlan) = "posix" in [filermark_posix] {
        /// A mounted file system, by system calls.
        Posix = posix::POSIX,
    }
    /// Answers every operation at once: measures the generator.
    Null(NullPlan) = "null" in [filermark_driver_kit::null] {}
}

impl DriverPlan {
    /// The driver that answers every operation at once.
    pub const NULL: Self = Self::Null(NullPlan {});

    /// What the driver does with these settings.
    pub fn facts(&self) -> DriverFacts {
        self.settings().facts()
    }

    /// The driver and its settings in text.
    pub fn describe(&self) -> DriverText {
        self.settings().describe()
    }

    /// The operations of a mix that it can do.
    pub fn ops(&self) -> OpSet {
        self.settings().ops()
    }

    /// Takes note of the operations that a run has.
    pub fn note_mix(&mut self, mix: &Mix) {
        self.settings_mut().note_mix(mix);
    }

    /// What to do where a mix has operations, `missing`, that it cannot do. `all` are those of the mix.
    pub fn advice_without(&self, missing: &[Op], all: &[Op]) -> String {
        self.settings().advice_without(missing, all)
    }

    /// What it counts beside the operations.
    pub fn counters(&self) -> &'static [CounterDecl] {
        self.settings().counters()
    }

    /// Its fields in the words of the parameters.
    pub fn labels(&self) -> Labels {
        self.settings().labels()
    }

    /// Its fields that say where and as whom the work is done, not what it is.
    pub fn places(&self) -> &'static [&'static str] {
        self.settings().places()
    }

    /// The password that it logs in with, where it does.
    pub fn password(&self) -> Option<&Secret> {
        self.settings().password()
    }

    /// Gives it the password, which plans come without; no use to those that need none.
    pub fn set_password(&mut self, password: Secret) {
        self.settings_mut().set_password(password);
    }
}

impl Protocol {
    /// Its operations, in the order of its tables.
    pub const fn ops(self) -> &'static [Op] {
        self.decl().ops
    }

    /// What it calls an operation: over SMB the name of the command, else that of the mix
    /// files.
    pub fn op_name(self, op: Op) -> &'static str {
        self.decl().op_name(op)
    }

    /// Where an operation stands in tables.
    pub fn op_place(self, op: Op) -> usize {
        self.decl().op_place(op)
    }

    /// Whether its operations come in sequences, since it has state.
    pub const fn is_sequential(self) -> bool {
        self.decl().is_sequential
    }

    /// The version of NFS that it is.
    pub const fn nfs_version(self) -> Option<NfsVersion> {
        self.decl().nfs_version
    }

    /// As sfssum spells it in column 6 (manual M, section 4.4).
    pub const fn sfssum_name(self) -> &'static str {
        self.decl().sfssum_name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_plan_is_written_under_the_name_of_its_driver() {
        for plan in DriverPlan::defaults() {
            let text = serde_json::to_string(&plan).unwrap();
            assert!(text.starts_with(&format!("{{\"name\":\"{}\"", plan.name())));
            assert_eq!(serde_json::from_str::<DriverPlan>(&text).unwrap(), plan);
        }
        let null = serde_json::to_string(&DriverPlan::NULL).unwrap();
        assert_eq!(null, r#"{"name":"null"}"#);
    }

    #[test]
    fn the_settings_of_a_plan_are_those_of_its_driver() {
        for plan in DriverPlan::defaults() {
            let found = [
                NfsPlan::of(&plan).is_some(),
                SmbPlan::of(&plan).is_some(),
                PosixPlan::of(&plan).is_some(),
                NullPlan::of(&plan).is_some(),
            ];
            assert_eq!(found.iter().filter(|found| **found).count(), 1);
        }
    }

    #[test]
    fn a_driver_does_the_operations_of_its_protocols() {
        for plan in DriverPlan::defaults() {
            // Of NFS the one of the version that a plan has where nothing else is chosen.
            let is_its = |p: &&Protocol| {
                p.driver() == plan.name()
                    && p.nfs_version().is_none_or(|v| v == NfsVersion::default())
            };
            let own = Protocol::ALL.iter().filter(is_its);
            let best = own.max_by_key(|protocol| protocol.ops().len());
            for op in best.map_or(&[][..], |protocol| protocol.ops()) {
                assert!(plan.ops().contains(*op), "{} {op}", plan.name());
            }
        }
    }

    #[test]
    fn a_counter_is_declared_once_with_a_sentence() {
        for plan in DriverPlan::defaults() {
            let mut names = BTreeSet::new();
            for counter in plan.counters() {
                assert!(names.insert(counter.name), "{} twice", counter.name);
                assert!(counter.text.ends_with('.'), "{}", counter.name);
                assert!(!counter.finding.is_some_and(|f| f.message.is_empty()));
            }
        }
    }
}
