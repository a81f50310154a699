//! What a proc's operations of version 4.2 have done with its scratch files and attributes: which copies can be
//! compared with the file that was read, and which value an attribute has.

use filermark_engine::driver::{ObjectId, V4Action};

/// Scratch files that are distinguished. Others share an entry, so fewer copies are compared.
const FILES: usize = 16;
/// Attributes that are distinguished; the values of others are compared with no particular one.
const ATTRIBUTES: usize = 16;

/// Operations that change a scratch file.
#[derive(Clone, Copy, Debug, Default)]
struct Changes {
    /// Under way, or of unknown outcome: the server may execute it still.
    open: u32,
    /// All that have begun.
    number: u64,
}

/// What an attribute has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Value {
    /// The value of any SETXATTR.
    #[default]
    Any,
    /// The value of this one.
    Of(u64),
    /// That of any SETXATTR for good: one has had no reply, and may be executed still.
    Unsettled,
}

/// The scratch files and attributes of a proc.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scratch {
    files: [Changes; FILES],
    attributes: [Value; ATTRIBUTES],
}

/// The scratch file that an operation changes.
pub(super) const fn changed(action: V4Action) -> Option<ObjectId> {
    match action {
        V4Action::Allocate { object, .. } | V4Action::Deallocate { object, .. } => Some(object),
        _ => action.target(),
    }
}

impl Scratch {
    const fn file(&mut self, object: ObjectId) -> &mut Changes {
        &mut self.files[object.0 as usize % FILES]
    }

    /// An operation begins that changes a file. Returns its number.
    pub(super) const fn begin(&mut self, object: ObjectId) -> u64 {
        let file = self.file(object);
        file.open += 1;
        file.number += 1;
        file.number
    }

    /// It has ended; `certain`: the server does not execute any of it any more.
    pub(super) const fn end(&mut self, object: ObjectId, certain: bool) {
        let file = self.file(object);
        file.open = file.open.saturating_sub(certain as u32);
    }

    /// Whether the operation with this number, which has ended, was the last one that may have changed the file.
    /// (If another one was under way when it began, it has ended; then its order is not known.)
    pub(super) fn is_last(&mut self, object: ObjectId, number: u64) -> bool {
        let file = self.file(object);
        file.open == 0 && file.number == number
    }

    /// Whether no other operation is under way that changes the file.
    pub(super) fn is_alone(&mut self, object: ObjectId) -> bool {
        self.file(object).open == 1
    }

    /// The value of an attribute.
    pub(super) fn value(&self, attribute: u16) -> Value {
        let known = self.attributes.get(usize::from(attribute));
        known.copied().unwrap_or_default()
    }

    /// An attribute has this value from now on.
    pub(super) fn set_value(&mut self, attribute: u16, value: Value) {
        if let Some(known) = self.attributes.get_mut(usize::from(attribute))
            && *known != Value::Unsettled
        {
            *known = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: ObjectId = ObjectId(3);

    #[test]
    fn a_copy_is_compared_only_if_nothing_else_can_have_changed_the_file() {
        let mut scratch = Scratch::default();
        let first = scratch.begin(FILE);
        assert!(scratch.is_alone(FILE));
        scratch.end(FILE, true);
        assert!(scratch.is_last(FILE, first));
        let second = scratch.begin(FILE);
        assert!(!scratch.is_last(FILE, first), "another one is under way");
        let third = scratch.begin(FILE);
        assert!(!scratch.is_alone(FILE));
        scratch.end(FILE, true);
        scratch.end(FILE, false);
        assert!(!scratch.is_last(FILE, second));
        assert!(!scratch.is_last(FILE, third), "one may be executed still");
        scratch.begin(FILE);
        assert!(!scratch.is_alone(FILE));
    }

    #[test]
    fn an_attribute_has_no_certain_value_after_a_call_without_a_reply() {
        let mut scratch = Scratch::default();
        scratch.set_value(2, Value::Of(5));
        assert_eq!(scratch.value(2), Value::Of(5));
        scratch.set_value(2, Value::Unsettled);
        scratch.set_value(2, Value::Of(6));
        assert_eq!(scratch.value(2), Value::Unsettled);
        assert_eq!(scratch.value(999), Value::Any);
    }
}
