//! The types of a form.

/// A node of the form.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// The name of the element, also in paths.
    pub name: &'static str,
    /// The title in reports.
    pub title: &'static str,
    /// The description for the user (`?d`).
    pub doc: &'static str,
    /// Whether it may be blank: a field empty, a group or a list without any value.
    pub is_optional: bool,
    /// Its kind, with the children, the item or the field.
    pub kind: Kind,
}

/// The kind of a node.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A group: these children, each once, in this order.
    Group(&'static [Node]),
    /// A list: any number of this item. The names are the fields that distinguish items.
    List(&'static Node, &'static [&'static str]),
    /// A value.
    Field(Field),
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its format.
    pub value: Value,
    /// Its source.
    pub origin: Origin,
}

/// The format of a value.
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
    /// The name of an image file in the folder of the submission: a JPEG, PNG or SVG.
    Image,
    /// An address for electronic mail.
    Mail,
}

/// The source of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The user enters it.
    User,
    /// The run's files: it is read from them each time and cannot be edited.
    Run,
}

/// The words of a yes-or-no field.
pub const YES_NO: &[&str] = &["yes", "no"];

const fn node(name: &'static str, title: &'static str, doc: &'static str, kind: Kind) -> Node {
    Node {
        name,
        title,
        doc,
        is_optional: false,
        kind,
    }
}

pub(super) const fn group(
    name: &'static str,
    title: &'static str,
    doc: &'static str,
    children: &'static [Node],
) -> Node {
    node(name, title, doc, Kind::Group(children))
}

pub(super) const fn list(
    name: &'static str,
    title: &'static str,
    doc: &'static str,
    item: &'static Node,
    keys: &'static [&'static str],
) -> Node {
    node(name, title, doc, Kind::List(item, keys))
}

pub(super) const fn field(
    name: &'static str,
    title: &'static str,
    value: Value,
    doc: &'static str,
) -> Node {
    let origin = Origin::User;
    node(name, title, doc, Kind::Field(Field { value, origin }))
}

/// A required line of text.
pub(super) const fn line(name: &'static str, title: &'static str, doc: &'static str) -> Node {
    field(name, title, Value::Line, doc)
}

/// Required free-form text.
pub(super) const fn free(name: &'static str, title: &'static str, doc: &'static str) -> Node {
    field(name, title, Value::FreeForm, doc)
}

pub(super) const fn count(name: &'static str, title: &'static str, doc: &'static str) -> Node {
    field(name, title, Value::Count, doc)
}

pub(super) const fn number(name: &'static str, title: &'static str, doc: &'static str) -> Node {
    field(name, title, Value::Number, doc)
}

impl Node {
    /// Makes it optional.
    pub(super) const fn optional(self) -> Self {
        Self {
            is_optional: true,
            ..self
        }
    }

    /// Sets the run's files as its source.
    pub(super) const fn of_run(self) -> Self {
        let kind = match self.kind {
            Kind::Field(field) => Kind::Field(Field {
                origin: Origin::Run,
                ..field
            }),
            other => other,
        };
        Self { kind, ..self }
    }

    /// The field, if it is one.
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
    /// Its format as text (`Type:` of `?d`).
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
            Self::Image => "Name of a JPEG, PNG or SVG file in the folder of this one".into(),
            Self::Mail => "E-mail address".into(),
        }
    }

    /// Whether it may have more than one line.
    pub const fn is_multi_line(self) -> bool {
        matches!(self, Self::FreeForm)
    }
}
