//! The NFSv3 driver and the protocol validator.
