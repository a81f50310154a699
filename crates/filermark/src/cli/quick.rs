//! Options of `quick`.

use super::{MetricsArgs, OutputArgs, ProgressArgs, VerboseArgs};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// `quick`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  filermark quick /mnt/data           a directory, about a minute
  filermark quick nas:/export 2m      NFSv3, by Filermark's own client
  filermark quick nfs://nas:2049/export --json
  filermark quick /mnt/data 20s -w read_random=70,write_random=30,size=4k,direct
  filermark quick smb://me@nas/share  SMB; the password: FILERMARK_PASSWORD
  filermark quick //nas/share -o USERNAME=me -o PASSWORD_FILE=pw
  filermark quick C:\\bench            a directory on Windows

The parts make operations as fast as the target answers. The file set takes at
most 5 % of the free space (the first part over NFS or SMB: 16 MiB) and is
removed at the end, also after Ctrl-C.")]
pub struct QuickArgs {
    /// A directory, host:/export, nfs://host/export, \\host\share or smb://host/share
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// About how long it takes: 30s, 2m; slow targets take longer [default: 60s]
    #[arg(value_name = "TIME", value_parser = parse_time, default_value = "60s", hide_default_value = true)]
    pub time: Duration,
    /// Measure this workload, on one line, in place of the four parts; on a directory
    #[arg(short, long, value_name = "LINE")]
    pub workload: Option<String>,
    /// Also write the rc file of each part, with this beginning of its name
    #[arg(long, value_name = "RC")]
    pub save: Option<PathBuf>,
    /// Procs: operations under way at a time
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub procs: Option<u32>,
    /// Directory of the records and reports
    #[arg(short, long, value_name = "DIR", default_value = "result")]
    pub dir: PathBuf,
    /// Set a parameter of all parts, such as USERNAME; may be repeated
    #[arg(short = 'o', long = "option", value_name = "NAME=VALUE")]
    pub options: Vec<String>,
    #[command(flatten)]
    pub metrics: MetricsArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub verbose: VerboseArgs,
}

/// The shortest and the longest time, in seconds.
const TIME_S: std::ops::RangeInclusive<f64> = 4.0..=86_400.0;

/// A time with a unit: `30s`, `2m`, `1h`; without one in seconds.
fn parse_time(text: &str) -> Result<Duration, String> {
    let (digits, scale) = match text.trim() {
        t if t.ends_with("ms") => (t, 0.0),
        t if t.ends_with('s') => (&t[..t.len() - 1], 1.0),
        t if t.ends_with('m') => (&t[..t.len() - 1], 60.0),
        t if t.ends_with('h') => (&t[..t.len() - 1], 3600.0),
        t => (t, 1.0),
    };
    let seconds = digits.trim().parse::<f64>().map(|n| n * scale);
    match seconds {
        Ok(s) if TIME_S.contains(&s) => Ok(Duration::from_secs_f64(s)),
        _ => Err("give a time from 4s to 24h, such as 30s or 2m".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let seconds = |text| parse_time(text).map(|t| t.as_secs_f64());
        assert_eq!(seconds("30s"), Ok(30.0));
        assert_eq!(seconds("2m"), Ok(120.0));
        assert_eq!(seconds("0.5h"), Ok(1800.0));
        assert_eq!(seconds("45"), Ok(45.0));
        for bad in ["", "s", "1s", "25h", "-5s", "5000ms", "ten", "nan", "1e9"] {
            assert!(parse_time(bad).is_err(), "{bad}");
        }
    }
}
