//! What is patched: sleds are on while the category is recorded.

use std::cell::Cell;
use std::io;
use std::mem::ManuallyDrop;
use std::sync::{Mutex, MutexGuard, PoisonError};

use trace_runtime::trace_instant;

use crate::functions::{self, Functions};
use crate::handler;
use crate::objects::{self, Changes, Object};
use crate::patch::{Patched, Patcher};
use crate::selection::Selection;
use crate::sites;

/// The objects with sleds, and the session.
///
/// It is locked around every use of the loader's lock, and while the program forks: the child would
/// find the loader's lock held for ever by a thread that it does not have.
static CONTROL: Mutex<Control> = Mutex::new(Control::new());

#[derive(Debug)]
struct Control {
    selection: Option<Selection>,
    /// The loader's counters when objects were last looked for.
    changes: Option<Changes>,
    /// All objects, from when they were loaded.
    known: Vec<Object>,
    /// Whether any object has had sleds.
    has_sleds: bool,
    /// Objects with selected functions that have no stubs yet.
    new: Vec<(Object, Functions)>,
    patchers: Vec<Patcher>,
    /// The number of the last session.
    session: u32,
    is_recording: bool,
    /// What was patched last.
    patched: Patched,
}

fn control() -> MutexGuard<'static, Control> {
    CONTROL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Finds the selected functions of all objects. Returns whether an object has sleds: another one
/// that the program loads later may have selected functions.
pub(crate) fn prepare(selection: Selection) -> bool {
    let mut control = control();
    control.selection = Some(selection);
    control.find_objects();
    control.has_sleds
}

/// Starts a session: turns sleds on.
pub(crate) fn start() {
    control().start();
}

/// Patches what has changed during a session.
pub(crate) fn update() {
    control().update();
}

/// Ends a session: turns all sleds off.
pub(crate) fn stop() {
    control().stop();
}

thread_local! {
    /// The lock while this thread forks. It needs no destructor.
    static FORKING: Cell<Option<ManuallyDrop<MutexGuard<'static, Control>>>> =
        const { Cell::new(None) };
}

/// Waits until no thread of this library uses the loader.
pub(crate) extern "C" fn before_fork() {
    FORKING.set(Some(ManuallyDrop::new(control())));
}

pub(crate) extern "C" fn after_fork() {
    drop(FORKING.take().map(ManuallyDrop::into_inner));
}

/// Ends recording in a forked child, whose sleds are those of its parent.
pub(crate) extern "C" fn in_forked_child() {
    handler::in_forked_child();
    after_fork();
}

impl Control {
    const fn new() -> Self {
        Self {
            selection: None,
            changes: None,
            known: Vec::new(),
            has_sleds: false,
            new: Vec::new(),
            patchers: Vec::new(),
            session: 0,
            is_recording: false,
            patched: Patched::NONE,
        }
    }

    fn start(&mut self) {
        self.session = self.session.wrapping_add(1).max(1);
        self.is_recording = true;
        self.patched = Patched::NONE;
        handler::set_session(self.session);
        self.update();
    }

    /// Turns all sleds off. Threads that are in traced functions leave them unrecorded.
    fn stop(&mut self) {
        self.is_recording = false;
        self.patch();
        handler::set_session(0);
    }

    /// Patches what has changed, and reports it in the trace.
    fn update(&mut self) {
        self.find_objects();
        self.make_patchers();
        let patched = self.patch();
        if patched != self.patched {
            self.patched = patched;
            trace_instant!(
                "xray",
                "sleds patched",
                "functions" => patched.functions,
                "sleds" => patched.sleds,
                "refused" => patched.refused,
                "written by" => patched.way.name()
            );
        }
    }

    /// Registers the functions of objects that were loaded, and forgets those that were unloaded.
    fn find_objects(&mut self) {
        let Some(selection) = &self.selection else { return };
        let changes = objects::changes();
        if self.changes == Some(changes) {
            return;
        }
        self.changes = Some(changes);
        let loaded = objects::loaded();
        self.new.retain(|(object, _)| loaded.contains(object));
        self.patchers.retain(|patcher| loaded.contains(patcher.object()));
        // An object may have been loaded again at the same address, with its original code.
        self.patchers.iter_mut().for_each(Patcher::forget);
        for object in loaded.iter().filter(|object| !self.known.contains(object)) {
            let Some(functions) = functions::read(&object.path, selection) else { continue };
            self.has_sleds = true;
            if !functions.list.is_empty() {
                sites::register(functions.list.iter().map(|function| function.site));
                self.new.push((object.clone(), functions));
            }
        }
        self.known = loaded;
    }

    fn make_patchers(&mut self) {
        for (object, functions) in self.new.drain(..) {
            let path = object.path.to_string_lossy().into_owned();
            match Patcher::new(object, functions) {
                Ok(patcher) => self.patchers.push(patcher),
                Err(error) => report(&path, &error),
            }
        }
    }

    /// Turns sleds on or off, if some are to change. Objects stay loaded meanwhile.
    fn patch(&mut self) -> Patched {
        let on = self.is_recording;
        if self.patchers.iter().any(|patcher| !patcher.is_done(on)) {
            objects::with_loaded(|loaded| {
                let patchers = self.patchers.iter_mut();
                for patcher in patchers.filter(|patcher| loaded.contains(patcher.object())) {
                    if let Err(error) = patcher.patch(on) {
                        report(&patcher.object().path.to_string_lossy(), &error);
                    }
                }
            });
        }
        let mut total = Patched::NONE;
        self.patchers.iter().for_each(|patcher| total.add(patcher.patched()));
        total
    }
}

/// Reports in the trace why sleds are not patched.
pub(crate) fn report(path: &str, error: &io::Error) {
    trace_instant!("xray", "cannot patch sleds", "object" => path, "reason" => error.to_string());
}
