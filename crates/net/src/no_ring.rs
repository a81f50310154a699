//! In place of `linux/ring` on systems without io_uring: a ring cannot be made.

use crate::link::{Link, ReadOutcome};
use crate::portable::Reactor;
use crate::ready::{Ready, SentBytes};
use std::convert::Infallible;
use std::io;
use std::time::Duration;

/// There is none.
#[derive(Debug)]
pub struct SocketRing(Infallible);

impl SocketRing {
    /// Fails.
    ///
    /// # Errors
    /// `Unsupported`.
    pub fn new() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// None.
    pub fn entered_count(&self) -> u64 {
        match self.0 {}
    }

    /// None.
    ///
    /// # Errors
    /// None.
    pub fn attach(&mut self, _link: &mut Link, _key: u64) -> io::Result<bool> {
        match self.0 {}
    }

    /// None.
    ///
    /// # Errors
    /// None.
    pub fn leave(&mut self, _slot: u32) -> io::Result<()> {
        match self.0 {}
    }

    /// None.
    pub fn is_attached(&self, _slot: u32) -> bool {
        match self.0 {}
    }

    /// None.
    pub fn has_left(&mut self, _slot: u32) -> bool {
        match self.0 {}
    }

    /// None.
    pub fn forget(&mut self, _link: &mut Link) {
        match self.0 {}
    }

    /// None.
    ///
    /// # Errors
    /// None.
    pub fn receive(&mut self, _slot: u32) -> io::Result<Option<ReadOutcome>> {
        match self.0 {}
    }

    /// None.
    pub fn bytes(&mut self) -> &mut [u8] {
        match self.0 {}
    }

    /// None.
    ///
    /// # Errors
    /// None.
    pub fn wait(
        &mut self,
        _reactor: &mut Reactor,
        _timeout: Option<Duration>,
        _ready: &mut Vec<Ready>,
    ) -> io::Result<()> {
        match self.0 {}
    }

    /// None.
    pub fn is_full(&self) -> bool {
        match self.0 {}
    }

    /// None.
    pub fn has_sends(&self) -> bool {
        match self.0 {}
    }

    /// None.
    pub fn is_queued(&self, _slot: u32) -> bool {
        match self.0 {}
    }

    /// None.
    pub fn send(&mut self, _slot: u32, _bytes: &mut Vec<u8>) -> bool {
        match self.0 {}
    }

    /// None.
    ///
    /// # Errors
    /// None.
    pub fn send_queued(&mut self) -> io::Result<()> {
        match self.0 {}
    }

    /// None.
    pub fn next_sent(&mut self) -> Option<SentBytes> {
        match self.0 {}
    }

    /// None.
    pub fn give_back(&mut self, _bytes: Vec<u8>) {
        match self.0 {}
    }
}
