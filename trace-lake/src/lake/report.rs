//! `trace lake report`: how the durations of names are spread over days, versions and hosts, and
//! which became slower from one version to the next, as a web page.

mod changes;
mod data;
mod page;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use anyhow::{bail, Result};

use super::cli::ReportArgs;
use crate::exit::OK;
use crate::input::STANDARD;
use crate::message::{tell, HINT};
use crate::output::write_file;
use crate::session;
use crate::store::snapshot::Snapshot;
use crate::store::state::ArchiveEntry;
use crate::store::Store;
use crate::subject::Subject;

pub(super) async fn run(args: &ReportArgs) -> Result<u8> {
    let snapshot = Arc::new(Snapshot::newest(Store::open(&args.store)?).await?);
    let html = html(&snapshot, args).await?;
    write_file(&args.output, html.as_bytes())?;
    if args.output != Path::new(STANDARD) {
        tell(&format!("{}: written", args.output.display()));
    }
    Ok(OK)
}

/// Returns the page.
async fn html(snapshot: &Arc<Snapshot>, args: &ReportArgs) -> Result<String> {
    let memory = args.memory.saturating_mul(1 << 20);
    let session = session::session(&Subject::Store(snapshot.clone()), memory).await?;
    let (name, service) = (args.name.as_deref(), args.service.as_deref());
    let names = data::choose(&session, name, service).await?;
    if names.is_empty() {
        let name = name.map(|name| format!(" named {name}")).unwrap_or_default();
        let service = service.map(|it| format!(" of the service {it}")).unwrap_or_default();
        bail!(
            "{} has no complete span or operation{name}{service}\
             {HINT}trace query {0} \"SELECT DISTINCT service, name FROM spans\" lists names",
            snapshot.store.name()
        );
    }
    let is_chosen = |it: &&ArchiveEntry| service.is_none_or(|name| it.partition.service == name);
    let archives: Vec<_> = snapshot.state.archives.values().filter(is_chosen).collect();
    let spreads = data::spreads(&session).await?;
    let changes = changes::between_versions(&session, &archives).await?;
    Ok(page::page(snapshot.store.name(), &archives, &names, &spreads, &changes))
}
