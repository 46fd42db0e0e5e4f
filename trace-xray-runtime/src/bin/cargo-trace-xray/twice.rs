//! Sleds without an unstable option of the compiler: a crate is compiled once to find the names of
//! its functions, and again with a list of them, for which LLVM has an option.

use std::collections::hash_map::DefaultHasher;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use object::{Object, ObjectSymbol, SymbolKind};

use crate::compiler::{code, failed, run};

/// Compiles a crate with sleds. Returns the exit status of the compiler.
pub(crate) fn compile(mut compiler: Command, min_instructions: u32) -> Result<u8, String> {
    let arguments: Vec<OsString> = compiler.get_args().map(OsStr::to_owned).collect();
    // A crate that is only checked has no code.
    let Some(directory) = output_directory(&arguments).filter(|_| has_code(&arguments)) else {
        return run(&mut compiler);
    };
    if !is_optimized(&arguments) {
        return without_sleds(&mut compiler);
    }
    let Some(names) = function_names(&compiler, &arguments, &directory)? else {
        // The errors of the program are reported once, by this call.
        return run(&mut compiler);
    };
    let list = write_list(&directory, &list(&names, min_instructions))?;
    let mut option = OsString::from("-Cllvm-args=-forceattrs-csv-path=");
    option.push(&list);
    run_quietly(compiler.arg(option))
}

/// Compiles a crate without optimization: LLVM does not read the list. Libraries of build scripts
/// and procedural macros are compiled so with --release, too, and are no part of the program.
fn without_sleds(compiler: &mut Command) -> Result<u8, String> {
    // Cargo sets it for the packages that it is called for.
    if std::env::var_os("CARGO_PRIMARY_PACKAGE").is_some() {
        return Err("--stable requires optimization, as with --release".to_owned());
    }
    run(compiler)
}

/// Returns the names of the functions of a crate, or `None` if it cannot be compiled.
fn function_names(
    compiler: &Command,
    arguments: &[OsString],
    directory: &Path,
) -> Result<Option<Vec<String>>, String> {
    let name = format!("cargo-trace-xray-{}.o", std::process::id());
    let code = directory.join(name);
    let mut first = Command::new(compiler.get_program());
    first.args(for_code(arguments)).arg("-o").arg(&code);
    first.args(["--emit=obj", "-Ccodegen-units=1", "--cap-lints=allow"]);
    let output = first.output().map_err(|error| failed(&first, &error))?;
    if !output.status.success() {
        return Ok(None);
    }
    let bytes = fs::read(&code).map_err(|error| format!("cannot read {}: {error}", code.display()));
    // Best effort: the directory is cargo's.
    let _removed = fs::remove_file(&code);
    let bytes = bytes?;
    let file = object::File::parse(&*bytes)
        .map_err(|error| format!("cannot read {}: {error}", code.display()))?;
    let functions = file.symbols().filter(|symbol| {
        symbol.is_definition() && symbol.kind() == SymbolKind::Text && symbol.size() > 0
    });
    Ok(Some(functions.filter_map(|symbol| symbol.name().ok().map(str::to_owned)).collect()))
}

/// Returns the arguments without those of the output and of its messages, and without those that
/// replace code by LLVM's bitcode.
fn for_code(arguments: &[OsString]) -> Vec<OsString> {
    const OUTPUT: [&str; 5] = ["--emit", "--out-dir", "-o", "--error-format", "--json"];
    let mut kept = Vec::new();
    let mut rest = arguments.iter().peekable();
    while let Some(argument) = rest.next() {
        let text = argument.to_string_lossy();
        let next = rest.peek().map(|next| next.to_string_lossy()).unwrap_or_default();
        match &*text {
            text if OUTPUT.contains(&text) => skip(&mut rest),
            "-C" if is_left_out(&next) => skip(&mut rest),
            text if OUTPUT.iter().any(|name| is_attached(name, text)) => {}
            text if text.strip_prefix("-C").is_some_and(is_left_out) => {}
            _ => kept.push(argument.clone()),
        }
    }
    kept
}

/// Returns whether a code generation option is not for the first compilation.
fn is_left_out(option: &str) -> bool {
    let (name, _) = option.split_once('=').unwrap_or((option, ""));
    ["incremental", "codegen-units", "lto", "linker-plugin-lto", "embed-bitcode"].contains(&name)
}

fn skip<'a>(rest: &mut impl Iterator<Item = &'a OsString>) {
    let _skipped = rest.next();
}

/// Returns whether the compiler optimizes: LLVM reads the list then only.
fn is_optimized(arguments: &[OsString]) -> bool {
    let values = arguments.iter().filter_map(|argument| argument.to_str());
    let mut levels = values.filter_map(|it| it.trim_start_matches("-C").strip_prefix("opt-level="));
    levels.next_back().is_some_and(|level| level != "0")
}

fn is_attached(name: &str, argument: &str) -> bool {
    argument.strip_prefix(name).is_some_and(|rest| rest.starts_with('='))
}

/// Returns whether the compiler writes code, and not only metadata.
fn has_code(arguments: &[OsString]) -> bool {
    let mut kinds =
        arguments.iter().filter_map(|argument| argument.to_str()?.strip_prefix("--emit="));
    kinds.any(|kinds| kinds.split(',').any(|kind| kind == "link"))
}

fn output_directory(arguments: &[OsString]) -> Option<PathBuf> {
    let place = arguments.iter().position(|argument| argument == "--out-dir")?;
    arguments.get(place + 1).map(PathBuf::from)
}

/// Returns the list that LLVM reads: an attribute of a function in each line.
fn list(names: &[String], min_instructions: u32) -> String {
    let line = |name: &String| match min_instructions {
        0 => format!("{name},function-instrument=xray-always\n"),
        number => format!("{name},xray-instruction-threshold={number}\n"),
    };
    names.iter().filter(|name| !name.contains(',')).map(line).collect()
}

/// Writes a list. Its name depends on its content, as the compiler does not know that it reads it.
fn write_list(directory: &Path, list: &str) -> Result<PathBuf, String> {
    let mut hash = DefaultHasher::new();
    list.hash(&mut hash);
    let path = directory.join(format!("functions-{:016x}.csv", hash.finish()));
    fs::write(&path, list).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(path)
}

/// Runs a compiler, and leaves out LLVM's messages about functions that a part of a crate does not
/// have.
fn run_quietly(compiler: &mut Command) -> Result<u8, String> {
    let started = compiler.stderr(Stdio::piped()).spawn();
    let mut child = started.map_err(|error| failed(compiler, &error))?;
    let messages = child.stderr.take().into_iter();
    for line in
        messages.flat_map(|messages| BufReader::new(messages).split(b'\n')).map_while(Result::ok)
    {
        if !is_about_list(&line) {
            let mut stderr = std::io::stderr().lock();
            // Without a reader, the compiler still compiles.
            let _written = stderr.write_all(&line).and_then(|()| stderr.write_all(b"\n"));
        }
    }
    child.wait().map(code).map_err(|error| failed(compiler, &error))
}

fn is_about_list(line: &[u8]) -> bool {
    let rest = line.strip_prefix(b"Function in CSV file at line ");
    rest.is_some_and(|rest| rest.ends_with(b" does not exist."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_first_compilation_has_another_output() {
        let line =
            "--crate-name a src/lib.rs --error-format=json --json=artifacts --emit=dep-info,link \
                    -C opt-level=3 -C incremental=/x -C codegen-units=4 -C lto=thin -Clto \
                    -C linker-plugin-lto -Cembed-bitcode=no --out-dir /t -L /d";
        let arguments = arguments(line);
        let kept = for_code(&arguments);
        let expected = "--crate-name a src/lib.rs -C opt-level=3 -L /d";
        assert_eq!(kept.join(OsStr::new(" ")), expected);
        assert_eq!(output_directory(&arguments), Some(PathBuf::from("/t")));
        assert!(has_code(&arguments) && is_optimized(&arguments));
        assert!(!is_optimized(&["-C", "opt-level=0"].map(OsString::from)));
        assert!(!has_code(&[OsString::from("--emit=dep-info,metadata")]));
    }

    #[test]
    fn a_list_has_an_attribute_of_each_function() {
        let names = ["_a", "_b,c"].map(str::to_owned);
        assert_eq!(list(&names, 0), "_a,function-instrument=xray-always\n");
        assert_eq!(list(&names, 9), "_a,xray-instruction-threshold=9\n");
    }

    #[test]
    fn only_messages_about_the_list_are_left_out() {
        assert!(is_about_list(b"Function in CSV file at line 12 does not exist."));
        assert!(!is_about_list(b"error: Function in CSV file at line 1 does not exist."));
        assert!(!is_about_list(b"{\"reason\":\"compiler-message\"}"));
    }
}
