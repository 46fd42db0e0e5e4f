//! Running the queries of a session on a cluster.

use std::fmt;
use std::sync::Arc;

use anyhow::Context;
use async_trait::async_trait;
use ballista_core::execution_plans::execute_physical_plan;
use ballista_core::extension::{SessionConfigExt, SessionStateExt};
use datafusion::catalog::Session;
use datafusion::common::plan_err;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream,
};
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use datafusion::prelude::SessionContext;
use datafusion_proto::physical_plan::AsExecutionPlan;
use datafusion_proto::protobuf::PhysicalPlanNode;
use futures::TryStreamExt;

use super::address::check_ready;
use super::codec::Codec;
use super::MESSAGE_BYTES;
use crate::message::say;
use crate::session::QuerySession;

/// The parts that the rows of a table are divided into, and so the tasks that read them.
const PARTITIONS: usize = 16;

/// Returns a session whose queries run on the cluster of a scheduler.
///
/// # Errors
///
/// No scheduler answers, or it has no executor.
pub(crate) async fn attach(session: QuerySession, scheduler: &str) -> anyhow::Result<QuerySession> {
    check_ready(scheduler).await?;
    let url = format!("http://{scheduler}");
    let context = session.context();
    let codec = Arc::new(Codec::new(context.runtime_env().memory_pool.clone()));
    let planner = Planner { url: url.clone(), scheduler: scheduler.to_owned(), codec };
    let mut state = context.state();
    let config = state.config().clone().upgrade_for_ballista();
    *state.config_mut() = config
        .with_target_partitions(PARTITIONS)
        // It exists, and has the tables and views.
        .with_create_default_catalog_and_schema(false)
        .with_ballista_grpc_client_max_message_size(MESSAGE_BYTES as usize)
        .with_ballista_query_planner(Arc::new(planner));
    let state = state.upgrade_for_ballista(url).context("cannot use the cluster")?;
    Ok(session.with_context(SessionContext::new_with_state(state)))
}

/// Plans queries as without a cluster, and sends the plans to it.
#[derive(Debug)]
struct Planner {
    url: String,
    scheduler: String,
    codec: Arc<Codec>,
}

#[async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        query: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match query {
            LogicalPlan::Copy(_) => {
                return plan_err!("COPY is not run with --cluster: use -o FILE")
            }
            LogicalPlan::Analyze(_) => {
                return plan_err!("EXPLAIN ANALYZE is not run with --cluster")
            }
            _ => {}
        }
        let plan = DefaultPhysicalPlanner::default().create_physical_plan(query, session).await?;
        if matches!(query, LogicalPlan::Explain(_)) || !reads_files(&plan)? {
            return Ok(plan);
        }
        if PhysicalPlanNode::try_from_physical_plan(plan.clone(), &*self.codec).is_err() {
            say(&format!("the cluster {} cannot run the query: it runs here", self.scheduler));
            return Ok(plan);
        }
        let (url, codec) = (self.url.clone(), self.codec.clone());
        Ok(Arc::new(ClusterQuery::new(plan, url, codec, session.session_id().to_owned())))
    }
}

/// Returns whether a plan reads files. Others have nothing to divide.
fn reads_files(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let mut found = false;
    plan.apply(|node| {
        let source = node.downcast_ref::<DataSourceExec>();
        found |=
            source.is_some_and(|it| it.data_source().downcast_ref::<FileScanConfig>().is_some());
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// The plan of a query that runs on a cluster.
struct ClusterQuery {
    plan: Arc<dyn ExecutionPlan>,
    url: String,
    codec: Arc<Codec>,
    session_id: String,
    properties: Arc<PlanProperties>,
}

impl ClusterQuery {
    fn new(
        plan: Arc<dyn ExecutionPlan>,
        url: String,
        codec: Arc<Codec>,
        session_id: String,
    ) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(plan.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self { plan, url, codec, session_id, properties: Arc::new(properties) }
    }
}

impl fmt::Debug for ClusterQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterQuery").field("url", &self.url).finish_non_exhaustive()
    }
}

impl DisplayAs for ClusterQuery {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClusterQuery: scheduler={}", self.url)
    }
}

impl ExecutionPlan for ClusterQuery {
    fn name(&self) -> &str {
        "ClusterQuery"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(
        &self,
        _partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let (plan, url, codec) = (self.plan.clone(), self.url.clone(), self.codec.clone());
        let session_id = self.session_id.clone();
        let rows = async move {
            let config = context.session_config().clone();
            let ballista = config.ballista_config();
            execute_physical_plan::<PhysicalPlanNode>(
                url, &ballista, plan, &*codec, session_id, config,
            )
            .await
        };
        let rows = futures::stream::once(rows).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.plan.schema(), rows)))
    }
}
