//! The options of `energy`, and `--energy` of `run`.

use clap::{Args, Subcommand, ValueEnum};
use filermark_cli_kit::output::OutputArgs;
use filermark_energy_data::setup::{INTERVAL_MAX, INTERVAL_MIN, TEXT_LEN_MAX, day, optional_text};
use filermark_energy_data::sflow::{PortPattern, Zone};
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// `energy`.
#[derive(Clone, Debug, Args)]
#[command(arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  filermark run -r sfs_rc_vda -s vda --energy energy.toml
      collects by itself
  filermark energy collect --sflow 0.0.0.0:6343 \\
      --meter scpi://meter:10001 -o lab.energy.jsonl
  filermark energy import --sflowtool sflowdata.txt --power wt.csv \\
      --zone Europe/Berlin
  filermark energy merge vda.run.jsonl lab.energy.jsonl --ports 10.0.0.248/24
  filermark energy reduce swbuild.merged.jsonl vda.merged.jsonl -o four
  filermark energy suite --energy energy.toml  the four workloads, resumable")]
pub struct EnergyArgs {
    /// The subcommand
    #[command(subcommand)]
    pub command: EnergyCommand,
}

/// The subcommands of `energy`.
#[derive(Clone, Debug, Subcommand)]
pub enum EnergyCommand {
    /// Read sFlow, power meters and sensors, live, into an energy log
    Collect(CollectArgs),
    /// Convert files into an energy log: sflowtool, captures, power meters
    Import(ImportArgs),
    /// Tag every sample of energy logs with load point and phase of runs
    Merge(MergeArgs),
    /// Make the efficiency tables, the best-foot-forward plan and the report
    Reduce(ReduceArgs),
    /// Run the four workloads one after the other, and reduce them; resumable
    Suite(SuiteArgs),
}

/// What is collected: a file, options, or both.
#[derive(Clone, Debug, Default, Args)]
pub struct SetupArgs {
    /// Collect power and traffic during the run, as this file defines
    #[arg(long, value_name = "FILE")]
    pub energy: Option<PathBuf>,
}

/// `energy collect`.
#[derive(Clone, Debug, Args)]
pub struct CollectArgs {
    #[command(flatten)]
    pub setup: SetupArgs,
    /// Listen for sFlow here
    #[arg(long, value_name = "ADDR:PORT", value_parser = parse_listen)]
    pub sflow: Option<SocketAddr>,
    /// Interfaces that face the server: 24, 1-3, NAME, AGENT/24; may be repeated
    #[arg(long, value_name = "PORTS", value_delimiter = ',')]
    pub ports: Vec<PortPattern>,
    /// A power meter of the server, may be repeated, they add up: scpi://HOST, vxi11://HOST,
    /// redfish://HOST/PATH, snmp://HOST/OID, hwmon:, rapl:, cmd:COMMAND, sim:idle=200
    #[arg(long, value_name = "SOURCE")]
    pub meter: Vec<String>,
    /// A power meter of the clients; may be repeated
    #[arg(long, value_name = "SOURCE")]
    pub client_meter: Vec<String>,
    /// A sensor of temperature or humidity, may be repeated: cmd+temperature_c:COMMAND,
    /// hwmon:CHIP
    #[arg(long, value_name = "SOURCE")]
    pub temp: Vec<String>,
    /// How often meters and sensors are read
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_interval)]
    pub interval: Duration,
    /// End after this time; without it, when interrupted
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    pub seconds: Option<Duration>,
    /// Measure the offset to the prime's clock: HOST:PORT of `filermark clock` there
    #[arg(long, value_name = "HOST:PORT")]
    pub clock: Option<String>,
    /// The energy log
    #[arg(short, long, value_name = "FILE", default_value = "lab.energy.jsonl")]
    pub output: PathBuf,
    /// No live view
    #[arg(short, long)]
    pub quiet: bool,
    #[command(flatten)]
    pub print: OutputArgs,
}

/// `energy import`.
#[derive(Clone, Debug, Args)]
pub struct ImportArgs {
    /// A file of sflowtool: CSV with times (-L) or JSON (-j, -J); may be repeated
    #[arg(long, value_name = "FILE")]
    pub sflowtool: Vec<PathBuf>,
    /// A capture of sFlow datagrams: pcap or pcapng; may be repeated
    #[arg(long, value_name = "FILE")]
    pub pcap: Vec<PathBuf>,
    /// A file of a power meter; may be repeated
    #[arg(long, value_name = "FILE")]
    pub power: Vec<PathBuf>,
    /// A file of a thermometer or hygrometer; may be repeated
    #[arg(long, value_name = "FILE")]
    pub environment: Vec<PathBuf>,
    /// Meaning of the columns: date=Date,time=Time,power_w=WT1:P-1 (names, or numbers from 1)
    ///
    /// WHAT is date, time, datetime, ms, unix, or a quantity: power_w, apparent_power_va,
    /// energy_j, voltage_v, current_a, power_factor, frequency_hz, voltage_thd_pcnt,
    /// temperature_c, humidity_pcnt. COLUMN may have a factor (power_w=P*1000) and may be
    /// several that add up (power_w=P1+P2). order=dmy, mdy or ymd is the order of dates.
    #[arg(long, value_name = "WHAT=COLUMN", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// The time zone of times without an offset: UTC, +01:00, Europe/Berlin
    #[arg(long, value_name = "ZONE")]
    pub zone: Option<Zone>,
    /// The consumer of the power
    #[arg(long, value_enum, default_value_t = RoleArg::Server)]
    pub role: RoleArg,
    /// Seconds to add to the files' times for the prime's time
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = parse_offset)]
    pub offset: Option<f64>,
    /// The uncertainty of the offset, in seconds
    #[arg(long, value_name = "S", value_parser = parse_bound)]
    pub bound: Option<f64>,
    #[command(flatten)]
    pub instrument: InstrumentArgs,
    /// The energy log
    #[arg(short, long, value_name = "FILE", default_value = "lab.energy.jsonl")]
    pub output: PathBuf,
    /// Overwrite an existing energy log
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub output_args: OutputArgs,
}

/// The power meter of `--power`, from its type plate and its calibration certificate.
#[derive(Clone, Debug, Default, Args)]
pub struct InstrumentArgs {
    /// Maker of the power meter, for the worksheet
    #[arg(long, value_name = "TEXT", value_parser = parse_instrument_text)]
    pub make: Option<String>,
    /// Model of the power meter
    #[arg(long, value_name = "TEXT", value_parser = parse_instrument_text)]
    pub model: Option<String>,
    /// Serial number of the power meter
    #[arg(long, value_name = "TEXT", value_parser = parse_instrument_text)]
    pub serial: Option<String>,
    /// Day of the last calibration of the power meter, as 2026-03-01
    #[arg(long, value_name = "DAY", value_parser = parse_day)]
    pub calibrated: Option<String>,
}

fn parse_instrument_text(text: &str) -> Result<String, String> {
    optional_text(text).ok_or_else(|| format!("give 1 to {TEXT_LEN_MAX} characters on one line"))
}

fn parse_day(text: &str) -> Result<String, String> {
    day(text).ok_or_else(|| "give a day, as 2026-03-01".to_owned())
}

/// Seconds between two clocks.
fn parse_offset(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok();
    seconds
        .filter(|s| s.abs() <= OFFSET_S_MAX)
        .ok_or_else(|| format!("give seconds from -{OFFSET_S_MAX} to {OFFSET_S_MAX}"))
}

/// The uncertainty of an offset.
fn parse_bound(text: &str) -> Result<f64, String> {
    match parse_offset(text) {
        Ok(seconds) if seconds >= 0.0 => Ok(seconds),
        _ => Err(format!("give seconds from 0 to {OFFSET_S_MAX}")),
    }
}

/// Two clocks may differ by ten years, in seconds.
const OFFSET_S_MAX: f64 = 315_576_000.0;

/// The consumer of a meter's power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RoleArg {
    /// The server, or a part of it; such meters add up
    Server,
    /// The hosts that make load
    Client,
    /// Something else: shown, never added
    Other,
}

/// The server and the lab, as the user describes them.
#[derive(Clone, Debug, Default, Args)]
pub struct LabArgs {
    /// Interfaces that face the server: 24, 1-3, NAME, AGENT/24; may be repeated
    #[arg(long, value_name = "PORTS", value_delimiter = ',')]
    pub ports: Vec<PortPattern>,
    /// Storage devices of the server
    #[arg(long, value_name = "N", value_parser = parse_drives)]
    pub drives: Option<u32>,
    /// Raw capacity of the server, in GB (10^9 bytes)
    #[arg(long, value_name = "GB", value_parser = parse_capacity)]
    pub raw_capacity: Option<f64>,
    /// Nominal voltage of the supply
    #[arg(long, value_name = "V", value_parser = parse_voltage)]
    pub nominal_voltage: Option<f64>,
    /// Take the product, the place, the lab and, by their names, the instruments from this
    /// energy setup; options take precedence
    #[arg(long, value_name = "FILE")]
    pub energy: Option<PathBuf>,
}

/// `energy merge`.
#[derive(Clone, Debug, Args)]
pub struct MergeArgs {
    /// Run records, logs of other kits' runs (sfslog), and energy logs, in any order
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub lab: LabArgs,
    /// The time zone of an sfslog of another kit: UTC, +01:00, Europe/Berlin
    #[arg(long, value_name = "ZONE")]
    pub zone: Option<Zone>,
    /// Seconds to add to the times of all energy logs, in addition to their own offsets
    #[arg(
        long,
        value_name = "S",
        default_value_t = 0.0,
        allow_negative_numbers = true
    )]
    pub shift: f64,
    /// The merged log [default: SUFFIX.merged.jsonl of the first run, in its directory]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write every sample as a row of CSV with Run and Phase, too
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long)]
    pub force: bool,
}

/// `energy reduce`.
#[derive(Clone, Debug, Args)]
pub struct ReduceArgs {
    /// Merged logs
    #[arg(value_name = "MERGED", required = true)]
    pub files: Vec<PathBuf>,
    /// What to print on standard output
    #[arg(short, long, value_enum, default_value_t = ReduceFormat::Text)]
    pub format: ReduceFormat,
    /// Write the page here
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the workbook here
    #[arg(long, value_name = "FILE")]
    pub xlsx: Option<PathBuf>,
    /// Write the table of load points here
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write page, workbook and table as NAME.html, NAME.xlsx, NAME.csv
    #[arg(short, long, value_name = "NAME")]
    pub output: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long)]
    pub force: bool,
    /// Leave the last tenth of RUN out, as in spreadsheets that filter by RUN only
    #[arg(long)]
    pub without_tail: bool,
    /// Directory of your own templates for the page: see report --export-templates
    #[arg(long, value_name = "DIR")]
    pub templates: Option<PathBuf>,
}

/// The forms of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReduceFormat {
    /// Tables for a terminal
    Text,
    /// For programs
    Json,
    /// The table of load points
    Csv,
}

/// `energy suite`.
#[derive(Clone, Debug, Args)]
pub struct SuiteArgs {
    /// The rc files, one for each workload [default: sfs_rc_swbuild sfs_rc_vda sfs_rc_vdi sfs_rc_database]
    #[arg(value_name = "[SUFFIX=]RC")]
    pub rcs: Vec<String>,
    /// What to collect during every run
    #[arg(long, value_name = "FILE")]
    pub energy: Option<PathBuf>,
    /// Directory of the result files (WORK_DIR)
    #[arg(short, long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Set a parameter in all of them; may be repeated
    #[arg(short = 'o', long = "option", value_name = "NAME=VALUE")]
    pub options: Vec<String>,
    /// Show what would be done, without doing it
    #[arg(long)]
    pub dry_run: bool,
    /// Continue with the next workload if one fails
    #[arg(long)]
    pub keep_going: bool,
}

/// How often a source is read: `5`, `5s`, `250ms`, `2m`; the range is that of the file.
fn parse_interval(text: &str) -> Result<Duration, String> {
    let sentence = "give a time from 50ms to 10m, as 1, 5s, 250ms or 2m";
    parse_time(text, INTERVAL_MIN..=INTERVAL_MAX).ok_or_else(|| sentence.into())
}

/// How long is collected: `30`, `30s`, `2m`, `1h`.
fn parse_span(text: &str) -> Result<Duration, String> {
    let sentence = "give a time from 50ms to 100 days, as 30, 30s, 2m or 1h";
    parse_time(text, INTERVAL_MIN..=SPAN_MAX).ok_or_else(|| sentence.into())
}

fn parse_time(text: &str, range: RangeInclusive<Duration>) -> Option<Duration> {
    let seconds = filermark_energy_data::setup::seconds(text)?;
    let time = Duration::try_from_secs_f64(seconds).ok()?;
    range.contains(&time).then_some(time)
}

/// A collection is no longer than this: 100 days.
const SPAN_MAX: Duration = Duration::from_secs(8_640_000);

/// The address to listen on.
fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let sentence =
        "give an address and a port, as 0.0.0.0:6343 (every address of this host) or [::]:6343";
    text.parse().map_err(|_| sentence.into())
}

/// Storage devices.
fn parse_drives(text: &str) -> Result<u32, String> {
    let drives = text.parse().ok().filter(|drives| *drives > 0);
    drives.ok_or_else(|| "give a whole number from 1, as 24; leave it out if unknown".into())
}

/// GB.
fn parse_capacity(text: &str) -> Result<f64, String> {
    let sentence = "give a number of GB (10^9 bytes) above 0 without a unit: 8 TB are 8000";
    positive(text).ok_or_else(|| sentence.into())
}

/// V.
fn parse_voltage(text: &str) -> Result<f64, String> {
    positive(text).ok_or_else(|| "give a number of V above 0 without a unit, as 230".into())
}

fn positive(text: &str) -> Option<f64> {
    let number = text.parse::<f64>().ok();
    number.filter(|n| n.is_finite() && *n > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_values_are_refused_with_the_expected_form() {
        assert_eq!(parse_interval("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_span("1h"), Ok(Duration::from_secs(3600)));
        for bad in ["20ms", "11m", "1h", "inf", "NaN", "x", ""] {
            let message = parse_interval(bad).expect_err(bad);
            assert!(message.contains("10m"), "{message}");
        }
        assert!(parse_span("101000h").is_err());
        assert_eq!(parse_drives("24"), Ok(24));
        assert!(parse_drives("zero").expect_err("a word").contains("as 24"));
        assert!(parse_drives("0").is_err());
        assert_eq!(parse_capacity("48.5"), Ok(48.5));
        for bad in ["8TB", "0", "-1", "inf", "NaN"] {
            assert!(parse_capacity(bad).expect_err(bad).contains("8000"));
        }
        assert!(parse_voltage("230V").is_err());
        assert!(
            parse_listen("6343")
                .expect_err("a port")
                .contains("0.0.0.0:6343")
        );
    }
}
