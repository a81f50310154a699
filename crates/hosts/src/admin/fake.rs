//! Hosts for tests: an `ssh` that is a shell script. It runs the remote command here,
//! with another home directory per host, as a login shell there would.
#![cfg(unix)] // The hosts are shell scripts.

use crate::programs::build_dir;
use filermark_link::build::{MARK, Program};
use filermark_model::launch::{HostPlan, LaunchPlan, LauncherKind};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The script: records its arguments, skips options up to `--`, prints its configuration
/// (`-G`), runs the host's own script first (`$D/HOST.rc`: other output, failures), and runs
/// the command.
const SSH: &str = r#"#!/bin/sh
D=DIR
printf '%s\n' "$*" >>"$D/calls"
for word; do if [ "$word" = -G ]; then exec cat "$D/configuration"; fi; done
subsystem=
while [ "$1" != -- ]; do if [ "$1" = -s ]; then subsystem=yes; fi; shift; done
host=$2; remote=$3
HOME=$D/$host; export HOME
cd "$HOME" || exit 255
if [ -f "$D/$host.windows" ]; then . "$D/windows.sh"; fi
if [ -f "$D/$host.rc" ]; then . "$D/$host.rc"; fi
exec /bin/sh -c "$remote"
"#;

/// A host with Windows: sshd's SFTP server, and command lines as cmd.exe understands them. The
/// programs there cannot be run here; what they print is made up. Drives are directories of the
/// home directory.
const WINDOWS: &str = r#"
if [ -f "$D/$host.sftp" ] && [ "$subsystem" ]; then . "$D/$host.sftp"; fi
if [ "$subsystem" ]; then exec /usr/lib/openssh/sftp-server; fi
# cmd.exe would redirect, or run another command.
case $remote in *[\<\>\|\&^]*) printf '%s\n' "$remote" >>"$D/$host.redirected";; esac
unknown() {
    printf "'%s' is not recognized as an internal or external command,\r\n" "$1" >&2
    printf "operable program or batch file.\r\n" >&2
    exit 1
}
case $remote in
'echo filermark-system '*) printf '%s\r\n' "filermark-system \"Windows_NT AMD64${remote#*PROCESSOR_ARCHITECTURE%}"; exit 0;;
'"%USERPROFILE%\'*) ;;
'(if exist "'*)
    file=${remote#*\"}; path=${file%%\"*}
    file=$HOME/$(printf %s "$path" | tr '\\' /)
    if [ -f "$file" ] && ! grep -q "MARK" "$file"; then
        printf '"%s": this is not Filermark\r\n' "$path" >&2
        exit 126
    fi
    remote=${remote#*))) & };;
*) unknown "${remote%% *}";;
esac
path=${remote#\"}; path=${path%%\"*}
args=${remote#\"*\" }
file=$HOME/$(printf %s "${path#%USERPROFILE%\\}" | tr '\\' /)
[ -f "$file" ] || unknown "\"$path\""
grep -q "MARK" "$file" || unknown "not Filermark"
case $args in
--version) if [ -f "$D/$host.blocked" ]; then echo "Access is denied." >&2; exit 1; fi
    if [ -f "$D/$host.meanwhile" ]; then . "$D/$host.meanwhile"; fi
    printf 'filermark 0.2.0\r\n';;
'agent --stdio --run '*) echo "$args"; cat;;
'agent --end-run '*) printf '{"run":"%s","agents":[{"pid":77,"ending":"asked"}]}\r\n' "${args##* }";;
*) exit 2;;
esac
exit 0
"#;

/// A Filermark program for the tests, as a script: `install` copies it to the hosts.
const PROGRAM: &str = "#!/bin/sh
# MARK
case $1 in
--version) echo filermark 0.1.0;;
agent) shift; echo agent \"$@\"; cat;;
*) exit 2;;
esac
";

/// Hosts in a temporary directory.
pub(crate) struct FakeHosts {
    dir: TempDir,
}

impl FakeHosts {
    pub fn new(hosts: &[&str]) -> Self {
        let all = Self {
            dir: tempfile::tempdir().expect("a directory"),
        };
        let dir = all.dir.path().display().to_string();
        all.script("ssh", &SSH.replace("DIR", &dir));
        all.script("filermark", &PROGRAM.replace("MARK", MARK));
        all.script("windows.sh", &WINDOWS.replace("MARK", MARK));
        for host in hosts {
            fs::create_dir(all.home(host)).expect("a home");
        }
        all
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn home(&self, host: &str) -> PathBuf {
        self.path(host)
    }

    /// Writes an executable file.
    pub fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        write_executable(&path, text);
        path
    }

    /// What a host's login shell does before it runs a command.
    pub fn rc(&self, host: &str, script: &str) {
        fs::write(self.path(&format!("{host}.rc")), script).expect("a file");
    }

    /// Makes a host one with Windows.
    pub fn set_windows(&self, host: &str) {
        fs::write(self.path(&format!("{host}.windows")), "").expect("a file");
    }

    /// What happens on a host with Windows while the new program is run once.
    pub fn meanwhile(&self, host: &str, script: &str) {
        fs::write(self.path(&format!("{host}.meanwhile")), script).expect("a file");
    }

    /// The command lines of a host with Windows that have characters with a meaning for cmd.exe.
    pub fn redirected(&self, host: &str) -> String {
        fs::read_to_string(self.path(&format!("{host}.redirected"))).unwrap_or_default()
    }

    /// The program to install.
    pub fn program(&self) -> Program {
        Program::read(self.path("filermark")).expect("the program")
    }

    /// Its path on a host.
    pub fn installed(&self, host: &str) -> PathBuf {
        let dir = build_dir(self.program().build(), &filermark_system::platform());
        self.home(host)
            .join(format!(".cache/filermark/{dir}/filermark"))
    }

    /// The command lines of ssh so far.
    pub fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("calls")).unwrap_or_default();
        text.lines().map(String::from).collect()
    }

    pub fn plan(&self, hosts: &[&str]) -> LaunchPlan {
        let mut plan = LaunchPlan::local(hosts.iter().map(|h| (*h).to_owned()));
        for host in &mut plan.hosts {
            host.launcher = LauncherKind::Ssh;
        }
        plan.ssh_command = vec![self.path("ssh").display().to_string()];
        plan
    }

    pub fn host(&self, name: &str) -> HostPlan {
        self.plan(&[name]).hosts.remove(0)
    }
}

/// All regular files below a directory, sorted, relative to it.
pub(crate) fn files_below(dir: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(next) = dirs.pop() {
        for entry in fs::read_dir(&next).expect("a directory").flatten() {
            let path = entry.path();
            match path.is_dir() && !path.is_symlink() {
                true => dirs.push(path),
                false => files.push(path.strip_prefix(dir).expect("below").display().to_string()),
            }
        }
    }
    files.sort();
    files
}

/// Written to another file and renamed, so that no process has it open for writing while
/// another thread of the test forks.
pub(crate) fn write_executable(path: &Path, text: &str) {
    let status = std::process::Command::new("/bin/sh")
        .args([
            "-c",
            "printf %s \"$1\" >\"$2\" && chmod 755 \"$2\"",
            "sh",
            text,
        ])
        .arg(path)
        .status()
        .expect("a shell");
    assert!(status.success());
    assert_eq!(
        fs::metadata(path).expect("the file").permissions().mode() & 0o777,
        0o755
    );
}
