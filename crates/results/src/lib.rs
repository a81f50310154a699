//! The run record, validity, ORT, and the classical text files.
