//! `trace lake scheduler`

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{anyhow, Context, Result};
use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::extension::SessionConfigExt;
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service_with_listener};
use datafusion::execution::memory_pool::UnboundedMemoryPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::SessionConfig;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use tokio::net::TcpListener;

use super::address::host_and_port;
use super::codec::Codec;
use super::stores::EmptyStores;
use super::{logging, MESSAGE_BYTES};
use crate::exit::OK;
use crate::functions::plain;
use crate::lake::cli::SchedulerArgs;
use crate::message::tell;

/// How often dead executors are looked for, in seconds.
const CHECK_SECONDS: u64 = 1;

/// Executors that are busy ask for tasks each 5 s, and end after a silence of 10 s.
const LEAST_TIMEOUT: Duration = Duration::from_secs(15);

/// Runs a scheduler until the process is ended.
///
/// # Errors
///
/// The address is not free.
pub(crate) async fn run(args: &SchedulerArgs) -> Result<u8> {
    logging::start(args.verbose);
    let (host, _) = host_and_port(&args.bind)?;
    let listener = TcpListener::bind(&args.bind).await;
    let listener = listener.with_context(|| format!("cannot listen on {}", args.bind))?;
    let address = listener.local_addr().context("the socket has no address")?;
    let failed = |error| anyhow!("the scheduler failed: {error}");
    let config = Arc::new(config(args, host, address));
    let cluster = BallistaCluster::new_from_config(&config).await.map_err(failed)?;
    let scheduler = create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, config);
    let scheduler = scheduler.await.map_err(failed)?;
    tell(&format!("trace-query: the scheduler listens on {address}"));
    start_grpc_service_with_listener(listener, scheduler).await.map_err(failed)?;
    Ok(OK)
}

fn config(args: &SchedulerArgs, host: &str, address: SocketAddr) -> SchedulerConfig {
    let timeout = args.executor_timeout.max(LEAST_TIMEOUT).as_secs();
    SchedulerConfig {
        external_host: host.to_owned(),
        bind_host: host.to_owned(),
        bind_port: address.port(),
        scheduling_policy: TaskSchedulingPolicy::PullStaged,
        executor_timeout_seconds: timeout,
        no_executors_grace_period_seconds: timeout,
        expire_dead_executor_interval_seconds: CHECK_SECONDS,
        grpc_server_max_decoding_message_size: MESSAGE_BYTES,
        grpc_server_max_encoding_message_size: MESSAGE_BYTES,
        grpc_client_max_message_size: MESSAGE_BYTES,
        override_config_producer: Some(Arc::new(SessionConfig::new_with_ballista)),
        override_session_builder: Some(Arc::new(state)),
        override_physical_codec: Some(Arc::new(Codec::new(Arc::new(
            UnboundedMemoryPool::default(),
        )))),
        ..SchedulerConfig::default()
    }
}

/// Returns what decodes the plans of a session.
fn state(config: SessionConfig) -> Result<SessionState, datafusion::error::DataFusionError> {
    let runtime = RuntimeEnvBuilder::new().with_object_store_registry(Arc::new(EmptyStores));
    let builder = SessionStateBuilder::new()
        .with_default_features()
        .with_config(config)
        .with_runtime_env(runtime.build_arc()?);
    let mut state = builder.build();
    for function in plain() {
        datafusion::execution::FunctionRegistry::register_udf(&mut state, Arc::new(function))?;
    }
    Ok(state)
}
