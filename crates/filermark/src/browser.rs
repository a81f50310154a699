//! Prints a page to PDF with a browser of this host.
//!
//! The report's style sheet has rules for paper. The browser gets a temporary profile, no
//! network, and a time limit. The crate `report` starts no processes, so this is here.

use filermark_link::child::{TERM_GRACE, end_all, end_of, spawn_in_own_group};
use filermark_model::text::sanitize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The variable that names the browser.
pub const VARIABLE: &str = "FILERMARK_BROWSER";
/// Names of browsers that can print without a screen.
const NAMES: [&str; 7] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "msedge",
];
/// Where browsers are installed on Windows, which has them in no path: below the directories
/// that these variables name.
const INSTALLED: [&str; 2] = [r"Google\Chrome\Application", r"Microsoft\Edge\Application"];
const PROGRAM_DIRS: [&str; 3] = ["ProgramFiles", "ProgramFiles(x86)", "LocalAppData"];
/// Time limit of a browser: on a busy machine it starts in some ten seconds.
const LIMIT: Duration = Duration::from_secs(120);
/// Interval at which its exit is polled.
const LOOK: Duration = Duration::from_millis(50);
/// The most characters of its output that a message quotes.
const REPORTED_MAX: usize = 300;

/// The page printed to PDF, by `program` or the first browser that is found.
///
/// # Errors
/// There is no browser, or it does not print; the message states what to try.
pub fn pdf(page: &str, program: Option<&Path>) -> Result<Vec<u8>, String> {
    let program = match program {
        Some(program) => program.to_owned(),
        None => find(std::env::var_os(VARIABLE), std::env::var_os("PATH"))?,
    };
    let name = program.display().to_string();
    let own = tempfile::Builder::new()
        .prefix("filermark-print-")
        .tempdir()
        .map_err(|e| format!("no directory for the browser's profile can be made: {e}"))?;
    let (source, out) = (own.path().join("page.html"), own.path().join("page.pdf"));
    let output_text = own.path().join("stderr");
    let failed = |what: &str, e: std::io::Error| format!("{what}: {e}");
    std::fs::write(&source, page).map_err(|e| failed("the page for the browser", e))?;
    let log = std::fs::File::create(&output_text).map_err(|e| failed("the browser's log", e))?;
    let mut command = Command::new(&program);
    command
        .args(arguments(own.path(), &source, &out))
        .env("HOME", own.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log);
    let mut child = spawn_in_own_group(&mut command).map_err(|e| {
        format!("{name} cannot be started: {e}; name another browser: --browser or {VARIABLE}")
    })?;
    let ended = wait(&mut child, LIMIT);
    end_all(std::slice::from_mut(&mut child), TERM_GRACE);
    let status = ended.and_then(|()| child.try_wait().ok().flatten());
    let status = status.ok_or_else(|| {
        let seconds = LIMIT.as_secs();
        format!("{name} did not print the page within {seconds} s; print the HTML report by hand")
    })?;
    let bytes = std::fs::read(&out).unwrap_or_default();
    if bytes.starts_with(b"%PDF-") {
        return Ok(bytes);
    }
    let output_text = std::fs::read(&output_text).unwrap_or_default();
    let output_text = String::from_utf8_lossy(&output_text);
    let last = output_text
        .lines()
        .rfind(|l| !l.trim().is_empty())
        .unwrap_or("it printed no message");
    let last = sanitize(last, REPORTED_MAX);
    Err(format!(
        "{name} printed nothing ({status}): {last}; print the HTML report by hand, or name another browser: --browser or {VARIABLE}"
    ))
}

fn arguments(own: &Path, source: &Path, out: &Path) -> Vec<OsString> {
    let mut profile = OsString::from("--user-data-dir=");
    profile.push(own.join("profile"));
    let mut print = OsString::from("--print-to-pdf=");
    print.push(out);
    let page = format!("file://{}", url_path(source));
    let mut all: Vec<OsString> = [
        "--headless",
        "--disable-gpu",
        "--disable-extensions",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-dev-shm-usage",
        "--disable-sync",
        "--no-first-run",
        "--no-default-browser-check",
        "--no-pdf-header-footer",
        // No names are resolved, and no addresses are reached without these.
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--proxy-server=127.0.0.1:9",
    ]
    .map(OsString::from)
    .into();
    if filermark_system::user().is_some_and(|user| user.effective_uid == 0) {
        // As root it refuses to start with its sandbox; the page has no scripts.
        all.push("--no-sandbox".into());
    }
    all.extend([profile, print, page.into()]);
    all
}

/// A path as the path of a URL: `/tmp/x`, or `/C:/tmp/x`.
fn url_path(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "/");
    match text.starts_with('/') {
        true => text,
        false => format!("/{text}"),
    }
}

/// The browser that the variable names, or the first of those in the path.
fn find(named: Option<OsString>, path: Option<OsString>) -> Result<PathBuf, String> {
    if let Some(named) = named.filter(|n| !n.is_empty()) {
        return Ok(named.into());
    }
    let path = path.unwrap_or_default();
    let mut dirs: Vec<PathBuf> = std::env::split_paths(&path).collect();
    if cfg!(windows) {
        let programs = PROGRAM_DIRS.iter().filter_map(std::env::var_os);
        dirs.extend(programs.flat_map(|d| INSTALLED.map(|at| Path::new(&d).join(at))));
    }
    let all = NAMES.iter().flat_map(|name| {
        let program = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        dirs.iter().map(move |dir| dir.join(&program))
    });
    let mut there = all.filter(|program| program.is_file());
    there.next().ok_or_else(|| {
        format!(
            "no browser was found that can print the report: install chromium, name one (--browser or {VARIABLE}), or print the HTML report (-f html) by hand"
        )
    })
}

/// Waits for its end without reaping it, so that no other group gets its number before its own
/// has ended; `None`: it took too long.
fn wait(child: &mut Child, limit: Duration) -> Option<()> {
    let until = Instant::now() + limit;
    loop {
        match end_of(child) {
            Ok(Some(_)) => return Some(()),
            Ok(None) if Instant::now() < until => std::thread::sleep(LOOK),
            Ok(None) | Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_are_found_by_name() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = || Some(OsString::from(dir.path()));
        let why = find(None, path()).expect_err("there is none");
        assert!(
            why.contains("install chromium") && why.contains(VARIABLE),
            "{why}"
        );
        assert!(find(None, None).is_err());
        std::fs::write(dir.path().join("google-chrome"), "").expect("it is written");
        assert_eq!(find(None, path()), Ok(dir.path().join("google-chrome")));
        assert_eq!(find(Some("mine".into()), path()), Ok("mine".into()));
        assert_eq!(
            find(Some("".into()), path()),
            Ok(dir.path().join("google-chrome"))
        );
    }

    #[test]
    fn programs_that_print_nothing_are_reported() {
        let why = pdf("<p>", Some(Path::new("/no/such/browser"))).expect_err("there is none");
        assert!(why.contains("cannot be started"), "{why}");
        let why = pdf("<p>", Some(Path::new("true"))).expect_err("it prints nothing");
        assert!(
            why.contains("printed nothing") && why.contains("--browser"),
            "{why}"
        );
    }

    #[test]
    fn programs_that_hang_are_ended() {
        let mut command = Command::new("sleep");
        let child = spawn_in_own_group(command.arg("600"));
        let mut child = child.expect("it starts");
        assert_eq!(wait(&mut child, Duration::from_millis(60)), None);
        end_all(std::slice::from_mut(&mut child), TERM_GRACE);
        assert!(matches!(child.try_wait(), Ok(Some(_))));
    }
}
