//! How checks of SMB are declared.

use super::bench::Bench;
use filermark_driver_kit::checks::{self, Suite};
use filermark_model::smb::Dialect;

/// The checks of SMB.
pub struct Smb;

/// One check.
pub type Check = checks::Check<Smb>;

impl Suite for Smb {
    type Bench<'a> = Bench<'a>;
    /// The logical operation: "OPEN".
    type About = &'static str;
    /// Where it is specified: for SMB1, for SMB2.
    type Rule = (&'static str, &'static str);
    type Dialect = Dialect;

    fn name_of(operation: &'static str) -> &'static str {
        operation
    }

    fn dialect_name(dialect: Dialect) -> Option<&'static str> {
        Some(dialect.name())
    }

    fn section_of(check: &Check, dialect: Dialect) -> String {
        let (smb1, smb2) = check.rule.unwrap_or_default();
        match dialect {
            Dialect::Nt1 => smb1.to_owned(),
            _ => smb2.to_owned(),
        }
    }
}
