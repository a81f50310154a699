//! Reads `sfssum` files of any origin back: the 14 columns of the 2008 generation
//! (manual M, section 4.4) and the 17 of 2014 and 2020 (sources.md 3.9). The file is
//! untrusted: nothing in it can make the reader panic or use much memory.

use crate::curve::{Curve, CurvePoint};
use crate::ort::OrtMethod;
use crate::sfssum::VERDICT_PREFIX;
use crate::verdict::WORDS;
use filermark_model::NOT_A_SPEC_RESULT;
use filermark_model::text::sanitize;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// Largest file that is read, in bytes.
pub const FILE_LEN_MAX: u64 = 4 << 20;
/// Most load points that are read.
const POINT_COUNT_MAX: usize = 10_000;

/// The content of a summary file.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The load points.
    pub curve: Curve,
    /// Whether this program wrote it: only then a missing INVALID means that a load
    /// point counts.
    pub is_ours: bool,
    /// The verdict of the run, if this program wrote one.
    pub verdict: Option<&'static str>,
    /// BIOD_MAX_READS and BIOD_MAX_WRITES, if the file has them.
    pub biods: Option<(u32, u32)>,
}

/// The verdict on a file without one.
pub const UNKNOWN: &str = "UNKNOWN";

impl Summary {
    /// The verdict of the file, never a better one than its rows allow. Files of
    /// other programs judge rows at most; those of Filermark 0.1 have no reasons for invalid
    /// rows in a form from which a verdict can be derived.
    pub fn verdict_label(&self) -> &'static str {
        let all = self.curve.points.len();
        match (self.is_ours, self.curve.valid_points().count()) {
            (_, 0) => "INVALID",
            (true, valid) => match self.verdict {
                Some(word) => word,
                None if valid == all => "VALID",
                None => UNKNOWN,
            },
            (false, _) => UNKNOWN,
        }
    }
}

/// Why a text is not a summary file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}: {reason}")]
pub struct SummaryError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there, and what is expected.
    pub reason: String,
}

/// Reads the summary file at `path`.
///
/// # Errors
/// A message with path and line: it cannot be read, is too large, or is not a summary file.
pub fn read_sfssum(path: &Path) -> Result<Summary, String> {
    let shown = path.display();
    let cannot = |e| format!("{shown}: cannot read the summary file: {e}");
    let mut text = Vec::new();
    let file = File::open(path).map_err(cannot)?;
    let mut limited = file.take(FILE_LEN_MAX + 1);
    limited.read_to_end(&mut text).map_err(cannot)?;
    if text.len() as u64 > FILE_LEN_MAX {
        return Err(format!(
            "{shown}: larger than {} MiB: this is not an sfssum file",
            FILE_LEN_MAX >> 20
        ));
    }
    parse_sfssum(&String::from_utf8_lossy(&text)).map_err(|e| format!("{shown}:{e}"))
}

/// The two forms of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RowForm {
    Classical,
    Composite,
}

/// Reads a summary file's text.
///
/// # Errors
/// A line is not a row, rows of both forms are mixed, or there is none.
pub fn parse_sfssum(text: &str) -> Result<Summary, SummaryError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Rows::default();
    for (number, line) in (1..).zip(text.lines()) {
        let error = |reason: String| SummaryError {
            line: number,
            reason,
        };
        let line = line.trim();
        match line.strip_prefix('#') {
            Some(comment) => reader.comment(comment.trim()),
            None if line.is_empty() => {}
            None => reader.row(line).map_err(error)?,
        }
    }
    reader.end().ok_or_else(|| SummaryError {
        line: 1,
        reason: "no load point in it: a row has 14 columns (requested, achieved, ms, ...) or 17 (business metric, requested, achieved, ms, ...)".into(),
    })
}

#[derive(Default)]
struct Rows {
    form: Option<RowForm>,
    points: Vec<CurvePoint>,
    name: String,
    metric: Option<String>,
    biods: Option<(u32, u32)>,
    is_ours: bool,
    verdict: Option<&'static str>,
}

impl Rows {
    fn row(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.first().is_some_and(|w| w.parse::<f64>().is_err()) {
            // Heads are words; anything else that is not a number is not a row.
            let is_head = ["Business", "Metric", "Requested"].contains(&words[0]);
            return match is_head {
                true => Ok(()),
                false => Err(format!(
                    "not a row of a summary file: it begins with \"{}\"",
                    shorten(words[0])
                )),
            };
        }
        if self.points.len() >= POINT_COUNT_MAX {
            return Err(format!("more than {POINT_COUNT_MAX} load points"));
        }
        // The sixth column distinguishes the forms: a protocol, or a rate.
        let is_classical = words.get(5).is_some_and(|w| w.parse::<f64>().is_err());
        let form = match is_classical {
            true => RowForm::Classical,
            false => RowForm::Composite,
        };
        if self.form.is_some_and(|known| known != form) {
            return Err(
                "rows of 14 and of 17 columns are mixed; a summary file has one benchmark".into(),
            );
        }
        self.form = Some(form);
        let (point, name) = match form {
            RowForm::Classical => self.classical(&words)?,
            RowForm::Composite => composite(&words)?,
        };
        if self.points.is_empty() {
            self.name = name;
        } else if self.name != name {
            return Err(format!(
                "rows of \"{}\" and of \"{}\" are mixed; a summary file has one benchmark",
                shorten(&self.name),
                shorten(&name)
            ));
        }
        self.points.push(point);
        Ok(())
    }

    /// `320 321 1.5 96187 299 CIFS T 4 37764720 4 10 2 2 2008`.
    fn classical(&mut self, words: &[&str]) -> Result<(CurvePoint, String), String> {
        if !(7..=14).contains(&words.len()) {
            return Err(format!(
                "{} columns; a row of this form has 14",
                words.len()
            ));
        }
        let requested = figure(words, 0)?;
        if let (Ok(reads), Ok(writes)) = (figure(words, 11), figure(words, 12)) {
            self.biods = Some((reads as u32, writes as u32));
        }
        let point = CurvePoint {
            load: requested,
            requested: Some(requested).filter(|rate| *rate > 0.0),
            achieved: figure(words, 1)?,
            mean_ms: figure(words, 2)?,
            op_count: Some(figure(words, 3)? as u64),
            seconds: Some(figure(words, 4)?),
            ip_version: figure(words, 7).ok().map(|version| version as u8),
            fileset_kib: figure(words, 8).ok(),
            client_count: figure(words, 9).ok().map(|n| n as u64),
            procs_per_client: figure(words, 10).ok().map(|n| n as u64),
            is_valid: true,
            ..CurvePoint::default()
        };
        Ok((point, words[5].to_owned()))
    }

    /// Comments of our own files.
    fn comment(&mut self, comment: &str) {
        if comment == NOT_A_SPEC_RESULT {
            self.is_ours = true;
        }
        if let Some(verdict) = comment.strip_prefix(VERDICT_PREFIX) {
            let word = verdict.split(':').next().unwrap_or_default();
            self.verdict = WORDS.into_iter().find(|known| *known == word);
            return;
        }
        if let Some(rest) = comment.strip_prefix("business metric: ") {
            self.metric = rest.split(';').next().map(|unit| shorten(unit.trim()));
        }
        // Of 14 columns the reason follows its row; of 17 columns it names the load.
        if let Some(reason) = comment.strip_prefix("INVALID: ") {
            if let Some(point) = self.points.last_mut() {
                point.is_valid = false;
                point.reason = shorten(reason);
            }
        } else if let Some((load, reason)) = comment.split_once(" INVALID: ")
            && let Ok(load) = load.parse::<f64>()
        {
            for point in self.points.iter_mut().filter(|p| p.load == load) {
                point.is_valid = false;
                point.reason = shorten(reason);
            }
        }
    }

    fn end(self) -> Option<Summary> {
        let form = self.form?;
        let is_classical = form == RowForm::Classical;
        let curve = Curve {
            metric: match is_classical {
                true => "op/s".into(),
                false => self.metric.unwrap_or_else(|| "business metric".into()),
            },
            protocol: match is_classical {
                true => self.name.clone(),
                false => String::new(),
            },
            benchmark: self.name,
            ort_method: OrtMethod::of(!is_classical),
            has_ort: true,
            points: self.points,
        };
        Some(Summary {
            curve,
            is_ours: self.is_ours,
            verdict: self.verdict,
            biods: self.biods,
        })
    }
}

/// `50 22500.00 22501.134 1.335 402467.001 209132.436 193334.565 300 4 62 3424 138144
/// 552578 552578 602812 EDA`, and perhaps `INVALID_RUN`.
fn composite(words: &[&str]) -> Result<(CurvePoint, String), String> {
    if !(16..=17).contains(&words.len()) {
        return Err(format!(
            "{} columns; a row has 14 (with a protocol in column 6), or 16 and perhaps INVALID_RUN",
            words.len()
        ));
    }
    let is_valid = match words.get(16) {
        None => true,
        Some(word) if word.eq_ignore_ascii_case(crate::sfssum_txt::INVALID_RUN) => false,
        Some(other) => {
            return Err(format!(
                "column 17 is \"{}\"; it is INVALID_RUN or empty",
                shorten(other)
            ));
        }
    };
    let point = CurvePoint {
        load: figure(words, 0)?,
        requested: Some(figure(words, 1)?).filter(|rate| *rate > 0.0),
        achieved: figure(words, 2)?,
        mean_ms: figure(words, 3)?,
        total_kib_per_sec: Some(figure(words, 4)?),
        read_kib_per_sec: Some(figure(words, 5)?),
        write_kib_per_sec: Some(figure(words, 6)?),
        seconds: Some(figure(words, 7)?),
        client_count: Some(figure(words, 8)? as u64),
        procs_per_client: Some(figure(words, 9)? as u64),
        fileset_kib: Some(figure(words, 12)? * 1024.0),
        is_valid,
        ..CurvePoint::default()
    };
    Ok((point, words[15].to_owned()))
}

/// A column that must be a number of 0 or more.
fn figure(words: &[&str], at: usize) -> Result<f64, String> {
    let word = words
        .get(at)
        .ok_or_else(|| format!("column {} is missing", at + 1))?;
    let figure = word.parse::<f64>().ok();
    figure
        .filter(|f| f.is_finite() && *f >= 0.0 && *f < 1e18)
        .ok_or_else(|| {
            format!(
                "column {}: \"{}\" is not a number of 0 or more",
                at + 1,
                shorten(word)
            )
        })
}

/// Longest name, unit or reason that is kept, in characters.
const WORDS_LEN_MAX: usize = 500;

fn shorten(text: &str) -> String {
    sanitize(text, WORDS_LEN_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::composite::composite_record;
    use crate::{sfssum, sfssum_txt, testing};
    use proptest::prelude::*;

    /// The sample of manual M, section 4.4, as printed.
    const GUIDE: &str = "\
320      321      1.5      96187    299 CIFS T 4    37764720    4 10  2  2 2008
640      640      1.8      192114    300 CIFS T 4    75529440    4 10  2  2 2008
960      962      2.1      288236    299 CIFS T 4    117478440   4 10  2  2 2008
1280     1283     2.3      384644    299 CIFS T 4    155221920   4 10  2  2 2008
1600     1605     2.5      480411    299 CIFS T 4    192986640   4 10  2  2 2008
1920     1924     3.1      576595    299 CIFS T 4    234935648   4 10  2  2 2008
2240     2241     4.0      672385    300 CIFS T 4    272679104   4 10  2  2 2008
2560     2571     5.8      768874    299 CIFS T 4    314628128   4 10  2  2 2008
2880     2894     8.9      865936    299 CIFS T 4    352392832   4 10  2  2 2008
3200     3011     11.3     901761    299 CIFS T 4    390136320   4 10  2  2 2008
";

    #[test]
    fn the_guides_sample_gives_its_peak_and_ort() {
        let summary = parse_sfssum(GUIDE).unwrap();
        let curve = &summary.curve;
        assert_eq!((curve.protocol.as_str(), curve.points.len()), ("CIFS", 10));
        assert_eq!(curve.peak_value(), Some(3011.0));
        assert_eq!(format!("{:.2}", curve.ort_ms().unwrap()), "3.34");
        assert_eq!((summary.is_ours, summary.biods), (false, Some((2, 2))));
    }

    /// sources.md 3.9 and 3.12: two rows as printed, and the table of ten as rows.
    #[test]
    fn tables_of_17_columns_give_their_ort() {
        let rows = "\
 50 22500.00 22501.134  1.335 402467.001 209132.436 193334.565 300 4 62 3424 138144 552578 552578 602812 EDA
 60 27000.00 23613.540  8.129 454129.790 230594.346 223535.444 300 4 75 3424 165773 663093 663093 723375 EDA INVALID_RUN
";
        let curve = parse_sfssum(rows).unwrap().curve;
        assert_eq!(
            (curve.points[0].is_valid, curve.points[1].is_valid),
            (true, false)
        );
        assert_eq!(
            (curve.peak_value(), curve.ort_ms()),
            (Some(50.0), Some(1.335))
        );
        let table = "10:4500.168:1.397 20:9000.438:1.422 30:13500.590:1.490 40:18000.776:1.562 50:22500.965:1.606 60:27001.111:1.667 70:31501.139:1.758 80:36001.406:1.799 90:40501.372:1.853 100:45001.449:1.982";
        let row = |point: &str| {
            let mut parts = point.split(':');
            let (load, rate, ms) = (
                parts.next().unwrap(),
                parts.next().unwrap(),
                parts.next().unwrap(),
            );
            format!("{load} 0 {rate} {ms} 1 1 0 300 4 62 3424 1 1 1 1 EDA\n")
        };
        let text: String = table.split(' ').map(row).collect();
        let mut curve = parse_sfssum(&text).unwrap().curve;
        assert_eq!(curve.peak_value(), Some(100.0));
        // sources.md 3.12 computed 1.55 by the formula of its section 1.7.
        curve.ort_method = OrtMethod::FromOrigin;
        assert_eq!(format!("{:.2}", curve.ort_ms().unwrap()), "1.55");
    }

    /// Published factual results (sources.md 2.5), as summary files of
    /// either form: name, points, peak and ORT as published.
    const PUBLISHED: [(&str, &str, &str, &str); 4] = [
        (
            "NFS3",
            "4000:0.9 8003:1.2 12008:1.4 16019:1.7 20021:2.0 24036:2.4 28043:3.1 32044:4.1 36090:5.8 40011:10.0",
            "40011",
            "2.75",
        ),
        (
            "NFS3",
            "798:0.8 1597:0.8 2403:0.9 3203:1.0 4006:1.0 4810:1.2 5609:1.3 6417:1.9 7219:2.4 8053:4.7",
            "8053",
            "1.37",
        ),
        (
            "NFS3",
            "122542:0.3 245273:0.3 368143:0.3 491136:0.4 613918:0.4 737914:0.5 860669:0.7 984360:0.8 1107794:1.0 1222089:6.0",
            "1222089",
            "0.75",
        ),
        (
            "SWBUILD",
            "250:.135 500:.169 750:.197 1000:.198 1250:.263 1500:.303 1750:.404 2000:.536 2250:.866 2500:2.478",
            "2500",
            "0.47",
        ),
    ];

    #[test]
    fn published_tables_give_their_peak_and_ort_to_the_digit() {
        for (name, points, peak, ort) in PUBLISHED {
            let row = |point: &str| {
                let (rate, ms) = point.split_once(':').unwrap();
                match name {
                    "NFS3" => format!("{rate} {rate} {ms} 1 300 NFS3 T 4 1 4 10 2 2 2008\n"),
                    _ => format!("{rate} 0 {rate} {ms} 2 1 1 300 4 62 1 1 1 1 1 {name}\n"),
                }
            };
            let text: String = points.split(' ').map(row).collect();
            let curve = parse_sfssum(&text).unwrap().curve;
            assert_eq!(crate::figures::plain(curve.peak_value().unwrap()), peak);
            assert_eq!(format!("{:.2}", curve.ort_ms().unwrap()), ort, "{peak}");
        }
    }

    /// Also writes them to FILERMARK_FUZZ_SEEDS, for ci/fuzz.
    #[test]
    fn our_own_files_are_read_with_their_verdicts() {
        let record = testing::record();
        if let Some(corpus) = std::env::var_os("FILERMARK_FUZZ_SEEDS") {
            let dir = std::path::PathBuf::from(corpus).join("sfssum");
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join("classical"), sfssum::sfssum(&record)).unwrap();
            let composite = sfssum_txt::sfssum_txt(&composite_record());
            std::fs::write(dir.join("composite"), composite).unwrap();
        }
        let read = parse_sfssum(&sfssum::sfssum(&record)).unwrap();
        let ours = Curve::of_record(&record);
        assert!(read.is_ours);
        assert_eq!(read.curve.points.len(), ours.points.len());
        for (read, ours) in read.curve.points.iter().zip(&ours.points) {
            assert_eq!((read.load, read.is_valid), (ours.load, ours.is_valid));
            assert!((read.achieved - ours.achieved).abs() <= 0.5);
            assert_eq!(read.reason, ours.reason);
        }
        let record = composite_record();
        let read = parse_sfssum(&sfssum_txt::sfssum_txt(&record)).unwrap();
        let ours = Curve::of_record(&record);
        assert_eq!(read.curve.metric, ours.metric);
        for (read, ours) in read.curve.points.iter().zip(&ours.points) {
            assert_eq!(
                (read.load, read.is_valid, &read.reason),
                (ours.load, ours.is_valid, &ours.reason)
            );
        }
        assert_eq!(
            format!("{:.2}", ours.ort_ms().unwrap()),
            format!("{:.2}", record.ort_ms().unwrap())
        );
        assert_eq!(
            ours.peak().unwrap().achieved,
            record
                .peak()
                .unwrap()
                .measured()
                .unwrap()
                .achieved_ops_per_sec()
        );
    }

    #[test]
    fn text_that_is_no_summary_is_rejected_with_its_line() {
        for (text, line, what) in [
            ("", 1, "no load point"),
            ("hello world\n", 1, "begins with \"hello\""),
            ("100 100 1.5\n", 1, "3 columns"),
            ("100 x 0.5 3000 30 NFS3 T 4 1 2 10 2 2 2008", 1, "column 2"),
            (
                "100 -5 0.5 3000 30 NFS3 T 4 1 2 10 2 2 2008",
                1,
                "of 0 or more",
            ),
            (
                "100 NaN 0.5 3000 30 NFS3 T 4 1 2 10 2 2 2008",
                1,
                "column 2",
            ),
            (
                "\n1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 EDA MAYBE",
                2,
                "INVALID_RUN",
            ),
            ("1 1 1 1 1 CIFS T\n1 1 1 1 1 NFS3 T", 2, "mixed"),
            (
                "1 1 1 1 1 CIFS T\n1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 EDA",
                2,
                "mixed",
            ),
        ] {
            let error = parse_sfssum(text).unwrap_err();
            assert_eq!(error.line, line, "{text}");
            assert!(error.reason.contains(what), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[ 0-9a-zA-Z.#:\\n-]{0,400}") {
            let _ = parse_sfssum(&text);
        }
    }
}
