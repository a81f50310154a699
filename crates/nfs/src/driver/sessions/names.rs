//! Version 4.0: the names of the objects of a proc. Its OPEN has the directory and the name of a file, where later
//! versions open a handle (CLAIM_FH, RFC 8881 section 18.16).

use super::opens;
use super::state::Sessions;
use crate::driver::core::Core;
use crate::driver::encode::NameTarget;
use filermark_engine::driver::{Action, ObjectId};
use filermark_engine::name::Name;

/// Where the objects of a proc are, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct ProcNames {
    places: Vec<Option<(ObjectId, Name)>>,
}

impl ProcNames {
    pub(super) fn get(&self, object: ObjectId) -> Option<(ObjectId, Name)> {
        *self.places.get(object.0 as usize)?
    }

    pub(super) fn set(&mut self, object: ObjectId, place: (ObjectId, Name)) {
        let at = object.0 as usize;
        if self.places.len() <= at {
            self.places.resize(at + 1, None);
        }
        self.places[at] = Some(place);
    }

    fn clear(&mut self, object: ObjectId) {
        if let Some(place) = self.places.get_mut(object.0 as usize) {
            *place = None;
        }
    }

    /// Drops those of objects from this one on.
    pub(super) fn forget(&mut self, from: ObjectId) {
        self.places.truncate(from.0 as usize);
    }
}

impl Core<Sessions> {
    /// An operation has found, made, linked or renamed an object: keeps its name.
    pub(super) fn keep_name(&mut self, op: u32) {
        if self.own.has_sessions() {
            return;
        }
        let logical = self.ops.get(op);
        let names = &mut self.own.names[logical.proc as usize];
        let (object, place) = match logical.action {
            Action::Lookup { dir, name, object }
            | Action::Create { dir, name, object }
            | Action::Fill {
                dir,
                name,
                object: Some(object),
                ..
            } => (object, (dir, name)),
            Action::Link {
                dir,
                new_name,
                new_object,
                ..
            } => (new_object, (dir, new_name)),
            Action::Rename {
                dir,
                object,
                new_name,
                new_object,
                ..
            } => {
                names.clear(object);
                (new_object, (dir, new_name))
            }
            _ => return,
        };
        names.set(object, place);
    }

    /// The directory and name of the file with this key; `None`: no operation has named it.
    pub(super) fn name_of(&self, proc: u32, key: u32) -> Option<NameTarget<'_>> {
        let Some(object) = opens::object_of(key) else {
            return Some(self.place(self.ops.get(opens::fill_of(key)?)));
        };
        let (dir, name) = self.own.names[proc as usize].get(object)?;
        Some(NameTarget {
            dir: self.handle(proc, dir),
            text: name.text(),
        })
    }
}
