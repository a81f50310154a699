//! The procs of one client, and what each works on according to the plan.

use crate::data::DataSource;
use crate::driver::{ProcSetup, TreeSetup};
use crate::file_action::tree_name;
use crate::fileset::Deal;
use crate::proc::Operations;
use crate::shard::ShardProc;
use crate::slice::Slice;
use crate::slice::classic::{ClassicSet, ClassicSlice};
use crate::slice::tree::{Sharing, TreeParts, TreeSlice};
use filermark_model::RunPlan;
use filermark_model::benchmark::{ClassicWork, Work};
use filermark_model::composite::CompositeWork;
use filermark_model::plan::{MountPoint, ProcPlan};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Shared trees are numbered from here on, by component. The tree of a proc has the
/// proc's number.
const SHARED_TREES: u32 = 0x8000_0000;

/// A proc and what it needs.
pub struct AssignedProc {
    /// For the driver.
    pub setup: ProcSetup,
    /// For the shard.
    pub proc: ShardProc,
    /// What it does.
    pub operations: Arc<Operations>,
    /// Which component it belongs to.
    pub component: u32,
}

/// The procs of a client, in the order of their numbers.
pub fn members(plan: &RunPlan, client: usize, data: &DataSource) -> Vec<AssignedProc> {
    let procs = plan.procs_of(client);
    match &plan.benchmark.work {
        Work::Classic(classic) => {
            let operations = Arc::new(Operations::new(&plan.benchmark.mix));
            let set = Arc::new(ClassicSet::new(classic, plan.seed));
            let proc_count = plan.proc_count();
            let member = |(number, mount): (u32, MountPoint)| {
                let deal = Deal {
                    proc_count,
                    proc: number,
                };
                let slice = Box::new(ClassicSlice::new(deal, &set));
                AssignedProc {
                    proc: shard_proc(number, &mount, Slice::Classic(set.clone(), slice)),
                    setup: ProcSetup {
                        number,
                        mount,
                        tree: None,
                    },
                    operations: operations.clone(),
                    component: 0,
                }
            };
            procs.into_iter().map(member).collect()
        }
        Work::Composite(composite) => trees(plan, composite, procs, data),
    }
}

/// All procs of a classical run in one list, for tests and benchmarks;
/// `place` gives the place that messages name.
pub fn classic_procs(
    classic: &ClassicWork,
    seed: u64,
    proc_count: u32,
    place: impl Fn(u32) -> String,
) -> Vec<ShardProc> {
    let set = Arc::new(ClassicSet::new(classic, seed));
    let proc = |number| {
        let deal = Deal {
            proc_count,
            proc: number,
        };
        let slice = Box::new(ClassicSlice::new(deal, &set));
        ShardProc {
            number,
            place: place(number),
            slice: Slice::Classic(set.clone(), slice),
        }
    };
    (0..proc_count).map(proc).collect()
}

/// Procs that each work in a tree.
fn trees(
    plan: &RunPlan,
    composite: &CompositeWork,
    procs: Vec<(u32, MountPoint)>,
    data: &DataSource,
) -> Vec<AssignedProc> {
    let kinds: Vec<_> = composite
        .components
        .iter()
        .map(|c| {
            let a = &c.workload.attributes;
            let shared = plan.fileset.sharing || a.sharemode;
            let contents = data.shaped(a.compress_pcnt, a.dedupe_pcnt).shared(shared);
            (
                c,
                Arc::new(c.workload.clone()),
                Arc::new(contents),
                Arc::new(Operations::new(&c.workload.mix)),
            )
        })
        .collect();
    let sharings = match plan.shares_trees() {
        true => sharings(plan),
        false => Vec::new(),
    };
    let reuse = plan.driver.facts().reuses_kept;
    let member = |(number, mount): (u32, MountPoint)| {
        let own = plan.proc(number)?;
        let (component, workload, contents, operations) = kinds.get(own.component as usize)?;
        let shared = plan.fileset.sharing || workload.attributes.sharemode;
        let setup = Arc::new(TreeSetup {
            component: own.component,
            name: tree_name(number, &workload.name, shared),
            workload: workload.clone(),
            data: contents.clone(),
        });
        let parts = TreeParts {
            setup: setup.clone(),
            seed: plan.seed,
            tree_number: match shared {
                true => SHARED_TREES | own.component,
                false => number,
            },
            sharing: match shared {
                true => *sharings.get(number as usize)?,
                false => Sharing::ALONE,
            },
            reuse,
            access_list: plan.fileset.access_list,
        };
        let slice = Slice::Tree(Box::new(TreeSlice::new(component, parts)));
        Some(AssignedProc {
            proc: shard_proc(number, &mount, slice),
            setup: ProcSetup {
                number,
                mount,
                tree: Some(setup),
            },
            operations: operations.clone(),
            component: own.component,
        })
    };
    procs.into_iter().filter_map(member).collect()
}

fn shard_proc(number: u32, mount: &MountPoint, slice: Slice) -> ShardProc {
    ShardProc {
        number,
        place: mount.to_string(),
        slice,
    }
}

/// How every proc of the run shares the tree of its component: with all procs of the
/// component where names come and go (two mount points may lead to one directory),
/// with those on its own mount point where files are made.
fn sharings(plan: &RunPlan) -> Vec<Sharing> {
    // The points of a search are not known yet.
    let fewest = match &plan.search {
        Some(search) => search.proc_count_min(),
        None => plan.points.iter().map(|p| plan.proc_count_at(*p)).min(),
    };
    let always = fewest.unwrap_or(plan.proc_count()) as usize;
    let mut per_component: BTreeMap<u32, u32> = BTreeMap::new();
    let mut at_home: BTreeMap<(u32, &MountPoint), u32> = BTreeMap::new();
    let mut ranks = Vec::with_capacity(plan.procs.len());
    let mut fillers = BTreeMap::new();
    for (number, proc) in plan.procs.iter().enumerate() {
        let home = (proc.component, &proc.mount);
        *per_component.entry(proc.component).or_default() += 1;
        let rank = at_home.entry(home).or_default();
        ranks.push(*rank);
        *rank += 1;
        // A mount point that has no proc at the smallest load is filled by its first.
        if number < always {
            fillers.insert(home, *rank);
        }
    }
    let sharing = |(proc, rank): (&ProcPlan, u32)| Sharing {
        count: per_component.get(&proc.component).copied().unwrap_or(1),
        index: proc.instance,
        filler_count: *fillers.get(&(proc.component, &proc.mount)).unwrap_or(&1),
        filler_index: rank,
    };
    plan.procs.iter().zip(ranks).map(sharing).collect()
}
