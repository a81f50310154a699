//! In which order clients claim and give back the run's directories: of those that
//! meet in one directory the first goes alone, then the others find it done. Where users
//! log in, the very first client goes alone, and then the first at each server: a wrong
//! password is tried once, not once per client, for the others are not asked any more.

use filermark_model::RunPlan;
use filermark_model::plan::{ClientPlan, MountPoint, Target};
use std::collections::HashMap;

/// The clients in waves; those of one wave are ordered together.
pub fn waves(plan: &RunPlan) -> Vec<Vec<usize>> {
    let facts = plan.driver.facts();
    if facts.target == Target::Nothing {
        return vec![(0..plan.clients.len()).collect()];
    }
    let mut first: HashMap<&str, usize> = HashMap::new();
    let names: Vec<Vec<String>> = plan.clients.iter().map(|c| places(plan, c)).collect();
    // Two paths on mounted file systems may lead to one directory, so that whoever
    // comes to a new path comes alone.
    let alone = facts.target == Target::Mounted;
    // Accounts are locked after a few wrong passwords: one client finds out.
    let logs_in = facts.logs_in;
    let mut waves: Vec<Vec<usize>> = Vec::new();
    let mut pioneers = 0;
    for (at, places) in names.iter().enumerate() {
        let known = places.iter().filter_map(|p| first.get(p.as_str()));
        let mut wave = known.map(|w| w + 1).max().unwrap_or(0);
        if logs_in && at > 0 {
            wave = wave.max(1);
        }
        let pioneer = places.iter().any(|p| !first.contains_key(p.as_str()));
        if pioneer && alone {
            wave = wave.max(pioneers);
            pioneers = wave + 1;
        }
        for place in places {
            first.entry(place).or_insert(wave);
        }
        if waves.len() <= wave {
            waves.resize(wave + 1, Vec::new());
        }
        waves[wave].push(at);
    }
    waves.retain(|wave| !wave.is_empty());
    waves
}

/// What a client has in common with others that it meets: directories, and servers that
/// it logs in to.
fn places(plan: &RunPlan, client: &ClientPlan) -> Vec<String> {
    let mounts = client.mounts.iter();
    let mut places: Vec<String> = mounts.clone().map(|m| place(plan, m)).collect();
    if plan.driver.facts().logs_in {
        places.extend(mounts.map(|m| m.host.to_lowercase()));
    }
    places.sort();
    places.dedup();
    places
}

/// What clients that meet in one directory have in common.
fn place(plan: &RunPlan, mount: &MountPoint) -> String {
    let facts = plan.driver.facts();
    match (facts.target, facts.ignores_case) {
        // The host of a mounted file system is the client itself.
        (Target::Mounted, _) => mount.path.clone(),
        (_, true) => mount.to_string().to_lowercase(),
        (_, false) => mount.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_model::plan::DriverPlan;
    use filermark_model::plan::PosixPlan;

    fn plan(driver: DriverPlan, clients: &[&[&str]]) -> RunPlan {
        let mut plan = filermark_results::testing::plan();
        plan.clients = clients
            .iter()
            .enumerate()
            .map(|(at, mounts)| ClientPlan {
                name: format!("c{at}"),
                mounts: mounts
                    .iter()
                    .map(|path| MountPoint {
                        host: "nas".into(),
                        path: (*path).into(),
                    })
                    .collect(),
            })
            .collect();
        plan.driver = driver;
        plan
    }

    fn nfs() -> DriverPlan {
        filermark_results::testing::plan().driver
    }

    fn posix() -> DriverPlan {
        DriverPlan::Posix(PosixPlan::default())
    }

    #[test]
    fn the_first_in_a_directory_goes_alone() {
        let same = plan(nfs(), &[&["/a"], &["/a"], &["/a"]]);
        assert_eq!(waves(&same), [vec![0], vec![1, 2]]);
        let apart = plan(nfs(), &[&["/a"], &["/b"], &["/c"]]);
        assert_eq!(waves(&apart), [vec![0, 1, 2]]);
        let chained = plan(
            nfs(),
            &[&["/a", "/b"], &["/b", "/c"], &["/c", "/d"], &["/a"]],
        );
        assert_eq!(waves(&chained), [vec![0], vec![1, 3], vec![2]]);
    }

    #[test]
    fn mounted_paths_may_lead_to_one_place() {
        let apart = plan(posix(), &[&["/a"], &["/b"], &["/c"], &["/a"], &["/c"]]);
        assert_eq!(waves(&apart), [vec![0], vec![1, 3], vec![2], vec![4]]);
    }

    #[test]
    fn where_users_log_in_the_first_client_goes_alone() {
        let mut plan = plan(
            DriverPlan::Smb(filermark_results::testing::smb_plan("p")),
            &[&[r"\a"], &[r"\b"], &[r"\A"], &[r"\c"], &[r"\d"], &[r"\b"]],
        );
        assert_eq!(waves(&plan), [vec![0], vec![1, 2, 3, 4], vec![5]]);
        for at in [3, 4, 5] {
            plan.clients[at].mounts[0].host = "other".into();
        }
        // Then the first at another server.
        assert_eq!(waves(&plan), [vec![0], vec![1, 2, 3], vec![4, 5]]);
        plan.clients.truncate(1);
        assert_eq!(waves(&plan), [vec![0]]);
    }

    #[test]
    fn a_thousand_clients_are_two_waves() {
        let many = plan(posix(), &vec![&["/mnt/test"][..]; 1000]);
        let waves = waves(&many);
        assert_eq!(waves.iter().map(Vec::len).collect::<Vec<_>>(), [1, 999]);
    }
}
