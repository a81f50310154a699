//! The NFSv3 client against the embedded server and against worse ones.

mod check_list;
mod claims;
mod flavors;
mod lies;
mod proxy;
mod real;
mod sentences;
mod support;
mod validation;
mod validation2;
