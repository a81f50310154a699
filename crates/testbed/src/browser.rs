//! Debian's Chromium, headless, in a network without a connection to anything: the DOM,
//! the console and a screenshot of a page; and axe-core, which checks accessibility.

use crate::tools::{log_tail, need};
use crate::{Error, Result, Sandbox};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The version that `ci/fetch-axe` fetches.
const AXE: &str = "axe-core-4.14.1.min.js";
/// How long a page may take: a busy machine starts the browser in some ten seconds.
const LIMIT: Duration = Duration::from_secs(180);
/// Milliseconds of the page's virtual time in which its scripts must finish.
const BUDGET_MS: u32 = 60_000;

/// The preferred color scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

/// A browser; each page is opened in a new process.
#[derive(Debug)]
pub struct Browser {
    sandbox: Arc<Sandbox>,
}

/// A page that was opened.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The document after its scripts have run.
    pub dom: String,
    /// What was written to the console: errors, blocked requests, output of the page.
    pub console: Vec<String>,
}

impl Browser {
    /// # Errors
    ///
    /// [`Error::Unavailable`] without Chromium, or when not root.
    pub fn new() -> Result<Browser> {
        need(&[("chromium", "chromium")])?;
        let sandbox = Sandbox::new()?;
        Ok(Browser { sandbox })
    }

    /// The script of axe-core.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] where `ci/fetch-axe` has not been run.
    pub fn axe() -> Result<String> {
        let variable = |name| std::env::var_os(name).map(PathBuf::from);
        let cache = variable("FILERMARK_TEST_CACHE")
            .or_else(|| Some(variable("XDG_CACHE_HOME")?.join("filermark-tests")))
            .or_else(|| Some(variable("HOME")?.join(".cache/filermark-tests")))
            .unwrap_or_default();
        let file = cache.join(AXE);
        std::fs::read_to_string(&file).map_err(|e| {
            let file = file.display();
            Error::Unavailable(format!("{file}: {e}; run ci/fetch-axe, which needs npm"))
        })
    }

    /// The namespaces that it is in: a server in the same ones can be opened by its address.
    pub fn sandbox(&self) -> &Arc<Sandbox> {
        &self.sandbox
    }

    /// Opens a page in a window of this size.
    ///
    /// # Errors
    ///
    /// When the browser does not start, or does not end in time.
    pub fn open(&self, page: &Path, scheme: Scheme, size: (u32, u32)) -> Result<Seen> {
        self.open_url(&format!("file://{}", page.display()), scheme, size)
    }

    /// Opens an address in a window of this size.
    ///
    /// # Errors
    ///
    /// As [`Browser::open`].
    pub fn open_url(&self, url: &str, scheme: Scheme, size: (u32, u32)) -> Result<Seen> {
        let args = [
            "--dump-dom".to_owned(),
            format!("--virtual-time-budget={BUDGET_MS}"),
        ];
        let (dom, stderr) = self.run(url, scheme, size, &args)?;
        // The browser's internal pages write to the console, too.
        let is_of_page = |l: &&str| l.contains(":CONSOLE:") && !l.contains("chrome://");
        let console = stderr.lines().filter(is_of_page);
        Ok(Seen {
            dom,
            console: console.map(str::to_owned).collect(),
        })
    }

    /// Takes a screenshot of a page, as PNG.
    ///
    /// # Errors
    ///
    /// As [`Browser::open`].
    pub fn draw(&self, page: &Path, scheme: Scheme, size: (u32, u32), png: &Path) -> Result<()> {
        let args = [format!("--screenshot={}", png.display())];
        let url = format!("file://{}", page.display());
        self.run(&url, scheme, size, &args).map(|_| ())
    }

    /// Runs the browser; returns standard output and standard error.
    fn run(
        &self,
        url: &str,
        scheme: Scheme,
        (width, height): (u32, u32),
        args: &[String],
    ) -> Result<(String, String)> {
        let dir = tempfile::tempdir_in(self.sandbox.dir())
            .map_err(Error::io("make the browser's directory"))?;
        let (out, log) = (dir.path().join("out"), dir.path().join("log"));
        let open = |path: &Path| std::fs::File::create(path).map_err(Error::path("make", path));
        let light = match scheme {
            Scheme::Dark => 0,
            Scheme::Light => 1,
        };
        let mut command: Command = self.sandbox.command("chromium");
        command
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
            ])
            .args(["--disable-background-networking", "--disable-dev-shm-usage"])
            .args(["--no-first-run", "--enable-logging=stderr", "--v=0"])
            .arg(format!(
                "--user-data-dir={}",
                dir.path().join("profile").display()
            ))
            .arg(format!("--blink-settings=preferredColorScheme={light}"))
            .arg(format!("--window-size={width},{height}"))
            .args(args)
            .arg(url)
            .env("HOME", dir.path())
            .stdin(Stdio::null())
            .stdout(open(&out)?)
            .stderr(open(&log)?);
        let mut child = command.spawn().map_err(Error::io("start chromium"))?;
        let start = Instant::now();
        let status = loop {
            match child.try_wait().map_err(Error::io("wait for chromium"))? {
                Some(status) => break status,
                None if start.elapsed() < LIMIT => std::thread::sleep(Duration::from_millis(20)),
                None => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(Error::TimedOut {
                        what: format!("chromium with {url}"),
                        limit: LIMIT,
                        log: log_tail(&log),
                    });
                }
            }
        };
        if !status.success() {
            return Err(Error::failed(
                "chromium",
                status.to_string(),
                log_tail(&log),
            ));
        }
        let read = |path: &Path| std::fs::read(path).map_err(Error::path("read", path));
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok((text(read(&out)?), text(read(&log)?)))
    }
}
