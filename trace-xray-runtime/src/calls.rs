//! The open calls of a thread, by the places of their stack frames.
//!
//! A frame is known by the address of its return address, which is lower for a callee than for its
//! caller. Unwinding reports no exits, so open calls are closed by what comes after them: an entry
//! or an exit at a higher address shows that all calls below are over.
//!
//! A signal handler may have a stack of its own, at any address. Before a call is closed in that
//! way, the address is compared with that stack.

use std::ops::Range;

/// A call that is recorded from its begin to its end.
pub(crate) trait Call {
    type Site: Copy;
    /// The thread's record writer.
    type Writer: Copy;

    fn begin(&mut self, writer: Self::Writer, site: Self::Site);

    fn end(&mut self, writer: Self::Writer);

    /// Ends the call of a function that jumps to another one.
    fn end_by_jump(&mut self, writer: Self::Writer);

    /// Counts a call that is not recorded, since too many are open.
    fn count_missed();

    /// Returns the signal stack of the thread, if it has one.
    fn signal_stack() -> Option<Range<usize>>;
}

#[derive(Debug)]
struct Frame<C> {
    address: usize,
    call: C,
}

/// The open calls of a thread, at most `N`. Calls inside of that many are counted, not recorded.
///
/// All zeros is a valid value if that is so for `C`.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Calls<C, const N: usize> {
    /// The number of the session in which the calls began.
    session: u32,
    depth: usize,
    frames: [Frame<C>; N],
}

impl<C: Call, const N: usize> Calls<C, N> {
    /// Ends all calls of this session that are open, and forgets those of an earlier one: the
    /// thread is in none of them any more.
    pub(crate) fn finish(&mut self, writer: impl FnOnce() -> Option<C::Writer>, session: u32) {
        if self.session == session && self.depth > 0 {
            if let Some(writer) = writer() {
                while self.depth > 0 {
                    self.end_top(writer);
                }
            }
        }
        self.depth = 0;
    }

    /// Begins a call.
    #[inline(always)]
    pub(crate) fn enter(&mut self, writer: C::Writer, session: u32, address: usize, site: C::Site) {
        self.enter_with(writer, session, address, |call| call.begin(writer, site));
    }

    /// Begins a call by a function.
    #[inline(always)]
    pub(crate) fn enter_with(
        &mut self,
        writer: C::Writer,
        session: u32,
        address: usize,
        begin: impl FnOnce(&mut C),
    ) {
        self.prepare(writer, session, address, |top| top <= address);
        let Some(frame) = self.frames.get_mut(self.depth) else { return C::count_missed() };
        frame.address = address;
        begin(&mut frame.call);
        self.depth += 1;
    }

    /// Ends the calls that are over where a callee would have this address.
    pub(crate) fn close_below(&mut self, writer: C::Writer, session: u32, address: usize) {
        self.prepare(writer, session, address, |top| top <= address);
    }

    /// Ends the call with this address, if there is one.
    #[inline(always)]
    pub(crate) fn exit(&mut self, writer: C::Writer, session: u32, address: usize) {
        self.exit_with(writer, session, address, C::end);
    }

    /// Ends the call with this address, if there is one: its function jumps to another one.
    #[inline(always)]
    pub(crate) fn tail_exit(&mut self, writer: C::Writer, session: u32, address: usize) {
        self.exit_with(writer, session, address, C::end_by_jump);
    }

    #[inline(always)]
    fn exit_with(
        &mut self,
        writer: C::Writer,
        session: u32,
        address: usize,
        end: impl Fn(&mut C, C::Writer),
    ) {
        self.prepare(writer, session, address, |top| top < address);
        match self.top() {
            Some(top) if top == address => self.end_top_with(writer, end),
            Some(_) if self.depth < N => self.end_below(writer, address, end),
            _ => {}
        }
    }

    /// Forgets the calls of an earlier session, and closes those that are over at this address.
    #[inline(always)]
    fn prepare(
        &mut self,
        writer: C::Writer,
        session: u32,
        address: usize,
        is_over: impl Fn(usize) -> bool,
    ) {
        if self.session != session {
            (self.session, self.depth) = (session, 0);
        }
        if self.top().is_some_and(&is_over) {
            self.close(writer, address, is_over);
        }
    }

    #[cold]
    #[inline(never)]
    fn close(&mut self, writer: C::Writer, address: usize, is_over: impl Fn(usize) -> bool) {
        let signal_stack = C::signal_stack().filter(|stack| stack.contains(&address));
        let is_same_stack =
            |top| signal_stack.as_ref().is_none_or(|signal_stack| signal_stack.contains(&top));
        while self.top().is_some_and(|top| is_over(top) && is_same_stack(top)) {
            self.end_top(writer);
        }
    }

    /// Ends the call with this address, and those in it, which were on a signal stack that was left
    /// by a jump.
    #[cold]
    #[inline(never)]
    fn end_below(&mut self, writer: C::Writer, address: usize, end: impl Fn(&mut C, C::Writer)) {
        let open = self.frames.get(..self.depth).unwrap_or_default();
        if let Some(found) = open.iter().rposition(|frame| frame.address == address) {
            while self.depth > found + 1 {
                self.end_top(writer);
            }
            self.end_top_with(writer, end);
        }
    }

    #[inline(always)]
    fn top(&self) -> Option<usize> {
        let frame = self.frames.get(self.depth.wrapping_sub(1))?;
        Some(frame.address)
    }

    #[inline(always)]
    fn end_top(&mut self, writer: C::Writer) {
        self.end_top_with(writer, C::end);
    }

    #[inline(always)]
    fn end_top_with(&mut self, writer: C::Writer, end: impl Fn(&mut C, C::Writer)) {
        self.depth = self.depth.wrapping_sub(1);
        if let Some(frame) = self.frames.get_mut(self.depth) {
            end(&mut frame.call, writer);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    thread_local! {
        static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
        static SIGNAL_STACK: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    }

    #[derive(Debug, Default)]
    struct Logged(&'static str);

    impl Call for Logged {
        type Site = &'static str;
        type Writer = ();

        fn begin(&mut self, (): (), site: &'static str) {
            self.0 = site;
            LOG.with_borrow_mut(|log| log.push(format!("+{site}")));
        }

        fn end(&mut self, (): ()) {
            LOG.with_borrow_mut(|log| log.push(format!("-{}", self.0)));
        }

        fn end_by_jump(&mut self, (): ()) {
            LOG.with_borrow_mut(|log| log.push(format!(">{}", self.0)));
        }

        fn count_missed() {
            LOG.with_borrow_mut(|log| log.push("?".to_owned()));
        }

        fn signal_stack() -> Option<Range<usize>> {
            let (start, end) = SIGNAL_STACK.get();
            (end > 0).then_some(start..end)
        }
    }

    fn calls() -> Calls<Logged, 4> {
        LOG.take();
        SIGNAL_STACK.set((0, 0));
        let frames = std::array::from_fn(|_| Frame { address: 0, call: Logged::default() });
        Calls { session: 0, depth: 0, frames }
    }

    fn log() -> String {
        LOG.take().join(" ")
    }

    #[test]
    fn calls_nest() {
        let mut calls = calls();
        calls.enter((), 1, 100, "a");
        calls.enter((), 1, 80, "b");
        calls.exit((), 1, 80);
        calls.enter((), 1, 80, "c");
        calls.exit((), 1, 80);
        calls.exit((), 1, 100);
        assert_eq!(log(), "+a +b -b +c -c -a");
    }

    #[test]
    fn calls_end_with_their_thread_in_their_session_only() {
        let mut calls = calls();
        calls.enter((), 1, 100, "a");
        calls.enter((), 1, 80, "b");
        calls.finish(|| Some(()), 1);
        calls.enter((), 1, 100, "c");
        calls.finish(|| Some(()), 2);
        calls.enter((), 2, 100, "d");
        calls.finish(|| Some(()), 2);
        assert_eq!(log(), "+a +b -b -a +c +d -d");
    }

    #[test]
    fn a_tail_call_has_the_frame_of_its_caller() {
        let mut calls = calls();
        calls.enter((), 1, 100, "a");
        calls.tail_exit((), 1, 100);
        calls.enter((), 1, 100, "b");
        calls.exit((), 1, 100);
        assert_eq!(log(), "+a >a +b -b");
    }

    #[test]
    fn a_tail_exit_ends_the_calls_inside_without_a_jump() {
        let mut calls = calls();
        calls.enter((), 1, 100, "a");
        calls.enter((), 1, 80, "b");
        calls.tail_exit((), 1, 100);
        SIGNAL_STACK.set((500, 600));
        calls.enter((), 1, 100, "c");
        calls.enter((), 1, 580, "handler");
        SIGNAL_STACK.set((0, 0));
        calls.tail_exit((), 1, 100);
        assert_eq!(log(), "+a +b -b >a +c +handler -handler >c");
    }

    #[test]
    fn unwound_calls_are_closed_by_the_next_entry_or_exit() {
        let mut calls = calls();
        calls.enter((), 1, 100, "a");
        calls.enter((), 1, 80, "b");
        calls.enter((), 1, 60, "c");
        calls.enter((), 1, 80, "d");
        calls.enter((), 1, 60, "e");
        calls.exit((), 1, 100);
        assert_eq!(log(), "+a +b +c -c -b +d +e -e -d -a");
    }

    #[test]
    fn unwound_calls_are_closed_by_the_next_event() {
        let mut calls = calls();
        calls.enter((), 1, 100, "a");
        calls.close_below((), 1, 80);
        calls.enter((), 1, 80, "b");
        // Events in the innermost call, which has no space of its own on the stack.
        calls.close_below((), 1, 72);
        assert_eq!(log(), "+a +b");
        calls.close_below((), 1, 80);
        assert_eq!(log(), "-b");
        SIGNAL_STACK.set((500, 600));
        calls.close_below((), 1, 580);
        assert_eq!(log(), "");
    }

    #[test]
    fn an_exit_without_an_entry_is_ignored() {
        let mut calls = calls();
        calls.exit((), 1, 100);
        calls.enter((), 1, 100, "a");
        calls.exit((), 1, 60);
        calls.exit((), 1, 100);
        assert_eq!(log(), "+a -a");
    }

    #[test]
    fn calls_inside_of_too_many_are_counted() {
        let mut calls = calls();
        let addresses = [100, 90, 80, 70, 60, 50];
        addresses.iter().for_each(|address| calls.enter((), 1, *address, "a"));
        addresses.iter().rev().for_each(|address| calls.exit((), 1, *address));
        assert_eq!(log(), "+a +a +a +a ? ? -a -a -a -a");
    }

    #[test]
    fn calls_of_an_earlier_session_are_forgotten() {
        let mut calls = calls();
        calls.enter((), 1, 100, "a");
        calls.enter((), 2, 80, "b");
        calls.exit((), 2, 80);
        calls.exit((), 2, 100);
        assert_eq!(log(), "+a +b -b");
    }

    #[test]
    fn a_signal_stack_above_closes_no_call() {
        let mut calls = calls();
        calls.enter((), 1, 100, "a");
        SIGNAL_STACK.set((500, 600));
        calls.enter((), 1, 580, "handler");
        calls.enter((), 1, 560, "callee");
        calls.exit((), 1, 590);
        calls.exit((), 1, 590);
        SIGNAL_STACK.set((0, 0));
        calls.exit((), 1, 100);
        assert_eq!(log(), "+a +handler +callee -callee -handler -a");
    }

    #[test]
    fn a_jump_out_of_a_signal_stack_closes_its_calls() {
        let mut calls = calls();
        calls.enter((), 1, 100, "a");
        SIGNAL_STACK.set((500, 600));
        calls.enter((), 1, 580, "handler");
        SIGNAL_STACK.set((0, 0));
        calls.enter((), 1, 80, "b");
        calls.exit((), 1, 80);
        calls.exit((), 1, 100);
        assert_eq!(log(), "+a +handler +b -b -handler -a");
    }
}
