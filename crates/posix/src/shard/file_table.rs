//! Which places of the kernel's table (`Ring::set_file`) files have.
//!
//! A file keeps its place while an operation uses it, also after the cache has closed its handle:
//! an operation may need several calls, and threads of the kernel look a place up when they carry
//! a call out, not when they get it.

/// The places, in use by files of the cache's slots and by operations.
#[derive(Debug)]
pub(super) struct FileTable {
    places: Vec<Place>,
    free: Vec<u32>,
    /// The place of the file in each slot of the cache.
    of_slot: Vec<Option<u32>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// Operations that use it.
    users: u32,
    /// The cache has closed its file.
    is_closed: bool,
}

impl FileTable {
    /// Places for the files of a cache with this many slots, and for closed ones that as many
    /// operations use.
    pub(super) fn new(slots: usize, operations: usize) -> Self {
        let count = slots + operations;
        Self {
            places: vec![Place::default(); count],
            free: (0..count as u32).rev().collect(),
            of_slot: vec![None; slots],
        }
    }

    /// The place of the file in a slot of the cache.
    #[inline]
    pub(super) fn of_slot(&self, slot: u32) -> Option<u32> {
        *self.of_slot.get(slot as usize)?
    }

    /// A place for the file in a slot that has none yet; `None`: there is no such slot.
    pub(super) fn add(&mut self, slot: u32) -> Option<u32> {
        let of_slot = self.of_slot.get_mut(slot as usize)?;
        let at = self.free.pop()?;
        self.places[at as usize] = Place::default();
        *of_slot = Some(at);
        Some(at)
    }

    /// A slot has lost its file; the place that no file is to have any more, if no operation uses
    /// it.
    pub(super) fn close(&mut self, slot: u32) -> Option<u32> {
        let at = self.of_slot.get_mut(slot as usize)?.take()?;
        let place = &mut self.places[at as usize];
        place.is_closed = true;
        self.freed(at)
    }

    /// An operation uses a place.
    #[inline]
    pub(super) fn hold(&mut self, at: u32) {
        if let Some(place) = self.places.get_mut(at as usize) {
            place.users += 1;
        }
    }

    /// An operation uses it no more; the place, if no file is to have it any more.
    #[inline]
    pub(super) fn let_go(&mut self, at: u32) -> Option<u32> {
        let place = self.places.get_mut(at as usize)?;
        place.users = place.users.saturating_sub(1);
        self.freed(at)
    }

    fn freed(&mut self, at: u32) -> Option<u32> {
        let place = self.places[at as usize];
        let is_free = place.is_closed && place.users == 0;
        is_free.then(|| self.free.push(at))?;
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::FileTable;

    #[test]
    fn a_closed_file_keeps_its_place_until_the_last_operation_has_ended() {
        let mut table = FileTable::new(2, 3);
        let first = table.add(0).expect("place");
        table.hold(first);
        table.hold(first);
        assert_eq!(table.close(0), None);
        assert_eq!(table.of_slot(0), None);
        // The slot has another file now, with another place.
        let second = table.add(0).expect("place");
        assert_ne!(second, first);
        assert_eq!(table.of_slot(0), Some(second));
        assert_eq!(table.let_go(first), None);
        assert_eq!(table.let_go(first), Some(first));
        // An open file keeps its place without operations.
        table.hold(second);
        assert_eq!(table.let_go(second), None);
        assert_eq!(table.close(0), Some(second));
        assert_eq!(
            (table.close(0), table.close(9), table.add(9)),
            (None, None, None)
        );
    }

    #[test]
    fn there_are_places_for_all_slots_and_operations() {
        let mut table = FileTable::new(2, 3);
        for _ in 0..3 {
            let at = table.add(1).expect("place");
            table.hold(at);
            assert_eq!(table.close(1), None);
        }
        assert!(table.add(0).is_some() && table.add(1).is_some());
    }
}
