//! The procs of one client: what each works on, by the plan.

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
use filermark_model::plan::{DriverPlan, MountPoint, ProcPlan};
use std::sync::Arc;

/// Trees that are shared have numbers from here on, by component; those of procs
/// have the proc's.
const SHARED_TREES: u32 = 0x8000_0000;

/// A proc and what it needs.
pub struct Member {
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
pub fn members(plan: &RunPlan, client: usize, data: &DataSource) -> Vec<Member> {
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
                Member {
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

/// All procs of a classical run in one crew, as tests and benchmarks want them;
/// `place` is said in messages.
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
) -> Vec<Member> {
    let kinds: Vec<_> = composite
        .components
        .iter()
        .map(|c| {
            let a = &c.workload.attributes;
            let contents = data.shaped(a.compress_pcnt, a.dedupe_pcnt);
            (
                c,
                Arc::new(c.workload.clone()),
                Arc::new(contents),
                Arc::new(Operations::new(&c.workload.mix)),
            )
        })
        .collect();
    let reuse = matches!(&plan.driver, DriverPlan::Posix(posix) if posix.reuse_kept);
    let member = |(number, mount): (u32, MountPoint)| {
        let own = plan.procs.get(number as usize)?;
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
                true => sharing(plan, number),
                false => Sharing::ALONE,
            },
            reuse,
            access_list: plan.fileset.access_list,
        };
        let slice = Slice::Tree(Box::new(TreeSlice::new(component, parts)));
        Some(Member {
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

/// How a proc shares the tree of its component: with all procs of the component
/// where names come and go (two mount points may lead to one directory), with those
/// on its own mount point where files are made.
fn sharing(plan: &RunPlan, number: u32) -> Sharing {
    let alike = |p: &&ProcPlan| p.component == plan.procs[number as usize].component;
    let at_home = |p: &&ProcPlan| p.mount == plan.procs[number as usize].mount;
    let fewest = plan.points.iter().map(|p| plan.proc_count_at(*p)).min();
    let always = fewest.unwrap_or(plan.proc_count()) as usize;
    let before = &plan.procs[..number as usize];
    let count = |procs: &[ProcPlan]| procs.iter().filter(alike).count() as u32;
    let home = |procs: &[ProcPlan]| procs.iter().filter(alike).filter(at_home).count() as u32;
    // A mount point that has no proc at the smallest load is filled by its first one.
    Sharing {
        count: count(&plan.procs),
        index: count(before),
        filler_count: home(&plan.procs[..always]).max(1),
        filler_index: home(before),
    }
}
