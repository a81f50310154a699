//! Counted arrays (RFC 4506 section 4.13): a length word, then that many items.

use std::fmt;

use crate::{Decode, DecodeError, Decoder, Encode, Encoder};

/// An array of at most `MAX` items. To be sent it borrows a slice of items; when it is received, it is
/// checked whole and then read again, item by item, from the bytes it came in. Neither allocates.
#[derive(Clone, Copy)]
pub struct Array<'a, T, const MAX: usize> {
    source: Source<'a, T>,
}

#[derive(Clone, Copy)]
enum Source<'a, T> {
    Items(&'a [T]),
    Wire { items: Decoder<'a>, len: usize },
}

impl<'a, T, const MAX: usize> Array<'a, T, MAX> {
    /// An array without items.
    pub const EMPTY: Self = Self {
        source: Source::Items(&[]),
    };

    /// An array of these items; `None` when they are more than `MAX`.
    pub const fn new(items: &'a [T]) -> Option<Self> {
        if items.len() <= MAX {
            Some(Self {
                source: Source::Items(items),
            })
        } else {
            None
        }
    }

    /// How many items it has.
    pub const fn len(&self) -> usize {
        match self.source {
            Source::Items(items) => items.len(),
            Source::Wire { len, .. } => len,
        }
    }

    /// Whether it has none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a, T: Decode<'a> + Copy, const MAX: usize> Array<'a, T, MAX> {
    /// The items in order.
    pub const fn iter(&self) -> ArrayIter<'a, T> {
        ArrayIter {
            source: self.source,
        }
    }
}

impl<T, const MAX: usize> Default for Array<'_, T, MAX> {
    fn default() -> Self {
        Self::EMPTY
    }
}

/// Equal items are equal arrays, wherever they come from.
impl<'a, T: Decode<'a> + Copy + PartialEq, const MAX: usize> PartialEq for Array<'a, T, MAX> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<'a, T: Decode<'a> + Copy + Eq, const MAX: usize> Eq for Array<'a, T, MAX> {}

impl<'a, T: Decode<'a> + Copy + fmt::Debug, const MAX: usize> fmt::Debug for Array<'a, T, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Encode, const MAX: usize> Encode for Array<'_, T, MAX> {
    fn encode(&self, e: &mut Encoder<'_>) {
        e.u32(self.len() as u32);
        match self.source {
            Source::Items(items) => items.iter().for_each(|item| item.encode(e)),
            Source::Wire { items, .. } => e.raw(items.rest()),
        }
    }
}

impl<'a, T: Decode<'a>, const MAX: usize> Decode<'a> for Array<'a, T, MAX> {
    fn decode_as(d: &mut Decoder<'a>, what: &'static str) -> Result<Self, DecodeError> {
        let len = d.length(MAX, what)?;
        let start = *d;
        for _ in 0..len {
            T::decode_as(d, what)?;
        }
        let items = d.since(&start);
        Ok(Self {
            source: Source::Wire { items, len },
        })
    }
}

impl<'a, T: Decode<'a> + Copy, const MAX: usize> IntoIterator for &Array<'a, T, MAX> {
    type Item = T;
    type IntoIter = ArrayIter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The items of an [`Array`].
#[derive(Clone)]
pub struct ArrayIter<'a, T> {
    source: Source<'a, T>,
}

impl<T> fmt::Debug for ArrayIter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = match self.source {
            Source::Items(items) => items.len(),
            Source::Wire { len, .. } => len,
        };
        f.debug_struct("ArrayIter").field("left", &left).finish()
    }
}

impl<'a, T: Decode<'a> + Copy> Iterator for ArrayIter<'a, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        match &mut self.source {
            Source::Items(items) => {
                let (first, rest) = items.split_first()?;
                *items = rest;
                Some(*first)
            }
            Source::Wire { items, len } => {
                *len = len.checked_sub(1)?;
                // The array was checked when it was decoded: an error here means its end.
                T::decode_as(items, "array").ok()
            }
        }
    }
}

/// Variable-length opaque data or a string of at most `MAX` bytes, as an item of an [`Array`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Opaque<'a, const MAX: usize>(pub &'a [u8]);

impl<const MAX: usize> Encode for Opaque<'_, MAX> {
    fn encode(&self, e: &mut Encoder<'_>) {
        e.opaque(self.0);
    }
}

impl<'a, const MAX: usize> Decode<'a> for Opaque<'a, MAX> {
    fn decode_as(d: &mut Decoder<'a>, what: &'static str) -> Result<Self, DecodeError> {
        d.opaque(MAX, what).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Words<'a> = Array<'a, u32, 3>;

    #[test]
    fn an_array_that_is_received_equals_the_one_that_was_sent() {
        for items in [&[][..], &[7], &[7, 8, 9]] {
            let sent = Words::new(items).expect("at most three");
            let mut bytes = Vec::new();
            crate::append(&mut bytes, &sent);
            assert_eq!(bytes.len(), 4 + 4 * items.len());
            let received: Words<'_> = crate::decode(&bytes).expect("sound");
            assert_eq!(received, sent);
            assert_eq!(received.iter().collect::<Vec<_>>(), items);
            assert_eq!(
                (received.len(), received.is_empty()),
                (items.len(), items.is_empty())
            );
            let mut again = Vec::new();
            crate::append(&mut again, &received);
            assert_eq!(again, bytes);
            for cut in 0..bytes.len() {
                assert!(crate::decode::<Words<'_>>(&bytes[..cut]).is_err(), "{cut}");
            }
        }
    }

    #[test]
    fn more_than_the_limit_is_refused_in_both_directions() {
        assert!(Words::new(&[1, 2, 3, 4]).is_none());
        let error = crate::decode::<Words<'_>>(&[0, 0, 0, 4]).unwrap_err();
        assert_eq!(error, DecodeError::too_long(0, "value", 4, 3));
        assert_ne!(Words::new(&[1]), Words::new(&[2]));
    }
}
