//! The program as a file: its build, and the mark that identifies a file as Filermark.

use crate::build_mark::{self, BuildMark};
pub use crate::build_mark::{BUILD_DIGITS, BUILD_MARK};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::OnceLock;

/// Contained in every program file of Filermark: `install` replaces and `stop` ends only
/// programs that contain it. They need not be run for the check.
pub const MARK: &str = "filermark-program/1: this file is Filermark, a file-server benchmark";
/// Keeps the linker from removing the mark.
#[used]
static KEPT_MARK: &str = MARK;

/// Bytes of a file that are read at once.
const CHUNK_LEN: usize = 1 << 20;

/// Hashes what is read through it, so that a file is read once for its hash and its marks.
pub struct HashingReader<R> {
    inner: R,
    hash: Sha256,
    len: u64,
}

impl<R: Read> HashingReader<R> {
    /// Of a file that is at its beginning.
    pub fn new(inner: R) -> Self {
        let hash = Sha256::new();
        Self {
            inner,
            hash,
            len: 0,
        }
    }

    /// Reads the rest. Returns the SHA-256 of all bytes, as 64 hexadecimal digits, and their
    /// number.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn finish(mut self) -> io::Result<(String, u64)> {
        let mut chunk = vec![0; CHUNK_LEN];
        loop {
            match self.read(&mut chunk) {
                Ok(0) => break,
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        let digest: [u8; 32] = self.hash.finalize().into();
        let text = digest.iter().map(|b| format!("{b:02x}")).collect();
        Ok((text, self.len))
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.hash.update(&buffer[..n]);
        self.len += n as u64;
        Ok(n)
    }
}

/// A program file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its path.
    pub path: PathBuf,
    /// SHA-256 of its contents, 64 hexadecimal digits.
    pub sha256: String,
    /// Its length in bytes.
    pub len: u64,
    /// The build that it declares; `None`: it declares none.
    pub mark: Option<BuildMark>,
}

impl Program {
    /// Reads a file completely.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(path: PathBuf) -> io::Result<Self> {
        let mut file = HashingReader::new(File::open(&path)?);
        let mark = BuildMark::find(&mut file)?;
        let (sha256, len) = file.finish()?;
        Ok(Self {
            path,
            sha256,
            len,
            mark,
        })
    }

    /// Whether the file has capabilities (`setcap`), which a copy does not have.
    pub fn has_capabilities(&self) -> bool {
        own::has_capabilities(&self.path)
    }

    /// The name of its build: that of its sources; the beginning of its hash if it does not
    /// declare them.
    pub fn build(&self) -> &str {
        let own = || self.sha256.get(..BUILD_DIGITS).unwrap_or(&self.sha256);
        self.mark.as_ref().map_or_else(own, |mark| &mark.sources)
    }
}

#[cfg(target_os = "linux")]
mod own {
    use std::fs::Metadata;
    use std::io;
    use std::os::unix::fs::MetadataExt;
    use std::path::{Path, PathBuf};

    /// Large enough for every version of the attribute.
    const LEN_MAX: usize = 64;

    pub fn has_capabilities(path: &Path) -> bool {
        let mut value = [0_u8; LEN_MAX];
        rustix::fs::getxattr(path, "security.capability", &mut value).is_ok_and(|len| len > 0)
    }

    /// The path of this program's file, even if another file has its name now.
    ///
    /// # Errors
    /// It cannot be found.
    pub fn own_executable() -> io::Result<PathBuf> {
        let running = Path::new("/proc/self/exe");
        let named = std::env::current_exe()?;
        let Ok(running_file) = std::fs::metadata(running) else {
            return Ok(named);
        };
        match std::fs::metadata(&named) {
            Ok(named_file) if is_same_file(&named_file, &running_file) => Ok(named),
            _ => Ok(running.to_owned()),
        }
    }

    fn is_same_file(a: &Metadata, b: &Metadata) -> bool {
        (a.dev(), a.ino()) == (b.dev(), b.ino())
    }
}

#[cfg(not(target_os = "linux"))]
mod own {
    use std::io;
    use std::path::{Path, PathBuf};

    pub fn has_capabilities(_: &Path) -> bool {
        false
    }

    /// The path of this program's file. If another file has its name now, it is that one.
    ///
    /// # Errors
    /// It cannot be found.
    pub fn own_executable() -> io::Result<PathBuf> {
        std::env::current_exe()
    }
}

pub use own::own_executable;

/// This program's own file; read once.
///
/// # Errors
/// A message: it cannot be found or read.
pub fn own_program() -> Result<&'static Program, String> {
    static OWN: OnceLock<Result<Program, String>> = OnceLock::new();
    let read = || {
        let path = own_executable()
            .map_err(|e| format!("this program's own file cannot be found: {e}"))?;
        let shown = path.display().to_string();
        Program::read(path).map_err(|e| format!("{shown}: this program's own file: {e}"))
    };
    OWN.get_or_init(read).as_ref().map_err(Clone::clone)
}

/// The name of this build: the beginning of the SHA-256 of its sources. A program that does
/// not declare them is identified by its file; empty: it cannot be read.
pub fn own_build() -> &'static str {
    match build_mark::own_mark() {
        Some(mark) => &mark.sources,
        None => own_program().map_or("", Program::build),
    }
}

/// The commit that this program was made from, with `+` if its sources differ from it; empty:
/// not known.
pub fn own_commit() -> &'static str {
    build_mark::own_mark().map_or("", |mark| &mark.commit)
}

/// Whether a file is a Filermark program.
///
/// # Errors
/// It cannot be read.
pub fn has_mark(file: impl Read) -> io::Result<bool> {
    build_mark::search(file, MARK.as_bytes(), 0, &mut |_| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_published_sha256() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("abc");
        std::fs::write(&path, "abc").unwrap();
        let program = Program::read(path).unwrap();
        // FIPS 180-2, appendix B.1.
        assert_eq!(
            program.sha256,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!((program.build(), program.len), ("ba7816bf8f01cfea", 3));
        let text = format!("abc {BUILD_MARK}0123456789abcdef; 1; linux-x86_64; ;");
        std::fs::write(dir.path().join("abc"), text).unwrap();
        let program = Program::read(dir.path().join("abc")).unwrap();
        assert_eq!(program.build(), "0123456789abcdef", "declared");
        assert!(Program::read(dir.path().join("none")).is_err());
    }

    #[test]
    fn a_hash_is_of_the_whole_file_also_if_a_mark_is_found_early() {
        let mut bytes = MARK.as_bytes().to_vec();
        bytes.resize(3 * CHUNK_LEN, b'f');
        let mut file = HashingReader::new(bytes.as_slice());
        assert!(has_mark(&mut file).unwrap());
        let found = file.finish().unwrap();
        assert_eq!(found, HashingReader::new(&bytes[..]).finish().unwrap());
        assert_eq!(found.1, bytes.len() as u64);
    }

    #[test]
    fn this_program_has_a_build_and_the_mark() {
        let own = own_program().unwrap();
        assert_eq!(own_build(), own.build());
        assert_eq!(own_build().len(), BUILD_DIGITS);
        assert!(has_mark(File::open(&own.path).unwrap()).unwrap());
    }

    #[test]
    fn the_mark_is_found_at_any_offset() {
        for before in [
            0,
            1,
            CHUNK_LEN - 70,
            CHUNK_LEN - 10,
            CHUNK_LEN,
            3 * CHUNK_LEN,
        ] {
            let mut bytes = vec![b'f'; before];
            bytes.extend_from_slice(MARK.as_bytes());
            assert!(has_mark(bytes.as_slice()).unwrap(), "{before}");
            bytes.pop();
            assert!(!has_mark(bytes.as_slice()).unwrap(), "{before}");
        }
        assert!(!has_mark(&b""[..]).unwrap());
    }
}
