//! The schema has every field of the plan. `UPDATE_GOLDEN=1 cargo test -p filermark-results
//! schema` adds missing fields. They are optional, because older records do not
//! have them.

use crate::record::SCHEMA;
use crate::testing::every_field::plans_with_every_field;
use filermark_model::Op;
use serde_json::{Value, json};
use std::path::Path;

/// A member that an object of the schema does not allow.
#[derive(Debug, PartialEq, Eq)]
struct Missing {
    /// The JSON pointer to the `properties` of the object.
    properties: String,
    name: String,
    /// The schema of its values.
    form: String,
}

/// The members of a value that the schema at `pointer` does not allow.
fn missing(schema: &Value, pointer: &str, value: &Value, found: &mut Vec<Missing>) {
    let Some(node) = schema.pointer(pointer) else {
        return;
    };
    if let Some(other) = node["$ref"].as_str() {
        return missing(schema, other.trim_start_matches('#'), value, found);
    }
    for way in ["anyOf", "oneOf"] {
        let ways = node[way].as_array().map_or(&[][..], Vec::as_slice);
        let fitting = ways.iter().position(|node| fits(schema, node, value));
        if let Some(at) = fitting {
            return missing(schema, &format!("{pointer}/{way}/{at}"), value, found);
        }
    }
    if let (Some(first), true) = (value.get(0), node["items"].is_object()) {
        return missing(schema, &format!("{pointer}/items"), first, found);
    }
    let (Some(members), Some(known)) = (value.as_object(), node["properties"].as_object()) else {
        return;
    };
    let properties = format!("{pointer}/properties");
    for (name, value) in members {
        if known.contains_key(name) {
            missing(schema, &format!("{properties}/{name}"), value, found);
        } else if node["additionalProperties"] == false {
            let new = Missing {
                properties: properties.clone(),
                name: name.clone(),
                form: form(value),
            };
            if !found.contains(&new) {
                found.push(new);
            }
        }
    }
}

/// Whether a value fits one of several alternatives: it has the constants of that alternative.
fn fits(schema: &Value, node: &Value, value: &Value) -> bool {
    let node = match node["$ref"].as_str() {
        Some(other) => schema.pointer(other.trim_start_matches('#')),
        None => Some(node),
    };
    let Some(node) = node else { return false };
    let allows = |name: &String, one: &Value| {
        let value = &value[name];
        let words = one["enum"].as_array();
        let is_one = words.is_none_or(|words| words.contains(value));
        value.is_null() || is_one && one.get("const").is_none_or(|word| word == value)
    };
    match node["properties"].as_object() {
        Some(known) => value.is_object() && known.iter().all(|(name, one)| allows(name, one)),
        None => value.is_array() && node["type"] == "array",
    }
}

/// The schema of values like this one.
fn form(value: &Value) -> String {
    match value {
        Value::Null => panic!("set the field in testing/every_field.rs"),
        Value::Bool(_) => r#"{"type": "boolean"}"#.to_owned(),
        Value::Number(n) if n.is_u64() => r#"{"type": "integer", "minimum": 0}"#.to_owned(),
        Value::Number(_) => r#"{"type": "number"}"#.to_owned(),
        Value::String(_) => r#"{"type": "string"}"#.to_owned(),
        Value::Array(all) => match all.first() {
            Some(first) => format!(r#"{{"type": "array", "items": {}}}"#, form(first)),
            None => panic!("set the list in testing/every_field.rs"),
        },
        Value::Object(members) => {
            let one = |(name, value): (&String, &Value)| format!(r#""{name}": {}"#, form(value));
            let members: Vec<String> = members.iter().map(one).collect();
            let members = members.join(", ");
            format!(r#"{{"type": "object", "properties": {{{members}}}}}"#)
        }
    }
}

/// The end of the JSON value that begins at `at`.
fn end_of(text: &[u8], at: usize) -> usize {
    let (mut depth, mut in_text, mut i) = (0, false, at);
    while i < text.len() {
        match text[i] {
            b'\\' if in_text => i += 1,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' | b'[' => depth += 1,
            b',' if depth == 0 => return i,
            b'}' | b']' if depth == 0 => return i,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        let is_whole = depth == 0 && !in_text && matches!(text[i], b'}' | b']' | b'"');
        i += 1;
        if is_whole {
            return i;
        }
    }
    i
}

fn after_blanks(text: &[u8], at: usize) -> usize {
    let blanks = |b: &&u8| b.is_ascii_whitespace() || [b',', b':'].contains(b);
    at + text[at..].iter().take_while(blanks).count()
}

/// The begin of the value of a JSON pointer.
fn begin_of(text: &[u8], pointer: &str) -> usize {
    let mut at = after_blanks(text, 0);
    for part in pointer.split('/').skip(1) {
        let is_list = text[at] == b'[';
        at = after_blanks(text, at + 1);
        for number in 0.. {
            let name = number.to_string();
            let (name, value) = match is_list {
                true => (name.as_bytes(), at),
                false => {
                    let end = end_of(text, at);
                    (&text[at + 1..end - 1], after_blanks(text, end))
                }
            };
            if name == part.as_bytes() {
                at = value;
                break;
            }
            at = after_blanks(text, end_of(text, value));
            assert!(!matches!(text[at], b'}' | b']'), "no {part} of {pointer}");
        }
    }
    at
}

/// The schema's text with one more member, after the others of its object.
fn with(text: &str, new: &Missing) -> String {
    let begin = begin_of(text.as_bytes(), &new.properties);
    let inside = &text[..end_of(text.as_bytes(), begin) - 1];
    let last = inside.trim_end().len();
    let line = text[..last].rfind('\n').map_or(0, |at| at + 1);
    let indent: String = text[line..].chars().take_while(|c| *c == ' ').collect();
    let Missing { name, form, .. } = new;
    let (before, after) = text.split_at(last);
    format!("{before},\n{indent}\"{name}\": {form}{after}")
}

const PLAN: &str = "/$defs/plan";

/// The schema with the names of all operations in `$defs/op`.
fn with_operations(text: &str) -> String {
    let front = "\"description\": \"A logical operation.\",\n      \"enum\": [";
    let (before, rest) = text.split_once(front).expect("$defs/op");
    let (_, after) = rest.split_once(']').expect("the end of the list");
    let mut lines = vec![String::new()];
    for op in Op::ALL {
        let name = format!(" \"{}\",", op.name());
        if lines
            .last()
            .is_some_and(|line| line.len() + name.len() > 92)
        {
            lines.push(String::new());
        }
        lines.last_mut().expect("a line").push_str(&name);
    }
    let names = lines.join("\n       ");
    let names = names.trim_end_matches(',');
    format!("{before}{front}\n       {names}\n      ]{after}")
}

#[test]
fn the_schema_has_every_operation_and_every_field_of_the_plan() {
    let mut text = with_operations(SCHEMA);
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let mut all = Vec::new();
    for plan in plans_with_every_field() {
        let plan = serde_json::to_value(&plan).unwrap();
        missing(&schema, PLAN, &plan, &mut all);
    }
    for new in &all {
        text = with(&text, new);
    }
    if text != SCHEMA && std::env::var_os("UPDATE_GOLDEN").is_some() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema");
        std::fs::write(folder.join("run-record-v1.json"), &text).unwrap();
    }
    assert!(
        text == SCHEMA,
        "the schema lacks operations or fields of the plan; UPDATE_GOLDEN=1 writes them: {all:#?}"
    );
}

#[test]
fn a_new_field_is_found_and_written() {
    let mut plan = serde_json::to_value(&plans_with_every_field()[0]).unwrap();
    plan["limits"]["new_pcnt"] = json!(1.5);
    plan["driver"]["new_names"] = json!(["a"]);
    plan["monitor"]["new_switch"] = json!(true);
    plan["new_part"] = json!({"count": 1});
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let mut found = Vec::new();
    missing(&schema, PLAN, &plan, &mut found);
    let mut names: Vec<&str> = found.iter().map(|new| new.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["new_names", "new_part", "new_pcnt", "new_switch"]);
    let text = found.iter().fold(SCHEMA.to_owned(), |t, new| with(&t, new));
    // Four more lines, and no other change; the fields are allowed now.
    assert_eq!(text.lines().count(), SCHEMA.lines().count() + found.len());
    let schema: Value = serde_json::from_str(&text).unwrap();
    let limits = "/$defs/plan/properties/limits/properties";
    let new = schema.pointer(&format!("{limits}/new_pcnt"));
    assert_eq!(new, Some(&json!({"type": "number"})));
    found.clear();
    missing(&schema, PLAN, &plan, &mut found);
    assert_eq!(found, []);
}
