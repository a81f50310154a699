//! Hosts with Windows: command lines for cmd.exe, which Windows' sshd starts for every command,
//! and paths for its SFTP server.

use super::tag::RunTag;
use filermark_link::build::MARK;
use filermark_model::launch::HostPlan;

/// The exit code of a shell of POSIX for a program that it cannot execute.
const NOT_EXECUTABLE: i32 = 126;

/// The path of a program on a host with Windows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WindowsProgram {
    /// For cmd.exe, without quotes; `%USERPROFILE%` is the home directory.
    path: String,
    /// For SFTP: relative to the home directory, or `/C:/...`.
    pub sftp: String,
    /// For messages.
    pub shown: String,
    /// It is the path where `install` puts the program by default.
    pub is_default_path: bool,
}

impl WindowsProgram {
    /// EXEC_PATH, or `~\.cache\filermark\BUILD\filermark.exe`.
    ///
    /// # Errors
    /// A message: the path cannot be used there.
    pub fn of(host: &HostPlan, build_dir: &str) -> Result<Self, String> {
        let Some(given) = &host.program else {
            return Ok(Self::in_home(
                &format!(".cache/filermark/{build_dir}/filermark.exe"),
                true,
            ));
        };
        // Between quotes cmd.exe replaces %NAME% alone; quotes and the others are in no path.
        if given.contains(['"', '%', '<', '>', '|', '?', '*', '\n', '\r']) {
            return Err(format!(
                "EXEC_PATH={given} has a character that paths of Windows cannot have here; choose \
                 another path"
            ));
        }
        if let Some(rest) = given.strip_prefix("~/").or(given.strip_prefix(r"~\")) {
            return Ok(Self::in_home(&rest.replace('\\', "/"), false));
        }
        let bytes = given.as_bytes();
        let is_absolute = bytes.len() > 3
            && bytes[0].is_ascii_alphabetic()
            && bytes[1] == b':'
            && matches!(bytes[2], b'/' | b'\\');
        if !is_absolute {
            return Err(format!(
                "EXEC_PATH={given} is no absolute path of Windows; begin it with a drive letter \
                 (C:\\...) or ~/"
            ));
        }
        Ok(Self {
            path: given.replace('/', "\\"),
            sftp: format!("/{}", given.replace('\\', "/")),
            shown: given.clone(),
            is_default_path: false,
        })
    }

    fn in_home(rest: &str, is_default_path: bool) -> Self {
        Self {
            path: format!("%USERPROFILE%\\{}", rest.replace('/', "\\")),
            sftp: rest.to_owned(),
            shown: format!("~/{rest}"),
            is_default_path,
        }
    }

    /// Another file in its directory.
    pub fn beside(&self, name: &str) -> Self {
        let dir = |path: &str, separator: char| {
            path.rsplit_once(separator).map_or_else(
                || name.to_owned(),
                |(dir, _)| format!("{dir}{separator}{name}"),
            )
        };
        Self {
            path: dir(&self.path, '\\'),
            sftp: dir(&self.sftp, '/'),
            shown: dir(&self.shown.replace('\\', "/"), '/'),
            is_default_path: self.is_default_path,
        }
    }

    /// The command line that runs it. The arguments are plain words. sshd puts all of it
    /// between quotes behind `cmd.exe /c`, which takes off the outer ones only.
    pub fn command_line<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> String {
        let mut line = format!("\"{}\"", self.path);
        for arg in args {
            line.push(' ');
            // An empty word must remain one.
            match arg.is_empty() {
                true => line.push_str("\"\""),
                false => line.push_str(arg),
            }
        }
        line
    }

    /// The command line that starts an agent. A program at EXEC_PATH is started only if it is
    /// Filermark: findstr searches its file, and does not read the standard input.
    pub fn start_line(&self, tag: &RunTag) -> String {
        let line = self.command_line(tag.agent_args());
        if self.is_default_path {
            return line;
        }
        // The outer parentheses end the first `if`. What is printed has quotes: the path may
        // have parentheses, too. Not `||`: Wine 8 runs what follows it in any case.
        let path = &self.path;
        format!(
            "(if exist \"{path}\" (findstr /l /m /c:\"{MARK}\" \"{path}\" >nul & \
             if errorlevel 1 (echo \"{path}\": this is not Filermark>&2 & exit {NOT_EXECUTABLE}))) & {line}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: Option<&str>) -> Result<WindowsProgram, String> {
        let mut host = HostPlan::local("h".into());
        host.program = path.map(str::to_owned);
        WindowsProgram::of(&host, "0123-windows-x86_64")
    }

    #[test]
    fn paths_have_a_form_for_cmd_and_one_for_sftp() {
        let own = at(None).unwrap();
        assert_eq!(
            own.command_line(["--version"]),
            r#""%USERPROFILE%\.cache\filermark\0123-windows-x86_64\filermark.exe" --version"#
        );
        assert_eq!(
            own.sftp,
            ".cache/filermark/0123-windows-x86_64/filermark.exe"
        );
        let tag = RunTag::new("").unwrap();
        assert!(own.start_line(&tag).ends_with(r#" agent --stdio --run """#));
        for path in [
            r"C:\Program Files (x86)\filermark.exe",
            "C:/Program Files (x86)/filermark.exe",
        ] {
            let drive = at(Some(path)).unwrap();
            assert_eq!(drive.sftp, "/C:/Program Files (x86)/filermark.exe");
            assert_eq!(
                drive.command_line([]),
                r#""C:\Program Files (x86)\filermark.exe""#
            );
            let beside = drive.beside("new.exe");
            assert_eq!(
                beside.command_line([]),
                r#""C:\Program Files (x86)\new.exe""#
            );
            assert_eq!(beside.sftp, "/C:/Program Files (x86)/new.exe");
        }
        let home = at(Some("~/My Tools/filermark.exe")).unwrap();
        assert_eq!(
            home.command_line([]),
            r#""%USERPROFILE%\My Tools\filermark.exe""#
        );
        assert_eq!(home.sftp, "My Tools/filermark.exe");
    }

    #[test]
    fn only_a_program_of_the_user_is_checked() {
        let tag = RunTag::new("mine").unwrap();
        let own = at(None).unwrap().start_line(&tag);
        assert!(own.starts_with(r#""%USERPROFILE%\.cache"#), "{own}");
        let path = r#""C:\Program Files (x86)\filermark.exe""#;
        let given = at(Some(path.trim_matches('"'))).unwrap().start_line(&tag);
        assert_eq!(
            given,
            format!(
                "(if exist {path} (findstr /l /m /c:\"{MARK}\" {path} >nul & \
                 if errorlevel 1 (echo {path}: this is not Filermark>&2 & exit 126))) & \
                 {path} agent --stdio --run mine"
            )
        );
        // cmd.exe takes 8191 characters, findstr a text of 254.
        assert!(MARK.len() < 254 && !MARK.contains(['"', '%', '\\']));
    }

    #[test]
    fn other_paths_are_refused() {
        for path in [
            "/opt/filermark",
            r"\\server\x",
            "C:",
            "bin/filermark",
            r#"C:\a"b"#,
            r"C:\%OS%\x",
        ] {
            assert!(at(Some(path)).is_err(), "{path}");
        }
    }
}
