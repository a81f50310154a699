//! `subedit`, declared: the seed's options (manual M, 5.1.1) and a few of ours.

use clap::Args;
use std::path::PathBuf;

/// `subedit`.
#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  filermark subedit -o sub.xml sfssum.mine sfs_rc
      fill in the form at the prompt
  filermark subedit -o sub.xml -i old.xml sfssum.mine sfs_rc
      with the values of another submission
  filermark subedit -b -o sub.xml -i old.xml sfssum.mine sfs_rc
  filermark subedit -z -o sub.zip -i old.xml sfssum.mine sfs_rc
  filermark subedit -v -i sub.xml           is it complete and valid?
  filermark subedit -n -o not.xml -i sub.xml --reason \"Write cache is volatile\"
  filermark subedit --skeleton > mine.xml   a form to fill in, for -i
  filermark subedit --xsd > submission.xsd  the schema of the XML

At the prompt, ? lists the commands. Input survives a lost terminal: it is saved
in .sub.xml.autosave beside sub.xml, and the next start offers it.")]
pub struct SubeditArgs {
    /// The submission to write: XML, or a zip with -z
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// A submission whose values are the defaults; its results are replaced
    #[arg(short, long, value_name = "SUB.xml")]
    pub input: Option<PathBuf>,
    /// No prompts: merge the files into OUT (needs -i)
    #[arg(short, long, group = "mode")]
    pub batch: bool,
    /// Write a zip with the submission and every file that belongs to it
    #[arg(short, long, group = "mode")]
    pub zip: bool,
    /// Only check the submission of -i; lists what is missing or wrong
    #[arg(short, long, group = "mode")]
    pub validate: bool,
    /// Mark the submission of -i as non-compliant, and write it to OUT
    #[arg(short, long, group = "mode")]
    pub non_compliant: bool,
    /// Print a blank form with explanations, to fill in with an editor or a script, for -b -i
    #[arg(long, group = "mode")]
    pub skeleton: bool,
    /// Print the schema (XSD) of submissions
    #[arg(long, group = "mode")]
    pub xsd: bool,
    /// Why the result is non-compliant (-n)
    #[arg(long, value_name = "TEXT", requires = "non_compliant")]
    pub reason: Option<String>,
    /// Accept files that do not seem to belong together
    #[arg(long)]
    pub force: bool,
    /// The summary file (sfssum) or the run record, and the rc file of that run;
    /// further pairs for further results
    #[arg(value_name = "RESULT RC")]
    pub files: Vec<PathBuf>,
}
