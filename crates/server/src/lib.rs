//! The embedded NFSv3 server: an in-memory file system behind the shared codecs.

pub mod memfs;
