//! Tests, a file for each subject.

mod manual;
mod slurm;
