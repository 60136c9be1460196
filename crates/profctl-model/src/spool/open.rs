//! The calls that are open while calls are read callers first.

/// The open calls of one thread, the outermost first, while [`super::Spool::callers_first`] passes
/// its calls.
///
/// What came late to a call is read before the callees of that call and stands beside it, so until
/// then the call is set aside.
#[derive(Debug)]
pub struct OpenCalls<T> {
    calls: Vec<T>,
    aside: Vec<Aside<T>>,
}

/// A call that is open again once the calls that came late to it were read.
#[derive(Debug)]
struct Aside<T> {
    left: u64,
    depth: usize,
    call: T,
}

impl<T> Default for OpenCalls<T> {
    fn default() -> Self {
        Self { calls: Vec::new(), aside: Vec::new() }
    }
}

impl<T> OpenCalls<T> {
    /// The calls that are open.
    pub fn calls(&self) -> &[T] {
        &self.calls
    }

    /// The same, to be changed.
    pub fn calls_mut(&mut self) -> &mut [T] {
        &mut self.calls
    }

    /// Ends the calls that have `depth` callers or more, the innermost first. `ended` is given each
    /// of them and its callers.
    pub fn end_from(&mut self, depth: usize, mut ended: impl FnMut(T, &mut [T])) {
        while self.calls.len() > depth {
            let Some(call) = self.calls.pop() else { return };
            ended(call, &mut self.calls);
        }
    }

    /// Begins a call below all that are open; `late` calls came late to it, those below them
    /// included. Says how many of the open calls are the same as before.
    pub fn begin(&mut self, call: T, late: u64, mut ended: impl FnMut(T, &mut [T])) -> usize {
        let mut same = self.calls.len();
        for aside in &mut self.aside {
            aside.left = aside.left.saturating_sub(1);
        }
        if late > 0 {
            self.aside.push(Aside { left: late, depth: self.calls.len(), call });
        } else {
            self.calls.push(call);
        }
        while let Some(back) = self.aside.pop_if(|aside| aside.left == 0) {
            self.end_from(back.depth, &mut ended);
            same = same.min(back.depth);
            self.calls.push(back.call);
        }
        same
    }

    /// Ends all calls.
    pub fn end(&mut self, mut ended: impl FnMut(T, &mut [T])) {
        // What is left of them where calls are missing.
        while let Some(back) = self.aside.pop() {
            self.end_from(back.depth, &mut ended);
            self.calls.push(back.call);
        }
        self.end_from(0, ended);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_late_stands_beside_its_call() {
        // As in the tests of the spool, read backwards: main( f( a() ) irq( g() ) soft() ), where
        // both interrupts came late to f().
        let mut open = OpenCalls::default();
        let mut ends = Vec::new();
        let mut paths = Vec::new();
        for (name, depth, late) in
            [("main", 0, 0), ("f", 1, 3), ("soft", 1, 0), ("irq", 1, 0), ("g", 2, 0), ("a", 2, 0)]
        {
            let mut ended = |call, callers: &mut [&str]| ends.push((call, callers.len()));
            open.end_from(depth, &mut ended);
            paths.push([open.calls(), &[name]].concat().join("/"));
            open.begin(name, late, &mut ended);
        }
        assert_eq!(paths, ["main", "main/f", "main/soft", "main/irq", "main/irq/g", "main/f/a"]);
        open.end(|call, callers| ends.push((call, callers.len())));
        assert_eq!(ends, [("soft", 1), ("g", 2), ("irq", 1), ("a", 2), ("f", 1), ("main", 0)]);
    }
}
