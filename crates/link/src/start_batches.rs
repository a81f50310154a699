//! The order in which clients claim and remove the run's directories: of the clients that share
//! a directory, the first one goes alone, so that the others find its result. If users log in,
//! the very first client goes alone, and then the first one at each server: a wrong password is
//! tried once, not once per client, since the others are not ordered any more.

use filermark_model::RunPlan;
use filermark_model::plan::{ClientPlan, MountPoint, Target};
use std::collections::HashMap;

/// The clients in batches; those of one batch are ordered together.
pub fn start_batches(plan: &RunPlan) -> Vec<Vec<usize>> {
    let facts = plan.driver.facts();
    if facts.target == Target::Nothing {
        return vec![(0..plan.clients.len()).collect()];
    }
    let mut first: HashMap<&str, usize> = HashMap::new();
    let names: Vec<Vec<String>> = plan.clients.iter().map(|c| shared_keys(plan, c)).collect();
    // Two paths on mounted file systems may be the same directory, so each new path needs a
    // batch with one client.
    let alone = facts.target == Target::Mounted;
    // Accounts are locked after a few wrong passwords, so one client tries first.
    let logs_in = facts.logs_in;
    let mut start_batches: Vec<Vec<usize>> = Vec::new();
    let mut first_clients = 0;
    for (at, shared_keys) in names.iter().enumerate() {
        let known = shared_keys.iter().filter_map(|p| first.get(p.as_str()));
        let mut batch = known.map(|w| w + 1).max().unwrap_or(0);
        if logs_in && at > 0 {
            batch = batch.max(1);
        }
        let first_client = shared_keys.iter().any(|p| !first.contains_key(p.as_str()));
        if first_client && alone {
            batch = batch.max(first_clients);
            first_clients = batch + 1;
        }
        for dir_key in shared_keys {
            first.entry(dir_key).or_insert(batch);
        }
        if start_batches.len() <= batch {
            start_batches.resize(batch + 1, Vec::new());
        }
        start_batches[batch].push(at);
    }
    start_batches.retain(|batch| !batch.is_empty());
    start_batches
}

/// What a client may share with others: directories, and servers that it logs in to.
fn shared_keys(plan: &RunPlan, client: &ClientPlan) -> Vec<String> {
    let mounts = client.mounts.iter();
    let mut shared_keys: Vec<String> = mounts.clone().map(|m| dir_key(plan, m)).collect();
    if plan.driver.facts().logs_in {
        shared_keys.extend(mounts.map(|m| m.host.to_lowercase()));
    }
    shared_keys.sort();
    shared_keys.dedup();
    shared_keys
}

/// The key of a directory that clients share.
fn dir_key(plan: &RunPlan, mount: &MountPoint) -> String {
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
    fn the_first_client_of_a_directory_goes_alone() {
        let same = plan(nfs(), &[&["/a"], &["/a"], &["/a"]]);
        assert_eq!(start_batches(&same), [vec![0], vec![1, 2]]);
        let apart = plan(nfs(), &[&["/a"], &["/b"], &["/c"]]);
        assert_eq!(start_batches(&apart), [vec![0, 1, 2]]);
        let chained = plan(
            nfs(),
            &[&["/a", "/b"], &["/b", "/c"], &["/c", "/d"], &["/a"]],
        );
        assert_eq!(start_batches(&chained), [vec![0], vec![1, 3], vec![2]]);
    }

    #[test]
    fn mounted_paths_may_be_the_same_directory() {
        let apart = plan(posix(), &[&["/a"], &["/b"], &["/c"], &["/a"], &["/c"]]);
        assert_eq!(
            start_batches(&apart),
            [vec![0], vec![1, 3], vec![2], vec![4]]
        );
    }

    #[test]
    fn where_users_log_in_the_first_client_goes_alone() {
        let mut plan = plan(
            DriverPlan::Smb(filermark_results::testing::smb_plan("p")),
            &[&[r"\a"], &[r"\b"], &[r"\A"], &[r"\c"], &[r"\d"], &[r"\b"]],
        );
        assert_eq!(start_batches(&plan), [vec![0], vec![1, 2, 3, 4], vec![5]]);
        for at in [3, 4, 5] {
            plan.clients[at].mounts[0].host = "other".into();
        }
        // Then the first one at another server.
        assert_eq!(start_batches(&plan), [vec![0], vec![1, 2, 3], vec![4, 5]]);
        plan.clients.truncate(1);
        assert_eq!(start_batches(&plan), [vec![0]]);
    }

    #[test]
    fn a_thousand_clients_are_two_batches() {
        let many = plan(posix(), &vec![&["/mnt/test"][..]; 1000]);
        let start_batches = start_batches(&many);
        assert_eq!(
            start_batches.iter().map(Vec::len).collect::<Vec<_>>(),
            [1, 999]
        );
    }
}
