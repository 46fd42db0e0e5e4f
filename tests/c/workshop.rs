//! Compiling programs, and running them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::events::events;
use crate::harness::building::products;
use crate::harness::Run;

/// The warnings that are on for all programs: the header causes none.
const WARNINGS: [&str; 7] =
    ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-g"];

/// Returns the static library with the trace points.
fn library() -> PathBuf {
    products().join("libtrace_c.a")
}

/// Returns the static library with the reader.
fn reader_library() -> PathBuf {
    products().join("libtrace_reader_c.a")
}

/// Returns the command of a compiler. `CC` and `CXX` are not for this: with another compiler, Cargo
/// compiles the C code in dependencies again, and all crates that use it.
fn compiler(language: &str) -> String {
    let (variable, otherwise) =
        if language == "c" { ("TEST_CC", "cc") } else { ("TEST_CXX", "c++") };
    std::env::var(variable).unwrap_or_else(|_| otherwise.to_owned())
}

/// A directory in which programs are compiled and run.
#[derive(Debug)]
pub(crate) struct Workshop {
    directory: TempDir,
    flags: Vec<&'static str>,
}

impl Workshop {
    /// Creates one whose programs are compiled with these flags too.
    pub(crate) fn new(flags: &[&'static str]) -> Self {
        Self {
            directory: tempfile::tempdir().expect("a directory can be made"),
            flags: flags.to_vec(),
        }
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns the compiler's command for one source, in the oldest standard that the header
    /// supports.
    pub(crate) fn compile(&self, source: &str) -> (Command, PathBuf) {
        let (language, standard) = match source.ends_with(".c") {
            true => ("c", "-std=c11"),
            false => ("c++", "-std=c++11"),
        };
        let file = Path::new(source).file_name().expect("it is a file");
        let object = self.path(file).with_extension(format!("{language}.o"));
        let mut command = Command::new(compiler(language));
        command.args(WARNINGS).arg(standard).args(["-D_GNU_SOURCE", "-fPIC"]);
        command.args(self.flags.iter().filter(|flag| !flag.starts_with("-Wl,")));
        command.arg("-I").arg(concat!(env!("CARGO_MANIFEST_DIR"), "/trace-c/include"));
        command.arg("-I").arg(concat!(env!("CARGO_MANIFEST_DIR"), "/trace-reader-c/include"));
        let programs = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/c/programs"));
        command.arg("-c").arg(programs.join(source));
        command.arg("-o").arg(&object);
        (command, object)
    }

    /// Links sources, as C++ if one of them is C++.
    #[track_caller]
    fn link(&self, name: &str, sources: &[&str], more: &[&OsStr]) -> PathBuf {
        let program = self.path(name);
        let language =
            if sources.iter().all(|source| source.ends_with(".c")) { "c" } else { "c++" };
        let mut link = Command::new(compiler(language));
        for source in sources {
            let (mut command, object) = self.compile(source);
            run(&mut command);
            link.arg(object);
        }
        run(link.args(&self.flags).args(more).arg("-o").arg(&program));
        program
    }

    /// Builds a program with the static library. It exports the library's functions to libraries
    /// that it loads.
    #[track_caller]
    pub(crate) fn program(&self, name: &str, sources: &[&str]) -> PathBuf {
        let more = ["-rdynamic", "-lpthread", "-ldl", "-lm"].map(OsStr::new);
        let library = library();
        let mut link = vec![library.as_os_str()];
        link.extend(more);
        self.link(name, sources, &link)
    }

    /// Builds a program with the library of the reader only.
    #[track_caller]
    pub(crate) fn reader(&self, name: &str, source: &str) -> PathBuf {
        let system = ["-lpthread", "-ldl", "-lm"].map(OsStr::new);
        let library = reader_library();
        self.link(name, &[source], &[&[library.as_os_str()], system.as_slice()].concat())
    }

    /// Builds a program with both libraries.
    #[track_caller]
    pub(crate) fn program_and_reader(&self, name: &str, source: &str) -> PathBuf {
        let system = ["-lpthread", "-ldl", "-lm"].map(OsStr::new);
        let (library, reader) = (library(), reader_library());
        let libraries = [library.as_os_str(), reader.as_os_str()];
        self.link(name, &[source], &[libraries.as_slice(), system.as_slice()].concat())
    }

    /// Builds a program without our libraries.
    #[track_caller]
    pub(crate) fn program_alone(&self, name: &str, sources: &[&str]) -> PathBuf {
        self.link(name, sources, &[])
    }

    /// Returns whether a program can be built from a source with these flags.
    pub(crate) fn try_program_alone(&self, source: &str) -> bool {
        let (mut compile, object) = self.compile(source);
        let compiled = Run::of(&mut compile).0.status.success();
        let mut link = Command::new(compiler("c"));
        compiled
            && Run::of(link.args(&self.flags).arg(object).arg("-o").arg(self.path("tried")))
                .0
                .status
                .success()
    }

    /// Builds a shared library, which uses the functions of the program that loads it.
    #[track_caller]
    pub(crate) fn shared_library(&self, name: &str, sources: &[&str]) -> PathBuf {
        self.link(name, sources, &[OsStr::new("-shared")])
    }

    /// Builds a shared library with a copy of the static library.
    #[track_caller]
    pub(crate) fn library_with_provider(&self, name: &str, source: &str) -> PathBuf {
        let system = ["-shared", "-lpthread", "-ldl", "-lm"].map(OsStr::new);
        let library = library();
        self.link(name, &[source], &[&[library.as_os_str()], system.as_slice()].concat())
    }

    /// Returns a command that traces itself into the file `trace.fxt`.
    pub(crate) fn traced(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.directory);
        command.env("TRACE_OUTPUT", self.path("trace.fxt")).env("TRACE_CATEGORIES", "*,-off");
        command.env_remove("TRACE_BUFFER_SIZE").env_remove("TRACE_BUFFERING_MODE");
        command
    }

    /// Builds and runs a program, and returns its output and its events.
    #[track_caller]
    pub(crate) fn run(&self, sources: &[&str], arguments: &[&str]) -> (String, Vec<String>) {
        let program = self.program("program", sources);
        let run = Run::of(&mut self.traced(&program, arguments));
        assert_eq!(run.code(), 0, "{run:?}");
        (run.stdout(), events(&self.path("trace.fxt")))
    }
}

#[track_caller]
fn run(command: &mut Command) {
    let run = Run::of(command);
    assert!(run.0.status.success(), "{command:?}: {}", run.stderr());
}
