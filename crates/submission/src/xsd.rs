//! The schema of the XML, generated from the form, to check a submission with other programs.
//! It has the checks of [`crate::Document::faults`] that concern one field.

use crate::check::{IMAGE_ENDS, MONTHS};
use crate::document::ITEM_COUNT_MAX;
use crate::form::{FORM, Kind, Node, Value};
use crate::writing::FORM_VERSION;
use filermark_model::NOT_A_SPEC_RESULT;
use std::fmt::Write as _;

/// The whole schema.
pub fn xsd() -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        out,
        "<!-- Made from the form by: filermark subedit, option xsd. {NOT_A_SPEC_RESULT} -->"
    );
    out.push_str("<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" elementFormDefault=\"qualified\">\n");
    types(&mut out);
    element(&mut out, &FORM, 1, Occurs::Root);
    out.push_str("</xs:schema>\n");
    out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Occurs {
    Root,
    Once,
    Item,
}

fn element(out: &mut String, node: &Node, depth: usize, occurs: Occurs) {
    let pad = "  ".repeat(depth);
    let least = if node.is_optional {
        " minOccurs=\"0\""
    } else {
        ""
    };
    let times = match occurs {
        Occurs::Root => String::new(),
        Occurs::Once => least.to_owned(),
        Occurs::Item => format!(" maxOccurs=\"{ITEM_COUNT_MAX}\""),
    };
    let _ = write!(out, "{pad}<xs:element name=\"{}\"{times}", node.name);
    if let Kind::Field(field) = node.kind {
        let _ = writeln!(out, " type=\"{}\">", type_of(field.value, node.is_optional));
        documentation(out, node, &pad);
    } else {
        let _ = writeln!(out, ">");
        documentation(out, node, &pad);
        let _ = writeln!(out, "{pad}  <xs:complexType>\n{pad}    <xs:sequence>");
        let inner = match node.kind {
            Kind::List(..) => Occurs::Item,
            _ => Occurs::Once,
        };
        for child in node.children() {
            element(out, child, depth + 3, inner);
        }
        let _ = writeln!(out, "{pad}    </xs:sequence>");
        if occurs == Occurs::Root {
            let _ = writeln!(
                out,
                "{pad}    <xs:attribute name=\"version\" use=\"required\" fixed=\"{FORM_VERSION}\"/>"
            );
        }
        let _ = writeln!(out, "{pad}  </xs:complexType>");
    }
    let _ = writeln!(out, "{pad}</xs:element>");
}

fn documentation(out: &mut String, node: &Node, pad: &str) {
    let doc = node.doc.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        out,
        "{pad}  <xs:annotation><xs:documentation>{doc}</xs:documentation></xs:annotation>"
    );
}

/// The name of the type of a field; an optional one may be empty.
fn type_of(value: Value, is_optional: bool) -> String {
    let name = match value {
        Value::Line => "line".to_owned(),
        Value::FreeForm => "freeForm".to_owned(),
        Value::Count => "count".to_owned(),
        Value::Number => "number".to_owned(),
        Value::Month => "month".to_owned(),
        Value::Day => "day".to_owned(),
        Value::Instant => "instant".to_owned(),
        Value::Choice(words) => choice_name(words),
        Value::Image => "image".to_owned(),
        Value::Mail => "mail".to_owned(),
    };
    if is_optional {
        format!("{name}OrBlank")
    } else {
        name
    }
}

fn choice_name(words: &[&str]) -> String {
    let words: Vec<_> = words
        .iter()
        .map(|w| w.replace(',', "").replace(' ', "-"))
        .collect();
    format!("oneOf-{}", words.join("-"))
}

/// The pattern of a value, without the blanks that are allowed around it.
fn pattern(value: Value) -> String {
    match value {
        Value::Line | Value::FreeForm => r"\s*\S[\s\S]*".to_owned(),
        Value::Count => "[0-9]{1,18}".to_owned(),
        Value::Number => r"[0-9]{1,18}(\.[0-9]{1,18})?".to_owned(),
        Value::Month => format!("({}) [0-9]{{4}}", MONTHS.join("|")),
        Value::Day => DAY.to_owned(),
        Value::Instant => format!(
            r"{DAY}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?(Z|[+\-](0[0-9]|1[0-3]):[0-5][0-9])"
        ),
        Value::Choice(words) => words.join("|"),
        Value::Image => {
            let either = |c: char| match c {
                '.' => r"\.".to_owned(),
                c => format!("[{}{c}]", c.to_ascii_uppercase()),
            };
            let ends: Vec<String> = IMAGE_ENDS
                .iter()
                .map(|end| end.chars().map(either).collect())
                .collect();
            format!("[A-Za-z0-9][A-Za-z0-9._\\-]*({})", ends.join("|"))
        }
        Value::Mail => r"[^\s@]+@[^\s@]+".to_owned(),
    }
}

const DAY: &str = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])";

fn types(out: &mut String) {
    let mut choices: Vec<Value> = Vec::new();
    collect_choices(&FORM, &mut choices);
    let plain = [
        Value::Line,
        Value::FreeForm,
        Value::Count,
        Value::Number,
        Value::Month,
        Value::Day,
        Value::Instant,
        Value::Image,
        Value::Mail,
    ];
    for value in plain.into_iter().chain(choices) {
        for is_optional in [false, true] {
            let pattern = pattern(value);
            let pattern = match is_optional {
                true => format!(r"\s*({pattern})\s*|\s*"),
                false => format!(r"\s*({pattern})\s*"),
            };
            let _ = writeln!(
                out,
                "  <xs:simpleType name=\"{}\"><xs:restriction base=\"xs:string\"><xs:pattern value=\"{pattern}\"/></xs:restriction></xs:simpleType>",
                type_of(value, is_optional)
            );
        }
    }
}

fn collect_choices(node: &Node, found: &mut Vec<Value>) {
    if let Some(field) = node.field()
        && matches!(field.value, Value::Choice(_))
        && !found.contains(&field.value)
    {
        found.push(field.value);
    }
    for child in node.children() {
        collect_choices(child, found);
    }
}
