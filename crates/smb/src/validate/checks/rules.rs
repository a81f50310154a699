//! Where operations are specified.

/// Where an operation is specified: for SMB1, for SMB2.
pub(super) type Rule = (&'static str, &'static str);

pub(super) const OPEN: Rule = ("MS-CIFS 2.2.4.64", "MS-SMB2 3.3.5.9, MS-FSA 2.1.5.1");
pub(super) const CLOSE: Rule = ("MS-CIFS 2.2.4.5", "MS-SMB2 3.3.5.10");
pub(super) const READ: Rule = ("MS-CIFS 2.2.4.42, MS-SMB 2.2.4.2", "MS-SMB2 3.3.5.12");
pub(super) const WRITE: Rule = ("MS-CIFS 2.2.4.43, MS-SMB 2.2.4.3", "MS-SMB2 3.3.5.13");
pub(super) const LOCK: Rule = ("MS-CIFS 2.2.4.32", "MS-SMB2 3.3.5.14");
pub(super) const SET: Rule = ("MS-CIFS 2.2.6.9", "MS-SMB2 3.3.5.21");
