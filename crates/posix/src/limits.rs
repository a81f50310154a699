//! How many files a proc may keep open: by the plan, and by what the system allows.

use crate::sys::Errno;
use filermark_engine::driver::DriverError;
use filermark_model::plan::PosixPlan;

/// Bucket directories per proc; enough for 40 directories of 24 buckets. They cost a
/// server nothing, and spare two system calls each time.
const OPEN_DIRS_MAX: u64 = 1024;
const RESERVED: u64 = PosixPlan::OPEN_FILES_RESERVED;
const NEEDED_PER_PROC: u64 = PosixPlan::OPEN_FILES_NEEDED_PER_PROC;

/// The shares of one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FdShare {
    /// Files kept open.
    pub files: usize,
    /// Bucket directories kept open.
    pub dirs: usize,
}

/// Deals the process's descriptors to its shards. `limit`: `None` is no limit.
///
/// # Errors
/// There are too few; says how many are needed.
pub(crate) fn share(
    limit: Option<u64>,
    plan: &PosixPlan,
    shard_count: u32,
    procs_of_shard: usize,
) -> Result<FdShare, DriverError> {
    let procs = procs_of_shard.max(1) as u64;
    let all_procs = procs.saturating_mul(u64::from(shard_count.max(1)));
    let per_proc = match limit {
        Some(limit) => limit.saturating_sub(RESERVED) / all_procs,
        None => u64::MAX,
    };
    if per_proc < NEEDED_PER_PROC {
        let needed = RESERVED.saturating_add(all_procs.saturating_mul(NEEDED_PER_PROC));
        return Err(DriverError {
            place: "this client".to_owned(),
            step: "divide the file descriptors among the procs".to_owned(),
            reason: format!(
                "{}: {all_procs} procs need {needed}, the limit is {}",
                Errno::MFILE,
                limit.unwrap_or(0)
            ),
            advice: format!(
                "raise the hard limit (ulimit -Hn {needed}, or LimitNOFILE, or limits.conf), \
                 then ulimit -n {needed}; or run fewer procs per client"
            ),
        });
    }
    let left = per_proc - PosixPlan::OPEN_FILES_ASIDE_PER_PROC;
    let wanted = plan.open_files_wanted();
    let files = wanted.min(left.div_ceil(2));
    let dirs = (left - files).min(OPEN_DIRS_MAX);
    Ok(FdShare {
        files: (files * procs) as usize,
        dirs: (dirs * procs) as usize,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(open_files_max: Option<u32>) -> PosixPlan {
        PosixPlan {
            open_files_max,
            ..PosixPlan::default()
        }
    }

    #[test]
    fn every_proc_gets_a_share_and_all_fit() {
        for (limit, procs) in [(1024, 10), (1024, 70), (1 << 20, 10_000), (524_288, 7)] {
            let share = share(Some(limit), &plan(None), procs, 1).expect("enough");
            assert!(share.files >= 2 && share.dirs >= 2, "{share:?}");
            let all = (share.files + share.dirs) as u64 * u64::from(procs);
            assert!(all + RESERVED <= limit, "{limit} {procs}: {share:?}");
        }
        let few = share(None, &plan(Some(3)), 4, 2).expect("no limit");
        assert_eq!(
            few,
            FdShare {
                files: 6,
                dirs: 2048
            }
        );
    }

    #[test]
    fn the_reported_need_is_enough() {
        for (procs, max) in [(1, None), (300, None), (7, Some(1)), (40, Some(500))] {
            let plan = plan(max);
            let (least, best) = plan.open_files_per_proc();
            let of = |per_proc| RESERVED + u64::from(procs) * per_proc;
            let share = |limit| share(Some(limit), &plan, procs, 1);
            assert!(share(of(least)).is_ok());
            assert!(share(of(least) - 1).is_err());
            let files = share(of(best)).expect("enough").files;
            assert_eq!(files, max.map_or(64, |max| max.max(2) as usize));
        }
    }

    #[test]
    fn too_few_are_an_error_with_the_number_needed() {
        let error = share(Some(1024), &plan(None), 1000, 1)
            .expect_err("too few")
            .to_string();
        assert!(error.contains("ulimit -n 10256"), "{error}");
        assert!(error.contains("EMFILE"), "{error}");
    }
}
