//! STOP_IF: conditions with commas between them, such as
//! `p99>2s for 10s, errors>5%`.

use crate::error::quoted;
use crate::params;
use crate::reading::Reading;
use filermark_model::stop_if::{StopCondition, StopFigure};

/// Most conditions of a run.
const CONDITIONS_MAX: usize = 8;
/// Seconds in a row where a condition does not give a number.
const SECONDS: u32 = 10;
/// The most that it may give.
const SECONDS_MAX: u32 = 3_600;
/// Longest response time that can be distinguished, in nanoseconds: the live figures
/// have one class for all longer ones.
const LIMIT_NS_MAX: f64 = 8e9;

/// The available conditions, with their units.
const CONDITIONS: &str = "the conditions are mean>TIME and pN>TIME (response times; N is a percentile, as in p50 or p99.9; TIME in us, ms or s), errors>N% (operations that failed) and free<N% (free space of a file system), each with ' for Ns' after it (without: 10 s), commas between them; for example STOP_IF=\"p99>2s for 10s, errors>5%, free<5%\"; STOP_IF=off: none";

/// The conditions, as the run sets them.
pub(crate) fn stop_if(r: &mut Reading<'_>) -> Vec<StopCondition> {
    let values = r.values;
    let text = values.get(&params::STOP_IF);
    if text.trim().eq_ignore_ascii_case("off") {
        return Vec::new();
    }
    let place = values.place(&params::STOP_IF);
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > CONDITIONS_MAX {
        let message = format!("STOP_IF has {} conditions", parts.len());
        r.reports
            .refuse(place, message, format!("{CONDITIONS_MAX} is the most"));
        return Vec::new();
    }
    let mut conditions = Vec::new();
    for part in parts {
        match condition(part) {
            Ok(condition) => conditions.push(condition),
            Err(hint) => r.reports.refuse(
                place.clone(),
                format!("STOP_IF: '{}' is not a condition", quoted(part.trim())),
                format!("{hint}; {CONDITIONS}"),
            ),
        }
    }
    conditions
}

/// One condition, or what to try.
fn condition(text: &str) -> Result<StopCondition, &'static str> {
    const FORM: &str =
        "a figure and its limit are missing, or '<' is used instead of '>', or the reverse";
    let (figure, rest) = text.split_once(['>', '<']).ok_or(FORM)?;
    let is_below = text.as_bytes().get(figure.len()) == Some(&b'<');
    let (limit, seconds) = match rest.split_once(" for ") {
        Some((limit, seconds)) => (limit, seconds_of(seconds.trim())?),
        None => (rest, SECONDS),
    };
    let figure = figure_of(figure.trim())?;
    if is_below != (figure == StopFigure::Free) {
        return Err(FORM);
    }
    let limit = match figure {
        StopFigure::Errors => percent_of(limit.trim()).ok_or(ERRORS)?,
        StopFigure::Free => percent_of(limit.trim()).ok_or(FREE)?,
        _ => time_of(limit.trim())?,
    };
    Ok(StopCondition {
        figure,
        limit,
        seconds,
    })
}

fn figure_of(text: &str) -> Result<StopFigure, &'static str> {
    const FORM: &str = "there is no such figure";
    match text.to_ascii_lowercase().as_str() {
        "mean" => Ok(StopFigure::Mean),
        "errors" => Ok(StopFigure::Errors),
        "free" => Ok(StopFigure::Free),
        other => {
            let percent = other.strip_prefix('p').and_then(number).ok_or(FORM)?;
            match percent > 0.0 && percent < 100.0 {
                true => Ok(StopFigure::Percentile { percent }),
                false => Err(FORM),
            }
        }
    }
}

fn seconds_of(text: &str) -> Result<u32, &'static str> {
    let seconds = text.strip_suffix('s').map(str::trim);
    let seconds = seconds.and_then(|s| s.parse().ok());
    seconds
        .filter(|s| (1..=SECONDS_MAX).contains(s))
        .ok_or("after 'for' write whole seconds from 1s to 3600s")
}

const ERRORS: &str = "errors> needs a share from 0% to below 100%";
const FREE: &str = "free needs a share from 0% to below 100%";

fn percent_of(text: &str) -> Option<f64> {
    let percent = text.strip_suffix('%').and_then(number);
    percent.filter(|p| (0.0..100.0).contains(p))
}

fn time_of(text: &str) -> Result<f64, &'static str> {
    let units = [("ms", 1e6), ("us", 1e3), ("s", 1e9)];
    let found = units.iter().find_map(|(unit, ns)| {
        let value = text.strip_suffix(unit).and_then(number)?;
        Some(value * ns)
    });
    found
        .filter(|ns| *ns > 0.0 && *ns <= LIMIT_NS_MAX)
        .ok_or("a response time needs a limit above 0 and up to 8s with its unit (2s, 500ms)")
}

fn number(text: &str) -> Option<f64> {
    let value: f64 = text.trim().parse().ok()?;
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        condition(text).map_or_else(|hint| format!("! {hint}"), |c| c.to_string())
    }

    #[test]
    fn conditions_are_understood() {
        assert_eq!(shown("p99>2s for 10s"), "p99>2s for 10s");
        assert_eq!(shown(" P99.9 > 500ms "), "p99.9>500ms for 10s");
        assert_eq!(shown("mean>1500us for 3 s"), "mean>1.5ms for 3s");
        assert_eq!(shown("errors>5% for 1s"), "errors>5% for 1s");
        assert_eq!(shown("Free < 2.5%"), "free<2.5% for 10s");
    }

    /// The example in the message is a valid value.
    #[test]
    fn the_example_of_the_message_is_understood() {
        let (_, example) = CONDITIONS.split_once("STOP_IF=\"").unwrap();
        let (example, _) = example.split_once('"').unwrap();
        let parts: Vec<String> = example.split(',').map(shown).collect();
        let whole = ["p99>2s for 10s", "errors>5% for 10s", "free<5% for 10s"];
        assert_eq!(parts, whole);
        for unit in ["us", "ms", "s"] {
            assert!(condition(&format!("mean>3{unit}")).is_ok(), "{unit}");
        }
    }

    #[test]
    fn an_invalid_condition_is_refused_with_a_hint() {
        for (text, hint) in [
            ("", "a figure and its limit"),
            ("p99<2s", "a figure and its limit"),
            ("p100>2s", "no such figure"),
            ("pNaN>2s", "no such figure"),
            ("latency>2s", "no such figure"),
            ("p99>2", "with its unit"),
            ("p99>1e300s", "with its unit"),
            ("p99>-1s", "with its unit"),
            ("errors>5", "errors> needs a share"),
            ("errors<5%", "a figure and its limit"),
            ("free>5%", "a figure and its limit"),
            ("free<5", "free needs a share"),
            ("free<5GB", "free needs a share"),
            ("errors>100%", "errors> needs a share"),
            ("p99>2s for ever", "after 'for'"),
            ("p99>2s for 0s", "after 'for'"),
        ] {
            let shown = shown(text);
            assert!(
                shown.starts_with("! ") && shown.contains(hint),
                "{text}: {shown}"
            );
        }
    }
}
