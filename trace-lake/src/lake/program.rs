//! The program that an archive is about: its name and its build id.

use super::cli::UNKNOWN;
use crate::directory::{Directory, ModuleInfo};

/// The names of providers that record other programs, and of converters.
const RECORDERS: [&str; 5] = ["kernel", "insntrace", "ftrace", "perf", "trace event format"];

/// The names of processes that record others.
const RECORDING: [&str; 5] = ["trace", "trace-kernel", "perf", "perf-exec", "swapper"];

/// The longest name of a process that Linux keeps.
const MAX_NAME: usize = 15;

/// Returns the name of the program: that of the first provider that is no recorder, else of the
/// first process.
pub(super) fn service(directory: &Directory) -> String {
    let providers = || directory.providers.iter().map(String::as_str);
    let processes = || directory.processes.iter().filter_map(|it| it.name.as_deref());
    let programs = providers().filter(|name| !RECORDERS.contains(name));
    let programs = programs.chain(processes().filter(|name| !RECORDING.contains(name)));
    let mut names = programs.chain(providers()).chain(processes()).filter(|it| !it.is_empty());
    names.next().unwrap_or(UNKNOWN).to_owned()
}

/// Returns the build id of the program that the process of this name runs, or that any process
/// runs if none has the name.
pub(super) fn build_id(directory: &Directory, service: &str) -> Option<String> {
    let name_of = |module: &ModuleInfo| {
        directory.process_name(directory.process_number(module.process)).unwrap_or_default()
    };
    let modules = || directory.modules.iter();
    let own: Vec<&ModuleInfo> = modules().filter(|it| is_of(service, name_of(it))).collect();
    let candidates = if own.is_empty() { modules().collect() } else { own };
    let named = candidates.iter().find(|it| is_of(file_name(&it.name), name_of(it)));
    let programs = candidates.iter().filter(|it| !is_library(file_name(&it.name)));
    let program = named.or_else(|| programs.min_by_key(|it| it.nanos))?;
    Some(program.build_id.clone())
}

/// Returns whether a process has the name of a program, of which Linux keeps the begin.
fn is_of(program: &str, process: &str) -> bool {
    program == process || process.len() == MAX_NAME && program.starts_with(process)
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns whether a file is a library, the dynamic linker, or one of the kernel, as `[vdso]`.
fn is_library(name: &str) -> bool {
    name.starts_with("ld-")
        || name.starts_with('[')
        || name.ends_with(".so")
        || name.contains(".so.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::Archive;
    use crate::input::Input;
    use crate::testing::{archive, named, opened};
    use std::path::Path;
    use trace_format::layout::ObjectType;
    use trace_format::{Module, Process, Record};

    /// Returns the service and the version of an example.
    fn labels(name: &str) -> (String, Option<String>) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/archives");
        let archive = Archive::new(Input::new(&folder.join(name), None).unwrap());
        let directory = archive.directory().unwrap();
        let service = service(directory);
        let version = build_id(directory, &service);
        (service, version)
    }

    #[test]
    fn the_program_is_not_what_records_it() {
        let version = "441e7514613fb5987fa2c742599ac7126bdb0030".to_owned();
        assert_eq!(labels("search.fxt.zst"), ("file_search".to_owned(), Some(version)));
        assert_eq!(labels("redis.fxt.zst"), ("async-programs".to_owned(), None));
        assert_eq!(labels("slow.fxt.zst"), ("slow_once".to_owned(), None));
        assert_eq!(labels("requests.fxt"), ("requests".to_owned(), None));
    }

    fn module(process: u64, ticks: u64, name: &'static str, id: &'static [u8]) -> Record<'static> {
        let (process, name) = (Process::Inline(process), name.as_bytes());
        Record::Module(Module { ticks, process, module_id: 1, name, build_id: id })
    }

    #[test]
    fn a_build_id_is_that_of_a_program_and_not_of_a_library() {
        let id = |records: &[Record<'_>], service| {
            let (_file, archive) = opened(&archive(records)).unwrap();
            build_id(archive.directory().unwrap(), service)
        };
        let process = |koid, name| named(ObjectType::PROCESS, koid, name, &[]);
        let libraries = [
            process(12, "web"),
            module(12, 1, "/lib/ld-linux-x86-64.so.2", &[1]),
            module(12, 2, "/lib/libc.so.6", &[2]),
            module(12, 2, "[vdso]", &[3]),
        ];
        assert_eq!(id(&libraries, "web"), None);
        let other = [process(13, "other"), module(13, 1, "/bin/other", &[4])];
        let renamed = [module(12, 9, "/bin/later", &[5]), module(12, 8, "/bin/first", &[6])];
        let all = [&libraries[..], &other, &renamed].concat();
        assert_eq!(id(&all, "web"), Some("06".to_owned()));
        assert_eq!(id(&all, "unknown"), Some("04".to_owned()));
        let named = [&all[..], &[module(12, 20, "/bin/web", &[7])]].concat();
        assert_eq!(id(&named, "web"), Some("07".to_owned()));
        let long = "a-long-name-of-a-program";
        let cut = [
            process(12, &long[..MAX_NAME]),
            module(12, 1, "/bin/a-long-name-of-a-program", &[8]),
            module(12, 0, "/bin/other", &[9]),
        ];
        assert_eq!(id(&cut, long), Some("08".to_owned()));
    }
}
