//! Who may use a file, by its list of access (Windows): pure rules, without calls.

use crate::Privacy;

/// The system itself: it may use every file.
const SYSTEM: &str = "S-1-5-18";
/// The administrators of the host: they may take every file.
const ADMINISTRATORS: &str = "S-1-5-32-544";
/// The owner of the file.
const OWNER_RIGHTS: &str = "S-1-3-4";
/// The rights that let a user read a file: FILE_READ_DATA, GENERIC_READ, GENERIC_ALL.
const READS: u32 = 0x9000_0001;
/// Names that a message states at most.
const SHOWN_MAX: usize = 3;

/// An entry of a list that is in effect for the file itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AccessEntry {
    /// A user or a group has these rights.
    Allows {
        /// Its identifier.
        user: String,
        /// The rights.
        rights: u32,
    },
    /// An entry of another kind: its effect is not known.
    NotKnown,
}

/// Who may use a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AccessList {
    /// The identifier of the owner.
    pub owner: String,
    /// What is allowed; nothing else is.
    pub entries: Vec<AccessEntry>,
}

impl AccessList {
    /// Whether only `own_user`, the system and administrators may use the file. `name_of` gives
    /// the name of an account for a message.
    pub fn privacy(&self, own_user: &str, name_of: impl Fn(&str) -> Option<String>) -> Privacy {
        let is_trusted = |user: &str| [own_user, SYSTEM, ADMINISTRATORS].contains(&user);
        let mut others: Vec<String> = Vec::new();
        let mut may_read = false;
        for entry in &self.entries {
            let (name, reads) = match entry {
                AccessEntry::Allows { user, .. } if is_trusted(user) || user == OWNER_RIGHTS => {
                    continue;
                }
                AccessEntry::Allows { rights: 0, .. } => continue,
                AccessEntry::Allows { user, rights } => (
                    name_of(user).unwrap_or_else(|| user.clone()),
                    rights & READS != 0,
                ),
                AccessEntry::NotKnown => ("others".to_owned(), true),
            };
            may_read |= reads;
            if !others.contains(&name) {
                others.push(name);
            }
        }
        if !others.is_empty() {
            others.truncate(SHOWN_MAX);
            return Privacy::Shared {
                who: format!("access for {}", others.join(", ")),
                may_read,
            };
        }
        match is_trusted(&self.owner) {
            true => Privacy::Private,
            false => Privacy::Foreign(name_of(&self.owner).unwrap_or_else(|| self.owner.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: &str = "S-1-5-21-1-2-3-1001";
    const OTHER: &str = "S-1-5-21-1-2-3-1002";

    fn list(owner: &str, entries: &[(&str, u32)]) -> Privacy {
        let entries = entries.iter().map(|(user, rights)| AccessEntry::Allows {
            user: (*user).to_owned(),
            rights: *rights,
        });
        let list = AccessList {
            owner: owner.to_owned(),
            entries: entries.collect(),
        };
        list.privacy(ME, |sid| (sid == "S-1-5-32-545").then(|| "Users".into()))
    }

    #[test]
    fn owner_system_and_administrators_may_have_access() {
        let all = 0x001f_01ff;
        assert_eq!(list(ME, &[(ME, all)]), Privacy::Private);
        assert_eq!(list(ME, &[]), Privacy::Private);
        let trusted = [(ME, all), (SYSTEM, all), (ADMINISTRATORS, all)];
        assert_eq!(list(ADMINISTRATORS, &trusted), Privacy::Private);
    }

    #[test]
    fn others_are_named() {
        let read = list(ME, &[(ME, 1), ("S-1-5-32-545", 1), (OTHER, 2)]);
        let Privacy::Shared { who, may_read } = read else {
            panic!("{read:?}");
        };
        assert_eq!(who, format!("access for Users, {OTHER}"));
        assert!(may_read);
        let write = list(ME, &[(OTHER, 2)]);
        assert!(
            matches!(
                write,
                Privacy::Shared {
                    may_read: false,
                    ..
                }
            ),
            "{write:?}"
        );
        assert_eq!(list(ME, &[(OTHER, 0)]), Privacy::Private, "no rights");
        assert_eq!(list(OTHER, &[(ME, 1)]), Privacy::Foreign(OTHER.into()));
    }

    #[test]
    fn what_is_not_known_counts_as_access_of_others() {
        let list = AccessList {
            owner: ME.to_owned(),
            entries: vec![AccessEntry::NotKnown],
        };
        assert!(matches!(list.privacy(ME, |_| None), Privacy::Shared { .. }));
    }
}
