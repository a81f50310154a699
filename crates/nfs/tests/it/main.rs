//! The NFS client against the embedded server and against worse ones.

mod check_list;
mod claims;
mod delegations;
mod fake4;
mod flavors;
mod layouts;
mod lies;
mod proxy;
mod real;
mod real4;
mod sentences;
mod support;
mod trunks;
mod validation;
mod validation2;
mod version4;
