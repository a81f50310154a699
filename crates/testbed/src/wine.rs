//! Wine: runs the Windows program of Filermark in a sandbox.
//!
//! Wine shows whether the program works, not how fast it is, and its kernel is Linux: what only
//! Windows itself does is not shown (docs/src/reference/platforms.md).

use crate::tools::{BUSY_LIMIT, need, search_path, write};
use crate::{Error, Result, Sandbox};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// The Windows program under test, as `ci/windows` built it.
const PROGRAM: &str = "FILERMARK_WINDOWS_PROGRAM";
/// A directory of Wine that exists already, or is to be kept for the next test: to make one takes
/// 5 s and 700 MB. Tests that share one must not run at the same time.
const PREFIX: &str = "FILERMARK_WINE_PREFIX";

/// A library of Windows 8 that Rust's programs need, and Wine 8 does not have.
const LIBRARY: &str = include_str!("../scripts/bcryptprimitives.c");
const LIBRARY_NAME: &str = "bcryptprimitives.dll";
const COMPILER: &str = "x86_64-w64-mingw32-gcc";

/// Enters all namespaces of the sandbox with process 1 `$1` in the current directory and runs the
/// rest. nsenter ends with the test's thread, what it runs with the sandbox.
const ENTER: &str = r#"
pid=$1 && shift
exec setpriv --pdeathsig KILL -- nsenter --target "$pid" --net --mount --ipc --uts --pid \
    --wdns="$(pwd -P)" -- "$@"
"#;

/// Wine in a sandbox. Its processes end with the sandbox.
#[derive(Debug)]
pub struct Wine {
    prefix: PathBuf,
    program: PathBuf,
    sandbox: Arc<Sandbox>,
}

impl Wine {
    /// Prepares Wine in a sandbox that other fixtures share.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when Wine or its compiler is missing, or no Windows program was
    /// built; otherwise what Wine reported.
    pub fn start_in(sandbox: &Arc<Sandbox>) -> Result<Arc<Wine>> {
        need(&[("wine", "wine"), (COMPILER, "gcc-mingw-w64-x86-64")])?;
        let Some(program) = std::env::var_os(PROGRAM).map(PathBuf::from) else {
            return Err(Error::Unavailable(format!(
                "{PROGRAM} is not set; run ci/windows, which builds the program"
            )));
        };
        if !program.is_file() {
            return Err(Error::Unavailable(format!(
                "{PROGRAM}={}: there is no such file; run ci/windows, which builds it",
                program.display()
            )));
        }
        let prefix = match std::env::var_os(PREFIX) {
            Some(kept) => PathBuf::from(kept),
            None => sandbox.dir().join("wine"),
        };
        let wine = Wine {
            prefix,
            program,
            sandbox: Arc::clone(sandbox),
        };
        let library = wine.drive().join("windows/system32").join(LIBRARY_NAME);
        if !library.is_file() {
            wine.make_prefix()?;
            wine.compile_library(&library)?;
        }
        Ok(Arc::new(wine))
    }

    fn make_prefix(&self) -> Result<()> {
        let limit = BUSY_LIMIT.as_secs().to_string();
        std::fs::create_dir_all(&self.prefix).map_err(Error::path("make", &self.prefix))?;
        self.succeed(
            "make Wine's directory",
            self.command("timeout").args([&limit, "wineboot", "--init"]),
        )
    }

    fn compile_library(&self, library: &Path) -> Result<()> {
        let source = write(self.sandbox.dir().join("library.c"), LIBRARY)?;
        let mut compiler = Command::new(COMPILER);
        compiler.arg("-shared").arg("-o").arg(library).arg(source);
        self.succeed("compile Wine's missing library", compiler.arg("-ladvapi32"))
    }

    fn succeed(&self, what: &str, command: &mut Command) -> Result<()> {
        // A program that Wine leaves in the background keeps the output open: it goes to a file.
        let log = self.sandbox.dir().join("wine.log");
        let output = std::fs::File::create(&log).map_err(Error::path("create", &log))?;
        let errors = output.try_clone().map_err(Error::path("duplicate", &log))?;
        let status = command
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .status()
            .map_err(Error::io(what))?;
        match status.success() {
            true => Ok(()),
            false => Err(Error::failed(
                what,
                status.to_string(),
                crate::tools::log_tail(&log),
            )),
        }
    }

    /// The Windows program under test.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Drive C on the host.
    #[must_use]
    pub fn drive(&self) -> PathBuf {
        self.prefix.join("drive_c")
    }

    /// The sandbox.
    #[must_use]
    pub fn sandbox(&self) -> &Arc<Sandbox> {
        &self.sandbox
    }

    /// A path of the host as Windows programs see it.
    #[must_use]
    pub fn windows_path(path: &Path) -> String {
        format!("Z:{}", path.display()).replace('/', "\\")
    }

    /// A command in all namespaces of the sandbox, as Wine needs it: a program of Wine's package,
    /// as a rule `wine` with a Windows program. Its descendants end with the sandbox.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-euc", ENTER, "sh", &self.sandbox.pid().to_string()])
            .arg(program)
            .env("PATH", search_path())
            .env("WINEPREFIX", &self.prefix)
            .env("WINEDEBUG", "-all")
            // No browser engine, no runtime for .NET, no entries in menus.
            .env("WINEDLLOVERRIDES", "mscoree,mshtml,winemenubuilder.exe=")
            .env("HOME", self.sandbox.dir())
            .env_remove("DISPLAY");
        command
    }

    /// Ends all programs that run under Wine, and waits for their end. It succeeds as well if none
    /// runs: Wine ends by itself a few seconds after its last program.
    ///
    /// # Errors
    ///
    /// What Wine reported, or the time that it needed.
    pub fn end_programs(&self) -> Result<()> {
        // `wineserver -k` fails where there is nothing to end.
        let end = "wineserver -k || :; exec wineserver -w";
        let limit = BUSY_LIMIT.as_secs().to_string();
        let mut command = self.command("timeout");
        self.succeed("end Wine", command.args([&limit, "sh", "-c", end]))
    }
}
