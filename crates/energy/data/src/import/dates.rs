//! Dates and times as meters write them, and the order of day and month.

use jiff::civil::{Date, DateTime, Time};

/// The order of a date's parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DateOrder {
    Ymd,
    Mdy,
    Dmy,
}

impl DateOrder {
    /// From the word in `order=`.
    pub(super) fn from_word(word: &str) -> Option<Self> {
        match word {
            "ymd" => Some(Self::Ymd),
            "mdy" => Some(Self::Mdy),
            "dmy" => Some(Self::Dmy),
            _ => None,
        }
    }

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Ymd => "ymd",
            Self::Mdy => "mdy",
            Self::Dmy => "dmy",
        }
    }
}

/// The possible orders of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PossibleOrders {
    /// Only this one fits.
    Only(DateOrder),
    /// Day and month may be swapped.
    Ambiguous,
    /// Day and month are the same number.
    Same,
    /// It is not a date.
    None,
}

/// The three parts, and whether the second is the name of a month.
struct Parts {
    numbers: [i16; 3],
    lengths: [usize; 3],
    separator: char,
    named: bool,
}

fn parts(text: &str) -> Option<Parts> {
    let separator = text.chars().find(|c| matches!(c, '/' | '-' | '.'))?;
    let mut numbers = [0; 3];
    let mut lengths = [0; 3];
    let mut named = false;
    let mut pieces = text.split(separator);
    for (at, (number, length)) in numbers.iter_mut().zip(&mut lengths).enumerate() {
        let piece = pieces.next()?.trim();
        *length = piece.len();
        let digits = !piece.is_empty() && piece.bytes().all(|b| b.is_ascii_digit());
        *number = match digits {
            true => piece.parse().ok()?,
            false if at == 1 => {
                named = true;
                month(piece)?
            }
            false => return None,
        };
    }
    pieces.next().is_none().then_some(Parts {
        numbers,
        lengths,
        separator,
        named,
    })
}

/// The number of a month by the first three letters of its English name.
pub(crate) fn month(name: &str) -> Option<i16> {
    const NAMES: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let letters = name.get(..3)?.to_ascii_lowercase();
    let all = name.bytes().all(|b| b.is_ascii_alphabetic());
    let at = NAMES.iter().position(|n| all && *n == letters)?;
    i16::try_from(at + 1).ok()
}

/// The possible orders of a date.
pub(super) fn fit(text: &str) -> PossibleOrders {
    let Some(parts) = parts(text) else {
        return PossibleOrders::None;
    };
    let [a, b, _] = parts.numbers;
    let valid = |order| date(text, order).is_some();
    if parts.lengths[0] == 4 {
        return if valid(DateOrder::Ymd) {
            PossibleOrders::Only(DateOrder::Ymd)
        } else {
            PossibleOrders::None
        };
    }
    if parts.lengths[2] != 4 && !parts.named {
        // 18-02-27: any part may be the year.
        return PossibleOrders::Ambiguous;
    }
    // A full stop between the parts, or a name in the middle: the day is first.
    if parts.separator == '.' || parts.named {
        return match valid(DateOrder::Dmy) {
            true => PossibleOrders::Only(DateOrder::Dmy),
            false => PossibleOrders::None,
        };
    }
    match (valid(DateOrder::Mdy), valid(DateOrder::Dmy)) {
        (true, true) if a == b => PossibleOrders::Same,
        (true, true) => PossibleOrders::Ambiguous,
        (true, false) => PossibleOrders::Only(DateOrder::Mdy),
        (false, true) => PossibleOrders::Only(DateOrder::Dmy),
        (false, false) => PossibleOrders::None,
    }
}

/// The date, its parts in that order. Four digits at the beginning are the year in any order;
/// a year of two digits is of this century.
pub(super) fn date(text: &str, order: DateOrder) -> Option<Date> {
    let parts = parts(text)?;
    let [a, b, c] = parts.numbers;
    let (year, month, day, year_length) = match order {
        _ if parts.lengths[0] == 4 => (a, b, c, 4),
        DateOrder::Ymd => (a, b, c, parts.lengths[0]),
        _ if parts.named => (c, b, a, parts.lengths[2]),
        DateOrder::Mdy => (c, a, b, parts.lengths[2]),
        DateOrder::Dmy => (c, b, a, parts.lengths[2]),
    };
    let year = match year_length {
        4 => year,
        2 => 2000 + year,
        _ => return None,
    };
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

/// `16:18:33`, `16:18`, `16:18:33.353`, `4:18:33 PM`.
pub(crate) fn time(text: &str) -> Option<Time> {
    let text = text.trim();
    let upper = text.to_ascii_uppercase();
    let (clock, half) = match (upper.strip_suffix("AM"), upper.strip_suffix("PM")) {
        (Some(clock), _) => (clock.trim_end(), Some(0)),
        (_, Some(clock)) => (clock.trim_end(), Some(12)),
        _ => (upper.as_str(), None),
    };
    let mut pieces = clock.split(':');
    let hour: i8 = number(pieces.next()?)?;
    let minute: i8 = number(pieces.next()?)?;
    let (second, nanos) = match pieces.next() {
        None => (0, 0),
        Some(seconds) => match seconds.split_once(['.', ',']) {
            None => (number(seconds)?, 0),
            Some((whole, fraction)) => (number(whole)?, nanoseconds(fraction)?),
        },
    };
    if pieces.next().is_some() {
        return None;
    }
    let hour = match half {
        None => hour,
        Some(more) if (1..=12).contains(&hour) => hour % 12 + more,
        Some(_) => return None,
    };
    Time::new(hour, minute, second, nanos).ok()
}

fn number(text: &str) -> Option<i8> {
    let digits = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

fn nanoseconds(digits: &str) -> Option<i32> {
    let sound = (1..=9).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    sound.then(|| format!("{digits:0<9}").parse().ok())?
}

/// Where the date of a date with a time ends.
pub(super) fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let at = text.find([' ', 'T', ','])?;
    let date = text.get(..at)?;
    Some((date, text.get(at + 1..)?.trim()))
}

/// A date with a time, `2018-02-27 16:18:33.353`, `2/27/2018 4:18:33 PM`.
pub(super) fn date_time(text: &str, order: DateOrder) -> Option<DateTime> {
    let (day, clock) = split(text)?;
    Some(date(day, order)?.to_datetime(time(clock)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dates_and_their_possible_orders() {
        for (text, wanted) in [
            ("2/27/2018", PossibleOrders::Only(DateOrder::Mdy)),
            ("27/2/2018", PossibleOrders::Only(DateOrder::Dmy)),
            ("27.02.2018", PossibleOrders::Only(DateOrder::Dmy)),
            ("03.04.2018", PossibleOrders::Only(DateOrder::Dmy)),
            ("03/04/2018", PossibleOrders::Ambiguous),
            ("3/3/2018", PossibleOrders::Same),
            ("2018/02/27", PossibleOrders::Only(DateOrder::Ymd)),
            ("18-02-27", PossibleOrders::Ambiguous),
            ("27-Feb-2018", PossibleOrders::Only(DateOrder::Dmy)),
            ("30/30/2018", PossibleOrders::None),
            ("2/29/2018", PossibleOrders::None),
            ("2/27", PossibleOrders::None),
            ("yesterday", PossibleOrders::None),
        ] {
            assert_eq!(fit(text), wanted, "{text}");
        }
        let day = Date::new(2018, 4, 3).expect("a day");
        for (text, order) in [
            ("4/3/2018", DateOrder::Mdy),
            ("3/4/2018", DateOrder::Dmy),
            ("3-4-18", DateOrder::Dmy),
            ("18/4/3", DateOrder::Ymd),
            ("2018-04-03", DateOrder::Dmy),
            ("3-apr-2018", DateOrder::Mdy),
        ] {
            assert_eq!(date(text, order), Some(day), "{text}");
        }
    }

    #[test]
    fn times() {
        for (text, wanted) in [
            ("16:18:33", Some((16, 18, 33, 0))),
            ("9:05", Some((9, 5, 0, 0))),
            ("4:18:33.5 pm", Some((16, 18, 33, 500_000_000))),
            ("12:00:00 AM", Some((0, 0, 0, 0))),
            ("12:00:00PM", Some((12, 0, 0, 0))),
            ("16:18:33,353", Some((16, 18, 33, 353_000_000))),
            ("13:00 PM", None),
            ("24:00:00", None),
            ("1:2:3:4", None),
            ("-1:00", None),
            ("", None),
        ] {
            let wanted = wanted.map(|(h, m, s, n)| Time::new(h, m, s, n).expect("a time"));
            assert_eq!(time(text), wanted, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_them_panic(text in "\\PC{0,24}") {
            let _ = (fit(&text), time(&text), date_time(&text, DateOrder::Mdy), month(&text));
        }
    }
}
