//! The parameters: one declaration each. The parser, the help, the template,
//! the reference page and the not-standard findings are all made from it.

mod classic;
mod composite;
mod decl;
mod filermark;
mod launch;
mod mixfile_help;
mod value;

pub(crate) use classic::*;
pub(crate) use composite::*;
pub use decl::{Family, Group, Kind, Origin, Parameter, Scope, StandardValue, WordList};
pub(crate) use filermark::*;
pub(crate) use launch::*;
pub(crate) use value::{
    DriverWord, FromValue, Launcher, Param, Shape, Single, Value, WarmUp, choice, choices,
    parameters,
};

/// The parameters that do not belong to a single driver.
pub(crate) fn own_parameters() -> impl Iterator<Item = &'static &'static Parameter> {
    let known = classic::PARAMETERS.iter().chain(composite::PARAMETERS);
    known.chain(launch::PARAMETERS).chain(filermark::PARAMETERS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::given::check;
    use filermark_model::{Benchmark, Op};
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_every_text_is_there() {
        let mut seen = BTreeSet::new();
        for p in Parameter::all() {
            for name in std::iter::once(&p.name).chain(p.aliases) {
                assert!(seen.insert(*name), "{name} twice");
                assert_eq!(Parameter::find(name).unwrap().name, p.name);
            }
            assert!(!p.one_line.is_empty() && !p.one_line.ends_with('.'));
            assert!(p.one_line.len() <= 76, "{}: one line too long", p.name);
        }
        assert!(Parameter::find("load").is_none());
    }

    #[test]
    fn the_2008_parameters_of_the_facts_are_all_known() {
        let names = "LOAD INCR_LOAD NUM_RUNS PROCS NUM_PROCS CLIENTS MNT_POINTS BIOD_MAX_WRITES \
             BIOD_MAX_READS IPV6_ENABLE FS_PROTOCOL USERNAME PASSWORD DOMAIN SFS_DIR SUFFIX \
             WORK_DIR PRIME_MON_SCRIPT PRIME_MON_ARGS INIT_TIMEOUT BLOCK_SIZE SFS_NFS_USER_ID \
             SFS_NFS_GROUP_ID RUNTIME WARMUP_TIME MIXFILE ACCESS_PCNT APPEND_PCNT BLOCK_FILE \
             DIR_COUNT FILE_COUNT SYMLINK_COUNT TCP DEBUG DUMP POPULATE LAT_GRAPH PRIME_SLEEP \
             PRIME_TIMEOUT";
        for name in names.split_whitespace() {
            let p = Parameter::find(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(p.origin, Origin::Classic2008, "{name}");
        }
    }

    #[test]
    fn every_default_example_and_standard_value_is_a_value_of_its_kind() {
        let benchmark = Benchmark::shipped("general-nfs3").unwrap();
        for p in Parameter::all() {
            let fixed = match p.standard {
                StandardValue::Fixed(text) => Some(text.to_owned()),
                _ => None,
            };
            let texts = [
                Some(p.example.to_owned()),
                fixed,
                p.default_text(&benchmark),
            ];
            for text in texts.into_iter().flatten().filter(|t| !t.is_empty()) {
                assert!(check(p, &text).is_ok(), "{}={text}", p.name);
            }
        }
    }

    #[test]
    fn the_help_of_mixfile_names_every_operation_of_mix_files() {
        let help = Parameter::find("MIXFILE").unwrap().long_help;
        let names: BTreeSet<&str> = help.split([' ', ',', '.', ';']).collect();
        for op in Op::NFS42.iter().chain(Op::SMB) {
            assert!(names.contains(op.name()), "{}", op.name());
        }
    }
}
