//! The limits of a channel: those asked for and those granted (`channel_attrs4`, RFC 8881 section 18.36).

use super::refusal::SessionRefusal;
use super::slots::MAX_SLOTS;
use filermark_model::plan::MinorVersion;
use filermark_onc::nfs4::ChannelAttrs4;

/// Bytes of a message beside the data of a READ or WRITE: RPC header with credential, SEQUENCE, PUTFH,
/// attributes.
const OVERHEAD_BYTES: u32 = 4096;
/// Bytes of a reply that a server shall keep for a retry: all replies but those of READ and READDIR fit.
const CACHED_BYTES: u32 = 4096;
/// The longest list of operations that Filermark sends.
const MAX_OPERATIONS: u32 = 16;
/// What works at all: a RENAME between two directories has seven operations.
const LEAST_OPERATIONS: u32 = 8;
/// The shortest message that has space for data beside [`OVERHEAD_BYTES`].
const LEAST_BYTES: u32 = 2 * OVERHEAD_BYTES;

/// Limits of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelLimits {
    /// The longest call, in bytes, with its RPC header.
    pub request_bytes_max: u32,
    /// The longest reply, in bytes, with its RPC header.
    pub response_bytes_max: u32,
    /// The longest reply that the other side keeps for a retry, in bytes.
    pub cached_bytes_max: u32,
    /// The most operations in a COMPOUND, SEQUENCE included.
    pub operations_max: u32,
    /// Calls that may be under way together.
    pub slots: u32,
}

/// What a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionRequest {
    /// The minor version of all calls, also of the callbacks in the session.
    pub minor: MinorVersion,
    /// For calls.
    pub fore: ChannelLimits,
    /// For callbacks.
    pub back: ChannelLimits,
    /// Whether the connection shall carry callbacks. Who asks for that must answer them.
    pub callbacks: bool,
    /// Whether the client uses layouts (pNFS).
    pub layouts: bool,
}

impl SessionRequest {
    /// A session for READs and WRITEs of up to `transfer_bytes`, with so many slots, without callbacks.
    pub fn new(minor: MinorVersion, transfer_bytes: u32, slots: u32) -> Self {
        let bytes = transfer_bytes.saturating_add(OVERHEAD_BYTES);
        let bytes = bytes.max(LEAST_BYTES);
        let limits = |bytes, operations_max, slots| ChannelLimits {
            request_bytes_max: bytes,
            response_bytes_max: bytes,
            cached_bytes_max: CACHED_BYTES,
            operations_max,
            slots,
        };
        Self {
            minor,
            fore: limits(bytes, MAX_OPERATIONS, slots.clamp(1, MAX_SLOTS)),
            back: limits(OVERHEAD_BYTES, 8, 1),
            callbacks: false,
            layouts: false,
        }
    }

    /// The same with callbacks on the connection.
    #[must_use]
    pub const fn with_callbacks(mut self) -> Self {
        self.callbacks = true;
        self
    }

    /// The same with layouts, if they are used.
    #[must_use]
    pub const fn with_layouts(mut self, layouts: bool) -> Self {
        self.layouts = layouts;
        self
    }
}

impl ChannelLimits {
    /// The most bytes of data that a WRITE has space for.
    pub const fn write_bytes_max(&self) -> u32 {
        self.request_bytes_max.saturating_sub(OVERHEAD_BYTES / 2)
    }

    /// The most bytes of data that the reply of a READ has space for.
    pub const fn read_bytes_max(&self) -> u32 {
        self.response_bytes_max.saturating_sub(OVERHEAD_BYTES / 2)
    }

    pub(super) const fn to_attributes(self) -> ChannelAttrs4 {
        ChannelAttrs4 {
            headerpadsize: 0,
            maxrequestsize: self.request_bytes_max,
            maxresponsesize: self.response_bytes_max,
            maxresponsesize_cached: self.cached_bytes_max,
            maxoperations: self.operations_max,
            maxrequests: self.slots,
            rdma_ird: None,
        }
    }

    /// What the server granted; never more than was asked for.
    pub(super) fn granted(&self, granted: &ChannelAttrs4) -> Self {
        Self {
            request_bytes_max: granted.maxrequestsize.min(self.request_bytes_max),
            response_bytes_max: granted.maxresponsesize.min(self.response_bytes_max),
            cached_bytes_max: granted.maxresponsesize_cached.min(self.cached_bytes_max),
            operations_max: granted.maxoperations.min(self.operations_max),
            slots: granted.maxrequests.min(self.slots),
        }
    }

    /// Whether calls can be made within these limits.
    pub(super) fn check(&self) -> Result<(), SessionRefusal> {
        for (field, granted, least) in [
            ("ca_maxrequestsize", self.request_bytes_max, LEAST_BYTES),
            ("ca_maxresponsesize", self.response_bytes_max, LEAST_BYTES),
            ("ca_maxoperations", self.operations_max, LEAST_OPERATIONS),
            ("ca_maxrequests", self.slots, 1),
        ] {
            if granted < least {
                return Err(SessionRefusal::TooLittle {
                    field,
                    granted,
                    least,
                });
            }
        }
        Ok(())
    }
}
