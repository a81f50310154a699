//! The POSIX shell scripts that run on the hosts.
//!
//! A host may have any login shell; it is only used to start `/bin/sh`. A host whose system is
//! not known gets a script by its standard input, after it was asked for the system (module
//! `system`): cmd.exe would take the characters of a script for its own. On a command line,
//! newlines are replaced by blanks, since csh accepts none inside quotes: so every command ends
//! with `;`, and there are no comments. A script contains no single quote. Its output has the
//! format of the module `answer`; an error is a field of it, not an exit code.

use crate::launch::ssh::quote;
use filermark_link::build::{BUILD_DIGITS, MARK};

/// The standard input that makes `/bin/sh -s` run a script; the arguments are quoted already. A
/// shell that gets a part of it runs nothing.
pub(super) fn script_input(script: &str, args: &[&str]) -> String {
    let args = args.join(" ");
    format!("{{ set -- {args}; {} }}\n", on_one_line(script))
}

/// The command line that runs a script on a POSIX system; the arguments are quoted already.
pub(super) fn command_line(script: &str, args: &[&str]) -> String {
    let mut line = format!("exec /bin/sh -c {} filermark", quote(&on_one_line(script)));
    for arg in args {
        line.push(' ');
        line.push_str(arg);
    }
    line
}

/// A script with its names and patterns filled in.
fn on_one_line(script: &str) -> String {
    let lines = COMMON.lines().chain(script.lines()).map(str::trim);
    let lines: Vec<_> = lines.filter(|l| !l.is_empty()).collect();
    let build = "[0-9a-f]".repeat(BUILD_DIGITS);
    lines
        .join(" ")
        .replace("MARK", MARK)
        .replace("BUILDS", &build)
}

/// Prelude of all scripts.
const COMMON: &str = r#"
    LC_ALL=C; export LC_ALL;
    say() { printf "%s=%s\n" "$1" "$2"; };
    end() { printf "filermark-answer-end\n"; exit 0; };
    line() { printf %s "$1" | head -n 3 | tr "\n" " "; };
    fail() { say failed "$1"; say why "$(line "$2")"; end; };
    sum() {
        if command -v sha256sum >/dev/null 2>&1; then sha256sum;
        elif command -v shasum >/dev/null 2>&1; then shasum -a 256;
        elif command -v openssl >/dev/null 2>&1; then openssl dgst -sha256;
        else echo no tool; fi;
    };
    here() { echo "-$(uname -sm | tr "A-Z " "a-z-")"; };
    ours() { grep -q "MARK" "$1" 2>/dev/null; };
    printf "\nfilermark-answer/1\n";
"#;

/// Inspects the host and the file at `$1`. `$2` is `own` for the default path: `$1` is then the
/// beginning of its directory, before the name of the system, and the directory is marked as
/// used, so that old builds can be found.
pub(super) const INSPECT: &str = r#"
    p=$1;
    if test "$2" = own; then p=$1$(here)/filermark; fi;
    say os "$(uname -s)"; say machine "$(uname -m)";
    if test -h "$p"; then say link yes; fi;
    if test -d "$p"; then say kind directory;
    elif test -f "$p"; then
        say kind file; say sum "$({ sum <"$p"; } 2>&1)";
        if ours "$p"; then say ours yes; fi;
        if test -x "$p"; then say runs yes; fi;
        if test "$2" = own; then touch -c "$(dirname "$p")" 2>/dev/null; fi;
    elif test -e "$p" || test -h "$p"; then say kind other;
    else say kind missing; fi;
    end;
"#;

/// Reads the program from the standard input into the temporary name `$2`, checks the SHA-256
/// `$3`, and renames it to `$1`. For the default path (`$4` is `own`), directories are created,
/// and all but the newest three builds for this system are removed.
pub(super) const RECEIVE: &str = r#"
    p=$1; d=$(dirname "$p"); t=$d/$2;
    if test "$4" = own; then w=$(umask 077; mkdir -p "$d" 2>&1) || fail directory "$w"; fi;
    test -d "$d" || fail "no directory" "$d";
    trap "rm -f \"\$t\"" EXIT; trap "exit 1" HUP INT TERM PIPE;
    w=$({ umask 077; set -C; cat >"$t"; } 2>&1) || fail write "$w";
    w=$({ sum <"$t"; } 2>&1);
    case $w in *"$3"*) ;; *) fail sum "$w";; esac;
    w=$(chmod 755 "$t" 2>&1) || fail mode "$w";
    w=$("$t" --version 2>&1 </dev/null) || fail run "$w";
    if test -d "$p"; then fail place "$p is a directory"; fi;
    if test -e "$p"; then ours "$p" || fail place "$p is not Filermark any more"; fi;
    w=$(mv -f "$t" "$p" 2>&1) || fail rename "$w";
    say taken yes;
    if test "$4" = own && cd "$(dirname "$d")"; then
        n=0;
        for b in $(ls -1dt BUILDS BUILDS$(here) 2>/dev/null); do
            if test -h "$b" || test "$b" = "$(basename "$d")"; then continue; fi;
            n=$((n+1));
            if test $n -ge 3 && test "$(ls -A "$b")" = filermark && ours "$b/filermark"; then
                rm -f "$b/filermark"; rmdir "$b" && say removed "$b";
            fi;
        done;
    fi;
    end;
"#;

/// Ends agents with the program `$1`; `$2` is the run. For the default path (`$3` is `own`),
/// `$1` is as for [`INSPECT`], and if this build is missing, another one is used; without any,
/// agents are only searched for.
pub(super) const END_RUN: &str = r#"
    p=$1;
    if test "$3" = own; then p=$1$(here)/filermark; fi;
    if test -x "$p" && ours "$p"; then exec "$p" agent --end-run "$2"; fi;
    if test "$3" = own && cd "$HOME/.cache/filermark" 2>/dev/null; then
        for b in $(ls -1dt BUILDS BUILDS$(here) 2>/dev/null); do
            if test -x "$b/filermark"; then exec "./$b/filermark" agent --end-run "$2"; fi;
        done;
    fi;
    say program missing;
    if test -r /proc/self/cmdline; then say looked yes; fi;
    for q in /proc/[0-9]*; do
        test -O "$q" || continue;
        c=$({ tr "\0" " " <"$q/cmdline"; } 2>/dev/null);
        case $c in *" agent --stdio --run $2 ") say pid "${q#/proc/}";; esac;
    done;
    end;
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_fits_on_one_line_of_any_shell() {
        let line = command_line(RECEIVE, &["\"$HOME\"/x"]);
        assert!(!line.contains('\n'), "{line}");
        assert_eq!(line.matches('\'').count(), 2, "{line}");
        // Old csh: words of at most 4096 bytes.
        assert!(line.len() < 4000, "{}", line.len());
        assert!(!line.contains('!'), "csh would expand its history");
        assert!(line.ends_with(" filermark \"$HOME\"/x"));
    }

    #[cfg(unix)]
    #[test]
    fn shells_accept_the_scripts() {
        for script in [INSPECT, RECEIVE, END_RUN] {
            let input = script_input(script, &["\"$HOME\"/x"]);
            let accepts = |text: &str| {
                let checked = std::process::Command::new("/bin/sh")
                    .args(["-n", "-c", text])
                    .output()
                    .unwrap();
                checked.status.success()
            };
            assert!(accepts(&input), "{input}");
            // A connection that is lost meanwhile.
            assert!(!accepts(&input[..input.len() - 3]));
        }
    }
}
