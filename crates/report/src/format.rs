//! Figures as text.

/// A number with thousands separators and `decimals` digits behind the point.
pub fn number(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.as_str()),
    };
    let (whole, fraction) = match digits.split_once('.') {
        Some((whole, fraction)) => (whole, format!(".{fraction}")),
        None => (digits, String::new()),
    };
    let mut grouped = String::new();
    for (i, c) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(c);
    }
    format!("{sign}{grouped}{fraction}")
}

/// A count with thousands separators.
pub fn count(value: u64) -> String {
    number(value as f64, 0)
}

/// A rate of operations: whole from 100 on, one digit below.
pub fn rate(ops_per_sec: f64) -> String {
    number(ops_per_sec, if ops_per_sec >= 100.0 { 0 } else { 1 })
}

/// Nanoseconds as milliseconds, with about three significant digits, no unit.
pub fn ms(ns: f64) -> String {
    let ms = ns / 1e6;
    let decimals = match ms {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        _ => 3,
    };
    number(ms, decimals)
}

/// Nanoseconds in a suitable unit, with the unit.
pub fn duration(ns: f64) -> String {
    match ns {
        v if v >= 1e9 => format!("{} s", number(v / 1e9, 2)),
        v if v >= 1e6 => format!("{} ms", ms(v)),
        v if v >= 1e4 => format!("{:.0} µs", v / 1e3),
        v => format!("{:.1} µs", v / 1e3),
    }
}

/// Seconds for people: `12.5 s`, `4 min 05 s`, `1 h 20 min`.
pub fn seconds(s: f64) -> String {
    let whole = s.max(0.0).round() as u64;
    match whole {
        0..=119 => format!("{s:.1} s"),
        120..=7_199 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3_600, whole % 3_600 / 60),
    }
}

/// `word` for one, `words` for any other count.
pub fn plural<'a>(n: usize, word: &'a str, words: &'a str) -> &'a str {
    if n == 1 { word } else { words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_few_digits() {
        assert_eq!(number(1_234_567.891, 1), "1,234,567.9");
        assert_eq!(number(-1234.0, 0), "-1,234");
        assert_eq!(count(999), "999");
        assert_eq!(
            (rate(12.34), rate(12_345.6)),
            ("12.3".into(), "12,346".into())
        );
        assert_eq!(
            (ms(1_234_567.0), ms(987.0)),
            ("1.23".into(), "0.001".into())
        );
        assert_eq!(duration(35_000.0), "35 µs");
        assert_eq!(duration(2_500_000_000.0), "2.50 s");
        assert_eq!(seconds(245.2), "4 min 05 s");
        assert_eq!(seconds(9_000.0), "2 h 30 min");
    }
}
