//! Whether a file has the bytes that its change records.
//!
//! Parquet files have checksums of pages only if their writer adds them, and readers of a part of a
//! file cannot verify a hash of the whole. So what reads whole files verifies them, and queries do
//! not.

use std::fmt;

use anyhow::{anyhow, bail, Result};
use futures::TryStreamExt;
use object_store::ObjectStoreExt;
use sha2::{Digest, Sha256};

use super::check;
use super::names;
use super::reader::{length, FileReader};
use super::state::FileEntry;
use super::Store;

/// A SHA-256 in hexadecimal digits.
pub(crate) fn hexadecimal(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Fails if the bytes of a file are not those that were written, and names it. Of a file whose hash
/// was not recorded, only the length is compared.
pub(crate) async fn verify(store: &Store, file: &FileEntry) -> Result<()> {
    let name = store.name_of(&file.path);
    let failed = |error: &dyn fmt::Display| anyhow!("cannot read {name}: {error}");
    let object = store.objects().get(&names::path(&file.path)).await;
    let object = object.map_err(|error| failed(&error))?;
    if object.meta.size != file.bytes {
        bail!("cannot read {name}: {}", length(object.meta.size, file.bytes));
    }
    let Some(recorded) = &file.sha256 else { return Ok(()) };
    let (mut hash, mut bytes) = (Sha256::new(), object.into_stream());
    while let Some(part) = bytes.try_next().await.map_err(|error| failed(&error))? {
        hash.update(&part);
    }
    let found = hexadecimal(hash);
    if found != *recorded {
        bail!("cannot read {name}: it is damaged: its SHA-256 is {found}, not {recorded}");
    }
    Ok(())
}

/// As [`verify`], and decodes a file whose hash was not recorded.
pub(crate) async fn verify_or_decode(store: &Store, file: &FileEntry) -> Result<()> {
    verify(store, file).await?;
    if file.sha256.is_none() {
        let (store, path) = (store.clone(), names::path(&file.path));
        let name = store.name_of(&file.path);
        let read = check::decode(FileReader { store, path, bytes: file.bytes }).await;
        read.map_err(|error| anyhow!("cannot decode {name}: {error}"))?;
    }
    Ok(())
}
