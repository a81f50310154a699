//! Reductions of a made-up lab, whose rows are the seed's.

mod interfaces;
mod lab;
mod meters;
mod rows;
mod rules;
