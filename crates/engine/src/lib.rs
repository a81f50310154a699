//! The load engine: procs, pacing, file set, shards and phases. Knows no protocol.
