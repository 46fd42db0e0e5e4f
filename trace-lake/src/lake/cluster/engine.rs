//! Running the tasks of stages, without metrics.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use ballista_core::serde::protobuf::{
    RuntimeStatsReport, ShuffleWritePartition, TaskColumnStats, WindowStateReport,
};
use ballista_core::JobId;
use ballista_executor::execution_engine::{
    DefaultExecutionEngine, ExecutionEngine, QueryStageExecutor,
};
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;

/// Runs tasks as Ballista does, and reports no metrics of their operators. A scheduler (55.0)
/// ignores the end of a task whose plan has another number of operators than that of another task
/// of its stage, and then waits for it without an end. Tasks of a `UNION` have such plans.
#[derive(Default)]
pub(super) struct Engine(DefaultExecutionEngine);

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
        let made =
            self.0.create_query_stage_exec(job, stage, task, partitions, plan, work_dir, config)?;
        Ok(Arc::new(Task(made)))
    }
}

#[derive(Debug)]
struct Task(Arc<dyn QueryStageExecutor>);

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[async_trait]
impl QueryStageExecutor for Task {
    async fn execute_query_stage(
        &self,
        task: usize,
        context: Arc<TaskContext>,
    ) -> Result<Vec<ShuffleWritePartition>> {
        self.0.execute_query_stage(task, context).await
    }

    fn collect_plan_metrics(&self) -> Vec<MetricsSet> {
        Vec::new()
    }

    fn collect_runtime_stats_reports(&self) -> Vec<RuntimeStatsReport> {
        self.0.collect_runtime_stats_reports()
    }

    fn collect_window_state_reports(&self) -> Result<Vec<WindowStateReport>> {
        self.0.collect_window_state_reports()
    }

    fn collect_column_stats(&self) -> Vec<TaskColumnStats> {
        self.0.collect_column_stats()
    }
}
