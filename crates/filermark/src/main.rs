//! The binary: glue only, one small file per subcommand.
fn main() {}
