//! The NFSv3 client against the embedded server and against worse ones.

mod real;
mod support;
mod validation;
