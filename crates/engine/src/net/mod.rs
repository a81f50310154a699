//! The thin event loop that socket drivers share: non-blocking TCP connections,
//! readiness, coalesced writes. It moves bytes and knows no protocol.
