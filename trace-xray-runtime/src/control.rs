//! Sessions: sleds are on while the category is recorded.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use trace_runtime::{trace_instant, TraceState};

use crate::functions::{self, Function};
use crate::handler;
use crate::objects::{self, Object};
use crate::patch::{Patched, Patcher};
use crate::selection::Selection;
use crate::sites;

/// How often libraries and categories are looked at during a session: a program may load libraries,
/// and another session may record other categories.
const INTERVAL: Duration = Duration::from_millis(100);

/// The objects with sleds, and the session.
static CONTROL: Mutex<Control> = Mutex::new(Control::new());

#[derive(Debug)]
struct Control {
    selection: Option<Selection>,
    /// All objects, from when they were loaded.
    known: Vec<Object>,
    /// Whether any object has had sleds.
    has_sleds: bool,
    /// Objects with selected functions that have no stubs yet.
    new: Vec<(Object, Vec<Function>)>,
    patchers: Vec<Patcher>,
    /// The number of the last session.
    session: u32,
    is_recording: bool,
    /// What was patched last.
    patched: Patched,
    /// Ends the thread that watches during a session when it is dropped.
    watch: Option<Sender<()>>,
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

/// Follows the state of tracing.
pub(crate) fn observe(state: TraceState) {
    match state {
        TraceState::Started => control().start(),
        TraceState::Stopping => control().stop(),
        TraceState::Stopped => {}
    }
}

impl Control {
    const fn new() -> Self {
        Self {
            selection: None,
            known: Vec::new(),
            has_sleds: false,
            new: Vec::new(),
            patchers: Vec::new(),
            session: 0,
            is_recording: false,
            patched: Patched::NONE,
            watch: None,
        }
    }

    fn start(&mut self) {
        self.session = self.session.wrapping_add(1).max(1);
        self.is_recording = true;
        self.patched = Patched::NONE;
        handler::set_session(self.session);
        self.update();
        self.watch = watch();
    }

    /// Turns all sleds off. Threads that are in traced functions leave them unrecorded.
    fn stop(&mut self) {
        self.is_recording = false;
        self.watch = None;
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
        let loaded = objects::loaded();
        self.new.retain(|(object, _)| loaded.contains(object));
        self.patchers.retain(|patcher| loaded.contains(patcher.object()));
        for object in loaded.iter().filter(|object| !self.known.contains(object)) {
            let Some(functions) = functions::read(&object.path, selection) else { continue };
            self.has_sleds = true;
            if !functions.is_empty() {
                sites::register(functions.iter().map(|function| function.site));
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

    /// Turns sleds on or off. Objects stay loaded meanwhile.
    fn patch(&self) -> Patched {
        let mut total = Patched::NONE;
        objects::with_loaded(|loaded| {
            let patchers = self.patchers.iter().filter(|patcher| loaded.contains(patcher.object()));
            for patcher in patchers {
                match patcher.patch(self.is_recording) {
                    Ok(patched) => total.add(patched),
                    Err(error) => report(&patcher.object().path.to_string_lossy(), &error),
                }
            }
        });
        total
    }
}

fn report(path: &str, error: &io::Error) {
    trace_instant!("xray", "cannot patch sleds", "object" => path, "reason" => error.to_string());
}

/// Starts the thread that updates during a session. `None` if there can be no thread: then sleds
/// are as they were at its start.
fn watch() -> Option<Sender<()>> {
    let (sender, ended) = mpsc::channel();
    let run = move || {
        while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
            // `try_lock`, because the session's end waits for nothing that this thread does.
            if let Ok(mut control) = CONTROL.try_lock() {
                if control.is_recording {
                    control.update();
                }
            }
        }
    };
    let thread = thread::Builder::new().name("trace-xray".to_owned()).spawn(run);
    thread.is_ok().then_some(sender)
}
