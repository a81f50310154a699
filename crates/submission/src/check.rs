//! The checks of the editor, of batch mode and of `-v`. The XSD has those that a schema can
//! express. Each fault has a path and a reason.

use crate::document::{Document, Element};
use crate::form::{Kind, Node, Value};
use crate::node_path::NodePath;
use filermark_model::text::quoted;
use std::fmt;

/// Something in a document that is missing or wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The node.
    pub place: NodePath,
    /// The path of the node, from the root.
    pub path: String,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}

/// Why a text is not a value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldFault(pub String);

/// Checks a text for a field.
///
/// # Errors
/// What is wrong with it.
pub fn check_value(node: &Node, text: &str) -> Result<(), FieldFault> {
    let Some(field) = node.field() else {
        return Ok(());
    };
    let text = text.trim();
    let fault = |reason: String| Err(FieldFault(reason));
    if text.is_empty() {
        return match node.is_optional {
            true => Ok(()),
            false => fault("the value must not be empty".into()),
        };
    }
    if text.contains('\n') && !field.value.is_multi_line() {
        return fault("the value cannot be multi-line".into());
    }
    match is_of(field.value, text) {
        true => Ok(()),
        false => fault(format!(
            "\"{}\" is not valid; expected: {}",
            quoted(text),
            expected_type(field.value)
        )),
    }
}

/// The type of a value, in lower case.
fn expected_type(value: Value) -> String {
    let name = value.type_name();
    let mut chars = name.chars();
    let first = chars.next().map(|c| c.to_ascii_lowercase());
    first.into_iter().chain(chars).collect()
}

/// Whether a text is a value of this kind. [`crate::xsd()`] has equivalent patterns; a test
/// compares the two.
fn is_of(value: Value, text: &str) -> bool {
    match value {
        Value::Line | Value::FreeForm => true,
        Value::Count => text.len() <= 18 && text.bytes().all(|b| b.is_ascii_digit()),
        Value::Number => is_number(text),
        Value::Month => text
            .split_once(' ')
            .is_some_and(|(month, year)| MONTHS.contains(&month) && is_digits(year, 4)),
        Value::Day => is_day(text),
        Value::Instant => is_instant(text),
        Value::Choice(words) => words.contains(&text),
        Value::Image => is_image(text),
        Value::Mail => is_mail(text),
    }
}

/// The months of [`Value::Month`].
pub(crate) const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Extensions of image files that browsers show without a plug-in.
pub(crate) const IMAGE_ENDS: [&str; 4] = [".jpg", ".jpeg", ".png", ".svg"];

fn is_digits(text: &str, len: usize) -> bool {
    text.len() == len && text.bytes().all(|b| b.is_ascii_digit())
}

fn is_number(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |t: &str| !t.is_empty() && t.len() <= 18 && t.bytes().all(|b| b.is_ascii_digit());
    digits(whole) && digits(fraction)
}

fn is_day(text: &str) -> bool {
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next(), parts.next(), parts.next());
    let within = |part: Option<&str>, most: u8| {
        part.filter(|p| is_digits(p, 2))
            .and_then(|p| p.parse::<u8>().ok())
            .is_some_and(|n| (1..=most).contains(&n))
    };
    parts.next().is_none()
        && year.is_some_and(|y| is_digits(y, 4))
        && within(month, 12)
        && within(day, 31)
}

fn is_instant(text: &str) -> bool {
    let Some((day, time)) = text.split_once('T') else {
        return false;
    };
    let Some(clock) = time.get(..8) else {
        return false;
    };
    let mut parts = clock.split(':');
    let mut part = |most: u8| {
        parts
            .next()
            .filter(|p| is_digits(p, 2))
            .and_then(|p| p.parse::<u8>().ok())
            .is_some_and(|n| n <= most)
    };
    let clock_is_right = part(23) && part(59) && part(59) && parts.next().is_none();
    let rest = time.get(8..).unwrap_or_default();
    let fraction = rest.strip_prefix('.').map_or(rest, |digits| {
        digits.trim_start_matches(|c: char| c.is_ascii_digit())
    });
    let has_fraction = fraction.len() + 1 < rest.len() || !rest.starts_with('.');
    is_day(day) && clock_is_right && has_fraction && is_offset(fraction)
}

fn is_offset(text: &str) -> bool {
    match text.strip_prefix(['+', '-']) {
        Some(offset) => offset
            .split_once(':')
            .is_some_and(|(h, m)| is_digits(h, 2) && is_digits(m, 2) && h <= "13" && m <= "59"),
        None => text == "Z",
    }
}

/// The name of an image file: without folders, not hidden, and without characters that have
/// a meaning in a shell, an archive or a browser.
fn is_image(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    text.len() <= 200
        && text.chars().all(plain)
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && IMAGE_ENDS
            .iter()
            .any(|end| lower.len() > end.len() && lower.ends_with(end))
}

fn is_mail(text: &str) -> bool {
    let blank = |c: char| c.is_whitespace();
    text.split_once('@').is_some_and(|(name, host)| {
        !name.is_empty() && !host.is_empty() && !host.contains('@') && !text.contains(blank)
    })
}

impl Document {
    /// Everything that is missing or wrong, in the order of the document.
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        self.check(&NodePath::root(), self.root(), &mut faults);
        self.check_across(&mut faults);
        faults
    }

    /// Whether a node or anything below it is missing or wrong (the `*` of `?c`).
    pub fn is_faulty(faults: &[Fault], place: &NodePath) -> bool {
        faults.iter().any(|fault| place.contains(&fault.place))
    }

    fn check(&self, place: &NodePath, element: &Element, faults: &mut Vec<Fault>) {
        let node = element.node();
        // An optional group or list without values is absent.
        let is_absent = node.is_optional && element.is_blank();
        match node.kind {
            _ if is_absent => {}
            Kind::Field(_) => {
                if let Err(FieldFault(reason)) = check_value(node, element.text()) {
                    faults.push(self.fault(place, reason));
                }
            }
            Kind::Group(_) | Kind::List(..) => {
                let is_filled_list = node.is_list() && !element.is_blank();
                for (at, child) in element.children().iter().enumerate() {
                    // A blank item among others is absent, too.
                    let is_spare = is_filled_list && child.is_blank();
                    if !is_spare {
                        self.check(&place.child(at), child, faults);
                    }
                }
            }
        }
    }

    fn fault(&self, place: &NodePath, reason: String) -> Fault {
        Fault {
            place: place.clone(),
            path: self.path(place),
            reason,
        }
    }

    /// Checks that concern more than one field.
    fn check_across(&self, faults: &mut Vec<Fault>) {
        let compliance = self.root().get("resultCompliance");
        let value = |name| compliance.map_or("", |c| c.value(name));
        if value("isCompliant") == "no"
            && value("reason").is_empty()
            && let Some(place) = self.find("resultCompliance.reason")
        {
            let reason = "a result that is not compliant must have a reason";
            faults.push(self.fault(&place, reason.into()));
        }
        if value("isCompliant") == "yes"
            && !value("reason").is_empty()
            && let Some(place) = self.find("resultCompliance.reason")
        {
            let reason = "a compliant result must not have a reason for non-compliance";
            faults.push(self.fault(&place, reason.into()));
        }
        for (result, reason) in crate::outcome::contradictions(self) {
            if let Some(place) = self.find(&result) {
                faults.push(self.fault(&place, reason));
            }
        }
        self.check_lg_types(faults);
    }

    /// Checks that the types of the load generators are described.
    fn check_lg_types(&self, faults: &mut Vec<Fault>) {
        let Some(test) = self.root().get("testInfo") else {
            return;
        };
        let types: Vec<&str> = test.get("loadGeneratorTypes").map_or(Vec::new(), |list| {
            list.items().map(|t| t.value("name")).collect()
        });
        let Some(list) = test.get("testbed").and_then(|t| t.get("testbedItems")) else {
            return;
        };
        for (at, item) in list.children().iter().enumerate() {
            let named = item.value("lgType");
            let path = format!(
                "testInfo.testbed.testbedItems.testbedItem[{}].lgType",
                at + 1
            );
            if !named.is_empty()
                && !types.contains(&named)
                && let Some(place) = self.find(&path)
            {
                let known = types.join(", ");
                faults.push(self.fault(
                    &place,
                    format!(
                        "no load generator type \"{}\" is described; described types: {known}",
                        quoted(named)
                    ),
                ));
            }
        }
    }
}
