//! Running the tasks of stages, without metrics. Errors name the file that cannot be read.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use ballista_core::error::BallistaError;
use ballista_core::serde::protobuf::{
    RuntimeStatsReport, ShuffleWritePartition, TaskColumnStats, WindowStateReport,
};
use ballista_core::JobId;
use ballista_executor::execution_engine::{
    DefaultExecutionEngine, ExecutionEngine, QueryStageExecutor,
};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::datasource::physical_plan::{FileScanConfig, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;

use super::stores::NamedStores;
use crate::store::check;
use crate::store::reader::Readers;

/// Runs tasks as Ballista does, and reports no metrics of their operators. A scheduler (55.0)
/// ignores the end of a task whose plan has another number of operators than that of another task
/// of its stage, and then waits for it without an end. Tasks of a `UNION` have such plans.
pub(super) struct Engine {
    engine: DefaultExecutionEngine,
    stores: Arc<NamedStores>,
}

impl Engine {
    pub(super) fn new(stores: Arc<NamedStores>) -> Self {
        Self { engine: DefaultExecutionEngine::default(), stores }
    }
}

impl ExecutionEngine for Engine {
    fn create_query_stage_exec(
        &self,
        job: JobId,
        stage: usize,
        task: usize,
        partitions: Vec<usize>,
        plan: Arc<dyn ExecutionPlan>,
        work_dir: &str,
        config: &SessionConfig,
    ) -> Result<Arc<dyn QueryStageExecutor>> {
        let (plan, readers) = with_readers(plan, &self.stores)?;
        let made = self
            .engine
            .create_query_stage_exec(job, stage, task, partitions, plan, work_dir, config)?;
        Ok(Arc::new(Task { made, readers }))
    }
}

/// Returns a plan that reads files by readers of ours, whose errors name the file. A plan that was
/// sent has none.
fn with_readers(
    plan: Arc<dyn ExecutionPlan>,
    stores: &NamedStores,
) -> Result<(Arc<dyn ExecutionPlan>, Vec<Readers>)> {
    let mut made = Vec::new();
    let plan = plan.transform_down(|node| {
        let config = node.downcast_ref::<DataSourceExec>().map(DataSourceExec::data_source);
        let Some(config) = config.and_then(|it| it.downcast_ref::<FileScanConfig>()) else {
            return Ok(Transformed::no(node));
        };
        let Some(source) = config.file_source().downcast_ref::<ParquetSource>() else {
            return Ok(Transformed::no(node));
        };
        let store = stores.store(config.object_store_url.as_ref())?;
        let readers = Readers::new(store, Arc::default());
        made.push(readers.clone());
        let source = source.clone().with_parquet_file_reader_factory(Arc::new(readers));
        let config = FileScanConfigBuilder::from(config.clone()).with_source(Arc::new(source));
        let node: Arc<dyn ExecutionPlan> = DataSourceExec::from_data_source(config.build());
        Ok(Transformed::yes(node))
    })?;
    Ok((plan.data, made))
}

/// Returns whether a task failed because of a file. Ballista wraps the errors of the engine.
fn is_of_file(error: &DataFusionError) -> bool {
    let DataFusionError::External(root) = error.find_root() else {
        return check::is_of_file(error);
    };
    match root.downcast_ref::<BallistaError>() {
        Some(BallistaError::DataFusionError(error)) => is_of_file(error),
        _ => false,
    }
}

#[derive(Debug)]
struct Task {
    made: Arc<dyn QueryStageExecutor>,
    readers: Vec<Readers>,
}

impl Task {
    /// Returns an error with the name of the file that it is about, if that is found.
    async fn named(&self, error: DataFusionError) -> DataFusionError {
        if !is_of_file(&error) {
            return error;
        }
        let text = error.to_string();
        for readers in &self.readers {
            if let Some(damaged) = check::damaged(readers, &text).await {
                let text = format!("cannot decode {damaged}: {text}");
                return DataFusionError::Execution(text);
            }
        }
        error
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.made.fmt(f)
    }
}

#[async_trait]
impl QueryStageExecutor for Task {
    async fn execute_query_stage(
        &self,
        task: usize,
        context: Arc<TaskContext>,
    ) -> Result<Vec<ShuffleWritePartition>> {
        match self.made.execute_query_stage(task, context).await {
            Ok(written) => Ok(written),
            Err(error) => Err(self.named(error).await),
        }
    }

    fn collect_plan_metrics(&self) -> Vec<MetricsSet> {
        Vec::new()
    }

    fn collect_runtime_stats_reports(&self) -> Vec<RuntimeStatsReport> {
        self.made.collect_runtime_stats_reports()
    }

    fn collect_window_state_reports(&self) -> Result<Vec<WindowStateReport>> {
        self.made.collect_window_state_reports()
    }

    fn collect_column_stats(&self) -> Vec<TaskColumnStats> {
        self.made.collect_column_stats()
    }
}

#[cfg(test)]
mod tests {
    use ballista_core::execution_plans::ShuffleWriterExec;
    use datafusion_proto::physical_plan::AsExecutionPlan;
    use datafusion_proto::protobuf::PhysicalPlanNode;

    use super::super::codec::Codec;
    use super::*;
    use crate::lake::tests::{add_to, run};
    use crate::session::{self, DEFAULT_MEMORY};
    use crate::store::snapshot::Snapshot;
    use crate::store::Store;
    use crate::subject::Subject;
    use crate::testing::{archive, complete};

    /// Returns the plan of a query of a store, as an executor gets it, and its context.
    async fn sent(store: &str, sql: &str) -> (Arc<dyn ExecutionPlan>, Arc<TaskContext>) {
        let snapshot = Snapshot::newest(Store::open(store).unwrap()).await.unwrap();
        let subject = Subject::Store(Arc::new(snapshot));
        let session = session::session(&subject, DEFAULT_MEMORY).await.unwrap();
        let statement = session.statements(sql).unwrap().remove(0);
        let plan = session.frame(statement).await.unwrap().create_physical_plan().await.unwrap();
        let context = session.context().task_ctx();
        let codec = Codec::new(context.memory_pool().clone());
        let node = PhysicalPlanNode::try_from_physical_plan(plan, &codec).unwrap();
        (node.try_into_physical_plan(&context, &codec).unwrap(), context)
    }

    /// Runs a task that reads a store, and returns the message of its error.
    async fn message(store: &str) -> String {
        let (plan, context) = sent(store, "SELECT max(id) FROM spans").await;
        let work = tempfile::tempdir().unwrap();
        let work_dir = work.path().to_str().unwrap();
        let job = JobId::from("job".to_owned());
        let writer = ShuffleWriterExec::try_new(job.clone(), 1, plan, work_dir.to_owned()).unwrap();
        let engine = Engine::new(Arc::default());
        let config = SessionConfig::new();
        let task = engine
            .create_query_stage_exec(job, 1, 0, vec![0], Arc::new(writer), work_dir, &config)
            .unwrap();
        match task.execute_query_stage(0, context).await {
            Ok(_) => "no error".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_error_of_a_task_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.fxt");
        std::fs::write(&path, archive(&[complete("a", 1, 2)])).unwrap();
        let name = folder.path().join("store");
        let name = name.to_str().unwrap();
        run(async {
            let store = Store::create(name).unwrap();
            add_to(&store, &path).await;
            assert_eq!(message(name).await, "no error");
            let snapshot = Snapshot::newest(store).await.unwrap();
            let file = snapshot.state.files.values().find(|it| it.table == "spans").unwrap();
            let file = std::path::Path::new(name).join(&file.path);
            let whole = std::fs::read(&file).unwrap();
            let mut wrong = whole.clone();
            // The first page of `id`, after the magic number of 4 bytes.
            wrong[4..64].fill(0xff);
            let (cut, foreign) = (&whole[..whole.len() / 2], vec![b'x'; whole.len()]);
            for (what, bytes) in [("decode", &*wrong), ("read", cut), ("read", &*foreign)] {
                std::fs::write(&file, bytes).unwrap();
                let text = message(name).await;
                let expected = format!("cannot {what} {}: ", file.display());
                assert!(text.contains(&expected), "{text}, and not {expected}");
            }
        });
    }
}
