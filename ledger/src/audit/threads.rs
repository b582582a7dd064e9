//! Work on several threads at once.

use std::future::Future;
use std::num::NonZeroUsize;
use std::thread;

use futures_executor::block_on;

/// More would wait for each other at the disk.
const THREADS_MAX: usize = 16;

/// As many threads as the machine has room for.
pub(super) fn all() -> NonZeroUsize {
    let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    NonZeroUsize::new(THREADS_MAX).map_or(cores, |most| cores.min(most))
}

/// Does work on so many threads, told which one of them it is on, and waits for all; `None` where
/// one of them was not started or broke down. One alone is not worth a thread.
pub(super) async fn on_each<T, F>(
    count: usize,
    work: impl Fn(usize) -> F + Send + Sync,
) -> Option<Vec<T>>
where
    T: Send,
    F: Future<Output = T>,
{
    if count <= 1 {
        return Some(vec![work(0).await]);
    }
    let work = &work;
    let done: Vec<_> = thread::scope(|scope| {
        let started: Vec<_> = (0..count)
            .map(|number| {
                let named = thread::Builder::new().name(format!("placet-verify-{number}"));
                named.spawn_scoped(scope, move || block_on(work(number)))
            })
            .collect();
        // All are waited for, also behind one that failed.
        let ended = started.into_iter().map(|thread| thread.ok()?.join().ok());
        ended.collect()
    });
    done.into_iter().collect()
}
