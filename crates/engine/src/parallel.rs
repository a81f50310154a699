//! Work on several items in parallel, within a time limit.

use std::collections::VecDeque;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Items that are worked on in parallel.
const PARALLEL_MAX: usize = 16;

/// Works on items in parallel; threads that take too long are not waited for.
/// `None` for what was not ready in time. In the order of the items.
pub fn each_within<I: Send + 'static, T: Send + 'static>(
    items: Vec<I>,
    limit: Duration,
    work: impl Fn(I) -> T + Send + Sync + 'static,
) -> Vec<Option<T>> {
    let count = items.len();
    let queue: VecDeque<(usize, I)> = items.into_iter().enumerate().collect();
    let (queue, work) = (Arc::new(Mutex::new(queue)), Arc::new(work));
    let (sender, done) = channel();
    for _ in 0..PARALLEL_MAX.min(count) {
        let (queue, work, sender) = (queue.clone(), work.clone(), sender.clone());
        let body = move || {
            while let Some((at, item)) = next(&queue) {
                if sender.send((at, work(item))).is_err() {
                    return;
                }
            }
        };
        // Without this thread the others do its part.
        let _ = std::thread::Builder::new().name("look".into()).spawn(body);
    }
    drop(sender);
    let mut results: Vec<Option<T>> = (0..count).map(|_| None).collect();
    let until = Instant::now() + limit;
    while let Ok((at, result)) = done.recv_timeout(until.saturating_duration_since(Instant::now()))
    {
        results[at] = Some(result);
    }
    // Items that no thread has begun by now are dropped.
    queue.lock().unwrap_or_else(PoisonError::into_inner).clear();
    results
}

fn next<I>(queue: &Mutex<VecDeque<I>>) -> Option<I> {
    let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
    queue.pop_front()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_items_are_not_waited_for() {
        let began = Instant::now();
        let results = each_within(vec![1u64, 30_000, 3], Duration::from_millis(300), |ms| {
            std::thread::sleep(Duration::from_millis(ms));
            ms
        });
        assert_eq!(results, [Some(1), None, Some(3)]);
        assert!(began.elapsed() < Duration::from_secs(10));
        let many = each_within((0..100).collect(), Duration::from_secs(10), |n: u32| n + 1);
        assert_eq!(many, (1..=100).map(Some).collect::<Vec<_>>());
        assert!(each_within(Vec::<u8>::new(), Duration::ZERO, |n| n).is_empty());
    }
}
