//! Foreign objects at every level of the files that a run has left: links, hard links, files,
//! directories with names of the layout, directories of another run, other file systems. The next
//! run finds a foreign directory in the place of a proc's, removes its own files and ends. Foreign
//! objects do not change, and what remains is named in the record, with the command that removes
//! the run's files.

use crate::load_guard::beside_others;
use crate::smb::{ProtocolCase, samba};
use crate::sweep::{Ended, Sweep};
use crate::targets::{TargetDir, Tree};
use filermark_driver_kit::claim::OTHER_FILE_SYSTEM;
use filermark_driver_kit::marker::{Marker, MarkerText, owner_text};
use filermark_model::Rule;
use filermark_server::{Server, ServerOptions};
use filermark_testbed::{
    Faulty, FaultyOptions, Fsal, Ganesha, Mounts, Samba, SambaOptions, Sandbox, available,
};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const OWNER: &str = ".filermark-owner";
/// A foreign directory next to those of runs. Its contents look like those of a proc's directory.
const THEIRS: &str = "foreign-dir";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    File,
    /// A directory with a file in it, without an owner file.
    Dir,
    /// A directory with the owner file of another run.
    Owned,
    /// A symbolic link to a foreign directory.
    Link,
    /// A hard link to a foreign file, with a name that runs do not use.
    Hard,
    /// A hard link with a name that runs use: the name is removed, the file stays.
    HardOfLayout,
    /// Another file system with a file in it.
    Mount,
}

use What::{Dir, File, Hard, HardOfLayout, Link, Mount, Owned};

/// The objects in the directories of one level.
type Row = &'static [(&'static str, What)];

const IN_RUN_DIR: Row = &[
    ("foreign-file", File),
    ("foreign-link", Link),
    ("p000077", Link),
    ("p000078", Dir),
    ("p000079", Owned),
    ("p000080", Mount),
];
const IN_PROC_DIR: Row = &[
    ("foreign-file", File),
    ("foreign-hard", Hard),
    ("n000077", HardOfLayout),
    ("d0077", Link),
    ("d0078", Dir),
    ("d0079", Owned),
    ("d0080", Mount),
];
const IN_FILES_DIR: Row = &[
    ("foreign-hard", Hard),
    ("foreign-link", Link),
    ("f0000000077", HardOfLayout),
    ("d0078", Dir),
];
const IN_TREE: Row = &[
    ("foreign-file", File),
    ("d0077", Link),
    ("d0078", Dir),
    ("d0079", Owned),
    ("d0080", Mount),
];
const IN_TREE_DIR: Row = &[("b77", Link), ("b78", Dir), ("b80", Mount)];
const IN_BUCKET: Row = &[
    ("foreign-hard", Hard),
    ("f0000077", HardOfLayout),
    ("d0078", Dir),
];

/// A suffix that no other test has: `stop` ends all processes of one on this host.
fn suffix(target: &str) -> String {
    format!("plants-{target}-{}", std::process::id())
}

/// Makes a file system at a path below the place, with these files in it.
type Mounter<'a> = &'a dyn Fn(&str, &[(String, String)]);

/// The directory of a target's runs, and how they are started.
struct TargetSetup<'a> {
    place: TargetDir,
    sweep: Sweep,
    /// `None`: the target can have no other file system inside.
    mount: Option<Mounter<'a>>,
    /// The target can recognize another file system: its contents may look like the run's own.
    reports_mounts: bool,
    /// The number of requests to the inner file systems.
    asked: &'a dyn Fn() -> u64,
    has_links: bool,
}

/// A directory of ours at each level.
fn levels(tree: &Tree, ours: &str) -> Vec<(String, Row)> {
    let below = |dir: &str, like: &str| {
        let mut names = tree.keys().filter_map(|path| {
            let name = path.strip_prefix(dir)?.strip_prefix('/')?;
            let is_dir = tree.contains_key(&format!("{path}/{OWNER}"));
            (!name.contains('/') && name.starts_with(like) && is_dir).then(|| path.clone())
        });
        names.next()
    };
    let mut levels = vec![(ours.to_owned(), IN_RUN_DIR)];
    if let Some(proc) = below(ours, "p0") {
        let files = below(&proc, "d0").expect("a directory of I/O files");
        levels.extend([(proc, IN_PROC_DIR), (files, IN_FILES_DIR)]);
    } else {
        let top = below(ours, "CL").expect("a tree");
        let dir = below(&top, "d0").expect("a directory in it");
        let bucket = below(&dir, "b").expect("a bucket");
        levels.extend([(top, IN_TREE), (dir, IN_TREE_DIR), (bucket, IN_BUCKET)]);
    }
    levels
}

impl TargetSetup<'_> {
    /// The files of a file system that is mounted at a path.
    fn disguise(&self, ours: &str, path: &str) -> Vec<(String, String)> {
        let file = |name: &str, text: String| (name.to_owned(), text);
        let mut files = vec![file("foreign-inside", "foreign".to_owned())];
        if let (true, TargetDir::Directory(top)) = (self.reports_mounts, &self.place) {
            let marker = std::fs::read(top.join(ours).join(OWNER)).expect("the marker");
            let MarkerText::Marker(marker) = Marker::read(&marker) else {
                panic!("a marker");
            };
            files.push(file(OWNER, owner_text(path, &marker.nonce)));
            for name in ["n000001", "f0000000001", "f0000001"] {
                files.push(file(name, "looks like ours".to_owned()));
            }
        }
        files
    }

    /// Makes all objects that the target can have; returns the paths of those that have to stay, and
    /// of those that may be removed.
    fn plant(&self, ours: &str) -> (Vec<String>, Vec<String>) {
        let (mut stay, mut go) = (Vec::new(), Vec::new());
        for (dir, row) in levels(&self.place.tree(), ours) {
            for (name, what) in row {
                let path = format!("{dir}/{name}");
                let inside = format!("{path}/foreign-inside");
                let hard = || {
                    self.place
                        .hard_link(&format!("{THEIRS}/foreign-file"), &path)
                };
                let planted = match what {
                    File => self.place.plant(&path),
                    Dir | Owned => {
                        self.place.plant_dir(&path);
                        if *what == Owned {
                            let text = owner_text(&path, "another");
                            self.place.write(&format!("{path}/{OWNER}"), &text);
                        }
                        self.place.plant(&inside)
                    }
                    Link => self.has_links && self.place.plant_link(&path, THEIRS),
                    Hard | HardOfLayout => hard(),
                    Mount => self.mount.is_some_and(|mount| {
                        self.place.plant_dir(&path);
                        mount(&path, &self.disguise(ours, &path));
                        true
                    }),
                };
                match what {
                    _ if !planted => {}
                    HardOfLayout => go.push(path),
                    _ => stay.push(path),
                }
            }
        }
        (stay, go)
    }
}

/// Whether a path is one of these, or below or above one of them.
fn is_of_plants(path: &str, stay: &[String]) -> bool {
    let path = path.strip_suffix(&format!("/{OWNER}")).unwrap_or(path);
    let mut plants = stay.iter();
    plants.any(|plant| {
        plant == path
            || path.starts_with(&format!("{plant}/"))
            || plant.starts_with(&format!("{path}/"))
    })
}

fn named(message: &str) -> String {
    message.replace('\\', "/")
}

#[track_caller]
fn assert_left_behind(ended: &Ended, suffix: &str, stay: &[String]) -> Vec<String> {
    let end = ended.record().end.expect("an end");
    let findings = end.findings.iter();
    let left: Vec<String> = findings
        .filter(|f| f.rule == Rule::LeftBehind)
        .map(|f| named(&f.message))
        .collect();
    for plant in stay {
        let found = left.iter().find(|message| message.contains(plant));
        let item = found.unwrap_or_else(|| panic!("{plant} is not named in {left:#?}"));
        assert!(
            item.contains("remove it by hand") && !item.contains("filermark stop -"),
            "{item}"
        );
        // With the host, as an absolute path.
        let place = item.strip_prefix("left behind: ").unwrap_or_default();
        let front = place.split(plant.as_str()).next().unwrap_or_default();
        assert!(front.starts_with("//") || front.contains(":/"), "{item}");
    }
    let of_dir = |message: &&String| message.contains("until that is gone");
    let actual = left.iter().find(of_dir).expect("the run's directory");
    let command = actual.split('`').nth(1).unwrap_or_default();
    let is_exact =
        command.starts_with("filermark stop -o") && command.ends_with(&format!("-s {suffix}"));
    assert!(is_exact, "{actual}");
    left
}

#[track_caller]
fn check(ground: &TargetSetup<'_>) {
    let (place, ours) = (&ground.place, format!("filermark.{}", ground.sweep.name()));
    place.plant("foreign-file");
    place.plant_dir(THEIRS);
    place.plant(&format!("{THEIRS}/foreign-file"));
    // Names that a run would remove.
    for dir in ["d0000", "b00"] {
        place.plant_dir(&format!("{THEIRS}/{dir}"));
        place.write(&format!("{THEIRS}/{dir}/f0000000000"), "foreign");
    }
    ground.sweep.clone().set("KEEP", "on").succeed();
    let others = |tree: Tree| -> Tree {
        let others = tree.into_iter();
        others
            .filter(|(path, _)| !path.starts_with(&ours))
            .collect()
    };
    let (stay, go) = ground.plant(&ours);
    assert!(stay.len() > 6, "{stay:?}");
    let before = place.tree();

    let asked = (ground.asked)();
    let next = ground.sweep.elsewhere().fail(1);
    assert!(
        next.stderr.contains("is in the way of this run"),
        "{}",
        next.stderr
    );
    let left = assert_left_behind(&next, ground.sweep.name(), &stay);
    if ground.reports_mounts {
        // Each was recognized as another file system.
        for plant in stay.iter().filter(|plant| plant.ends_with("80")) {
            let reason = format!("{plant} ({OTHER_FILE_SYSTEM})");
            let is_reported = left.iter().any(|path| path.contains(&reason));
            assert!(is_reported, "{reason} is not in {left:#?}");
        }
    }
    assert_eq!((ground.asked)(), asked, "a file system inside was asked");
    let look = |step: &str, output_text: &str| {
        let after = place.tree();
        for (path, content) in before.iter().filter(|(path, _)| is_of_plants(path, &stay)) {
            // The marker is now that of another run.
            let is_marker = path.ends_with(OWNER) && !path.contains("/p") && !path.contains("/d");
            if is_marker || path.ends_with(OWNER) && !stay.iter().any(|p| path.starts_with(p)) {
                assert!(
                    after.contains_key(path),
                    "{step}: {path} is gone\n{output_text}"
                );
            } else {
                assert_eq!(
                    after.get(path),
                    Some(content),
                    "{step}: {path}\n{output_text}"
                );
            }
        }
        for path in after.keys().filter(|path| path.starts_with(&ours)) {
            assert!(
                is_of_plants(path, &stay),
                "{step}: {path} is left\n{output_text}"
            );
        }
        let gone: BTreeSet<&String> = go.iter().filter(|path| after.contains_key(*path)).collect();
        assert!(gone.is_empty(), "{step}: {gone:?} stay\n{output_text}");
        assert_eq!(
            others(after),
            others(before.clone()),
            "{step}\n{output_text}"
        );
    };
    look("run", &next.stderr);
    let asked = (ground.asked)();
    let stopped = ground.sweep.clone().command("stop").run();
    assert_eq!((ground.asked)(), asked, "a file system inside was asked");
    let output_text = named(&format!("{}{}", stopped.stdout, stopped.stderr));
    for plant in &stay {
        assert!(output_text.contains(plant), "{plant} in {output_text}");
    }
    look("stop", &output_text);
}

/// A path of a sandbox, which the host sees below /proc/PID/root, as the sandbox sees it.
pub fn seen_inside(path: &Path) -> PathBuf {
    let below = path.components().skip(4).collect::<PathBuf>();
    Path::new("/").join(below)
}

/// The mount namespace of a server of a sandbox, which is not the sandbox's own.
pub fn mount_space(server: &str, sandbox: &Sandbox) -> PathBuf {
    let is_it = |dir: &PathBuf| {
        use std::os::unix::fs::MetadataExt;
        let network = std::fs::metadata(dir.join("ns/net")).map(|m| m.ino());
        let name = std::fs::read_to_string(dir.join("comm"));
        network.is_ok_and(|ino| ino == sandbox.network_id())
            && name.is_ok_and(|name| name.trim() == server)
    };
    let pids = std::fs::read_dir("/proc").expect("/proc").flatten();
    let mut dirs = pids.map(|entry| entry.path()).filter(is_it);
    dirs.next().expect("the server's process").join("ns/mnt")
}

/// Runs a shell script where a server of a sandbox sees its files, at a path of the sandbox
/// as the host sees it: `$1`. Returns its output.
fn run_before(
    server: &str,
    sandbox: &Sandbox,
    path: &Path,
    script: &str,
    args: &[String],
) -> String {
    let (seen, space) = (seen_inside(path), mount_space(server, sandbox));
    let done = Command::new("nsenter")
        .arg(format!("--mount={}", space.display()))
        .args(["--", "sh", "-euc", script, "sh"])
        .arg(&seen)
        .args(args)
        .output()
        .expect("nsenter");
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).expect("text")
}

/// Mounts a tmpfs with these files in it where a server of a sandbox sees it.
fn mount_before(server: &str, sandbox: &Sandbox, path: &Path, files: &[(String, String)]) {
    const SCRIPT: &str = r#"
        mount -t tmpfs none "$1"; cd "$1"; shift
        while [ $# -gt 0 ]; do printf %s "$2" >"$1"; shift 2; done"#;
    let pairs = files.iter().flat_map(|(name, text)| [name, text]);
    let args: Vec<String> = pairs.cloned().collect();
    run_before(server, sandbox, path, SCRIPT, &args);
}

/// The names in a directory as a server of a sandbox sees them.
fn names_before(server: &str, sandbox: &Sandbox, path: &Path) -> BTreeSet<String> {
    let names = run_before(server, sandbox, path, r#"ls -A "$1""#, &[]);
    names.lines().map(str::to_owned).collect()
}

#[test]
fn over_nfs_in_the_embedded_server() {
    let _turn = beside_others();
    let server = Server::start(ServerOptions::default()).expect("the server starts");
    let sweep = Sweep::on(&server).suffix(&suffix("embedded"));
    check(&TargetSetup {
        place: TargetDir::Export(Box::new(server)),
        sweep,
        mount: None,
        reports_mounts: false,
        asked: &|| 0,
        has_links: true,
    });
}

#[test]
fn over_nfs_in_ganesha() {
    let _turn = beside_others();
    let Some(ganesha) = available(Ganesha::start(Fsal::Vfs)) else {
        return;
    };
    let top = ganesha.files().expect("a directory");
    check(&TargetSetup {
        place: TargetDir::Directory(top),
        sweep: Sweep::inside(ganesha.sandbox(), ganesha.export()).suffix(&suffix("ganesha")),
        mount: None,
        reports_mounts: false,
        asked: &|| 0,
        has_links: true,
    });
}

/// Ganesha does not list a directory in which something is mounted (NFS3ERR_XDEV): such a
/// directory is left as it is.
#[test]
fn a_mount_in_a_directory_that_ganesha_serves_ends_the_descent() {
    let _turn = beside_others();
    let Some(ganesha) = available(Ganesha::start(Fsal::Vfs)) else {
        return;
    };
    let top = ganesha.files().expect("a directory");
    let place = TargetDir::Directory(top.clone());
    let sweep = Sweep::inside(ganesha.sandbox(), ganesha.export()).suffix(&suffix("mount"));
    sweep.clone().set("KEEP", "on").succeed();
    let path = format!("filermark.{}/p000000/d0080", sweep.name());
    place.plant_dir(&path);
    let (server, sandbox) = ("ganesha.nfsd", ganesha.sandbox());
    let inside = ("foreign-inside".to_owned(), "foreign".to_owned());
    mount_before(server, sandbox, &top.join(&path), &[inside]);
    let next = sweep.elsewhere().fail(1);
    next.assert_sentence(&[sweep.name(), "NFS3ERR_XDEV", "another file system"]);
    assert!(place.tree().contains_key(&path));
    let left = names_before(server, sandbox, &top.join(&path));
    assert_eq!(left, BTreeSet::from(["foreign-inside".to_owned()]));
}

/// Nested exports in a run directory: of directories of the same file system, and of other file
/// systems. NFSv3's LOOKUP enters the latter, like a kernel's server with `crossmnt`: the fsid
/// shows it.
#[test]
fn over_nfs_in_ganesha_with_nested_exports() {
    let _turn = beside_others();
    let Some(ganesha) = available(Ganesha::start(Fsal::Vfs)) else {
        return;
    };
    let (server, sandbox) = ("ganesha.nfsd", ganesha.sandbox());
    let top = ganesha.files().expect("a directory");
    let nested = RefCell::new(Vec::new());
    let mount = |path: &str, files: &[(String, String)]| {
        mount_before(server, sandbox, &top.join(path), files);
        let mut exported = vec![path.to_owned()];
        // Directories that were made before.
        exported.extend(
            ["p000078", "p000079"]
                .iter()
                .filter_map(|name| Some(format!("{}/{name}", path.strip_suffix("/p000080")?))),
        );
        ganesha.nest(&exported).expect("nested exports");
        let names: BTreeSet<String> = files.iter().map(|(name, _)| name.clone()).collect();
        nested.borrow_mut().push((path.to_owned(), names));
    };
    check(&TargetSetup {
        place: TargetDir::Directory(top.clone()),
        sweep: Sweep::inside(sandbox, ganesha.export()).suffix(&suffix("nested")),
        mount: Some(&mount),
        reports_mounts: true,
        asked: &|| 0,
        has_links: true,
    });
    let nested = nested.into_inner();
    assert_eq!(nested.len(), 2);
    for (path, names) in nested {
        assert!(names.len() > 2, "{names:?}");
        assert_eq!(
            names_before(server, sandbox, &top.join(&path)),
            names,
            "{path}"
        );
    }
}

fn in_samba(case: ProtocolCase) {
    let Some(samba) = samba(SambaOptions::default()) else {
        return;
    };
    let top = samba.files(Samba::DATA);
    let mount = |path: &str, files: &[(String, String)]| {
        mount_before("smbd", samba.sandbox(), &top.join(path), files);
    };
    check(&TargetSetup {
        place: TargetDir::Directory(top.clone()),
        sweep: crate::smb::sweep(&samba, Samba::DATA, case).suffix(&suffix(&format!("{case:?}"))),
        mount: Some(&mount),
        // No attribute that Samba returns for a directory identifies its file system.
        reports_mounts: false,
        asked: &|| 0,
        has_links: true,
    });
}

#[test]
fn over_smb1_in_samba() {
    let _turn = beside_others();
    in_samba(ProtocolCase::Smb1);
}

#[test]
fn over_smb2_in_samba() {
    let _turn = beside_others();
    in_samba(ProtocolCase::Smb202);
}

#[test]
fn over_smb3_in_samba() {
    let _turn = beside_others();
    in_samba(ProtocolCase::Smb311);
}

/// A mount in a run directory on a mounted file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inner {
    /// A directory of the same file system.
    Bind,
    Tmpfs,
    /// A FUSE file system, which must get no requests: its server may hang.
    Fuse,
}

fn on_mounts(inner: Inner) {
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let dir = mounts.plain().expect("a directory");
    let faulty = match inner {
        Inner::Fuse => match available(Faulty::mount(&mounts, FaultyOptions::default())) {
            Some(faulty) => Some(faulty),
            None => return,
        },
        _ => None,
    };
    let count = RefCell::new(0);
    let mount = |path: &str, files: &[(String, String)]| {
        let name = format!("inner{}", count.replace_with(|count| *count + 1));
        let write = |into: &Path| {
            for (name, text) in files {
                std::fs::write(into.join(name), text).expect("a file");
            }
        };
        let make = |into: PathBuf| {
            std::fs::create_dir(&into).expect("a directory");
            write(&into);
        };
        let what = match (inner, &faulty) {
            (Inner::Fuse, Some(faulty)) => {
                make(faulty.backing().join(&name));
                Some(faulty.scratch().path().join(&name))
            }
            (Inner::Bind, _) => {
                make(dir.host().join(THEIRS).join(&name));
                Some(dir.path().join(THEIRS).join(&name))
            }
            _ => None,
        };
        let mut command = mounts.command("mount");
        match &what {
            Some(what) => command.arg("--bind").arg(what),
            None => command.args(["-t", "tmpfs", "tmpfs"]),
        };
        let done = command.arg(dir.path().join(path)).output().expect("mount");
        assert!(done.status.success(), "{done:?}");
        if what.is_none() {
            write(&dir.host().join(path));
        }
    };
    let asked = || {
        let counts = faulty.as_ref().map(Faulty::counts).unwrap_or_default();
        counts.values().sum()
    };
    check(&TargetSetup {
        place: TargetDir::Directory(dir.host().to_owned()),
        sweep: Sweep::composite("SWBUILD", &mounts, dir.path())
            .suffix(&suffix(&format!("{inner:?}"))),
        mount: Some(&mount),
        reports_mounts: true,
        asked: &asked,
        has_links: true,
    });
    assert_eq!(count.into_inner(), 3);
}

#[test]
fn on_mounted_file_systems_with_bind_mounts() {
    let _turn = beside_others();
    on_mounts(Inner::Bind);
}

#[test]
fn on_mounted_file_systems_with_tmpfs_mounts() {
    let _turn = beside_others();
    on_mounts(Inner::Tmpfs);
}

#[test]
fn on_mounted_file_systems_with_fuse_mounts() {
    let _turn = beside_others();
    on_mounts(Inner::Fuse);
}
