use std::sync::atomic::AtomicBool;
use std::sync::Mutex;

use crate::sys::in_child;

use super::*;

/// Sets a flag when it is dropped.
struct Dropped(&'static AtomicBool);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Forks in an observer. The child runs `in_callback` with the observer's guard. Returns whether
/// the callback exists after that.
fn is_kept(in_callback: fn(Observer)) -> bool {
    static DROPPED: AtomicBool = AtomicBool::new(false);
    static GUARD: Mutex<Option<Observer>> = Mutex::new(None);
    static KEPT: AtomicBool = AtomicBool::new(false);
    static OBSERVERS: Observers = Observers::new();
    DROPPED.store(false, Ordering::SeqCst);
    let value = Dropped(&DROPPED);
    let observer = OBSERVERS.observe(move |_| {
        let _owned = &value;
        let guard = GUARD.lock().unwrap().take().unwrap();
        let kept = in_child(|| {
            in_callback(guard);
            !DROPPED.load(Ordering::SeqCst)
        });
        KEPT.store(kept, Ordering::SeqCst);
    });
    *GUARD.lock().unwrap() = Some(observer);
    std::thread::spawn(|| OBSERVERS.notify_all(TraceState::Started)).join().unwrap();
    KEPT.load(Ordering::SeqCst)
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no fork")]
fn a_forked_child_can_drop_an_observer_that_it_runs_in() {
    assert!(is_kept(drop));
    assert!(is_kept(|guard| std::thread::spawn(|| drop(guard)).join().unwrap()));
}

/// A child's own thread calls the observer in which the child was forked.
#[test]
#[cfg_attr(miri, ignore = "Miri has no fork")]
fn a_forked_child_waits_for_its_own_thread_in_the_observer() {
    static OBSERVERS: Observers = Observers::new();
    static GUARD: Mutex<Option<Observer>> = Mutex::new(None);
    static HAS_FORKED: AtomicBool = AtomicBool::new(false);
    static HAS_ENTERED: AtomicBool = AtomicBool::new(false);
    static HAS_RETURNED: AtomicBool = AtomicBool::new(false);
    static WAITED: AtomicBool = AtomicBool::new(false);
    let observer = OBSERVERS.observe(|_| {
        if HAS_FORKED.load(Ordering::SeqCst) {
            HAS_ENTERED.store(true, Ordering::SeqCst);
            while OBSERVERS.has_observers() {
                std::thread::yield_now();
            }
            // A drop that does not wait returns during this.
            std::thread::sleep(Duration::from_millis(20));
            HAS_RETURNED.store(true, Ordering::SeqCst);
            return;
        }
        let waited = in_child(|| {
            HAS_FORKED.store(true, Ordering::SeqCst);
            let _caller = std::thread::spawn(|| OBSERVERS.notify_all(TraceState::Started));
            while !HAS_ENTERED.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            drop(GUARD.lock().unwrap().take().unwrap());
            HAS_RETURNED.load(Ordering::SeqCst)
        });
        WAITED.store(waited, Ordering::SeqCst);
    });
    *GUARD.lock().unwrap() = Some(observer);
    OBSERVERS.notify_all(TraceState::Started);
    assert!(WAITED.load(Ordering::SeqCst));
}

#[test]
fn an_observer_can_drop_itself_and_is_freed_when_it_returns() {
    static OBSERVERS: Observers = Observers::new();
    static GUARD: Mutex<Option<Observer>> = Mutex::new(None);
    static COUNTS: AtomicU32 = AtomicU32::new(0);
    let value = Arc::new(());
    let kept = Arc::clone(&value);
    let observer = OBSERVERS.observe(move |_| {
        drop(GUARD.lock().unwrap().take());
        COUNTS.fetch_add(Arc::strong_count(&kept) as u32, Ordering::SeqCst);
    });
    *GUARD.lock().unwrap() = Some(observer);
    assert!(OBSERVERS.has_observers());
    for _ in 0..2 {
        OBSERVERS.notify_all(TraceState::Started);
        assert_eq!(Arc::strong_count(&value), 1);
        assert!(!OBSERVERS.has_observers() && !is_inside_observer());
    }
    assert_eq!(COUNTS.load(Ordering::SeqCst), 2, "one call, in which both counts exist");
}

/// Guards are dropped while another thread calls the observers, and entries are used again.
#[test]
fn observers_come_and_go_while_they_are_called() {
    static OBSERVERS: Observers = Observers::new();
    static SEEN: AtomicU32 = AtomicU32::new(0);
    static STOP: AtomicBool = AtomicBool::new(false);
    let rounds = if cfg!(miri) { 20 } else { 2000 };
    let caller = std::thread::spawn(|| {
        while !STOP.load(Ordering::SeqCst) {
            OBSERVERS.notify_all(TraceState::Started);
        }
    });
    let value = Arc::new(7);
    for _ in 0..rounds {
        let used = Arc::clone(&value);
        let guards = [0; 3].map(|_| {
            let used = Arc::clone(&used);
            OBSERVERS.observe(move |_| {
                let _before = SEEN.fetch_or(*used, Ordering::SeqCst);
            })
        });
        drop((guards, used));
        assert_eq!(Arc::strong_count(&value), 1, "no observer runs after its guard is dropped");
    }
    STOP.store(true, Ordering::SeqCst);
    caller.join().unwrap();
    assert_eq!(OBSERVERS.entries().count(), 3);
    assert_eq!(SEEN.load(Ordering::SeqCst) | 7, 7);
}
