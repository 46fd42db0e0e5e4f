//! `trace lake executor`

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{anyhow, bail, Context, Result};
use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_executor::executor_process::{start_executor_process, ExecutorProcessConfig};
use datafusion::execution::memory_pool::GreedyMemoryPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::SessionStateBuilder;

use super::address::host_and_port;
use super::codec::Codec;
use super::engine::Engine;
use super::stores::NamedStores;
use super::{fence, logging, MESSAGE_BYTES};
use crate::exit::OK;
use crate::functions::plain;
use crate::lake::cli::ExecutorArgs;
use crate::message::tell;
use crate::store::names;

/// The time in seconds that a scheduler has to start.
const CONNECT_SECONDS: u16 = 60;

/// Rows of queries that no scheduler has ended are deleted after this time in seconds.
const ROWS_SECONDS: u64 = 24 * 3600;

/// How often they are looked for, in seconds.
const CLEAN_SECONDS: u64 = 600;

/// Runs an executor until the process gets SIGINT or SIGTERM.
///
/// # Errors
///
/// The scheduler does not answer, or the address or the folder cannot be used.
pub(crate) async fn run(args: &ExecutorArgs) -> Result<u8> {
    logging::start(args.verbose);
    let folder = Folder::create(args.work_dir.as_deref())?;
    let config = config(args, &folder.0)?;
    let made = folder.1.then(|| folder.0.clone());
    fence::start(config.health.clone(), made).context("cannot start a thread")?;
    tell(&format!("trace-query: the executor serves {} on {}", args.scheduler, args.bind));
    let ended = start_executor_process(Arc::new(config)).await;
    ended.map_err(|error| anyhow!("the executor failed: {error}"))?;
    Ok(OK)
}

fn config(args: &ExecutorArgs, folder: &Path) -> Result<ExecutorProcessConfig> {
    let (scheduler_host, scheduler_port) = host_and_port(&args.scheduler)?;
    let (bind_host, port) = host_and_port(&args.bind)?;
    let Some(work_dir) = folder.to_str().map(str::to_owned) else {
        bail!("{}: the name of the folder is not UTF-8", folder.display());
    };
    let memory = args.memory.saturating_mul(1 << 20);
    let stores = Arc::new(NamedStores::default());
    let spill = work_dir.clone();
    let mut config = ExecutorProcessConfig {
        bind_host: bind_host.to_owned(),
        external_host: args.host.clone(),
        port,
        scheduler_host: scheduler_host.to_owned(),
        scheduler_port,
        scheduler_connect_timeout_seconds: CONNECT_SECONDS,
        task_scheduling_policy: TaskSchedulingPolicy::PullStaged,
        work_dir: Some(work_dir),
        job_data_ttl_seconds: ROWS_SECONDS,
        job_data_clean_up_interval_seconds: CLEAN_SECONDS,
        grpc_max_decoding_message_size: MESSAGE_BYTES,
        grpc_max_encoding_message_size: MESSAGE_BYTES,
        memory_pool_size: Some(memory as u64),
        override_execution_engine: Some(Arc::new(Engine::new(stores.clone()))),
        override_function_registry: Some(Arc::new(functions())),
        override_runtime_producer: Some(Arc::new(move |_| {
            let runtime = RuntimeEnvBuilder::new().with_temp_file_path(&spill);
            runtime.with_object_store_registry(stores.clone()).build_arc()
        })),
        override_physical_codec: Some(Arc::new(Codec::new(Arc::new(GreedyMemoryPool::new(
            memory,
        ))))),
        ..ExecutorProcessConfig::default()
    };
    if let Some(tasks) = args.tasks {
        config.vcores = usize::from(tasks);
    }
    Ok(config)
}

/// Returns the functions that plans have by name.
fn functions() -> BallistaFunctionRegistry {
    let state = SessionStateBuilder::new().with_default_features().build();
    let mut functions = BallistaFunctionRegistry::from(&state);
    let own = plain().map(|function| (function.name().to_owned(), Arc::new(function)));
    functions.scalar_functions.extend(own);
    functions
}

/// The folder with the rows of tasks and what exceeds the memory. One that was made is removed.
struct Folder(PathBuf, bool);

impl Folder {
    fn create(given: Option<&Path>) -> Result<Self> {
        let own = || env::temp_dir().join(format!("trace-executor-{}", names::random()));
        let path = given.map_or_else(own, Path::to_owned);
        fs::create_dir_all(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self(path, given.is_none()))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.1 {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}
