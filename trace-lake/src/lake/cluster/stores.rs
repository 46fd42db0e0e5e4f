//! The stores that plans name.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::execution::object_store::ObjectStoreRegistry;
use object_store::memory::InMemory;
use object_store::ObjectStore;
use url::Url;

use crate::archive::external;
use crate::store::url::name_of;
use crate::store::Store;

/// Opens the stores that plans name, with the access that this machine has. Other URLs are refused.
#[derive(Debug, Default)]
pub(super) struct NamedStores {
    open: Mutex<HashMap<String, Store>>,
}

impl NamedStores {
    /// Returns the store that a URL names.
    pub(super) fn store(&self, url: &Url) -> Result<Store> {
        let Some(name) = name_of(url) else {
            return plan_err!("an executor reads stores of `trace lake`, and not {url}");
        };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = open.get(&name) {
            return Ok(store.clone());
        }
        let store = Store::open(&name).map_err(external)?;
        open.insert(name, store.clone());
        Ok(store)
    }
}

impl ObjectStoreRegistry for NamedStores {
    fn register_store(
        &self,
        _url: &Url,
        _store: Arc<dyn ObjectStore>,
    ) -> Option<Arc<dyn ObjectStore>> {
        None
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        Ok(self.store(url)?.objects().clone())
    }
}

/// Has an empty store for each URL: a scheduler handles plans, and reads nothing.
#[derive(Debug)]
pub(super) struct EmptyStores;

impl ObjectStoreRegistry for EmptyStores {
    fn register_store(
        &self,
        _url: &Url,
        _store: Arc<dyn ObjectStore>,
    ) -> Option<Arc<dyn ObjectStore>> {
        None
    }

    fn get_store(&self, _url: &Url) -> Result<Arc<dyn ObjectStore>> {
        Ok(Arc::new(InMemory::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::url::url_of;

    #[test]
    fn only_stores_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let stores = NamedStores::default();
        let of = |name: &str| stores.get_store(url_of(name).unwrap().as_ref());
        let found = of(folder.path().to_str().unwrap()).unwrap();
        assert!(Arc::ptr_eq(&found, &of(folder.path().to_str().unwrap()).unwrap()));
        let missing = of("/missing/store").unwrap_err().to_string();
        assert!(missing.contains("cannot open /missing/store"), "{missing}");
        for other in ["file:///etc/", "s3://bucket/"] {
            let refused = stores.get_store(&Url::parse(other).unwrap()).unwrap_err().to_string();
            assert!(refused.contains("reads stores of `trace lake`"), "{refused}");
        }
    }
}
