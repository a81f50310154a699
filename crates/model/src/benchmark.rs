//! Benchmarks: named, versioned definitions that ship as data files.

mod commit;
mod definition;
mod headline;
mod heritage;
mod types;

pub use crate::plan::Protocol;
pub use commit::{CommitPolicy, Deferral};
pub use definition::{DefinitionError, NFS2_FILE_BYTES_MAX};
pub use headline::Headline;
pub use heritage::HERITAGE_NOTICE;
pub use types::{Benchmark, ClassicWork, FileSetRule, Heritage, Standard, Work};

/// The definition files that ship with the program: (name, text).
pub const SHIPPED: &[(&str, &str)] = &[
    (
        "general-nfs3",
        include_str!("../definitions/general-nfs3.toml"),
    ),
    (
        "general-nfs40",
        include_str!("../definitions/general-nfs40.toml"),
    ),
    (
        "general-nfs41",
        include_str!("../definitions/general-nfs41.toml"),
    ),
    (
        "general-nfs42",
        include_str!("../definitions/general-nfs42.toml"),
    ),
    (
        "general-smb1",
        include_str!("../definitions/general-smb1.toml"),
    ),
    (
        "general-smb2",
        include_str!("../definitions/general-smb2.toml"),
    ),
    ("nfs2-1993", include_str!("../definitions/nfs2-1993.toml")),
    ("nfs2-1997", include_str!("../definitions/nfs2-1997.toml")),
    ("nfs3-1997", include_str!("../definitions/nfs3-1997.toml")),
    ("nfs3-2001", include_str!("../definitions/nfs3-2001.toml")),
    (
        "nfs42-offload",
        include_str!("../definitions/nfs42-offload.toml"),
    ),
];

/// Why a definition cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BenchmarkError {
    /// No definition of that name ships with the program.
    #[error("there is no benchmark '{0}'; known: {1}")]
    Unknown(String, String),
    /// The text is no definition.
    #[error("benchmark definition '{name}': {reason}")]
    Text {
        /// Which definition.
        name: String,
        /// What is wrong, with its line.
        reason: String,
    },
}

impl Benchmark {
    /// A shipped definition by name.
    ///
    /// # Errors
    /// The name is unknown, or (a defect) the shipped text is wrong.
    pub fn shipped(name: &str) -> Result<Self, BenchmarkError> {
        let Some((_, text)) = SHIPPED.iter().find(|(n, _)| *n == name) else {
            let known = SHIPPED.iter().map(|(n, _)| *n).collect::<Vec<_>>();
            return Err(BenchmarkError::Unknown(name.into(), known.join(", ")));
        };
        Self::from_toml(name, text)
    }

    /// Reads a definition; `name` is used in error messages.
    ///
    /// # Errors
    /// What is wrong with the text, and where.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, BenchmarkError> {
        Self::classic_from_toml(text).map_err(|e| BenchmarkError::Text {
            name: name.into(),
            reason: e.to_string(),
        })
    }

    /// Reads a definition; the error knows its place in the text.
    ///
    /// # Errors
    /// What is wrong with the text, and where.
    pub fn classic_from_toml(text: &str) -> Result<Self, DefinitionError> {
        definition::read(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Op;
    use crate::units::Bytes;

    #[test]
    fn every_shipped_definition_reads() {
        for (name, _) in SHIPPED {
            assert_eq!(Benchmark::shipped(name).unwrap().name, *name);
        }
        assert!(Benchmark::shipped("nfs").is_err());
    }

    #[test]
    fn the_older_generations_keep_to_what_is_known() {
        for (name, limit_ms, mb_per_op, access_pcnt) in [
            ("nfs2-1993", 50.0, 5.0, 20.0),
            ("nfs2-1997", 40.0, 10.0, 10.0),
            ("nfs3-1997", 40.0, 10.0, 10.0),
            ("nfs3-2001", 40.0, 10.0, 10.0),
        ] {
            let b = Benchmark::shipped(name).unwrap();
            assert_eq!(b.standard.response_limit_ms, limit_ms, "{name}");
            let c = b.classic().unwrap();
            assert_eq!(c.fileset.mb_per_op, mb_per_op);
            assert_eq!(b.standard.block_size_kib, Some(8), "sources.md 1.4");
            assert_eq!(c.fileset.access_pcnt, access_pcnt);
            assert_eq!(
                [
                    c.fileset.dir_count,
                    c.fileset.symlink_count,
                    c.fileset.file_count
                ],
                [20, 20, 100]
            );
            // sources.md 1.4: 128 KB and a fragment of 7.
            assert_eq!(c.read_sizes.max(), Bytes::from_kib(135));
            assert_eq!(c.write_sizes.max(), Bytes::from_kib(135));
            let heritage = b.heritage.expect("it is after an older one");
            assert!(heritage.generation.contains(name.get(5..).unwrap()));
            assert!(
                heritage
                    .caveats
                    .iter()
                    .any(|c| c.contains("never comparable"))
            );
        }
        // sources.md 1.3: the mean of the list is 26.7 KB.
        let b = Benchmark::shipped("nfs3-2001").unwrap();
        let mean_kib = b.classic().unwrap().file_sizes.mean_bytes() / 1024.0;
        assert!((mean_kib - 26.7).abs() < 0.05, "{mean_kib}");
    }

    #[test]
    fn a_mix_that_is_published_with_another_total_is_scaled() {
        let b = Benchmark::shipped("nfs3-2001").unwrap();
        assert_eq!(b.heritage.unwrap().mix_total_pcnt, Some(99.0));
        assert!((b.mix.percent(Op::Lookup) - 27.0 / 0.99).abs() < 1e-9);
        assert!((b.mix.percent(Op::Commit) - 5.0 / 0.99).abs() < 1e-9);
        let (_, text) = SHIPPED.iter().find(|(n, _)| *n == "nfs3-2001").unwrap();
        for (changed, expected) in [
            (
                text.replace("commit = 5.0", "commit = 6.0"),
                "not to the 99",
            ),
            (text.replace("mix_total_pcnt = 99.0", ""), "not 100"),
            (
                text.replace("mix_total_pcnt = 99.0", "mix_total_pcnt = 0.0"),
                "not to the 0",
            ),
            (
                text.replace("\"nfs3\"", "\"nfs2\""),
                "NFS2 has no operation access",
            ),
        ] {
            let error = Benchmark::from_toml("changed", &changed)
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn smb1_takes_the_physical_transfers_of_the_sample() {
        let b = Benchmark::shipped("general-smb1").unwrap();
        let c = b.classic().unwrap();
        // Manual M, section 4.4, a CIFS run: 199307 physical of 184659 logical reads, and
        // 83248 of 77679 writes. Transfers are those of Filermark's SMB1.
        let block = Bytes::from_kib(60);
        let (reads, writes) = (199_307.0 / 184_659.0, 83_248.0 / 77_679.0);
        assert!((c.read_sizes.mean_transfers(block) - reads).abs() < 0.001);
        assert!((c.write_sizes.mean_transfers(block) - writes).abs() < 0.001);
        assert_eq!(c.read_sizes.max(), Bytes::from_kib(256));
        assert_eq!(c.write_sizes.max(), Bytes::from_kib(256));
        let mean_kib = c.write_sizes.mean_bytes() / 1024.0;
        assert!((17.0..34.0).contains(&mean_kib), "{mean_kib}");
    }

    #[test]
    fn general_nfs3_keeps_to_the_known_means() {
        let b = Benchmark::shipped("general-nfs3").unwrap();
        // Manual M, section 2.2.1: the mix. COMMIT has no share of its own.
        let mix = [
            (Op::Lookup, 24.0),
            (Op::Read, 18.0),
            (Op::Write, 10.0),
            (Op::Getattr, 26.0),
            (Op::Readlink, 1.0),
            (Op::Readdir, 1.0),
            (Op::Create, 1.0),
            (Op::Remove, 1.0),
            (Op::Fsstat, 1.0),
            (Op::Setattr, 4.0),
            (Op::Readdirplus, 2.0),
            (Op::Access, 11.0),
        ];
        for (op, percent) in mix {
            assert_eq!(b.mix.percent(op), percent, "{op}");
        }
        assert_eq!(b.mix.shares().len(), mix.len());
        let c = b.classic().unwrap();
        // sources.md 1.3 and 2.3: 383 files per op/s, files of 1 KB to 32 MB.
        let files_per_op = c.fileset.mb_per_op * 1048576.0 / c.file_sizes.mean_bytes();
        assert!((files_per_op - 383.0).abs() < 4.0, "{files_per_op}");
        assert_eq!(c.file_sizes.quantile(0.0), Bytes::from_kib(1));
        assert_eq!(c.file_sizes.max(), Bytes::from_mib(32));
        // Manual M, section 4.4: physical per logical transfer.
        let block = Bytes::from_kib(64);
        assert!((c.read_sizes.mean_transfers(block) - 1.079).abs() < 0.002);
        assert!((c.write_sizes.mean_transfers(block) - 1.072).abs() < 0.002);
        assert_eq!(c.read_sizes.max(), Bytes::from_kib(256));
        assert_eq!(c.write_sizes.max(), Bytes::from_kib(256));
        // Manual M, section 4.4: growth per append, 17 to 34 KB.
        let mean_kib = c.write_sizes.mean_bytes() / 1024.0;
        assert!((17.0..34.0).contains(&mean_kib), "{mean_kib}");
    }
}
