//! Arguments of OpenSSH's helpers for a host: `ssh-copy-id` has fewer options than `ssh`, and
//! calls the first `ssh` on PATH. Pure, except for PATH.

use crate::launch::ssh::{SshClient, bare, quote};
use filermark_model::launch::HostPlan;
use filermark_model::plan::IpChoice;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// Options of ssh with an argument, and the equivalent configuration option.
const WITH_WORD: &[(char, &str)] = &[
    ('b', "BindAddress"),
    ('c', "Ciphers"),
    ('i', "IdentityFile"),
    ('J', "ProxyJump"),
    ('l', "User"),
    ('m', "MACs"),
    ('S', "ControlPath"),
];
/// Options of ssh that have no effect on copying a key.
const WITHOUT_MEANING: &str = "aACfgkKnNqstTvxXyY";

/// The arguments of `ssh-copy-id` that copy a public key to a host.
///
/// # Errors
/// A message: SSH_COMMAND has an option that ssh-copy-id does not have.
pub(super) fn arguments(
    client: &SshClient,
    host: &HostPlan,
    public: &Path,
) -> Result<Vec<String>, String> {
    let (program, options) = client.command_line();
    if Path::new(program).file_name() != Some("ssh".as_ref()) {
        return Err(by_hand(
            &format!("SSH_COMMAND is '{program}', and ssh-copy-id calls only 'ssh'"),
            client,
            host,
            public,
        ));
    }
    let mut args = vec!["-i".to_owned(), public.display().to_string()];
    let translated = translate(options).map_err(|word| {
        let why = format!("SSH_COMMAND has '{word}', which ssh-copy-id does not support");
        by_hand(&why, client, host, public)
    })?;
    args.extend(translated);
    let family = match client.ip() {
        IpChoice::V4 => Some("AddressFamily=inet"),
        IpChoice::V6 => Some("AddressFamily=inet6"),
        IpChoice::Any => None,
    };
    for option in family.into_iter().chain(["ConnectTimeout=10"]) {
        args.extend(["-o".to_owned(), option.to_owned()]);
    }
    args.push("--".to_owned());
    let name = bare(&host.client);
    args.push(match &host.user {
        Some(user) => format!("{user}@{name}"),
        None => name.to_owned(),
    });
    Ok(args)
}

/// Translates options of ssh to ssh-copy-id; `Err`: the option without an equivalent.
fn translate(options: &[String]) -> Result<Vec<String>, String> {
    let mut out = Vec::new();
    let mut options = options.iter();
    while let Some(option) = options.next() {
        let Some(letters) = option.strip_prefix('-').filter(|l| !l.is_empty()) else {
            return Err(option.clone());
        };
        for (at, letter) in letters.char_indices() {
            let rest = &letters[at + letter.len_utf8()..];
            let named = WITH_WORD.iter().find(|(l, _)| *l == letter);
            let takes_word = named.is_some() || "Fop".contains(letter);
            if takes_word {
                let word = match rest {
                    "" => options.next().ok_or_else(|| option.clone())?.clone(),
                    rest => rest.to_owned(),
                };
                match named {
                    Some((_, name)) => out.extend(["-o".to_owned(), format!("{name}={word}")]),
                    None => out.extend([format!("-{letter}"), word]),
                }
                break;
            }
            match letter {
                '4' => out.extend(["-o", "AddressFamily=inet"].map(String::from)),
                '6' => out.extend(["-o", "AddressFamily=inet6"].map(String::from)),
                _ if WITHOUT_MEANING.contains(letter) => {}
                _ => return Err(option.clone()),
            }
        }
    }
    Ok(out)
}

/// The command to run by hand instead of ssh-copy-id.
fn by_hand(why: &str, client: &SshClient, host: &HostPlan, public: &Path) -> String {
    let (program, options) = client.command_line();
    let mut words = vec![program.to_owned()];
    words.extend(options.iter().cloned());
    if let Some(user) = &host.user {
        words.extend(["-l".to_owned(), user.clone()]);
    }
    words.push(bare(&host.client).to_owned());
    let words: Vec<_> = words.iter().map(|w| quote(w)).collect();
    format!(
        "{why}; by hand: {} 'umask 077; mkdir -p .ssh && cat >> .ssh/authorized_keys' < {}",
        words.join(" "),
        quote(&public.display().to_string())
    )
}

/// One of OpenSSH's programs: from the directory of the ssh in SSH_COMMAND if that is a path,
/// so that it calls the same ssh.
pub(super) fn tool(client: &SshClient, name: &str) -> Command {
    let mut command = Command::new(name);
    if let Some(path) = path_of(client.command_line().0) {
        command.env("PATH", path);
    }
    command
}

fn path_of(program: &str) -> Option<OsString> {
    let dir = Path::new(program).parent()?;
    if dir.as_os_str().is_empty() {
        return None;
    }
    let old = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::iter::once(dir.to_owned()).chain(std::env::split_paths(&old));
    std::env::join_paths(dirs).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_model::launch::{LaunchPlan, LauncherKind};

    fn args(command: &str, host: &str, user: Option<&str>) -> Result<String, String> {
        let mut plan = LaunchPlan::local([host.to_owned()]);
        plan.ssh_command = command.split(' ').map(String::from).collect();
        plan.hosts[0].launcher = LauncherKind::Ssh;
        plan.hosts[0].user = user.map(String::from);
        let client = SshClient::of(&plan);
        arguments(&client, &plan.hosts[0], Path::new("/h/k.pub")).map(|a| a.join(" "))
    }

    #[test]
    fn options_of_ssh_become_those_of_ssh_copy_id() {
        for (given, translated) in [
            ("ssh", ""),
            ("/opt/bin/ssh -F my.cfg", "-F my.cfg "),
            ("ssh -vCp2222 -o A=b -oC=d", "-p 2222 -o A=b -o C=d "),
            (
                "ssh -J jump -i key -l me",
                "-o ProxyJump=jump -o IdentityFile=key -o User=me ",
            ),
            ("ssh -6q", "-o AddressFamily=inet6 "),
        ] {
            let expected = format!("-i /h/k.pub {translated}-o ConnectTimeout=10 -- h");
            assert_eq!(
                args(given, "h", None).as_deref(),
                Ok(expected.as_str()),
                "{given}"
            );
        }
        let address = args("ssh", "[::1]", Some("me")).unwrap();
        assert!(address.ends_with("-- me@::1"), "{address}");
    }

    #[test]
    fn options_without_an_equivalent_give_a_command_to_run_by_hand() {
        for given in [
            "ssh -W x:1",
            "ssh -D 1080",
            "ssh -p",
            "ssh word",
            "ssh -",
            "mosh",
            "/x/ssh2 -4",
        ] {
            let why = args(given, "h", Some("it's me")).unwrap_err();
            let hand = format!("by hand: {given} -l 'it'\\''s me' h 'umask 077;");
            assert!(why.contains(&hand), "{why}");
            assert!(why.ends_with("< /h/k.pub"), "{why}");
        }
    }
}
