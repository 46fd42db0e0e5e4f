//! Opening a store, and reading and writing its objects.

use std::collections::BTreeSet;
use std::env;
use std::fmt;
use std::fs;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use anyhow::{anyhow, bail, Context, Result};
use bytes::Bytes;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions};
use url::Url;

use crate::message::HINT;

/// The folder of changes in a store.
pub(crate) const LOG: &str = "log";

/// The variables of the environment with access and endpoints of object storages.
const VARIABLES: [&str; 3] = ["AWS_", "GOOGLE_", "AZURE_"];

/// Those with the endpoint of S3. The first one counts.
const ENDPOINTS: [&str; 3] = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"];

/// The texts for `true` in a variable.
const TRUE: [&str; 5] = ["1", "true", "on", "yes", "y"];

/// Where the access of object storages comes from.
const ACCESS: &str = "AWS_…, GOOGLE_… or AZURE_… in the environment";

/// The places where stores can be.
const PLACES: &str = "a store is a folder, or a URL s3://BUCKET/FOLDER, gs://BUCKET/FOLDER or \
    az://CONTAINER/FOLDER";

/// What an object storage has to do.
pub(super) const CONDITION: &str =
    "a store needs an object storage that creates an object only if it is missing";

/// An object does not exist, which the message says.
#[derive(Debug)]
pub(super) struct Missing(pub(super) String);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

/// A store.
#[derive(Clone)]
pub struct Store {
    name: String,
    objects: Arc<dyn ObjectStore>,
    /// The folder of a store on this machine.
    folder: Option<PathBuf>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens a store by the path of its folder or by its URL. Nothing is read.
    ///
    /// # Errors
    ///
    /// The folder does not exist, or the URL is not one of an object storage.
    pub fn open(name: &str) -> Result<Self> {
        match folder(name)? {
            Some(folder) => Self::local(name, &folder),
            None => Self::remote(name),
        }
    }

    /// Opens a store as [`open`](Self::open) does, by a name that other processes can open.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), or the path is not UTF-8.
    pub(crate) fn open_absolute(name: &str) -> Result<Self> {
        let Some(folder) = folder(name)? else { return Self::open(name) };
        let path = fs::canonicalize(&folder).with_context(|| format!("cannot open {name}"))?;
        match path.to_str() {
            Some(name) => Self::open(name),
            None => bail!("cannot open {name}: its path is not UTF-8"),
        }
    }

    /// Opens a store as [`open`](Self::open) does. A missing folder is created.
    ///
    /// # Errors
    ///
    /// The folder cannot be created, or the URL is not one of an object storage.
    pub fn create(name: &str) -> Result<Self> {
        if let Some(folder) = folder(name)? {
            fs::create_dir_all(&folder)
                .with_context(|| format!("cannot create {}", folder.display()))?;
        }
        Self::open(name)
    }

    /// Opens a store in an object storage.
    #[must_use]
    pub fn of_objects(name: &str, objects: Arc<dyn ObjectStore>) -> Self {
        Self { name: name.to_owned(), objects, folder: None }
    }

    fn local(name: &str, folder: &FilePath) -> Result<Self> {
        let objects = LocalFileSystem::new_with_prefix(folder)
            .map_err(|error| anyhow!("cannot open {name}: {error}{HINT}{PLACES}"))?;
        let objects = Arc::new(objects.with_automatic_cleanup(true));
        Ok(Self { name: name.to_owned(), objects, folder: Some(folder.to_owned()) })
    }

    fn remote(name: &str) -> Result<Self> {
        let url = parsed(name)?;
        let variables = env::vars_os().filter_map(|(key, value)| {
            let (key, value) = (key.into_string().ok()?, value.into_string().ok()?);
            VARIABLES.iter().any(|start| key.starts_with(start)).then_some((key, value))
        });
        let variables: Vec<_> = variables.collect();
        if url.scheme().starts_with("s3") {
            check_endpoint(&variables).with_context(|| format!("cannot open {name}"))?;
        }
        let options = variables.into_iter().map(|(key, value)| (key.to_ascii_lowercase(), value));
        let (objects, folder) =
            object_store::parse_url_opts(&url, options).map_err(|error| match error {
                object_store::Error::Generic { store: "parse_url", .. } => anyhow!(
                    "cannot open {name}: this program is built without {}{HINT}build it with its \
                     default features",
                    url.scheme()
                ),
                error => anyhow!("cannot open {name}: {error}"),
            })?;
        let objects: Arc<dyn ObjectStore> = Arc::from(objects);
        Ok(Self::of_objects(name, Arc::new(PrefixStore::new(objects, folder))))
    }

    /// Returns its path or URL, as it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its objects. Their paths start in the store.
    #[must_use]
    pub fn objects(&self) -> &Arc<dyn ObjectStore> {
        &self.objects
    }

    /// Returns its folder if it is on this machine.
    pub(crate) fn folder(&self) -> Option<&FilePath> {
        self.folder.as_deref()
    }

    /// Returns the name of an object in messages.
    pub(crate) fn name_of(&self, path: &str) -> String {
        format!("{}/{path}", self.name.trim_end_matches('/'))
    }

    /// Reads an object.
    pub(crate) async fn read(&self, path: &Path) -> Result<Bytes> {
        let read = async { self.objects.get(path).await?.bytes().await };
        read.await.map_err(|error| self.failed("read", path.as_ref(), error))
    }

    /// Creates an object at once. Returns whether no other one had its path.
    pub(crate) async fn create_object(&self, path: &Path, bytes: Bytes) -> Result<bool> {
        let options = PutOptions::from(PutMode::Create);
        match self.objects.put_opts(path, bytes.into(), options).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(false),
            Err(error) => Err(self.failed("write", path.as_ref(), error)),
        }
    }

    /// Writes objects of a folder to its disk, with the folders that have their names. An object
    /// storage keeps what it has confirmed.
    pub(crate) async fn sync(&self, objects: impl IntoIterator<Item = String>) -> Result<()> {
        let Some(folder) = self.folder.clone() else { return Ok(()) };
        let objects: Vec<PathBuf> = objects.into_iter().map(|path| folder.join(path)).collect();
        let is_inside = |path: &&FilePath| path.starts_with(&folder);
        let paths = objects.iter().flat_map(|path| path.ancestors().take_while(is_inside));
        let paths: BTreeSet<PathBuf> = paths.map(FilePath::to_owned).collect();
        tokio::task::spawn_blocking(move || paths.iter().try_for_each(|path| sync(path))).await?
    }

    /// Returns the message of an operation that failed.
    pub(crate) fn failed(
        &self,
        operation: &str,
        path: &str,
        error: object_store::Error,
    ) -> anyhow::Error {
        use object_store::Error;
        let message = format!("cannot {operation} {}: {error}", self.name_of(path));
        let hint = match error {
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
                format!("the access of an object storage comes from {ACCESS}")
            }
            Error::NotImplemented { .. } | Error::NotSupported { .. } => CONDITION.to_owned(),
            Error::NotFound { .. } => return Missing(message).into(),
            _ => return anyhow!(message),
        };
        anyhow!("{message}{HINT}{hint}")
    }
}

fn sync(path: &FilePath) -> Result<()> {
    let synced = fs::File::open(path).and_then(|file| file.sync_all());
    synced.with_context(|| format!("cannot write {} to the disk", path.display()))
}

/// Returns whether this names a store: a URL, or a folder with changes.
#[must_use]
pub fn is_store(path: &FilePath) -> bool {
    let is_url = path.to_str().is_some_and(|text| text.contains("://"));
    is_url || path.join(LOG).is_dir()
}

/// Returns the URL of an object storage. Messages have no URL that can have a secret.
fn parsed(name: &str) -> Result<Url> {
    let url = Url::parse(name);
    let url = url.map_err(|error| anyhow!("cannot open the store: {error}{HINT}{PLACES}"))?;
    let has_access = !url.username().is_empty() || url.password().is_some();
    if has_access || url.query().is_some() || url.fragment().is_some() {
        bail!(
            "cannot open the store: its URL has a user, a password, `?` or `#`\
             {HINT}the access of an object storage comes from {ACCESS}"
        );
    }
    match url.scheme() {
        "s3" | "gs" | "az" if url.has_host() => Ok(url),
        "http" | "https" => bail!(
            "cannot open {name}: no storage has this URL{HINT}set AWS_ENDPOINT={} for a storage \
             with the protocol of Amazon S3, whose stores are s3://BUCKET/FOLDER",
            url.origin().ascii_serialization()
        ),
        _ => bail!("cannot open {name}: no storage has this URL{HINT}{PLACES}"),
    }
}

/// Returns the folder that a store's name is, or `None` if it is a URL.
fn folder(name: &str) -> Result<Option<PathBuf>> {
    if let Some(path) = name.strip_prefix("file://") {
        if !path.starts_with('/') {
            bail!("cannot open {name}: the path after file:// is not absolute");
        }
        return Ok(Some(path.into()));
    }
    Ok((!name.contains("://")).then(|| name.into()))
}

/// Checks the address of an object storage, which its client takes for granted.
fn check_endpoint(variables: &[(String, String)]) -> Result<()> {
    let of = |name: &str| variables.iter().find(|(key, _)| key == name);
    let Some((key, value)) = ENDPOINTS.into_iter().find_map(of) else { return Ok(()) };
    let allows_http =
        of("AWS_ALLOW_HTTP").is_some_and(|(_, value)| TRUE.contains(&&*value.to_ascii_lowercase()));
    let url = Url::parse(value).ok().filter(Url::has_host);
    match url.as_ref().map(Url::scheme) {
        Some("https") => Ok(()),
        Some("http") if allows_http => Ok(()),
        Some("http") => bail!("{key}={value} is not encrypted{HINT}AWS_ALLOW_HTTP=true permits it"),
        _ => bail!("{key}={value} is no address{HINT}one is https://HOST or http://HOST:PORT"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The client of the storage panics without a host.
    #[test]
    fn an_endpoint_is_an_address() {
        let check = |variables: &[(&str, &str)]| {
            let variables = variables.iter().map(|(key, value)| ((*key).into(), (*value).into()));
            check_endpoint(&variables.collect::<Vec<_>>()).map_err(|error| error.to_string())
        };
        assert_eq!(check(&[("AWS_REGION", "x"), ("AWS_ENDPOINT", "https://host")]), Ok(()));
        for endpoint in ["minio:9000", "localhost", "http://", ""] {
            let error = check(&[("AWS_ENDPOINT", endpoint)]).unwrap_err();
            assert!(error.contains("is no address"), "{error}");
        }
        let http = ("AWS_ENDPOINT_URL", "http://localhost:9000");
        assert!(check(&[http]).unwrap_err().contains("AWS_ALLOW_HTTP=true"));
        assert_eq!(check(&[("AWS_ALLOW_HTTP", "true"), http]), Ok(()));
        assert!(check(&[("AWS_ALLOW_HTTP", "0"), http]).is_err());
        assert_eq!(check(&[http, ("AWS_ENDPOINT_URL_S3", "https://host")]), Ok(()));
    }

    #[test]
    fn a_store_is_a_folder_or_a_url() {
        let message = |name: &str| format!("{:#}", Store::open(name).unwrap_err());
        assert!(message("/missing/store").contains("cannot open /missing/store: "));
        assert!(message("/missing/store").contains(PLACES));
        assert!(message("ftp://host/store").contains("no storage has this URL"));
        assert!(message("file://store").contains("is not absolute"));
        assert!(message("memory:///").contains("no storage has this URL"));
        assert!(message("https://host/b").contains("hint: set AWS_ENDPOINT=https://host"));
        for secret in ["s3://user:secret@host/a", "https://host/?X=secret", "s3://secret:@:x/"] {
            let text = message(secret);
            assert!(!text.contains("secret") && text.contains("cannot open the store: "), "{text}");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        Store::create(path.to_str().unwrap()).unwrap();
        Store::open(&format!("file://{}", path.display())).unwrap();
        assert!(!is_store(&path));
        fs::create_dir(path.join("log")).unwrap();
        assert!(is_store(&path) && is_store(FilePath::new("s3://bucket/store")));
    }
}
