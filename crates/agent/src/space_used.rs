//! Free space of file systems before and after INIT.

use filermark_driver_kit::driver::Driver;
use filermark_link::facts::FreeSpace;
use filermark_link::limits::FILE_SYSTEMS_MAX;
use filermark_model::survey::Space;
use filermark_results::record::SpaceChange;

/// The free space of each of these file systems now; `None`: it is not reported.
pub fn query(driver: &dyn Driver, file_systems: &[FreeSpace]) -> Vec<Option<Space>> {
    let of = |file_system: &FreeSpace| {
        let mount = file_system.mounts.first()?;
        driver.space(mount).ok().flatten()
    };
    file_systems.iter().take(FILE_SYSTEMS_MAX).map(of).collect()
}

/// The file systems whose space is known before and after.
pub fn changes(
    file_systems: &[FreeSpace],
    before: &[Option<Space>],
    after: &[Option<Space>],
) -> Vec<SpaceChange> {
    let pairs = before.iter().zip(after);
    let of = |(file_system, (before, after)): (&FreeSpace, (&Option<Space>, &Option<Space>))| {
        let (before, after) = (before.as_ref()?, after.as_ref()?);
        Some(SpaceChange {
            file_system: file_system.file_system.clone(),
            total_bytes: after.total_bytes,
            before_bytes: before.free_bytes,
            after_bytes: after.free_bytes,
        })
    };
    file_systems.iter().zip(pairs).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_known_on_both_sides_is_a_change() {
        let file_systems = ["nas:/a", "nas:/b"].map(|name| FreeSpace {
            mounts: Vec::new(),
            file_system: name.into(),
            bytes: 0,
            total_bytes: 0,
            kept: false,
        });
        let space = |free_bytes| {
            Some(Space {
                free_bytes,
                total_bytes: 9,
            })
        };
        let found = changes(&file_systems, &[space(5), None], &[space(3), space(2)]);
        let shown: Vec<_> = found
            .iter()
            .map(|c| (c.file_system.as_str(), c.before_bytes, c.after_bytes))
            .collect();
        assert_eq!(shown, [("nas:/a", 5, 3)]);
    }
}
