//! Decoding of external input.

mod capture;
mod encode;
mod hostile;
mod ports;
mod sflowtool;
mod wire;
