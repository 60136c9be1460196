//! Several inputs are read at the same time, and taken in their order.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::Scope;

/// Calls `read` with all items on so many threads, and gives the results in the order of the items. A
/// thread that is ahead waits with its result, so that there is one a thread at most.
pub(crate) fn in_order<'scope, 'env, T, R, F>(
    scope: &'scope Scope<'scope, 'env>,
    items: &'env [T],
    threads: usize,
    read: &'env F,
) -> impl Iterator<Item = R> + use<'scope, 'env, T, R, F>
where
    T: Sync,
    R: Send + 'scope,
    F: Fn(&T) -> R + Sync,
{
    let one = |first: usize| {
        let (send, receive) = sync_channel(0);
        scope.spawn(move || {
            for item in items.iter().skip(first).step_by(threads) {
                if send.send(read(item)).is_err() {
                    // An earlier item was an error: the rest is not wanted.
                    break;
                }
            }
        });
        receive
    };
    let results: Vec<Receiver<R>> = (0..threads).map(one).collect();
    // A thread that panicked sends nothing, and the scope panics as well.
    (0..items.len()).map_while(move |at| results[at % results.len()].recv().ok())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::in_order;

    #[test]
    fn results_come_in_order_and_no_more_than_asked_are_made() {
        let items: Vec<usize> = (0..100).collect();
        for threads in 1..5 {
            let made = AtomicUsize::new(0);
            let read = |&item: &usize| {
                made.fetch_add(1, Ordering::Relaxed);
                item * 2
            };
            std::thread::scope(|scope| {
                let all: Vec<usize> = in_order(scope, &items, threads, &read).collect();
                assert_eq!(all, items.iter().map(|item| item * 2).collect::<Vec<_>>());
            });
            made.store(0, Ordering::Relaxed);
            std::thread::scope(|scope| {
                assert_eq!(in_order(scope, &items, threads, &read).nth(9), Some(18));
            });
            assert!(made.load(Ordering::Relaxed) <= 10 + 2 * threads);
        }
    }
}
