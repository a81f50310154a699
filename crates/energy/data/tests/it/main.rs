//! What the room does with what comes from outside.

mod capture;
mod encode;
mod hostile;
mod ports;
mod sflowtool;
mod wire;
