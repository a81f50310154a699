//! The parts of `quick`, and the rc file of each with the files that it names.

use super::target::Target;
use filermark_config::inline_procs;
use std::fmt::Write as _;

/// The smallest file set of a proc on a directory, in MiB: two buckets with a file of 1 MiB.
pub const PROC_MIB_MIN: u64 = 2;

/// The size of the files of the metadata part over NFS or SMB, in KiB.
const METADATA_FILE_KIB: u64 = 64;
/// Files of each bucket of the classical mix on a directory, at most; their size in KiB; and the
/// buckets and directories of a proc, which have so many each.
const MIX_FILES_MAX: u64 = 20;
const MIX_FILE_KIB: u64 = 24;
const MIX_BUCKETS: u64 = 12;

/// One part: a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Attributes, names and directories.
    Metadata,
    /// 4 KiB at random places: 70 % reads.
    Random,
    /// 1 MiB one after the other: half reads.
    Sequential,
    /// A classical mix of file operations.
    Mix,
    /// The workload of `-w`.
    Own,
}

impl Part {
    /// Those without `-w`, in the order of their execution: the smallest file set first.
    pub const STANDARD: [Self; 4] = [Self::Metadata, Self::Random, Self::Sequential, Self::Mix];

    /// Its name in file names and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Metadata => "metadata",
            Self::Random => "random",
            Self::Sequential => "sequential",
            Self::Mix => "mix",
            Self::Own => "own",
        }
    }

    /// What it does, for the table.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Metadata => "metadata",
            Self::Random => "random 4K, 70/30",
            Self::Sequential => "sequential 1 MiB",
            Self::Mix => "classical mix",
            Self::Own => "own workload",
        }
    }

    /// The mix file over NFS or SMB; `None`: the benchmark's own mix.
    const fn mix(self, target: &Target) -> Option<&'static str> {
        let is_smb = matches!(target, Target::Smb { .. });
        match (self, is_smb) {
            (Self::Metadata, false) => Some(
                "getattr 35%\nlookup 25%\naccess 10%\nsetattr 5%\ncreate 5%\nremove 5%\n\
                 readdir 5%\nreaddirplus 5%\nreadlink 5%\n",
            ),
            (Self::Metadata, true) => {
                Some("query_path 40%\nfind 15%\nopen 15%\nclose 15%\nquery_file 10%\nset_file 5%\n")
            }
            (Self::Random, false) => Some("read 70%\nwrite 30%\n"),
            (Self::Random, true) => Some("read 68.6%\nwrite 29.4%\nopen 1%\nclose 1%\n"),
            (Self::Sequential, false) => Some("read 50%\nwrite 50%\n"),
            (Self::Sequential, true) => Some("read 49%\nwrite 49%\nopen 1%\nclose 1%\n"),
            (Self::Mix | Self::Own, _) => None,
        }
    }

    /// Directories, files and symbolic links of each proc over NFS or SMB: few, so that slow targets
    /// make them in seconds.
    fn object_counts(self, target: &Target) -> impl Iterator<Item = (&'static str, u32)> {
        let (dirs, files, links) = match self {
            Self::Metadata => (5, 40, 5),
            Self::Random | Self::Sequential => (1, 1, 1),
            Self::Mix | Self::Own => (10, 30, 5),
        };
        let links = matches!(target, Target::Nfs(_)).then_some(("SYMLINK_COUNT", links));
        [("DIR_COUNT", dirs), ("FILE_COUNT", files)]
            .into_iter()
            .chain(links)
    }

    /// The sizes of transfers over NFS or SMB, in KiB; `None`: those of the benchmark.
    const fn transfer_kib(self) -> Option<u32> {
        match self {
            // Metadata has no transfers; they must fit its files.
            Self::Random | Self::Metadata => Some(4),
            Self::Sequential => Some(1024),
            Self::Mix | Self::Own => None,
        }
    }
}

/// How a part is run.
#[derive(Clone, Debug)]
pub struct PartSetup<'a> {
    /// The workload of [`Part::Own`], on one line.
    pub line: Option<&'a str>,
    /// Procs.
    pub procs: u32,
    /// The largest size of the file set, in MiB.
    pub mib: u64,
    /// Reads and writes of a directory's files use O_DIRECT.
    pub direct: bool,
    /// The port of MOUNT, where the host has no portmapper.
    pub mount_port: Option<u16>,
    /// Lengths of WARMUP and RUN, in seconds.
    pub seconds: (f64, f64),
    /// Further parameters, names and values: they replace those of the part.
    pub options: &'a [(String, String)],
}

/// The texts of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartFiles {
    /// The rc file.
    pub rc: String,
    /// Where the lines of the options begin in it, which are the last.
    pub options_at: usize,
    /// The files that it names: name and text.
    pub others: Vec<(String, String)>,
}

/// The files of a part on a target; `base` is the beginning of their names.
pub fn files(part: Part, target: &Target, setup: &PartSetup<'_>, base: &str) -> PartFiles {
    let mut rc = format!(
        "# {} of `filermark quick`, as fast as the target answers.\n",
        part.title()
    );
    let mut others = Vec::new();
    let mut set = |name: &str, value: &str| {
        if !setup.options.iter().any(|(own, _)| own == name) {
            let _ = writeln!(rc, "{name}={}", quoted(value));
        }
    };
    match target {
        Target::Directory(path) => {
            let mut load = setup.procs;
            if let Some(line) = setup.line {
                set("WORKLOAD", line);
                // A unit of load has the procs that the line names.
                if inline_procs(line).is_some() {
                    load = 1;
                }
            } else {
                let definitions = format!("{base}-{}.toml", part.name());
                set("BENCHMARK", &benchmark_name(part));
                set("BENCHMARK_FILE", &definitions);
                others.push((definitions, definition(part, setup)));
            }
            set(
                "CLIENT_MOUNTPOINTS",
                &format!("localhost:{}", path.display()),
            );
            set("LOAD", &load.to_string());
        }
        Target::Nfs(_) | Target::Smb { .. } => {
            let (driver, mount) = match target {
                Target::Smb { share, .. } => ("smb", share.as_str()),
                Target::Nfs(export) => ("nfs", export.as_str()),
                Target::Directory(_) => unreachable!("above"),
            };
            set("FS_PROTOCOL", driver);
            set("MNT_POINTS", mount);
            set("PROCS", &setup.procs.to_string());
            set("LOAD", "max");
            set("FILESET_MB", &setup.mib.to_string());
            // Nothing is appended: at full speed there is no limit to the growth.
            set("ACCESS_PCNT", "100");
            set("APPEND_PCNT", "0");
            for (name, count) in part.object_counts(target) {
                set(name, &count.to_string());
            }
            if let Some(port) = setup.mount_port {
                set("MOUNT_PORT", &port.to_string());
            }
            if let Some(mix) = part.mix(target) {
                let name = format!("{base}-{}.mix", part.name());
                set("MIXFILE", &name);
                others.push((name, format!("SFS MIXFILE VERSION 2\n{mix}")));
            }
            if let Some(kib) = part.transfer_kib() {
                let name = format!("{base}-{}.sizes", part.name());
                set("BLOCK_FILE", &name);
                others.push((name, format!("read {kib} 100%\nwrite {kib} 100%\n")));
                let file_kib = match part {
                    Part::Metadata => METADATA_FILE_KIB,
                    _ => file_kib(setup),
                };
                set("FILE_SIZE", &format!("{file_kib}k"));
            }
            if let Target::Smb {
                user: Some(user), ..
            } = target
            {
                set("USERNAME", user);
            }
        }
    }
    let (warmup, run) = setup.seconds;
    set("WARMUP_TIME", &format!("{warmup:.1}"));
    set("RUNTIME", &format!("{run:.1}"));
    // Of the free space quick takes 5 % at most, however full the file system is.
    set("SPACE_RESERVE", "0");
    set("STOP_IF", "p99>5s for 10s, errors>50%, free<1%");
    // The classical limits are those of a requested rate.
    set("RESPONSE_LIMIT_MS", "0");
    let options_at = rc.len();
    for (name, value) in setup.options {
        let _ = writeln!(rc, "{name}={}", quoted(value));
    }
    PartFiles {
        rc,
        options_at,
        others,
    }
}

/// A value of an rc file, which has no more than one kind of quotes.
fn quoted(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/:%".contains(c);
    match (value.chars().all(is_plain), value.contains('\'')) {
        (true, _) => value.to_owned(),
        (false, false) => format!("'{value}'"),
        (false, true) => format!("\"{value}\""),
    }
}

/// The size of the files of the parts with transfers of one size, in KiB: two for each proc (on a
/// directory one in each of the two buckets that have data), whole MiB: a transfer of 1 MiB at the
/// end of a file would be shorter otherwise.
fn file_kib(setup: &PartSetup<'_>) -> u64 {
    (setup.mib / u64::from(setup.procs.max(1)) / 2).max(1) << 10
}

/// The files of each bucket of the classical mix on a directory, so that they fit the share of a
/// proc.
fn mix_files(setup: &PartSetup<'_>) -> u64 {
    let proc_kib = (setup.mib << 10) / u64::from(setup.procs.max(1));
    (proc_kib / (MIX_FILE_KIB * MIX_BUCKETS)).clamp(1, MIX_FILES_MAX)
}

fn benchmark_name(part: Part) -> String {
    format!("QUICK_{}", part.name().to_ascii_uppercase())
}

/// The definition of a part on a directory: a benchmark and, but for the mix, its workload.
fn definition(part: Part, setup: &PartSetup<'_>) -> String {
    let name = benchmark_name(part);
    let (mix, transfer) = match part {
        Part::Metadata => (
            "stat = 40\naccess = 15\ncreate = 12\nunlink = 12\nreaddir = 8\nchmod = 5\n\
             mkdir = 3\nrmdir = 3\nrename = 2\n",
            None,
        ),
        Part::Random => ("read_random = 70\nwrite_random = 30\n", Some(4096)),
        Part::Sequential => ("read = 50\nwrite = 50\n", Some(1 << 20)),
        Part::Mix | Part::Own => ("", None),
    };
    let direct = if setup.direct { 100 } else { 0 };
    let mut text = String::new();
    if part != Part::Mix {
        let _ = writeln!(
            text,
            "[[workload]]\nname = \"{name}\"\ntitle = \"{}\"",
            part.title()
        );
        // The tables must be there; metadata has no transfers.
        let bytes = transfer.unwrap_or(4096);
        for table in ["read_transfers", "write_transfers"] {
            let _ = writeln!(
                text,
                "{table} = [{{ min_bytes = {bytes}, max_bytes = {bytes}, percent = 100 }}]"
            );
        }
        let _ = write!(text, "[workload.mix]\n{mix}");
        if transfer.is_some() {
            let _ = writeln!(text, "[workload.attributes]\ndirect_pcnt = {direct}");
        }
        text.push('\n');
    }
    let workload = match part {
        Part::Mix => "METADATA",
        _ => &name,
    };
    let (dirs, files, kib) = match part {
        Part::Metadata => (5, 20, 4),
        Part::Random | Part::Sequential => (1, 1, file_kib(setup)),
        Part::Mix | Part::Own => (2, mix_files(setup), MIX_FILE_KIB),
    };
    let _ = write!(
        text,
        "[[benchmark]]\nname = \"{name}\"\nunit = \"PROC\"\n[[benchmark.component]]\n\
         workload = \"{workload}\"\ndir_count = {dirs}\nfiles_per_dir = {files}\nfile_kib = {kib}\n"
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_config::{RcFile, Sources, resolve};

    fn setup() -> PartSetup<'static> {
        PartSetup {
            line: None,
            procs: 4,
            mib: 64,
            direct: true,
            mount_port: None,
            seconds: (1.0, 5.0),
            options: &[],
        }
    }

    /// Also where the procs and the free space share no power of two.
    #[test]
    fn files_are_whole_mib() {
        for (procs, mib, kib) in [
            (4, 64, 8192),
            (3, 256, 42 << 10),
            (4, 240, 30 << 10),
            (9, 16, 1024),
        ] {
            let setup = PartSetup {
                procs,
                mib,
                ..setup()
            };
            assert_eq!(file_kib(&setup), kib, "{procs} procs, {mib} MiB");
        }
    }

    /// Options replace the parameters of the part, once.
    #[test]
    fn options_are_in_the_rc_file() {
        let options = [
            ("RUNTIME".to_owned(), "7".to_owned()),
            ("USERNAME".to_owned(), "o'x y".to_owned()),
        ];
        let setup = PartSetup {
            options: &options,
            ..setup()
        };
        let target = Target::Nfs("nas:/export".into());
        let rc = files(Part::Random, &target, &setup, "quick").rc;
        assert_eq!(rc.matches("RUNTIME=").count(), 1, "{rc}");
        assert!(rc.ends_with("RUNTIME=7\nUSERNAME=\"o'x y\"\n"), "{rc}");
        let own = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        assert_eq!(target.protocol(&own("NFS_VERSION", "4.1")), "NFSv4.1");
        assert_eq!(target.protocol(&own("RUNTIME", "7")), "NFSv3");
    }

    /// Every rc file is one that `run` takes.
    #[test]
    fn the_rc_files_resolve() {
        let dir = tempfile::tempdir().expect("a directory");
        let smb = Target::Smb {
            share: "smb://nas/share".into(),
            user: Some("me".into()),
        };
        let targets = [
            Target::Directory(dir.path().to_owned()),
            Target::Nfs("nas:/export".into()),
            smb,
        ];
        for (target, part) in targets
            .iter()
            .flat_map(|t| Part::STANDARD.map(|part| (t, part)))
        {
            let files = files(part, target, &setup(), "quick");
            for (name, text) in &files.others {
                std::fs::write(dir.path().join(name), text).expect("write");
            }
            let mut sources = Sources::from_rc(None).expect("none");
            sources.rc = Some(RcFile {
                name: "quick.rc".into(),
                folder: dir.path().to_owned(),
                text: files.rc.clone(),
                others_can_read: false,
            });
            sources.set_default("PASSWORD", "x");
            let plan = match resolve(&sources) {
                Ok(resolved) => resolved.plan,
                Err(errors) => panic!("{target:?} {part:?}: {errors:?}\n{}", files.rc),
            };
            assert_eq!(plan.points.len(), 1);
            assert!(plan.points[0].is_max(), "{target:?} {part:?}");
            let bytes = match target {
                Target::Directory(_) => plan.data_set(plan.points[0]).max_bytes,
                _ => plan.io_bytes(plan.points[0].requested),
            };
            assert!(bytes <= 100 << 20, "{target:?} {part:?}: {bytes}");
        }
    }
}
