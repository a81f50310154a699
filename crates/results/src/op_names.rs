//! The names of the operations in netmist's logs (manual N, section 19); `rmdir`,
//! `unlink2` and the custom ones have names of the same form.

use filermark_model::Op;

/// The operations as client logs call them, in their order.
pub(crate) const CLIENT_NAMES: &[(Op, &str)] = &[
    (Op::Read, "Read ops"),
    (Op::ReadFile, "Read file ops"),
    (Op::MmapRead, "Mmap read file ops"),
    (Op::ReadRandom, "Read rand file ops"),
    (Op::Write, "Write ops"),
    (Op::WriteFile, "Write file ops"),
    (Op::MmapWrite, "Mmap write file ops"),
    (Op::WriteRandom, "Write rand file ops"),
    (Op::Rmw, "Rmw ops"),
    (Op::Mkdir, "Mkdir ops"),
    (Op::Rmdir, "Rmdir ops"),
    (Op::Create, "Create ops"),
    (Op::Unlink, "Unlink ops"),
    (Op::Unlink2, "Unlink2 ops"),
    (Op::Append, "Append file ops"),
    (Op::Locking, "Lock ops"),
    (Op::Access, "Access ops"),
    (Op::Stat, "Stat ops"),
    (Op::Chmod, "Chmod ops"),
    (Op::Readdir, "Readdir ops"),
    (Op::Copyfile, "Copyfile ops"),
    (Op::Rename, "Rename ops"),
    (Op::Statfs, "Statfs ops"),
    (Op::Pathconf, "Pathconf ops"),
    (Op::Custom1, "Custom1 ops"),
    (Op::Custom2, "Custom2 ops"),
];

/// The operations as workload logs call them, in their order.
pub(crate) const WORKLOAD_NAMES: &[(Op, &str)] = &[
    (Op::Write, "Write ops"),
    (Op::WriteFile, "Write file ops"),
    (Op::MmapWrite, "Mmap write ops"),
    (Op::Read, "Read ops"),
    (Op::ReadFile, "Read file ops"),
    (Op::MmapRead, "Mmap read ops"),
    (Op::Mkdir, "Mkdir ops"),
    (Op::Rmdir, "Rmdir ops"),
    (Op::Create, "create ops"),
    (Op::Unlink, "unlink ops"),
    (Op::Unlink2, "unlink2 ops"),
    (Op::Stat, "stat ops"),
    (Op::Append, "append ops"),
    (Op::Locking, "lock ops"),
    (Op::Access, "access ops"),
    (Op::Chmod, "chmod ops"),
    (Op::Readdir, "readdir ops"),
    (Op::WriteRandom, "write_rand ops"),
    (Op::ReadRandom, "read_rand ops"),
    (Op::Rmw, "rmw ops"),
    (Op::Copyfile, "copyfile ops"),
    (Op::Rename, "rename ops"),
    (Op::Statfs, "statfs ops"),
    (Op::Pathconf, "pathconf ops"),
    (Op::Custom1, "custom1 ops"),
    (Op::Custom2, "custom2 ops"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_its_line() {
        for names in [CLIENT_NAMES, WORKLOAD_NAMES] {
            for op in Op::POSIX {
                assert_eq!(names.iter().filter(|(o, _)| o == op).count(), 1, "{op}");
            }
        }
    }
}
