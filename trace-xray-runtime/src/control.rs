//! What is patched: sleds are on while the category is recorded.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use trace_runtime::foreign::{add_missed_calls, add_missed_object};
use trace_runtime::{trace_category_enabled, trace_instant};

use crate::files::{self, FileId};
use crate::functions::{self, Functions};
use crate::objects::{self, Changes, Object};
use crate::patch::{Patched, Patcher};
use crate::selection::Selection;
use crate::sites::Sites;
use crate::stubs::Stubs;
use crate::{own, sys, thread};

/// The objects with sleds, and the session. Locked by threads of this library, and at the start of
/// the program.
static CONTROL: Mutex<Option<Control>> = Mutex::new(None);

#[derive(Debug)]
struct Control {
    selection: Selection,
    /// The loader's counters when objects were last looked for.
    changes: Option<Changes>,
    objects: Vec<Loaded>,
    sites: Sites,
    stubs: Stubs,
    /// The number of the last session.
    session: u32,
    is_recording: bool,
    /// What was patched last.
    patched: Patched,
    /// The calls of the session that were not recorded.
    missed: u64,
    /// The objects of which the session has a report that their sleds are not patched.
    reported: BTreeSet<PathBuf>,
}

/// An object, and what is known of its file.
#[derive(Debug)]
struct Loaded {
    object: Object,
    file: Option<FileId>,
    loads_libraries: bool,
    sleds: Sleds,
}

#[derive(Debug)]
enum Sleds {
    /// It has none, or none to patch.
    None,
    /// None of its functions is selected.
    Unselected,
    /// Its functions have no stubs yet.
    New(Functions),
    Ready(Patcher),
    /// They cannot be patched, for this reason.
    Refused(io::Error),
}

fn control() -> MutexGuard<'static, Option<Control>> {
    CONTROL.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with_control<T: Default>(run: impl FnOnce(&mut Control) -> T) -> T {
    control().as_mut().map(run).unwrap_or_default()
}

/// Finds the selected functions of all objects. Returns whether an object has sleds: another one
/// that the program loads later may have selected functions.
pub(crate) fn prepare(selection: Selection) -> bool {
    *control() = Some(Control::new(selection));
    find_sleds()
}

/// Finds the selected functions of objects that were loaded. Returns whether an object has sleds.
pub(crate) fn find_sleds() -> bool {
    with_control(|control| {
        control.find_objects();
        control.objects.iter().any(|loaded| !matches!(loaded.sleds, Sleds::None))
    })
}

/// Returns whether an object other than this library calls a function that loads others.
pub(crate) fn loads_libraries() -> bool {
    let loads = |loaded: &Loaded| loaded.loads_libraries && !loaded.object.is_this_library();
    with_control(|control| control.objects.iter().any(loads))
}

/// Starts a session: turns sleds on.
pub(crate) fn start() {
    with_control(Control::start);
}

/// Patches what has changed during a session.
pub(crate) fn update() {
    with_control(Control::update);
}

/// Ends a session: turns all sleds off.
pub(crate) fn stop() {
    with_control(Control::stop);
}

thread_local! {
    /// Whether this thread forks. It needs no destructor.
    static FORKS: Cell<bool> = const { Cell::new(false) };
}

/// The longest wait of a fork. An allocator whose own handler of forks has its locks already keeps
/// the thread that uses the loader from its memory: it goes on when the fork is over.
const PATIENCE: Duration = Duration::from_secs(1);

/// Waits until no thread of this library uses the loader.
pub(crate) extern "C" fn before_fork() {
    // A signal handler may fork while its thread forks.
    if !FORKS.get() {
        FORKS.set(sys::without_cancellation(|| objects::reserve_for(PATIENCE)));
    }
}

pub(crate) extern "C" fn after_fork() {
    if FORKS.replace(false) {
        objects::release();
    }
}

/// Ends recording in a forked child, whose sleds are those of its parent.
pub(crate) extern "C" fn in_forked_child() {
    own::in_forked_child();
    after_fork();
}

impl Control {
    fn new(selection: Selection) -> Self {
        Self {
            selection,
            changes: None,
            objects: Vec::new(),
            sites: Sites::default(),
            stubs: Stubs::default(),
            session: 0,
            is_recording: false,
            patched: Patched::NONE,
            missed: 0,
            reported: BTreeSet::new(),
        }
    }

    fn start(&mut self) {
        self.session = self.session.wrapping_add(1).max(1);
        self.is_recording = true;
        self.patched = Patched::NONE;
        // Calls after the end of the earlier session.
        (self.missed, _) = (0, thread::take_missed());
        thread::make_states();
        own::set_session(self.session);
        self.reported.clear();
        self.find_objects();
        for loaded in &self.objects {
            if let Sleds::Refused(error) = &loaded.sleds {
                report_once(&mut self.reported, &loaded.object, error);
            }
        }
        self.update();
    }

    /// Turns all sleds off. Threads that are in traced functions leave them unrecorded.
    fn stop(&mut self) {
        self.is_recording = false;
        self.patch();
        self.report_missed();
        add_missed_calls(std::mem::take(&mut self.missed));
        own::set_session(0);
    }

    /// Patches what has changed, and reports it in the trace.
    fn update(&mut self) {
        thread::make_states();
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
        self.report_missed();
    }

    /// Reports in the trace when calls were not recorded.
    fn report_missed(&mut self) {
        let calls = thread::take_missed();
        self.missed += calls;
        if calls > 0 {
            trace_instant!("xray", "calls not recorded", "number" => calls);
        }
    }

    /// Reads the functions of objects that were loaded, and forgets those that were unloaded.
    fn find_objects(&mut self) {
        let changes = objects::changes();
        if self.changes == Some(changes) {
            return;
        }
        self.changes = Some(changes);
        let mut before = std::mem::take(&mut self.objects);
        let mut now = Vec::new();
        objects::with_loaded(|loaded| {
            now = loaded.to_vec();
            before.retain(|before| before.is_among(loaded));
        });
        for object in now {
            let file = FileId::of(&object.path);
            let known = before.iter().position(|it| it.object == object && it.file == file);
            let loaded = match known {
                Some(index) => before.swap_remove(index).with_unknown_text(),
                None => self.read(object, file),
            };
            self.objects.push(loaded);
        }
        self.sites.register();
    }

    fn read(&mut self, object: Object, file: Option<FileId>) -> Loaded {
        let content = files::read(&object.path);
        let functions =
            content.bytes.map(|bytes| functions::read(&bytes, &self.selection, &mut self.sites));
        let sleds = match functions.unwrap_or(Ok(None)) {
            Ok(None) => Sleds::None,
            Ok(Some(functions)) if functions.list.is_empty() => Sleds::Unselected,
            Ok(Some(functions)) => Sleds::New(functions),
            Err(error) => {
                report_once(&mut self.reported, &object, &error);
                Sleds::Refused(error)
            }
        };
        Loaded { object, file, loads_libraries: content.loads_libraries, sleds }
    }

    fn make_patchers(&mut self) {
        for loaded in &mut self.objects {
            if !matches!(loaded.sleds, Sleds::New(_)) {
                continue;
            }
            if let Sleds::New(functions) = std::mem::replace(&mut loaded.sleds, Sleds::Unselected) {
                loaded.sleds = match Patcher::new(loaded.object.clone(), functions, &mut self.stubs)
                {
                    Ok(patcher) => Sleds::Ready(patcher),
                    Err(error) => {
                        report_once(&mut self.reported, &loaded.object, &error);
                        Sleds::Refused(error)
                    }
                };
            }
        }
    }

    /// Turns sleds on or off, if some are to change. Objects stay loaded meanwhile.
    fn patch(&mut self) -> Patched {
        let on = self.is_recording;
        let mut patchers: Vec<_> = self.objects.iter_mut().filter_map(Loaded::patcher).collect();
        if patchers.iter().any(|patcher| !patcher.is_done(on)) {
            objects::with_loaded(|loaded| {
                for patcher in patchers.iter_mut().filter(|patcher| patcher.is_among(loaded)) {
                    if let Err(error) = patcher.patch(on) {
                        report_once(&mut self.reported, patcher.object(), &error);
                    }
                }
            });
        }
        let mut total = Patched::NONE;
        patchers.iter().for_each(|patcher| total.add(patcher.patched()));
        total
    }
}

impl Loaded {
    /// Returns whether it is one of these, and not another object in its place.
    fn is_among(&self, loaded: &[Object]) -> bool {
        match &self.sleds {
            Sleds::Ready(patcher) => patcher.is_among(loaded),
            _ => loaded.contains(&self.object),
        }
    }

    /// Has its sleds compared again with what they are to be: it may have been loaded again at the
    /// same address, with its original code.
    fn with_unknown_text(mut self) -> Self {
        if let Some(patcher) = self.patcher() {
            patcher.forget();
        }
        self
    }

    fn patcher(&mut self) -> Option<&mut Patcher> {
        match &mut self.sleds {
            Sleds::Ready(patcher) => Some(patcher),
            _ => None,
        }
    }
}

/// Reports why the sleds of an object are not patched, if the session has no report of it.
fn report_once(reported: &mut BTreeSet<PathBuf>, object: &Object, error: &io::Error) {
    if reported.insert(object.path.clone()) {
        report(&object.path.to_string_lossy(), error);
    }
}

/// Reports in the trace why sleds are not patched, if calls are to be recorded.
pub(crate) fn report(path: &str, error: &io::Error) {
    if !trace_category_enabled!("xray") {
        return;
    }
    add_missed_object();
    trace_instant!("xray", "cannot patch sleds", "object" => path, "reason" => error.to_string());
}
