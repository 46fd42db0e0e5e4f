//! `trace view`, without a browser

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use rustix::process::{kill_process, Pid, Signal, Uid};
use rustix::thread::set_thread_uid;

use crate::compressed::{gzip, zstd};
use crate::harness::{cut, everything, good, Place, Run};

pub(crate) const PAGE: &str = "<html><head><title>UI</title></head></html>";

/// A place with a copy of the user interface, as `--setup` leaves it.
pub(crate) fn place() -> Place {
    let place = Place::new();
    fs::create_dir_all(place.path("data/trace/perfetto-ui/v1")).unwrap();
    place.put("data/trace/perfetto-ui/index.html", PAGE.as_bytes());
    place.put("data/trace/perfetto-ui/v1/app.js", b"app()");
    place
}

pub(crate) fn command(place: &Place, arguments: &[&str]) -> Command {
    let mut command = place.command(&["view"]);
    command.args(arguments).env("XDG_DATA_HOME", place.path("data")).env_remove("BROWSER");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(place: &Place, arguments: &[&str]) -> Run {
    Run::of(command(place, arguments).output().unwrap())
}

/// Creates a program, and returns its path.
pub(crate) fn program(place: &Place, name: &str, script: &str) -> String {
    place.put(name, format!("#!/bin/sh\n{script}\n").as_bytes());
    let path = place.path(name);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.into_os_string().into_string().unwrap()
}

/// A command that serves. It is stopped at the end of the test.
struct View {
    child: Child,
    host: String,
    directory: String,
    name: String,
}

impl View {
    fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let (page, trace) = line.trim_end().split_once("#!/?url=").unwrap();
        let name = trace.strip_prefix(page).unwrap().to_owned();
        let (host, path) = page.strip_prefix("http://").unwrap().split_once('/').unwrap();
        Self { child, host: host.to_owned(), directory: format!("/{path}"), name }
    }

    fn of(place: &Place, file: &str) -> Self {
        Self::start(command(place, &["--no-open", file]))
    }

    /// Sends a request for a path below the token, and returns the response.
    fn ask(&self, request: &str) -> String {
        let mut answer = Vec::new();
        self.connect(request).read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn get(&self, name: &str) -> String {
        self.ask(&format!("GET {}{name}", self.directory))
    }

    fn connect(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        write!(stream, "{request} HTTP/1.1\r\nHost: {}\r\n\r\n", self.host).unwrap();
        stream
    }

    /// Opens a page's connection. The page is closed when the returned stream is dropped.
    fn open_page(&self) -> TcpStream {
        let mut page = self.connect(&format!("GET {}alive", self.directory));
        let mut start = [0; 15];
        page.read_exact(&mut start).unwrap();
        assert_eq!(&start, b"HTTP/1.1 200 OK");
        page
    }

    /// Waits until the command ends by itself. Returns the exit code and its messages.
    fn end(mut self) -> (i32, String) {
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code().unwrap(), said)
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_interface_and_the_trace_are_served() {
    let place = place();
    place.put("in.fxt", &good());
    let view = View::of(&place, "in.fxt");
    let page = view.open_page();
    assert_eq!((view.name.as_str(), view.directory.len()), ("in.fxt.pftrace", 34));
    let index = view.get("");
    assert!(index.contains("\r\nContent-Type: text/html; charset=utf-8\r\n"), "{index}");
    assert!(index.contains("\r\nContent-Security-Policy: default-src 'self' "), "{index}");
    assert!(
        index.ends_with("<head><script src=\"alive.js\"></script><title>UI</title></head></html>")
    );
    assert!(view.get("alive.js").contains("new EventSource("));
    assert!(view.get("v1/app.js").ends_with("\r\n\r\napp()"));
    let trace = view.get("in.fxt.pftrace");
    assert!(trace.contains("poll") && !trace.contains("Access-Control"), "{trace}");
    for other in
        ["v1", "v1/none.js", "../../../in.fxt", "%2e%2e/%2e%2e/%2e%2e/in.fxt", "/etc/passwd"]
    {
        let answer = view.get(other);
        assert!(answer.starts_with("HTTP/1.1 404 Not Found\r\n"), "{other}: {answer}");
    }
    assert!(view.ask("GET /").starts_with("HTTP/1.1 404 Not Found\r\n"));
    drop(page);
    let said = "trace: 9 records converted to 2 entries\n\
                trace: serving until the page is closed, or Ctrl-C\n";
    assert_eq!(view.end(), (0, said.to_owned()));
}

#[test]
fn each_format_is_served() {
    let place = place();
    let converted =
        place.run_with(&["convert", "-", "--to", "pftrace", "-o", "in.pftrace"], &good());
    assert_eq!(converted.code, 0, "{converted:?}");
    let pftrace = fs::read(place.path("in.pftrace")).unwrap();
    let json = b" [{\"ph\": \"i\", \"ts\": 1, \"name\": \"x\"}]";
    let files = [
        ("in.fxt", &good()[..], "in.fxt.pftrace", &pftrace[..]),
        ("in.json", json, "in.json", json),
        ("trace", &pftrace, "trace.pftrace", &pftrace),
    ];
    for (name, content, called, served) in files {
        let (gz, zst) = (gzip(content), zstd(content));
        for (ending, bytes) in [("", content), (".gz", &gz), (".zst", &zst)] {
            let file = format!("{name}{ending}");
            place.put(&file, bytes);
            let view = View::of(&place, &file);
            assert_eq!(view.name, called);
            let answer = view.get(called);
            assert!(answer.ends_with(&*String::from_utf8_lossy(served)), "{file}: {answer}");
        }
    }
}

#[test]
fn selected_events_are_served() {
    let place = place();
    place.put("in.fxt", &everything());
    let served = |arguments: &[&str]| {
        let view = View::start(command(&place, &[&["--no-open", "in.fxt"], arguments].concat()));
        assert_eq!(view.name, "in.fxt.pftrace");
        view.get("in.fxt.pftrace")
    };
    let trace = served(&["-n", "outer"]);
    assert!(trace.contains("outer") && !trace.contains("inner"), "{trace}");
    assert!(served(&["-t", "34"]).contains("inner"));
    let missing = run(&place, &["--no-open", "in.fxt", "-t", "nobody"]);
    assert!(missing.code == 1 && missing.stderr.contains("no thread named 'nobody'"));
    place.put("in.json", b" [{\"ph\": \"i\", \"ts\": 1, \"name\": \"x\"}, {\"ph\": \"i\", \"ts\": 1, \"name\": \"why\"}]");
    let view = View::start(command(&place, &["--no-open", "in.json", "-n", "why"]));
    let trace = view.get(&view.name);
    assert!(view.name.ends_with(".pftrace") && trace.contains("why"), "{trace}");
}

#[test]
fn standard_input_is_served() {
    let place = place();
    let mut command = command(&place, &["--no-open", "-"]);
    place.put("in.fxt", &good());
    command.stdin(fs::File::open(place.path("in.fxt")).unwrap());
    let view = View::start(command);
    assert_eq!(view.name, "trace.pftrace");
    assert!(view.get("trace.pftrace").contains("poll"));
}

#[test]
fn signals_end_it_with_open_pages() {
    for signal in [Signal::Int, Signal::Term, Signal::Hup] {
        let place = place();
        place.put("in.fxt", &good());
        let view = View::of(&place, "in.fxt");
        let _page = view.open_page();
        view.signal(signal);
        assert_eq!(view.end().0, 0);
    }
}

#[test]
fn unreadable_parts_are_in_the_exit_code() {
    let place = place();
    place.put("cut.fxt", &cut());
    let view = View::of(&place, "cut.fxt");
    let _page = view.open_page();
    view.signal(Signal::Int);
    let (code, said) = view.end();
    assert!(code == 3 && said.contains("cut.fxt: "), "{code}: {said}");
}

#[test]
fn the_browser_gets_a_one_time_address() {
    let place = place();
    place.put("in.fxt", &good());
    let browser = program(
        &place,
        "browser",
        "cut -d ' ' -f 5 /proc/$$/stat > group; echo $$ > own; echo \"$1\" > asked; exit 7",
    );
    let mut command = command(&place, &["in.fxt"]);
    command.env("BROWSER", browser);
    let mut view = View::start(command);
    let mut said = BufReader::new(view.child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let said = said.find(|line| line.contains("cannot open a browser")).unwrap();
    assert!(said.ends_with("browser: exit status: 7"), "{said}");
    assert_eq!(place.text("group"), place.text("own"), "Ctrl-C would end it");
    let asked = place.text("asked");
    let path = asked.trim_end().strip_prefix(&format!("http://{}", view.host)).unwrap();
    // Another user who has read the address from the browser's command line gets no content.
    if rustix::process::geteuid().is_root() {
        let answer = as_nobody(|| view.ask(&format!("GET {path}")));
        assert!(answer.starts_with("HTTP/1.1 404 Not Found\r\n"), "{answer}");
    } else {
        eprintln!("skipped in part: only root can act as another user");
    }
    let location = format!("\r\nLocation: http://{}{}#!/?url=http://", view.host, view.directory);
    let first = view.ask(&format!("GET {path}"));
    assert!(first.starts_with("HTTP/1.1 302 Found\r\n") && first.contains(&location), "{first}");
    assert!(view.ask(&format!("GET {path}")).starts_with("HTTP/1.1 404 Not Found\r\n"));
}

/// Runs a function as a user without root's rights.
fn as_nobody<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // SAFETY: user 65534 is a valid one. The thread ends with it.
            set_thread_uid(unsafe { Uid::from_raw(65534) }).unwrap();
            act()
        });
        thread.join().unwrap()
    })
}

#[test]
fn two_origins_with_a_valid_token_are_refused() {
    let place = place();
    place.put("in.fxt", &good());
    let view = View::of(&place, "in.fxt");
    let (page, other) = (format!("http://{}", view.host), "https://example.org".to_owned());
    let ask = |origins: &[&String]| {
        let mut stream = TcpStream::connect(&view.host).unwrap();
        let name = format!("{}in.fxt.pftrace", view.directory);
        write!(stream, "GET {name} HTTP/1.1\r\nHost: {}\r\n", view.host).unwrap();
        origins.iter().for_each(|it| write!(stream, "Origin: {it}\r\n").unwrap());
        stream.write_all(b"\r\n").unwrap();
        let mut status = String::new();
        BufReader::new(stream).read_line(&mut status).unwrap();
        status
    };
    for allowed in [&[][..], &[&page]] {
        assert_eq!(ask(allowed), "HTTP/1.1 200 OK\r\n", "{allowed:?}");
    }
    for refused in [&[&other][..], &[&page, &page], &[&page, &other], &[&other, &page]] {
        assert_eq!(ask(refused), "HTTP/1.1 403 Forbidden\r\n", "{refused:?}");
    }
}

#[test]
fn unreadable_files_are_reported() {
    let place = place();
    place.put("zeros", &[0; 64]);
    place.put("text", b"\nno trace\n");
    for (file, part) in [
        ("missing", "cannot open missing: no such file"),
        (".", "cannot read .: is a directory"),
        ("zeros", "cannot read zeros: not a trace archive\nhint: it is none of FXT, "),
        ("text", "cannot read text: not a trace archive"),
    ] {
        let run = run(&place, &["--no-open", file]);
        assert!(run.code == 1 && run.stdout.is_empty() && run.stderr.contains(part), "{run:?}");
    }
    place.put("in.fxt", &good());
    let mut command = command(&place, &["--no-open", "in.fxt"]);
    let run = Run::of(command.env("TMPDIR", "/nonexistent").output().unwrap());
    let stderr = "trace: cannot write a temporary file in /nonexistent: no such file";
    assert!(run.code == 1 && run.stderr.starts_with(stderr), "{run:?}");
    assert_eq!(place.run(&["view"]).code, 2);
}

#[test]
fn a_port_in_use_is_reported() {
    let place = place();
    place.put("in.fxt", &good());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let run = run(&place, &["--no-open", "--port", &port, "in.fxt"]);
    let stderr = format!(
        "trace: cannot listen at 127.0.0.1:{port}: address already in use\nhint: choose another --port, or none\n"
    );
    assert_eq!(run, Run { code: 1, stdout: String::new(), stderr });
}
