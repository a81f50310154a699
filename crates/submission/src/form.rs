//! The form: every group, list and field of a submission, declared once.
//!
//! The editor's prompts and help, the checks, the XML, its schema (XSD), the reports
//! and the manual are all made from these declarations. What is asked for follows
//! the disclosure forms of the 2008 and 2014 generations (sources.md 2.6, 2.7, 3.11);
//! the names behind the seed's example session (manual M, 5.1.4.2) are its own, the
//! others are ours.

mod closing;
mod product;
mod result;
mod test;

/// A node of the form.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// The name of the element and in paths.
    pub name: &'static str,
    /// What reports call it.
    pub title: &'static str,
    /// What belongs there, for whoever fills it in (`?d`).
    pub doc: &'static str,
    /// Whether it may stay blank: an optional field empty, an optional group or
    /// list with nothing in it at all.
    pub is_optional: bool,
    /// What it holds.
    pub kind: Kind,
}

/// What a node holds.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// These children, each once, in this order.
    Group(&'static [Node]),
    /// Any number of this item; the names are the fields that tell items apart.
    List(&'static Node, &'static [&'static str]),
    /// A value.
    Field(Field),
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// What it has to look like.
    pub value: Value,
    /// Where it comes from.
    pub origin: Origin,
}

/// What a value has to look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// One line of text.
    Line,
    /// Text of any number of lines, in which the HTML of manual M, 5.1.5 may be used.
    FreeForm,
    /// A whole number from 0 up.
    Count,
    /// A number from 0 up.
    Number,
    /// A month and a year: `Nov 2026`.
    Month,
    /// A day: `2026-11-22`.
    Day,
    /// An instant: `2026-11-22T10:15:00Z`, with any fraction or offset.
    Instant,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// The name of an image file beside the submission: a JPEG, PNG or SVG.
    Image,
    /// An address for electronic mail.
    Mail,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Somebody types it in.
    User,
    /// The run's files: it is taken from them each time, and nobody may change it.
    Run,
}

/// YES or no.
pub const YES_NO: &[&str] = &["yes", "no"];

/// The name of the root element.
pub const ROOT_NAME: &str = "filermarkSubmission";

/// The form, as its root.
pub static FORM: Node = group(
    ROOT_NAME,
    "Submission",
    "Everything that a disclosure of one or more results holds. Go through it with Enter; what is marked with * in the list of children (?c) still misses something.",
    const {
        &[
            product::PRODUCT_INFO,
            test::TEST_INFO,
            result::RESULTS,
            closing::OTHER_REPORT_NOTES,
            closing::RESULT_COMPLIANCE,
            closing::SUBMISSION_INFO,
        ]
    },
);

const fn node(name: &'static str, title: &'static str, doc: &'static str, kind: Kind) -> Node {
    Node {
        name,
        title,
        doc,
        is_optional: false,
        kind,
    }
}

const fn group(
    name: &'static str,
    title: &'static str,
    doc: &'static str,
    children: &'static [Node],
) -> Node {
    node(name, title, doc, Kind::Group(children))
}

const fn list(
    name: &'static str,
    title: &'static str,
    doc: &'static str,
    item: &'static Node,
    told_by: &'static [&'static str],
) -> Node {
    node(name, title, doc, Kind::List(item, told_by))
}

const fn field(name: &'static str, title: &'static str, value: Value, doc: &'static str) -> Node {
    let origin = Origin::User;
    node(name, title, doc, Kind::Field(Field { value, origin }))
}

/// One line of text that has to be there.
const fn line(name: &'static str, title: &'static str, doc: &'static str) -> Node {
    field(name, title, Value::Line, doc)
}

/// Free-form text that has to be there.
const fn free(name: &'static str, title: &'static str, doc: &'static str) -> Node {
    field(name, title, Value::FreeForm, doc)
}

const fn count(name: &'static str, title: &'static str, doc: &'static str) -> Node {
    field(name, title, Value::Count, doc)
}

const fn number(name: &'static str, title: &'static str, doc: &'static str) -> Node {
    field(name, title, Value::Number, doc)
}

impl Node {
    /// The same, and it may stay blank.
    const fn optional(self) -> Self {
        Self {
            is_optional: true,
            ..self
        }
    }

    /// The same, and it comes from the run's files.
    const fn of_run(self) -> Self {
        let kind = match self.kind {
            Kind::Field(field) => Kind::Field(Field {
                origin: Origin::Run,
                ..field
            }),
            other => other,
        };
        Self { kind, ..self }
    }

    /// The field, where it is one.
    pub const fn field(&self) -> Option<Field> {
        match self.kind {
            Kind::Field(field) => Some(field),
            _ => None,
        }
    }

    /// The children of a group, or the item of a list.
    pub const fn children(&self) -> &'static [Self] {
        match self.kind {
            Kind::Group(children) => children,
            Kind::List(item, _) => std::slice::from_ref(item),
            Kind::Field(_) => &[],
        }
    }

    /// Whether it is a list.
    pub const fn is_list(&self) -> bool {
        matches!(self.kind, Kind::List(..))
    }

    /// Whether its value comes from the run's files.
    pub fn is_of_run(&self) -> bool {
        self.field().is_some_and(|f| f.origin == Origin::Run)
    }

    /// The node at a path of names below this one (`productInfo.vendorAndProduct`);
    /// an item of a list by its name, without a number.
    pub fn find(&self, path: &str) -> Option<&Self> {
        path.split('.').try_fold(self, |node, name| {
            node.children().iter().find(|child| child.name == name)
        })
    }
}

impl Value {
    /// What it has to look like, in words (`Type:` of `?d`).
    pub fn type_name(self) -> String {
        match self {
            Self::Line => "String".into(),
            Self::FreeForm => "Free-form text, may have HTML".into(),
            Self::Count => "Whole number, 0 or more".into(),
            Self::Number => "Number, 0 or more".into(),
            Self::Month => "Month and year, for example Nov 2026".into(),
            Self::Day => "Day, for example 2026-11-22".into(),
            Self::Instant => "Instant, for example 2026-11-22T10:15:00Z".into(),
            Self::Choice(words) => format!("One of: {}", words.join(", ")),
            Self::Image => "Name of a JPEG, PNG or SVG file beside this one".into(),
            Self::Mail => "E-mail address".into(),
        }
    }

    /// Whether it may have more than one line.
    pub const fn is_multi_line(self) -> bool {
        matches!(self, Self::FreeForm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn each(node: &'static Node, path: &str, check: &mut dyn FnMut(&'static Node, &str)) {
        check(node, path);
        for child in node.children() {
            each(child, &format!("{path}.{}", child.name), check);
        }
    }

    #[test]
    fn every_node_can_be_named_explained_and_told_apart() {
        let mut fields = 0;
        each(&FORM, FORM.name, &mut |node, path| {
            let first = node.name.chars().next();
            assert!(first.is_some_and(|c| c.is_ascii_lowercase()), "{path}");
            assert!(
                node.name.chars().all(|c| c.is_ascii_alphanumeric()),
                "{path}"
            );
            assert!(node.doc.ends_with('.') && node.doc.len() > 8, "{path}");
            assert!(!node.title.is_empty(), "{path}");
            let names: BTreeSet<_> = node.children().iter().map(|c| c.name).collect();
            assert_eq!(names.len(), node.children().len(), "{path}");
            if let Kind::List(item, told_by) = node.kind {
                assert!(!told_by.is_empty(), "{path}");
                for name in told_by {
                    assert!(item.find(name).is_some(), "{path}: {name}");
                }
            }
            fields += usize::from(node.field().is_some());
        });
        assert!(fields > 120, "{fields}");
    }

    /// Guide V: the NVRAM that makes writes stable is part of the configuration. No submission
    /// is complete without a word on it.
    #[test]
    fn stable_storage_has_to_be_stated() {
        let mut paths = Vec::new();
        each(&FORM, FORM.name, &mut |node, path| {
            if node.name == "stableStorage" {
                assert!(!node.is_optional, "{path}");
                let value = node.field().map(|field| field.value);
                assert_eq!(value, Some(Value::FreeForm), "{path}");
                assert!(node.doc.contains("when the power fails"), "{}", node.doc);
                paths.push(path.to_owned());
            }
        });
        assert_eq!(paths.len(), 1, "{paths:?}");
        assert!(paths[0].contains("productInfo"), "{paths:?}");
    }

    /// Manual M, 5.1.4.2, steps 5 and 6.
    #[test]
    fn the_paths_of_the_seeds_session_are_there() {
        let names: Vec<_> = FORM.children().iter().map(|c| c.name).collect();
        let wanted =
            "productInfo testInfo results otherReportNotes resultCompliance submissionInfo";
        assert_eq!(names.join(" "), wanted);
        let first = FORM
            .find("productInfo.vendorAndProduct")
            .unwrap()
            .children();
        assert_eq!((first[0].name, first[1].name), ("vendor", "productName"));
        assert_eq!(FORM.children()[0].children()[0].name, "vendorAndProduct");
    }
}
