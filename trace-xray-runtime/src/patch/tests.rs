//! Patching of a library whose functions run meanwhile.

use std::ffi::{CStr, CString};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Mutex;
use std::thread;

use super::*;
use crate::selection::Selection;
use crate::sites::Sites;
use crate::{files, functions, objects, own};

mod events;

type Function = extern "C" fn(u64) -> u64;

/// Compiles a library with sleds.
fn compile(directory: &Path) -> PathBuf {
    let output = directory.join("library.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/programs/sleds/library.rs");
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()));
    // Sleds are an unstable option of the compiler.
    rustc.env("RUSTC_BOOTSTRAP", "1").args(["-Zinstrument-xray=always", "-O"]);
    rustc.args(["--edition=2021", "--crate-type=cdylib"]).arg(source).arg("-o").arg(&output);
    assert!(rustc.status().unwrap().success());
    output
}

/// Loads a library, and returns functions of it, or of a library that it is linked with.
fn load<const N: usize>(path: &Path, names: [&CStr; N]) -> [Function; N] {
    let path = CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: the library's initializers are those of the standard library, or of C++.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    assert!(!library.is_null());
    names.map(|name| {
        // SAFETY: the library is open, and stays so.
        let function = unsafe { libc::dlsym(library, name.as_ptr()) };
        assert!(!function.is_null());
        // SAFETY: that is the function's type.
        unsafe { std::mem::transmute::<*mut libc::c_void, Function>(function) }
    })
}

fn patcher(path: &Path) -> Patcher {
    let object = objects::loaded().into_iter().find(|object| object.path == path).unwrap();
    let bytes = files::read(path).bytes.unwrap();
    let mut sites = Sites::default();
    let functions = functions::read(&bytes, &Selection::parse("*"), &mut sites).unwrap().unwrap();
    assert!(functions.list.len() >= 2);
    sites.register();
    let patcher = Patcher::new(object, functions, &mut Stubs::default()).unwrap();
    assert!(patcher.is_among(&objects::loaded()) && !patcher.is_among(&[]));
    patcher
}

/// Returns the first two bytes of a function.
fn code(function: Function) -> Vec<u8> {
    text::read::<2>(function as usize as u64).to_vec()
}

/// A library whose function returns its argument, and one more.
struct Library {
    patcher: Patcher,
    function: Function,
    /// The function, or one that calls it.
    called: Function,
}

impl Library {
    /// Loads a library by `loaded`, which is itself or linked with it, and has the function `name`.
    fn new(path: &Path, loaded: &Path, name: &CStr) -> Self {
        let [function, called] = load(loaded, [c"library_function", name]);
        Self { patcher: patcher(path), function, called }
    }

    /// Turns all sleds on or off. The function begins with these bytes then.
    fn turn(&mut self, on: bool, bytes: [u8; 2]) {
        assert!(!self.patcher.is_done(on));
        self.patcher.patch(on).unwrap();
        assert!(self.patcher.is_done(on));
        let patched = self.patcher.patched();
        assert_eq!((patched.refused, patched.sleds > 0), (0, on));
        assert_eq!(code(self.function), bytes);
    }
}

/// The sled of an entry or a tail exit.
const ENTRY: [u8; sled::BYTES] = *b"\xeb\x09\x66\x0f\x1f\x84\0\0\x02\0\0";

/// LLVM 18 emits such a sled for `if (a) return f();`.
#[test]
fn a_tail_exit_before_a_conditional_jump_is_refused() {
    let state = |kind: Kind, jump: [u8; 2]| {
        let code: &[u8] = Vec::leak([&ENTRY[..], &jump].concat());
        let address = code.as_ptr().expose_provenance() as u64;
        let preparation = kind.preparation(address, address).unwrap();
        Sled { address, kind, preparation }.state()
    };
    for jump in [[0xe9, 0x80], [0xeb, 0x80], [0xff, 0xe0], [0x0f, 0x0b], [0x41, 0xff]] {
        assert_eq!(state(Kind::TailExit, jump), Some(State::Original), "{jump:x?}");
    }
    for jump in [[0x0f, 0x80], [0x0f, 0x84], [0x0f, 0x8f], [0x70, 0], [0x75, 9], [0x7f, 0xff]] {
        assert_eq!(state(Kind::TailExit, jump), None, "{jump:x?}");
        assert_eq!(state(Kind::Entry, jump), Some(State::Original), "{jump:x?}");
    }
}

/// Returns the address of a page with a sled that cannot be written: it is shared, and its file was
/// opened for reading.
fn unwritable_page(path: &Path) -> u64 {
    let mut page = ENTRY.to_vec();
    page.resize(4096, 0);
    std::fs::write(path, page).unwrap();
    let file = std::fs::File::open(path).unwrap();
    let access = libc::PROT_READ | libc::PROT_EXEC;
    let (anywhere, shared) = (std::ptr::null_mut(), libc::MAP_SHARED);
    // SAFETY: the mapping is new, and stays.
    let page = unsafe { libc::mmap(anywhere, 4096, access, shared, file.as_raw_fd(), 0) };
    assert_ne!(page, libc::MAP_FAILED, "{}", io::Error::last_os_error());
    page.expose_provenance() as u64
}

/// Adds such a sled to the first function. Returns its address.
fn add_unwritable_sled(patcher: &mut Patcher, file: &Path) -> u64 {
    let page = unwritable_page(file);
    patcher.object.text.push(page..page + 4096);
    let address = page.wrapping_sub(patcher.object.base);
    patcher.functions[0].sleds.insert(0, (address, Kind::Entry));
    page
}

#[test]
fn sleds_are_turned_off_although_another_cannot_be_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = compile(directory.path());
    load(&path, [c"library_function"]);
    let mut patcher = patcher(&path);
    let mut wanted = vec![true; patcher.functions.len()];
    patcher.patch_to(&wanted).unwrap();
    let states = |patcher: &Patcher| {
        let others = patcher.functions.iter().enumerate().skip(1);
        let sleds = others.flat_map(|(index, function)| {
            let sleds = function.sleds.iter();
            sleds.map(move |(address, kind)| patcher.sled(index, *address, *kind).unwrap().state())
        });
        sleds.collect::<Vec<_>>()
    };
    assert!(states(&patcher).iter().all(|state| *state == Some(State::On)));
    let file = directory.path().join("page");
    let page = add_unwritable_sled(&mut patcher, &file);
    wanted[1..].fill(false);
    patcher.patch_to(&wanted).unwrap_err();
    assert!(states(&patcher).iter().all(|state| *state == Some(State::Off)));
    let patched = patcher.patched();
    let others = patcher.functions[0].sleds.len() as u64 - 1;
    assert_eq!((patched.sleds, patched.way), (others, Way::Memory));
    // It is prepared, on, and off, but cannot be switched.
    for (is_on, on, sleds) in [(false, true, others), (true, false, 1)] {
        let sled = patcher.sled(0, page.wrapping_sub(patcher.object.base), Kind::Entry).unwrap();
        let mut code = ENTRY.to_vec();
        code[sled.preparation.start()..].copy_from_slice(sled.preparation.bytes());
        let (index, byte) = Kind::Entry.switch(is_on);
        code[index] = byte;
        std::fs::OpenOptions::new()
            .write(true)
            .open(&file)
            .unwrap()
            .write_all_at(&code, 0)
            .unwrap();
        assert_eq!(sled.state(), Some(if is_on { State::On } else { State::Off }));
        wanted[0] = on;
        patcher.patch_to(&wanted).unwrap_err();
        assert_eq!((patcher.patched().sleds, patcher.patched().way), (sleds, Way::Memory));
    }
}

/// A program has one recording at a time.
static RECORDING: Mutex<()> = Mutex::new(());

/// Records the calls of patched sleds to an archive while `run` runs.
fn recorded(archive: &Path, run: impl FnOnce()) {
    let _lock = RECORDING.lock().unwrap();
    crate::thread::prepare();
    crate::thread::make_states();
    let trace = trace_runtime::builder().output(archive).circular().buffer_size(1 << 20).init();
    trace.status().unwrap();
    own::prepare();
    own::set_session(1);
    run();
    own::set_session(0);
}

/// Turns all sleds on and off while threads call the functions. `PATCH_ROUNDS` is how often.
fn turn_on_and_off_while_threads_run(libraries: &mut [Library]) {
    let rounds = std::env::var("PATCH_ROUNDS").map_or(3000, |rounds| rounds.parse().unwrap());
    let (calls, ends) = ([const { AtomicU64::new(0) }; 3], AtomicBool::new(false));
    let progress = || calls.each_ref().map(|calls| calls.load(Ordering::Relaxed));
    let called: Vec<_> = libraries.iter().map(|library| library.called).collect();
    thread::scope(|scope| {
        let callers = calls.each_ref().map(|calls| {
            scope.spawn(|| {
                while !ends.load(Ordering::Relaxed) {
                    let number = calls.fetch_add(1, Ordering::Relaxed);
                    called.iter().for_each(|function| assert_eq!(function(number), number + 1));
                }
            })
        });
        for round in 0..rounds {
            for (on, bytes) in [(true, [0xeb, 0]), (false, [0xeb, 9])] {
                libraries.iter_mut().for_each(|library| library.turn(on, bytes));
            }
            if round % 100 == 0 {
                let before = progress();
                while progress().iter().zip(before).any(|(now, before)| *now <= before) {
                    // One that has panicked makes no progress.
                    assert!(callers.iter().all(|caller| !caller.is_finished()));
                    thread::yield_now();
                }
            }
        }
        ends.store(true, Ordering::Relaxed);
    });
}

#[test]
fn sleds_are_turned_on_and_off_while_threads_run() {
    let directory = tempfile::tempdir().unwrap();
    let path = compile(directory.path());
    let mut library = [Library::new(&path, &path, c"library_function")];
    recorded(&directory.path().join("app.fxt"), || turn_on_and_off_while_threads_run(&mut library));
}
