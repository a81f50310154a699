//! XDR linked lists ("pointer to next"): a boolean before every item, and one that says "no more".

use std::marker::PhantomData;

use crate::{Decode, DecodeError, Decoder, Encode, Encoder, MAX_LIST_ITEMS};

/// A linked list that was checked whole when it was decoded and is read again, item by item, from the
/// bytes it came in: nothing is allocated. For the rare lists (DUMP, EXPORT), where reading twice
/// costs nothing that matters.
#[derive(Debug, Clone, Copy)]
pub struct List<'a, T> {
    items: Decoder<'a>,
    len: usize,
    kind: PhantomData<fn() -> T>,
}

/// Equal bytes are equal lists, wherever in a message they stand.
impl<T> PartialEq for List<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.items.rest() == other.items.rest()
    }
}

impl<T> Eq for List<'_, T> {}

impl<'a, T: Decode<'a>> List<'a, T> {
    /// The list in these bytes, which must hold nothing else (made with [`encode_list`]).
    ///
    /// # Errors
    /// The first item that cannot be decoded, or bytes after the end.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        crate::decode(bytes)
    }

    /// How many items it has.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The items in order.
    pub const fn iter(&self) -> ListIter<'a, T> {
        ListIter {
            d: self.items,
            kind: PhantomData,
        }
    }
}

impl<'a, T: Decode<'a>> IntoIterator for &List<'a, T> {
    type Item = T;
    type IntoIter = ListIter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T: Decode<'a>> Decode<'a> for List<'a, T> {
    fn decode_as(d: &mut Decoder<'a>, what: &'static str) -> Result<Self, DecodeError> {
        let start = *d;
        let mut len = 0;
        while d.bool(what)? {
            if len == MAX_LIST_ITEMS {
                return Err(DecodeError::too_long(
                    d.offset(),
                    what,
                    len + 1,
                    MAX_LIST_ITEMS,
                ));
            }
            T::decode_as(d, what)?;
            len += 1;
        }
        Ok(Self {
            items: d.since(&start),
            len,
            kind: PhantomData,
        })
    }
}

impl<T> Encode for List<'_, T> {
    fn encode(&self, e: &mut Encoder<'_>) {
        e.raw(self.items.rest());
    }
}

/// The items of a [`List`].
#[derive(Debug, Clone)]
pub struct ListIter<'a, T> {
    d: Decoder<'a>,
    kind: PhantomData<fn() -> T>,
}

impl<'a, T: Decode<'a>> Iterator for ListIter<'a, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        // The list was checked when it was decoded: an error here means its end.
        match self.d.bool("list") {
            Ok(true) => T::decode_as(&mut self.d, "list").ok(),
            _ => None,
        }
    }
}

/// Writes a linked list of these items.
pub fn encode_list<T: Encode>(e: &mut Encoder<'_>, items: impl IntoIterator<Item = T>) {
    for item in items {
        e.bool(true);
        item.encode(e);
    }
    e.bool(false);
}
