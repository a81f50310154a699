//! What a form is made of.

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
    told_by: &'static [&'static str],
) -> Node {
    node(name, title, doc, Kind::List(item, told_by))
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

/// One line of text that has to be there.
pub(super) const fn line(name: &'static str, title: &'static str, doc: &'static str) -> Node {
    field(name, title, Value::Line, doc)
}

/// Free-form text that has to be there.
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
    /// The same, and it may stay blank.
    pub(super) const fn optional(self) -> Self {
        Self {
            is_optional: true,
            ..self
        }
    }

    /// The same, and it comes from the run's files.
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
