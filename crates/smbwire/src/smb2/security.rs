//! Security descriptors: who owns a file, and who may do what with it (MS-DTYP 2.4).
//! SMB1's NT_TRANSACT_QUERY_SECURITY_DESC gives the same bytes.

use crate::bytes::ByteReader;
use crate::error::DecodeError;
use std::fmt;

/// Parts of a descriptor that can be asked for.
#[allow(missing_docs)] // They are called as MS-SMB2 2.2.37 calls them.
pub mod part {
    pub const OWNER: u32 = 1;
    pub const GROUP: u32 = 2;
    pub const DACL: u32 = 4;
}

/// A security descriptor, with the parts that were asked for and are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor<'a> {
    /// Its control bits.
    pub control: u16,
    /// Who owns it.
    pub owner: Option<Sid<'a>>,
    /// The owner's group.
    pub group: Option<Sid<'a>>,
    /// Who may do what.
    pub dacl: Option<Acl<'a>>,
}

impl<'a> Descriptor<'a> {
    /// Decodes it.
    ///
    /// # Errors
    /// It is cut, points outside of itself, or is of an unknown revision.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = ByteReader::new(bytes);
        if r.u8()? != 1 {
            return Err(DecodeError::Bad("the security descriptor's revision"));
        }
        r.u8()?;
        let control = r.u16()?;
        let [owner, group, _sacl, dacl] = [r.u32()?, r.u32()?, r.u32()?, r.u32()?];
        let from = |offset: u32| match offset {
            0 => Ok(None),
            _ => bytes
                .get(offset as usize..)
                .map(Some)
                .ok_or(DecodeError::TooShort),
        };
        Ok(Self {
            control,
            owner: from(owner)?.map(Sid::front).transpose()?,
            group: from(group)?.map(Sid::front).transpose()?,
            dacl: from(dacl)?.map(Acl::front).transpose()?,
        })
    }
}

/// The identifier of a user or group: `S-1-5-21-...`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sid<'a> {
    /// Who gave the numbers.
    pub authority: u64,
    /// The numbers, four bytes each.
    numbers: &'a [u8],
}

/// More numbers than these no SID has.
const NUMBERS_MAX: u8 = 15;

impl<'a> Sid<'a> {
    fn front(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = ByteReader::new(bytes);
        let (revision, count) = (r.u8()?, r.u8()?);
        if revision != 1 || count > NUMBERS_MAX {
            return Err(DecodeError::Bad("a security identifier"));
        }
        let authority: [u8; 6] = r.array()?;
        let authority = authority
            .iter()
            .fold(0, |acc, byte| acc << 8 | u64::from(*byte));
        let numbers = r.take(usize::from(count) * 4)?;
        Ok(Self { authority, numbers })
    }

    /// Its numbers.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + 'a {
        self.numbers
            .chunks_exact(4)
            .map(|n| n.try_into().map_or(0, u32::from_le_bytes))
    }
}

impl fmt::Display for Sid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "S-1-{}", self.authority)?;
        self.numbers().try_for_each(|n| write!(f, "-{n}"))
    }
}

/// A list of rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acl<'a> {
    /// How many entries it says it has.
    pub count: u16,
    entries: &'a [u8],
}

impl<'a> Acl<'a> {
    fn front(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = ByteReader::new(bytes);
        r.u16()?; // revision
        let size = usize::from(r.u16()?);
        let count = r.u16()?;
        r.u16()?;
        let length = size
            .checked_sub(r.position())
            .ok_or(DecodeError::Bad("the size of a list of rights"))?;
        Ok(Self {
            count,
            entries: r.take(length)?,
        })
    }

    /// Its entries, in order.
    pub const fn entries(&self) -> Aces<'a> {
        Aces {
            rest: self.entries,
            left: self.count,
        }
    }
}

/// The rights of a user or group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ace<'a> {
    /// 0 allows, 1 denies; others mean other things.
    pub kind: u8,
    /// How it is inherited.
    pub flags: u8,
    /// Which rights.
    pub mask: u32,
    /// Whose; `None` where the kind has it elsewhere.
    pub who: Option<Sid<'a>>,
}

/// The entries of a list.
#[derive(Clone, Debug)]
pub struct Aces<'a> {
    rest: &'a [u8],
    left: u16,
}

impl<'a> Iterator for Aces<'a> {
    type Item = Result<Ace<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let bytes = std::mem::take(&mut self.rest);
        let found = ace(bytes);
        match &found {
            Ok((_, rest)) => self.rest = rest,
            Err(_) => self.left = 0,
        }
        Some(found.map(|(ace, _)| ace))
    }
}

fn ace(bytes: &[u8]) -> Result<(Ace<'_>, &[u8]), DecodeError> {
    let mut r = ByteReader::new(bytes);
    let (kind, flags, size) = (r.u8()?, r.u8()?, usize::from(r.u16()?));
    let (own, rest) = bytes.split_at_checked(size).ok_or(DecodeError::TooShort)?;
    let mut r = ByteReader::new(own);
    r.u32()?;
    let mask = r.u32()?;
    let who = match kind {
        0..=2 => Some(Sid::front(r.rest())?),
        _ => None,
    };
    let ace = Ace {
        kind,
        flags,
        mask,
        who,
    };
    Ok((ace, rest))
}
