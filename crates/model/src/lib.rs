//! The vocabulary of Filermark as types: operations, mixes, distributions, plans, statistics. No I/O.
