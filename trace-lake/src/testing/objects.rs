//! Object storages for tests.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::StreamExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

/// Objects in memory. They count the bytes that are read, and fail on request.
#[derive(Debug)]
pub(crate) struct TestObjects {
    objects: InMemory,
    bytes_read: AtomicU64,
    /// The writes and deletions before all of them fail, as those of a dead process do.
    changes_left: AtomicI64,
    /// The number of creations whose answer is lost.
    lost_answers: AtomicI64,
    /// Whether creations replace objects, as in storages without conditions.
    replaces: AtomicBool,
    /// What the next listing returns, if it is an old one.
    old_listing: Mutex<Option<Vec<ObjectMeta>>>,
}

impl TestObjects {
    pub(crate) fn new() -> Arc<Self> {
        Self::of(InMemory::new())
    }

    /// Returns a copy, whose changes are its own.
    pub(crate) fn fork(&self) -> Arc<Self> {
        Self::of(self.objects.fork())
    }

    fn of(objects: InMemory) -> Arc<Self> {
        let bytes_read = AtomicU64::new(0);
        let (changes_left, lost_answers) = (AtomicI64::new(i64::MAX), AtomicI64::new(0));
        let (replaces, old_listing) = (AtomicBool::new(false), Mutex::default());
        Arc::new(Self { objects, bytes_read, changes_left, lost_answers, replaces, old_listing })
    }

    /// Returns the bytes that were read since the last call.
    pub(crate) fn take_bytes_read(&self) -> u64 {
        self.bytes_read.swap(0, Ordering::Relaxed)
    }

    /// Lets writes and deletions fail after this number of them.
    pub(crate) fn fail_after(&self, changes: i64) {
        self.changes_left.store(changes, Ordering::Relaxed);
    }

    /// Returns whether the storage has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.changes_left.load(Ordering::Relaxed) < 0
    }

    /// Loses the answers to the next creations.
    pub(crate) fn lose_answers(&self, count: i64) {
        self.lost_answers.store(count, Ordering::Relaxed);
    }

    /// Ignores the condition of creations.
    pub(crate) fn ignore_conditions(&self) {
        self.replaces.store(true, Ordering::Relaxed);
    }

    /// Returns a listing of all objects.
    pub(crate) async fn listing(&self) -> Vec<ObjectMeta> {
        self.objects.list(None).map(|object| object.unwrap()).collect().await
    }

    /// Lets the next listing return this one.
    pub(crate) fn list_once(&self, listing: Vec<ObjectMeta>) {
        *self.old_listing.lock().unwrap() = Some(listing);
    }

    /// Replaces the bytes of an object.
    pub(crate) async fn replace(&self, path: &str, bytes: Vec<u8>) {
        let path = Path::parse(path).unwrap();
        self.objects.put_opts(&path, bytes.into(), PutOptions::default()).await.unwrap();
    }

    /// Returns the paths and sizes of all objects.
    pub(crate) async fn all(&self) -> Vec<(String, u64)> {
        let objects = self.objects.list(None).map(|object| object.unwrap());
        let mut all: Vec<_> =
            objects.map(|it| (it.location.to_string(), it.size)).collect::<Vec<_>>().await;
        all.sort();
        all
    }

    fn change(&self, path: &Path) -> Result<()> {
        match self.changes_left.fetch_sub(1, Ordering::Relaxed) {
            1.. => Ok(()),
            _ => Err(Error::Generic { store: "test", source: format!("{path}: disk full").into() }),
        }
    }

    fn count(&self, range: &Range<u64>) {
        self.bytes_read.fetch_add(range.end - range.start, Ordering::Relaxed);
    }
}

impl fmt::Display for TestObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("objects of a test")
    }
}

#[async_trait]
impl ObjectStore for TestObjects {
    async fn put_opts(
        &self,
        path: &Path,
        bytes: PutPayload,
        mut options: PutOptions,
    ) -> Result<PutResult> {
        self.change(path)?;
        if self.replaces.load(Ordering::Relaxed) {
            options.mode = PutMode::Overwrite;
        }
        let result = self.objects.put_opts(path, bytes, options).await?;
        if self.lost_answers.fetch_sub(1, Ordering::Relaxed) > 0 {
            let source = "the answer was lost, and the next try found the object".into();
            return Err(Error::AlreadyExists { path: path.to_string(), source });
        }
        Ok(result)
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.change(path)?;
        self.objects.put_multipart_opts(path, options).await
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        let is_head = options.head;
        let result = self.objects.get_opts(path, options).await?;
        if !is_head {
            self.count(&result.range);
        }
        Ok(result)
    }

    async fn get_ranges(&self, path: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        ranges.iter().for_each(|range| self.count(range));
        self.objects.get_ranges(path, ranges).await
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        match self.change(&Path::from("deletion")) {
            Ok(()) => self.objects.delete_stream(paths),
            Err(error) => futures::stream::iter([Err(error)]).boxed(),
        }
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let Some(old) = self.old_listing.lock().unwrap().take() else {
            return self.objects.list(prefix);
        };
        let prefix = prefix.cloned().unwrap_or_default();
        let old = old.into_iter().filter(move |it| it.location.prefix_matches(&prefix));
        futures::stream::iter(old.map(Ok)).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.objects.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.change(to)?;
        self.objects.copy_opts(from, to, options).await
    }
}
