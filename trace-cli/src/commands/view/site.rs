//! The paths of the server, and the requests that may access them.

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

/// The served content: a trace and, in the same directory, a user interface.
#[derive(Debug)]
pub(super) struct Site {
    interface: Interface,
    trace: Trace,
    /// The host that requests must name. Another host means DNS rebinding by a page of another
    /// site.
    host: String,
    /// The directory of all paths. Other programs and pages cannot guess it.
    token: String,
    /// The path that redirects to the page once.
    one_time_path: Mutex<Option<String>>,
}

/// What a request resolves to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// The trace.
    Trace,
    /// The preflight request (CORS) of the hosted interface.
    Preflight,
    /// A redirect to the page at this address.
    Redirect(String),
    /// The first page of the user interface.
    Index(PathBuf),
    /// Another file of the user interface.
    File(PathBuf),
    /// The script that keeps a page's connection open.
    Script,
    /// That connection.
    Connection,
    /// A known path with an unsupported method.
    MethodNotAllowed,
    /// An unknown path.
    NotFound,
    /// Any path, requested by a page of another site.
    Forbidden,
}

impl Route {
    /// Returns whether a page requests this while it is open.
    pub(super) fn is_content(&self) -> bool {
        matches!(
            self,
            Self::Trace | Self::Index(_) | Self::File(_) | Self::Script | Self::Connection
        )
    }
}

impl Site {
    pub(super) fn new(interface: Interface, trace: Trace, port: u16) -> Result<Self> {
        let host = format!("127.0.0.1:{port}");
        Ok(Self {
            interface,
            trace,
            host,
            token: token()?,
            one_time_path: Mutex::new(Some(token()?)),
        })
    }

    /// Returns whether this server serves the user interface.
    pub(super) fn is_own(&self) -> bool {
        matches!(self.interface, Interface::Own(_))
    }

    /// Returns the trace.
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

    /// Returns an address that redirects this user to the page once. The browser gets it on its
    /// command line, which all users of the machine can read.
    pub(super) fn one_time_address(&self) -> String {
        let path = self.one_time_path.lock().unwrap_or_else(PoisonError::into_inner);
        format!("http://{}/{}", self.host, path.as_deref().unwrap_or_default())
    }

    /// Returns the route of a request. `is_of_this_user` returns whether the kernel reports this
    /// user as the client.
    pub(super) fn route(&self, request: &Request, is_of_this_user: impl Fn() -> bool) -> Route {
        if !self.is_allowed(request) {
            return Route::Forbidden;
        }
        let path = request.path.split(['?', '#']).next().unwrap_or_default();
        let Some(path) = path.strip_prefix('/') else {
            return Route::NotFound;
        };
        let route = match self.within(path) {
            Route::NotFound if request.method == "GET" => {
                self.one_time_route(path, is_of_this_user)
            }
            route => route,
        };
        match (&*request.method, route) {
            (_, Route::NotFound) => Route::NotFound,
            ("GET" | "HEAD", route) => route,
            ("OPTIONS", Route::Trace) if !self.is_own() => Route::Preflight,
            _ => Route::MethodNotAllowed,
        }
    }

    /// Returns whether a request names this server and is not from a page of another site. No
    /// browser sends more than one origin.
    fn is_allowed(&self, request: &Request) -> bool {
        let is_page = match (&request.origins[..], &self.interface) {
            ([], _) => true,
            ([origin], Interface::Hosted) => origin == HOSTED,
            ([origin], Interface::Own(_)) => origin.strip_prefix("http://") == Some(&self.host),
            _ => false,
        };
        is_page && request.host.as_ref() == Some(&self.host)
    }

    /// Returns the route of a path without its leading slash.
    fn within(&self, path: &str) -> Route {
        let Some(inner) = path.strip_prefix(&*self.token).and_then(|path| path.strip_prefix('/'))
        else {
            return Route::NotFound;
        };
        if inner == self.trace.name {
            return Route::Trace;
        }
        let Interface::Own(directory) = &self.interface else {
            return Route::NotFound;
        };
        match inner {
            "" | "index.html" => Route::Index(directory.join("index.html")),
            "alive.js" => Route::Script,
            "alive" => Route::Connection,
            file if is_below(file) => Route::File(directory.join(file)),
            _ => Route::NotFound,
        }
    }

    /// Redirects to the page if this is the one-time path. Requests of other users do not consume
    /// it.
    fn one_time_route(&self, path: &str, is_of_this_user: impl Fn() -> bool) -> Route {
        let mut one_time_path = self.one_time_path.lock().unwrap_or_else(PoisonError::into_inner);
        match one_time_path.take_if(|expected| expected == path && is_of_this_user()) {
            Some(_) => Route::Redirect(self.address()),
            None => Route::NotFound,
        }
    }
}

/// Returns whether a path stays within its directory.
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

/// Returns the media type for a file name's extension. Browsers require it for scripts and modules.
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

    /// Returns the route of another user's request. It differs for the one-time path only.
    fn route(site: &Site, request: &Request) -> Route {
        site.route(request, || false)
    }

    #[test]
    fn only_paths_below_the_token_exist() {
        let site = own();
        let get = |path| route(&site, &request("GET", path));
        assert_eq!(get("/t/a.pftrace"), Route::Trace);
        assert_eq!(get("/t/?x"), Route::Index("/ui/index.html".into()));
        assert_eq!(get("/t/v1/x.js?v=1"), Route::File("/ui/v1/x.js".into()));
        assert_eq!((get("/t/alive"), get("/t/alive.js")), (Route::Connection, Route::Script));
        let elsewhere =
            ["/", "/t", "/a.pftrace", "/u/a.pftrace", "t/a.pftrace", "", "/tt/a.pftrace"];
        let outside = ["/t//etc/passwd", "/t/../x", "/t/v1/../../x", "/t//x", "/t/..", "/t/./x"];
        for path in elsewhere.into_iter().chain(outside) {
            assert_eq!(get(path), Route::NotFound, "{path}");
        }
    }

    #[test]
    fn tokens_are_long_and_never_the_same() {
        let tokens = [token().unwrap(), token().unwrap()];
        assert!(tokens[0] != tokens[1] && tokens.iter().all(|token| token.len() == 32));
    }

    #[test]
    fn the_hosted_interface_gets_only_the_trace() {
        let site = site(Interface::Hosted);
        let route = |method, path| route(&site, &request(method, path));
        assert_eq!(route("GET", "/t/a.pftrace"), Route::Trace);
        assert_eq!(route("OPTIONS", "/t/a.pftrace"), Route::Preflight);
        assert_eq!(
            (route("GET", "/t/"), route("GET", "/t/alive")),
            (Route::NotFound, Route::NotFound)
        );
        let address = "https://ui.perfetto.dev/#!/?url=http://127.0.0.1:9001/t/a.pftrace";
        assert_eq!(site.address(), address);
    }

    #[test]
    fn only_reading_methods_are_allowed() {
        let site = own();
        assert_eq!(route(&site, &request("HEAD", "/t/a.pftrace")), Route::Trace);
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "get", ""] {
            assert_eq!(
                route(&site, &request(method, "/t/a.pftrace")),
                Route::MethodNotAllowed,
                "{method}"
            );
            assert_eq!(route(&site, &request(method, "/x/a.pftrace")), Route::NotFound, "{method}");
        }
    }

    #[test]
    fn other_host_names_are_forbidden() {
        for host in ["127.0.0.1", "127.0.0.1:9002", "localhost:9001", "example.org:9001", ""] {
            let request = Request { host: Some(host.to_owned()), ..request("GET", "/t/a.pftrace") };
            assert_eq!(route(&own(), &request), Route::Forbidden, "{host}");
        }
        let request = Request { host: None, ..request("GET", "/t/a.pftrace") };
        assert_eq!(route(&own(), &request), Route::Forbidden);
    }

    #[test]
    fn other_origins_are_forbidden() {
        let from = |site: Site, origin: &str| {
            let origins = vec![origin.to_owned()];
            let request = Request { origins, ..request("GET", "/t/a.pftrace") };
            route(&site, &request) == Route::Trace
        };
        let hosted = || site(Interface::Hosted);
        assert!(from(hosted(), HOSTED) && from(own(), "http://127.0.0.1:9001"));
        assert!(!from(own(), HOSTED) && !from(hosted(), "http://127.0.0.1:9001"));
        for other in ["null", "", "https://ui.perfetto.dev.example.org", "http://127.0.0.1:9002"] {
            assert!(!from(hosted(), other) && !from(own(), other), "{other}");
        }
    }

    #[test]
    fn several_origins_are_forbidden() {
        let own_origin = format!("http://{HOST}");
        for (site, page) in [(own(), &*own_origin), (site(Interface::Hosted), HOSTED)] {
            for origins in
                [[page, page], [page, "https://example.org"], ["https://example.org", page]]
            {
                let origins = origins.map(str::to_owned).to_vec();
                let request = Request { origins, ..request("GET", "/t/a.pftrace") };
                assert_eq!(route(&site, &request), Route::Forbidden, "{request:?}");
            }
        }
    }

    #[test]
    fn the_address_on_the_command_line_works_once() {
        let site = own();
        let address = site.one_time_address();
        let path = address.strip_prefix("http://127.0.0.1:9001").unwrap();
        assert!(path.len() > 32 && !site.address().contains(path), "{address}");
        let route = |request: &Request| site.route(request, || true);
        assert_eq!(route(&request("HEAD", path)), Route::NotFound);
        assert_eq!(site.route(&request("GET", path), || false), Route::NotFound, "another user");
        assert_eq!(route(&request("GET", path)), Route::Redirect(site.address()));
        assert_eq!(route(&request("GET", path)), Route::NotFound);
        assert_eq!(route(&request("GET", "/")), Route::NotFound);
    }
}
