//! Debug information in files of its own.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use trace_symbols::{ModuleError, ModuleSymbols};

const SOURCE: &str = "
volatile int sink;
static inline __attribute__((always_inline)) void inlined(int number) { sink = number; }
__attribute__((noinline)) void outer(int number) { inlined(number); }
int main(void) { outer(1); return 0; }
";

/// Tools that make a package of the files of the compiler.
const PACKERS: [&str; 3] = ["dwp", "llvm-dwp", "llvm-dwp-19"];

/// The variable with which tests fail if there is no such tool.
const REQUIRED: &str = "TRACE_DWP_REQUIRED";

/// A program with debug information beside it.
struct Program {
    folder: TempDir,
}

impl Program {
    fn compile(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("source.c"), SOURCE).unwrap();
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        let mut command = Command::new(&compiler);
        command.args(["-g", "-O1", "-gsplit-dwarf", "-c", "source.c"]).args(options);
        assert!(command.current_dir(folder.path()).status().unwrap().success());
        let mut command = Command::new(&compiler);
        command.args(["source.o", "-o", "program"]);
        assert!(command.current_dir(folder.path()).status().unwrap().success());
        assert!(folder.path().join("source.dwo").exists());
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the names of the frames where `outer` begins, and what is missing.
    fn frames(&self) -> (Vec<String>, Option<ModuleError>) {
        let path = self.path("program");
        let build_id = trace_symbols::build_id(&path).unwrap_or_default();
        let symbols = ModuleSymbols::read(&path, &build_id).unwrap();
        let mut longest = Vec::new();
        for address in self.outer() {
            let frames = symbols.frames(address);
            let names: Vec<_> = frames.iter().map(|frame| frame.function.to_string()).collect();
            longest = if names.len() > longest.len() { names } else { longest };
        }
        (longest, symbols.lacks_debug_info())
    }

    /// Returns the addresses of `outer`.
    fn outer(&self) -> std::ops::Range<u64> {
        use object::{Object, ObjectSymbol};
        let bytes = fs::read(self.path("program")).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let outer = file.symbols().find(|symbol| symbol.name() == Ok("outer")).unwrap();
        outer.address()..outer.address() + outer.size()
    }

    fn rename(&self, from: &str, to: &Path) {
        fs::rename(self.path(from), to).unwrap();
    }
}

fn both() -> (Vec<String>, Option<ModuleError>) {
    (vec!["inlined".into(), "outer".into()], None)
}

fn missing() -> (Vec<String>, Option<ModuleError>) {
    (vec!["outer".into()], Some(ModuleError::Split))
}

#[test]
fn inlined_functions_are_read_from_the_files_of_the_compiler() {
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let program = Program::compile(&[version]);
        assert_eq!(program.frames(), both(), "{version}");
        let elsewhere = tempfile::tempdir().unwrap();
        program.rename("source.dwo", &elsewhere.path().join("source.dwo"));
        assert_eq!(program.frames(), missing(), "{version}");
    }
}

#[test]
fn a_file_of_another_program_is_not_used() {
    let (program, other) = (Program::compile(&[]), Program::compile(&["-Dinlined=different"]));
    other.rename("source.dwo", &program.path("source.dwo"));
    assert_eq!(program.frames(), missing());
}

#[test]
fn inlined_functions_are_read_from_a_package() {
    // Of DWARF 5, `dwp` of binutils 2.40 crashes, and that of LLVM 19 does not end.
    let program = Program::compile(&["-gdwarf-4"]);
    let pack = |tool: &&str| {
        let mut command = Command::new(tool);
        command.args(["-e", "program", "-o", "program.dwp"]).current_dir(program.folder.path());
        command.status().is_ok_and(|status| status.success())
    };
    if !PACKERS.iter().any(pack) {
        assert!(std::env::var_os(REQUIRED).is_none(), "one of {PACKERS:?} is required");
        return eprintln!("skipped: each of {PACKERS:?} is missing");
    }
    fs::remove_file(program.path("source.dwo")).unwrap();
    assert_eq!(program.frames(), both());
}

#[test]
fn files_are_found_beside_the_program() {
    let program = Program::compile(&[]);
    let moved = tempfile::tempdir().unwrap();
    for name in ["program", "source.dwo"] {
        program.rename(name, &moved.path().join(name));
    }
    assert_eq!(Program { folder: moved }.frames(), both());
}
