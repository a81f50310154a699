//! The key files of runs whose agents are started by hand: one for the prime, one for each
//! client, so that a client's file lets its holder join and nothing else.
//!
//! ```text
//! prime.key                        client-h1.key
//!   filermark-prime-key 1            filermark-client-key 1
//!   secret HEX                       secret HEX
//!   client h1 PUBLIC                 client h1
//!   client h2 PUBLIC                 prime PUBLIC
//! ```
//!
//! Each side has its own secret and the public keys that it accepts: a client that of the
//! prime, the prime those of its clients, by name.

use super::hello::HostName;
use super::peer_keys::{Identity, LinkRole, PublicKey};
use super::secret::{Secret, SecretError, read_private, write_private};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Clients of one prime at most; as many as a run may have.
pub const CLIENTS_MAX: usize = 10_000;
/// Longest file of a prime, in bytes: sufficient for the longest names.
const PRIME_LEN_MAX: u64 = 4 << 20;
/// Longest file of a client, in bytes.
const CLIENT_LEN_MAX: u64 = 4096;
/// The file of the prime.
const PRIME_FILE: &str = "prime.key";
const PRIME_HEAD: &str = "filermark-prime-key 1";
const CLIENT_HEAD: &str = "filermark-client-key 1";
const MAKE: &str = "make the files with: filermark agent --make-keys DIR --clients LIST";
/// The message about a file of earlier versions: each holder had the rights of the prime.
const OLD: &str = "holds one secret for both sides, as earlier versions made it: each client \
                   that has it could give orders to the others";

/// The keys of a prime: its own secret, and the public keys of its clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrimeKeys {
    secret: Secret,
    clients: Vec<(HostName, PublicKey)>,
}

/// The keys of a client: its own secret, its name, and the public key of its prime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientKey {
    secret: Secret,
    prime: PublicKey,
    /// The client that it identifies.
    pub name: HostName,
}

/// The name of a client's file.
pub fn client_file(client: &str) -> String {
    format!("client-{}.key", bare(client))
}

/// An IPv6 address may be in brackets in CLIENTS.
fn bare(client: &str) -> &str {
    client.trim_matches(['[', ']'])
}

impl PrimeKeys {
    /// Reads the file of the prime.
    ///
    /// # Errors
    /// It cannot be read, others can read it, or it is not valid.
    pub fn read(path: &Path) -> Result<Self, SecretError> {
        let text = read_private(path, PRIME_LEN_MAX)?;
        Self::of_text(&text, path)
    }

    /// Parses a text; `path` is only used in messages.
    ///
    /// # Errors
    /// It is not valid.
    pub fn of_text(text: &str, path: &Path) -> Result<Self, SecretError> {
        Self::parse(text).map_err(|wrong| wrong.at(path))
    }

    fn parse(text: &str) -> Result<Self, KeyFileError> {
        let mut lines = KeyFileLines::of(text, PRIME_HEAD, CLIENT_HEAD)?;
        let secret = lines.secret()?;
        let mut clients = Vec::new();
        while let Some((line, comment)) = lines.next() {
            let ["client", name, key] = comment[..] else {
                return Err(KeyFileError::line(line, "is not 'client NAME KEY'"));
            };
            let name = HostName::parse(name).map_err(|why| KeyFileError::line(line, why))?;
            let key = PublicKey::parse(key).map_err(|why| KeyFileError::line(line, why))?;
            if clients.len() == CLIENTS_MAX {
                return Err(KeyFileError::line(
                    line,
                    "exceeds the limit of 10000 clients",
                ));
            }
            clients.push((name, key));
        }
        let mut names: Vec<_> = clients.iter().map(|(name, _)| lower(name)).collect();
        let mut keys: Vec<_> = clients.iter().map(|(_, key)| *key).collect();
        names.sort_unstable();
        keys.sort_unstable();
        if names.windows(2).any(|w| w[0] == w[1]) || keys.windows(2).any(|w| w[0] == w[1]) {
            return Err(KeyFileError::whole_file("contains a client or a key twice"));
        }
        Ok(Self { secret, clients })
    }

    /// The identity of the prime for all of its clients.
    ///
    /// # Errors
    /// The cryptographic library failed.
    pub fn identity(&self) -> Result<Identity, String> {
        let keys = self.clients.iter().map(|(_, key)| *key);
        Identity::new(&self.secret, LinkRole::Prime, keys)
    }

    /// The identity of the prime for one client only.
    ///
    /// # Errors
    /// There is no key of this client; with advice.
    pub fn identity_for(&self, client: &str) -> Result<Identity, String> {
        let key = self.key_of(client).ok_or_else(|| no_key(client))?;
        Identity::new(&self.secret, LinkRole::Prime, [key])
    }

    /// Whether there is a key of this client.
    ///
    /// # Errors
    /// There is none; with advice.
    pub fn require(&self, client: &str) -> Result<(), String> {
        self.key_of(client).map(drop).ok_or_else(|| no_key(client))
    }

    fn key_of(&self, client: &str) -> Option<PublicKey> {
        let wanted = |(name, _): &&(HostName, PublicKey)| Self::is_same(name.as_str(), client);
        self.clients.iter().find(wanted).map(|(_, key)| *key)
    }

    /// Whether two texts name the same client.
    pub fn is_same(one: &str, other: &str) -> bool {
        bare(one).eq_ignore_ascii_case(bare(other))
    }

    /// The client with this key.
    pub fn name_of(&self, key: &PublicKey) -> Option<&HostName> {
        let found = self.clients.iter().find(|(_, own)| own == key);
        found.map(|(name, _)| name)
    }

    fn to_text(&self) -> zeroize::Zeroizing<String> {
        let mut text = head(PRIME_HEAD, &self.secret, PRIME_TEXT);
        // Allocated once: a growing buffer would leave copies of the secret in memory.
        let line = "client  \n".len() + super::hello::NAME_LEN_MAX + PublicKey::DIGITS;
        text.reserve_exact(self.clients.len() * line);
        for (name, key) in &self.clients {
            text.push_str(&format!("client {name} {key}\n"));
        }
        text
    }
}

fn lower(name: &HostName) -> String {
    bare(name.as_str()).to_ascii_lowercase()
}

fn no_key(client: &str) -> String {
    let file = client_file(client);
    format!(
        "SECRET_FILE has no key of client {client}: add one with 'filermark agent --make-keys DIR --clients {client}', where DIR is the directory of prime.key, and move DIR/{file} to the client"
    )
}

const PRIME_TEXT: &str = "\
# The key of the prime: its holder can give orders to the clients below.
# It stays on the prime. To bar a client from joining, remove its line.
";
const CLIENT_TEXT: &str = "\
# The key of one client: its holder can join a run as this client, and nothing else.
# It belongs on the client.
";

/// First line, a comment, and the secret.
fn head(first: &str, secret: &Secret, comment: &str) -> zeroize::Zeroizing<String> {
    let mut text = zeroize::Zeroizing::new(String::with_capacity(1024));
    for part in [first, "\n", comment, "secret ", &secret.to_hex(), "\n"] {
        text.push_str(part);
    }
    text
}

impl ClientKey {
    /// Reads the file of a client.
    ///
    /// # Errors
    /// It cannot be read, others can read it, or it is not valid.
    pub fn read(path: &Path) -> Result<Self, SecretError> {
        let text = read_private(path, CLIENT_LEN_MAX)?;
        Self::of_text(&text, path)
    }

    /// Parses a text; `path` is only used in messages.
    ///
    /// # Errors
    /// It is not valid.
    pub fn of_text(text: &str, path: &Path) -> Result<Self, SecretError> {
        Self::parse(text).map_err(|wrong| wrong.at(path))
    }

    fn parse(text: &str) -> Result<Self, KeyFileError> {
        let mut lines = KeyFileLines::of(text, CLIENT_HEAD, PRIME_HEAD)?;
        let secret = lines.secret()?;
        let (mut name, mut prime) = (None, None);
        while let Some((line, comment)) = lines.next() {
            let wrong = |why| KeyFileError::line(line, why);
            match comment[..] {
                ["client", text] if name.is_none() => {
                    name = Some(HostName::parse(text).map_err(wrong)?);
                }
                ["prime", text] if prime.is_none() => {
                    prime = Some(PublicKey::parse(text).map_err(wrong)?);
                }
                _ => return Err(wrong("is neither 'client NAME' nor 'prime KEY'")),
            }
        }
        let (Some(name), Some(prime)) = (name, prime) else {
            return Err(KeyFileError::whole_file(
                "does not contain its client and the key of the prime",
            ));
        };
        Ok(Self {
            secret,
            prime,
            name,
        })
    }

    /// The identity of an agent of this client, which accepts its prime only.
    ///
    /// # Errors
    /// The cryptographic library failed.
    pub fn identity(&self) -> Result<Identity, String> {
        Identity::new(&self.secret, LinkRole::Agent, [self.prime])
    }

    fn to_text(&self) -> zeroize::Zeroizing<String> {
        let mut text = head(CLIENT_HEAD, &self.secret, CLIENT_TEXT);
        text.push_str(&format!("client {}\nprime {}\n", self.name, self.prime));
        text
    }
}

/// An error in the contents of a file.
#[derive(Debug)]
struct KeyFileError {
    line: Option<usize>,
    reason: String,
    advice: &'static str,
}

impl KeyFileError {
    fn line(line: usize, reason: &str) -> Self {
        Self {
            line: Some(line),
            ..Self::whole_file(reason)
        }
    }

    fn whole_file(reason: &str) -> Self {
        Self {
            line: None,
            reason: reason.into(),
            advice: MAKE,
        }
    }

    fn at(self, path: &Path) -> SecretError {
        SecretError::Content {
            path: path.into(),
            position: self
                .line
                .map_or_else(String::new, |line| format!(":{line}")),
            reason: self.reason,
            advice: self.advice,
        }
    }
}

/// The lines of a file that are not empty or comments, split into words and numbered from 1.
struct KeyFileLines<'a>(Box<dyn Iterator<Item = (usize, Vec<&'a str>)> + 'a>);

impl<'a> KeyFileLines<'a> {
    /// After the first line, which must be `head`.
    fn of(text: &'a str, head: &str, of_the_other: &str) -> Result<Self, KeyFileError> {
        let comment = |(i, line): (usize, &'a str)| (i + 1, line.split_whitespace().collect());
        let counts = |(_, comment): &(usize, Vec<&str>)| {
            comment.first().is_some_and(|word| !word.starts_with('#'))
        };
        let mut lines = text.lines().enumerate().map(comment).filter(counts);
        match lines.next() {
            Some((_, comment)) if comment.join(" ") == head => Ok(Self(Box::new(lines))),
            Some((_, comment)) if comment.join(" ") == of_the_other => {
                Err(KeyFileError::whole_file(if head == CLIENT_HEAD {
                    "is the key of the prime; an agent needs that of its client, client-NAME.key"
                } else {
                    "is the key of a client; SECRET_FILE must be that of the prime, prime.key"
                }))
            }
            Some((_, comment)) if comment.len() == 1 && Secret::parse(comment[0]).is_ok() => {
                Err(KeyFileError::whole_file(OLD))
            }
            _ => Err(KeyFileError::whole_file("is not a key file of Filermark")),
        }
    }

    fn next(&mut self) -> Option<(usize, Vec<&'a str>)> {
        self.0.next()
    }

    fn secret(&mut self) -> Result<Secret, KeyFileError> {
        match self.next() {
            Some((line, comment)) => match comment[..] {
                ["secret", hex] => Secret::parse(hex)
                    .map_err(|why| KeyFileError::line(line, &format!("the secret {why}"))),
                _ => Err(KeyFileError::line(line, "is not 'secret HEX'")),
            },
            None => Err(KeyFileError::whole_file("ends before the secret")),
        }
    }
}

/// What commands for one directory lock: the directory itself, or where the system opens none
/// as a file, one that stays in it.
fn lock_file(dir: &Path) -> std::io::Result<File> {
    match cfg!(windows) {
        false => File::open(dir),
        true => File::create(dir.join("prime.key.lock")),
    }
}

/// The files that were made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedKeys {
    /// The file of the prime.
    pub prime: PathBuf,
    /// Whether it existed, and has more clients now.
    pub existed: bool,
    /// The files of the clients that were made.
    pub clients: Vec<PathBuf>,
    /// The clients that had keys already, and the paths of their files when they were made.
    pub kept: Vec<(HostName, PathBuf)>,
}

/// Makes the file of the prime and one for each client, in one directory. An existing file of
/// the prime gets the missing clients added; no key is replaced.
///
/// # Errors
/// There is a client's file whose key the prime's file does not have, or files cannot be made;
/// those made before remain.
pub fn make_keys(dir: &Path, clients: &[HostName]) -> Result<CreatedKeys, SecretError> {
    let made_dir = filermark_system::make_private_dirs(dir);
    made_dir.map_err(|error| SecretError::File {
        path: dir.into(),
        error,
        advice: "",
    })?;
    // One command at a time: each reads the prime's file and replaces it. Best effort: not
    // every file system has locks.
    let lock = lock_file(dir);
    let _ = lock.as_ref().map(File::lock);
    let path = dir.join(PRIME_FILE);
    let existed = path.try_exists().unwrap_or(true);
    let mut prime = match existed {
        true => PrimeKeys::read(&path)?,
        false => PrimeKeys {
            secret: Secret::random()?,
            clients: Vec::new(),
        },
    };
    let wrong = |reason: String, advice| SecretError::Content {
        path: path.clone(),
        position: String::new(),
        reason,
        advice,
    };
    let own = PublicKey::of(&prime.secret).map_err(|why| wrong(why, MAKE))?;
    let mut files: Vec<(PathBuf, ClientKey)> = Vec::new();
    let mut kept = Vec::new();
    let before = prime.clients.len();
    for (i, name) in clients.iter().enumerate() {
        if clients[..i]
            .iter()
            .any(|n| PrimeKeys::is_same(n.as_str(), name.as_str()))
        {
            continue; // CLIENTS may name a client twice, for two agents.
        }
        let file = dir.join(client_file(name.as_str()));
        if prime.key_of(name.as_str()).is_some() {
            kept.push((name.clone(), file));
            continue;
        }
        if prime.clients.len() == CLIENTS_MAX {
            return Err(wrong(
                "has 10000 clients already, which is the limit".into(),
                MAKE,
            ));
        }
        // Not reused: its line may have been removed because the key was stolen.
        if file.try_exists().unwrap_or(true) {
            return Err(unknown_file(file, &path, name));
        }
        let client = ClientKey {
            secret: Secret::random()?,
            prime: own,
            name: name.clone(),
        };
        let key = PublicKey::of(&client.secret).map_err(|why| wrong(why, MAKE))?;
        prime.clients.push((name.clone(), key));
        files.push((file, client));
    }
    for (file, client) in &files {
        write_private(file, &client.to_text())?;
    }
    // Replaced atomically: a crash leaves the old or the new one.
    let fresh = dir.join("prime.key.new");
    let placed = |error: io::Error| SecretError::File {
        path: path.clone(),
        error,
        advice: "",
    };
    if !existed || prime.clients.len() > before {
        // From a command that was interrupted.
        let _ = std::fs::remove_file(&fresh);
        write_private(&fresh, &prime.to_text())?;
        std::fs::rename(&fresh, &path).map_err(placed)?;
    }
    Ok(CreatedKeys {
        prime: path,
        existed,
        clients: files.into_iter().map(|(file, _)| file).collect(),
        kept,
    })
}

/// A client's file exists, but the prime has no key of that client.
fn unknown_file(file: PathBuf, prime: &Path, name: &HostName) -> SecretError {
    SecretError::Content {
        path: file,
        position: String::new(),
        reason: format!(
            "exists, but {} has no key of client {name}",
            prime.display()
        ),
        advice: "the prime does not accept this key: remove the file and repeat the command",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<HostName> {
        names.iter().map(|n| HostName::parse(n).unwrap()).collect()
    }

    /// Also writes them to the directory in FILERMARK_FUZZ_SEEDS, for ci/fuzz.
    #[test]
    fn made_keys_match_and_clients_can_be_added() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("lab");
        let made = make_keys(&at, &names(&["h1", "H2.lab"])).unwrap();
        if let Some(corpus) = std::env::var_os("FILERMARK_FUZZ_SEEDS") {
            let corpus = Path::new(&corpus).join("agent_keys");
            std::fs::create_dir_all(&corpus).unwrap();
            std::fs::copy(&made.prime, corpus.join("prime")).unwrap();
            std::fs::copy(&made.clients[0], corpus.join("client")).unwrap();
        }
        assert!(!made.existed && made.clients.len() == 2);
        let before = PrimeKeys::read(&made.prime).unwrap();
        let h1 = ClientKey::read(&made.clients[0]).unwrap();
        assert_eq!(h1.name.as_str(), "h1");
        assert_eq!(h1.prime, PublicKey::of(&before.secret).unwrap());
        let key = PublicKey::of(&h1.secret).unwrap();
        assert_eq!(before.name_of(&key).unwrap().as_str(), "h1");
        assert!(before.require("h2.LAB").is_ok());
        let missing = before.require("h3").unwrap_err();
        assert!(missing.contains("--clients h3"), "{missing}");

        let more = make_keys(&at, &names(&["h3", "fe80::1", "H3"])).unwrap();
        assert!(more.existed);
        let after = PrimeKeys::read(&more.prime).unwrap();
        assert_eq!(after.clients[..2], before.clients[..]);
        assert!(after.require("h3").is_ok() && after.require("[fe80::1]").is_ok());
        let again = make_keys(&at, &names(&["h1"])).unwrap();
        assert_eq!((again.clients.len(), again.kept.len()), (0, 1));
        assert_eq!(PrimeKeys::read(&more.prime).unwrap(), after);
    }

    /// Files that were edited or copied on Windows.
    #[test]
    fn line_ends_of_windows_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let made = make_keys(dir.path(), &names(&["h1", "h2"])).unwrap();
        let with_windows_ends = |path: &Path| {
            let text = std::fs::read_to_string(path).unwrap();
            let copy = path.with_extension("copy");
            write_private(&copy, &text.replace('\n', "\r\n")).unwrap();
            assert!(std::fs::read(&copy).unwrap().ends_with(b"\r\n"));
            copy
        };
        let (prime, h1) = (&made.prime, &made.clients[0]);
        let read = PrimeKeys::read(&with_windows_ends(prime)).unwrap();
        assert_eq!(read, PrimeKeys::read(prime).unwrap());
        let read = ClientKey::read(&with_windows_ends(h1)).unwrap();
        assert_eq!(read, ClientKey::read(h1).unwrap());
    }

    #[test]
    fn concurrent_commands_lose_no_key() {
        let dir = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for nth in 0..16 {
                let name = names(&[&format!("h{nth}")]);
                let at = dir.path();
                scope.spawn(move || make_keys(at, &name).unwrap());
            }
        });
        let prime = PrimeKeys::read(&dir.path().join(PRIME_FILE)).unwrap();
        for nth in 0..16 {
            assert!(prime.require(&format!("h{nth}")).is_ok(), "h{nth}");
        }
    }

    #[test]
    fn missing_keys_are_made_and_existing_ones_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let first = make_keys(dir.path(), &names(&["h1"])).unwrap();
        let h1 = std::fs::read(&first.clients[0]).unwrap();
        // The file of h2 was moved to its host.
        let second = make_keys(dir.path(), &names(&["h2"])).unwrap();
        std::fs::remove_file(&second.clients[0]).unwrap();
        let all = make_keys(dir.path(), &names(&["h1", "h2", "h3"])).unwrap();
        assert!(all.existed);
        assert_eq!(all.clients, [dir.path().join("client-h3.key")]);
        let kept: Vec<&str> = all.kept.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(kept, ["h1", "h2"]);
        assert_eq!(std::fs::read(&first.clients[0]).unwrap(), h1);
        assert!(!all.kept[1].1.exists(), "no second key for h2");
        let prime = PrimeKeys::read(&all.prime).unwrap();
        assert_eq!(prime.clients.len(), 3);

        // A key whose line was removed, for example because it was stolen, is not used again,
        // and nothing else is made in that case.
        let text = std::fs::read_to_string(&all.prime).unwrap();
        let cut: Vec<&str> = text.lines().filter(|l| !l.contains("client h3")).collect();
        std::fs::write(&all.prime, cut.join("\n") + "\n").unwrap();
        let before = PrimeKeys::read(&all.prime).unwrap();
        let wrong = make_keys(dir.path(), &names(&["h4", "h3"]))
            .unwrap_err()
            .to_string();
        assert!(
            wrong.contains("client-h3.key") && wrong.contains("remove the file"),
            "{wrong}"
        );
        assert_eq!(PrimeKeys::read(&all.prime).unwrap(), before);
        assert!(!dir.path().join("client-h4.key").exists());
        std::fs::remove_file(&all.clients[0]).unwrap();
        let made = make_keys(dir.path(), &names(&["h4", "h3"])).unwrap();
        assert_eq!((made.clients.len(), made.kept.len()), (2, 0));
    }

    /// A client's file has nothing in common with other files except public keys.
    #[test]
    fn no_secret_is_in_another_file() {
        let dir = tempfile::tempdir().unwrap();
        let made = make_keys(dir.path(), &names(&["h1", "h2"])).unwrap();
        let text = |path: &Path| std::fs::read_to_string(path).unwrap();
        let files = [&made.prime, &made.clients[0], &made.clients[1]];
        for own in files {
            let own_text = text(own);
            let secret = own_text.lines().find_map(|l| l.strip_prefix("secret "));
            for other in files.iter().filter(|other| **other != own) {
                assert!(!text(other).contains(secret.unwrap()), "{other:?}");
            }
        }
    }

    #[test]
    fn a_file_of_the_wrong_side_and_an_old_secret_are_reported() {
        let dir = tempfile::tempdir().unwrap();
        let made = make_keys(dir.path(), &names(&["h1"])).unwrap();
        let prime = ClientKey::read(&made.prime).unwrap_err().to_string();
        assert!(prime.contains("is the key of the prime"), "{prime}");
        let client = PrimeKeys::read(&made.clients[0]).unwrap_err().to_string();
        assert!(client.contains("is the key of a client"), "{client}");
        let old = dir.path().join("old");
        write_private(&old, &format!("{}\n", *Secret::random().unwrap().to_hex())).unwrap();
        for message in [
            PrimeKeys::read(&old).unwrap_err().to_string(),
            ClientKey::read(&old).unwrap_err().to_string(),
        ] {
            assert!(message.contains("one secret for both sides"), "{message}");
            assert!(message.contains("filermark agent --make-keys"), "{message}");
        }
    }

    #[test]
    fn invalid_files_are_reported_with_the_line() {
        let secret = Secret::random().unwrap();
        let hex = secret.to_hex();
        let key = PublicKey::of(&secret).unwrap().to_string();
        let head = format!("{PRIME_HEAD}\n# comment\nsecret {}\n", *hex);
        for (text, line) in [
            (format!("{PRIME_HEAD}\n"), None),
            (format!("{PRIME_HEAD}\nsecret 00\n"), Some(2)),
            (format!("{head}client h1\n"), Some(4)),
            (format!("{head}client h1 {}\n", &key[1..]), Some(4)),
            (format!("{head}client -h {key}\n"), Some(4)),
            (format!("{head}client h1 {key}\nclient h2 {key}\n"), None),
        ] {
            let wrong = PrimeKeys::parse(&text).unwrap_err();
            assert_eq!(wrong.line, line, "{text}: {wrong:?}");
        }
        let head = format!("{CLIENT_HEAD}\nsecret {}\n", *hex);
        assert!(ClientKey::parse(&head).is_err());
        assert!(ClientKey::parse(&format!("{head}client a\nclient b\nprime {key}")).is_err());
        assert!(ClientKey::parse(&format!("{head}client a\nprime {key}")).is_ok());
    }
}
