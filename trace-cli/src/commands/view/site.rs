//! What is where on the server, and who may have it.

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};

use super::http::Request;
use super::trace::Trace;

/// The origin of the hosted user interface.
pub(super) const HOSTED: &str = "https://ui.perfetto.dev";

/// Where the user interface comes from.
#[derive(Debug)]
pub(super) enum Interface {
    /// From its makers' site.
    Hosted,
    /// From this directory.
    Own(PathBuf),
}

/// What is served: a trace and, in the same directory, a user interface.
#[derive(Debug)]
pub(super) struct Site {
    interface: Interface,
    trace: Trace,
    /// What requests have to call this server. Else a page of another site has
    /// made its name mean this machine.
    host: String,
    /// The directory that everything is in. Other programs and pages cannot
    /// guess it.
    token: String,
    /// Another name of the page, until it was asked for.
    once: Mutex<Option<String>>,
}

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The trace.
    Trace,
    /// Whether a page of another origin may ask for it.
    Preflight,
    /// The page, which is at this address.
    Page(String),
    /// The first page of the user interface.
    Index(PathBuf),
    /// Another file of it.
    File(PathBuf),
    /// The script that holds the connection of a page.
    Script,
    /// That connection.
    Alive,
    /// What is there, but not to be done with it what is asked.
    Method,
    /// What is not there.
    Nothing,
    /// Anything, from where nothing is to be asked.
    Forbidden,
}

impl Wanted {
    /// Tells whether it is what a page needs while it is there.
    pub(super) fn is_content(&self) -> bool {
        matches!(self, Self::Trace | Self::Index(_) | Self::File(_) | Self::Script | Self::Alive)
    }
}

impl Site {
    pub(super) fn new(interface: Interface, trace: Trace, port: u16) -> Result<Self> {
        let host = format!("127.0.0.1:{port}");
        Ok(Self { interface, trace, host, token: token()?, once: Mutex::new(Some(token()?)) })
    }

    /// Tells whether the user interface is served from here.
    pub(super) fn is_own(&self) -> bool {
        matches!(self.interface, Interface::Own(_))
    }

    /// What is shown.
    pub(super) fn trace(&self) -> &File {
        &self.trace.content
    }

    /// Returns the address of the page.
    pub(super) fn address(&self) -> String {
        let Self { host, token, trace, .. } = self;
        let own = format!("http://{host}/{token}/");
        let page = match self.interface {
            Interface::Hosted => format!("{HOSTED}/"),
            Interface::Own(_) => own.clone(),
        };
        format!("{page}#!/?url={own}{}", trace.name)
    }

    /// Returns an address that leads this user to the page, the first time that it is asked for.
    /// All users of the machine can read the command line that it is on.
    pub(super) fn address_for_once(&self) -> String {
        let once = self.once.lock().unwrap_or_else(PoisonError::into_inner);
        format!("http://{}/{}", self.host, once.as_deref().unwrap_or_default())
    }

    /// Returns what a request asks for. `is_of_this_user` tells whether the kernel says that this
    /// user makes it.
    pub(super) fn find(&self, request: &Request, is_of_this_user: impl Fn() -> bool) -> Wanted {
        if !self.may_ask(request) {
            return Wanted::Forbidden;
        }
        let path = request.path.split(['?', '#']).next().unwrap_or_default();
        let Some(path) = path.strip_prefix('/') else {
            return Wanted::Nothing;
        };
        let wanted = match self.within(path) {
            Wanted::Nothing if request.method == "GET" => self.first_visit(path, is_of_this_user),
            wanted => wanted,
        };
        match (&*request.method, wanted) {
            (_, Wanted::Nothing) => Wanted::Nothing,
            ("GET" | "HEAD", wanted) => wanted,
            ("OPTIONS", Wanted::Trace) if !self.is_own() => Wanted::Preflight,
            _ => Wanted::Method,
        }
    }

    /// Tells whether a request is meant for this server, and not made by a page of another site.
    /// More than one origin is of no browser.
    fn may_ask(&self, request: &Request) -> bool {
        let is_page = match (&request.origins[..], &self.interface) {
            ([], _) => true,
            ([origin], Interface::Hosted) => origin == HOSTED,
            ([origin], Interface::Own(_)) => origin.strip_prefix("http://") == Some(&self.host),
            _ => false,
        };
        is_page && request.host.as_ref() == Some(&self.host)
    }

    /// Returns what is at a path, which starts behind the slash.
    fn within(&self, path: &str) -> Wanted {
        let Some(inner) = path.strip_prefix(&*self.token).and_then(|path| path.strip_prefix('/'))
        else {
            return Wanted::Nothing;
        };
        if inner == self.trace.name {
            return Wanted::Trace;
        }
        let Interface::Own(directory) = &self.interface else {
            return Wanted::Nothing;
        };
        match inner {
            "" | "index.html" => Wanted::Index(directory.join("index.html")),
            "alive.js" => Wanted::Script,
            "alive" => Wanted::Alive,
            file if is_below(file) => Wanted::File(directory.join(file)),
            _ => Wanted::Nothing,
        }
    }

    /// Returns the page's address if this is the name that is good for once. Another user who asks
    /// for it does not use it up.
    fn first_visit(&self, path: &str, is_of_this_user: impl Fn() -> bool) -> Wanted {
        let mut once = self.once.lock().unwrap_or_else(PoisonError::into_inner);
        match once.take_if(|once| once == path && is_of_this_user()) {
            Some(_) => Wanted::Page(self.address()),
            None => Wanted::Nothing,
        }
    }
}

/// Tells whether a path stays in the directory that it starts from.
fn is_below(path: &str) -> bool {
    Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Returns 128 random bits as text.
fn token() -> Result<String> {
    let mut bytes = [0; 16];
    let random = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    random.context("cannot read random bytes from '/dev/urandom'")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Returns the type that a file's name says. Browsers run no script and compile
/// no module without it.
pub(super) fn media_type(path: &Path) -> &'static str {
    match path.extension().and_then(|ending| ending.to_str()).unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "wasm" => "application/wasm",
        "json" => "application/json",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "127.0.0.1:9001";

    fn site(interface: Interface) -> Site {
        let trace = Trace { content: tempfile::tempfile().unwrap(), name: "a.pftrace".to_owned() };
        Site { token: "t".to_owned(), ..Site::new(interface, trace, 9001).unwrap() }
    }

    fn own() -> Site {
        site(Interface::Own("/ui".into()))
    }

    fn request(method: &str, path: &str) -> Request {
        let (method, path) = (method.to_owned(), path.to_owned());
        Request { method, path, host: Some(HOST.to_owned()), origins: Vec::new() }
    }

    /// Returns what another user's request asks for, which is the same but for one address.
    fn find(site: &Site, request: &Request) -> Wanted {
        site.find(request, || false)
    }

    #[test]
    fn only_what_is_below_the_token_is_there() {
        let site = own();
        let get = |path| find(&site, &request("GET", path));
        assert_eq!(get("/t/a.pftrace"), Wanted::Trace);
        assert_eq!(get("/t/?x"), Wanted::Index("/ui/index.html".into()));
        assert_eq!(get("/t/v1/x.js?v=1"), Wanted::File("/ui/v1/x.js".into()));
        assert_eq!((get("/t/alive"), get("/t/alive.js")), (Wanted::Alive, Wanted::Script));
        let others = ["/", "/t", "/a.pftrace", "/u/a.pftrace", "t/a.pftrace", "", "/tt/a.pftrace"];
        let outside = ["/t//etc/passwd", "/t/../x", "/t/v1/../../x", "/t//x", "/t/..", "/t/./x"];
        for path in others.into_iter().chain(outside) {
            assert_eq!(get(path), Wanted::Nothing, "{path}");
        }
    }

    #[test]
    fn tokens_are_long_and_never_the_same() {
        let tokens = [token().unwrap(), token().unwrap()];
        assert!(tokens[0] != tokens[1] && tokens.iter().all(|token| token.len() == 32));
    }

    #[test]
    fn the_hosted_interface_gets_the_trace_and_nothing_else() {
        let site = site(Interface::Hosted);
        let find = |method, path| find(&site, &request(method, path));
        assert_eq!(find("GET", "/t/a.pftrace"), Wanted::Trace);
        assert_eq!(find("OPTIONS", "/t/a.pftrace"), Wanted::Preflight);
        assert_eq!(
            (find("GET", "/t/"), find("GET", "/t/alive")),
            (Wanted::Nothing, Wanted::Nothing)
        );
        let address = "https://ui.perfetto.dev/#!/?url=http://127.0.0.1:9001/t/a.pftrace";
        assert_eq!(site.address(), address);
    }

    #[test]
    fn what_is_there_is_read_only() {
        let site = own();
        assert_eq!(find(&site, &request("HEAD", "/t/a.pftrace")), Wanted::Trace);
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "get", ""] {
            assert_eq!(find(&site, &request(method, "/t/a.pftrace")), Wanted::Method, "{method}");
            assert_eq!(find(&site, &request(method, "/x/a.pftrace")), Wanted::Nothing, "{method}");
        }
    }

    #[test]
    fn other_names_of_this_machine_are_none() {
        for host in ["127.0.0.1", "127.0.0.1:9002", "localhost:9001", "example.org:9001", ""] {
            let request = Request { host: Some(host.to_owned()), ..request("GET", "/t/a.pftrace") };
            assert_eq!(find(&own(), &request), Wanted::Forbidden, "{host}");
        }
        let request = Request { host: None, ..request("GET", "/t/a.pftrace") };
        assert_eq!(find(&own(), &request), Wanted::Forbidden);
    }

    #[test]
    fn pages_of_other_origins_get_nothing() {
        let from = |site: Site, origin: &str| {
            let origins = vec![origin.to_owned()];
            let request = Request { origins, ..request("GET", "/t/a.pftrace") };
            find(&site, &request) == Wanted::Trace
        };
        let hosted = || site(Interface::Hosted);
        assert!(from(hosted(), HOSTED) && from(own(), "http://127.0.0.1:9001"));
        assert!(!from(own(), HOSTED) && !from(hosted(), "http://127.0.0.1:9001"));
        for other in ["null", "", "https://ui.perfetto.dev.example.org", "http://127.0.0.1:9002"] {
            assert!(!from(hosted(), other) && !from(own(), other), "{other}");
        }
    }

    #[test]
    fn more_than_one_origin_gets_nothing() {
        let own_origin = format!("http://{HOST}");
        for (site, page) in [(own(), &*own_origin), (site(Interface::Hosted), HOSTED)] {
            for origins in
                [[page, page], [page, "https://example.org"], ["https://example.org", page]]
            {
                let origins = origins.map(str::to_owned).to_vec();
                let request = Request { origins, ..request("GET", "/t/a.pftrace") };
                assert_eq!(find(&site, &request), Wanted::Forbidden, "{request:?}");
            }
        }
    }

    #[test]
    fn what_is_on_a_command_line_is_good_for_once() {
        let site = own();
        let once = site.address_for_once();
        let path = once.strip_prefix("http://127.0.0.1:9001").unwrap();
        assert!(path.len() > 32 && !site.address().contains(path), "{once}");
        let find = |request: &Request| site.find(request, || true);
        assert_eq!(find(&request("HEAD", path)), Wanted::Nothing);
        assert_eq!(site.find(&request("GET", path), || false), Wanted::Nothing, "another user");
        assert_eq!(find(&request("GET", path)), Wanted::Page(site.address()));
        assert_eq!(find(&request("GET", path)), Wanted::Nothing);
        assert_eq!(find(&request("GET", "/")), Wanted::Nothing);
    }
}
