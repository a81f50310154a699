//! The options of `bundle` and `verify`.

use clap::Args;
use std::path::PathBuf;

/// `bundle`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  filermark bundle result/mine.run.jsonl  result/mine.zip, with all files of the
                                          run
  filermark bundle --rc sfs_rc result     every run of the folder, and the rc
                                          file
  filermark bundle -o acme.zip sub.xml --add notes.pdf
  filermark bundle --sign acme.key result/mine.run.jsonl
      and result/mine.zip.minisig

The password of a key is read from the terminal, from --password-file or from
FILERMARK_SIGN_PASSWORD. `minisign -G` makes keys. MANIFEST.sha256 in the
archive is for `sha256sum -c`; `filermark verify` checks more. Exit code 0:
packed; 1: a file is missing, or a file contains a password.")]
pub struct BundleArgs {
    /// Run records, submissions, or folders of them
    #[arg(value_name = "RECORD|SUB.xml|DIR", required = true)]
    pub what: Vec<PathBuf>,
    /// The archive; without it SUFFIX.zip beside the first record, or SUB.bundle.zip
    #[arg(short, long, value_name = "FILE.zip")]
    pub output: Option<PathBuf>,
    /// The rc file of the run
    #[arg(long, value_name = "FILE")]
    pub rc: Option<PathBuf>,
    /// A further file; may be repeated
    #[arg(long, value_name = "FILE")]
    pub add: Vec<PathBuf>,
    /// Pack files that contain passwords as well
    #[arg(long)]
    pub with_secrets: bool,
    /// Pack even if files that a submission names or that a run read are missing or changed
    #[arg(long)]
    pub force: bool,
    /// Sign the archive with this secret key of minisign; the signature is FILE.zip.minisig
    #[arg(long, value_name = "KEY")]
    pub sign: Option<PathBuf>,
    /// The password of the key is the first line of this file
    #[arg(long, value_name = "FILE", requires = "sign")]
    pub password_file: Option<PathBuf>,
}

/// `verify`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  filermark verify mine.zip
  filermark verify result/mine.run.jsonl    the record and the files beside it
  filermark verify --json mine.zip | jq .ok
  filermark verify --key acme.pub mine.zip  and its signature, mine.zip.minisig

One line for each check: ok, FAIL, or skip for what cannot be checked, and why.
Exit code 0: no check failed; 1: a check failed; 2: it cannot be read.")]
pub struct VerifyArgs {
    /// The archive, a folder that it was unpacked to, a run record, or a submission
    #[arg(value_name = "FILE.zip|DIR|RECORD|SUB.xml")]
    pub what: PathBuf,
    /// Require a signature with this public key of minisign beside the archive: a file, or
    /// the key itself
    #[arg(long, value_name = "PUBKEY")]
    pub key: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
