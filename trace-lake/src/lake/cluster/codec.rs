//! Functions of traces in plans.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use ballista_core::serde::BallistaPhysicalExtensionCodec;
use datafusion::common::{internal_err, plan_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::ScalarUDF;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};

use crate::functions::{of_subject, subject_of};
use crate::store::named::{NamedStore, StorePlace};
use crate::subject::Subject;

/// Writes and reads what plans have beside the parts of the engine: the nodes of Ballista, and
/// functions that need a store, with its name and change.
#[derive(Debug)]
pub(super) struct Codec {
    nodes: BallistaPhysicalExtensionCodec,
    /// Counts the values that functions keep.
    pool: Arc<dyn MemoryPool>,
    /// The functions of running tasks: those of one query share what they keep.
    functions: Mutex<HashMap<(StorePlace, String), Weak<ScalarUDF>>>,
}

impl Codec {
    pub(super) fn new(pool: Arc<dyn MemoryPool>) -> Self {
        Self { nodes: BallistaPhysicalExtensionCodec::default(), pool, functions: Mutex::default() }
    }

    fn function(&self, place: StorePlace, name: &str) -> Result<Arc<ScalarUDF>> {
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (place, name.to_owned());
        if let Some(function) = functions.get(&key).and_then(Weak::upgrade) {
            return Ok(function);
        }
        let subject = Subject::Named(Arc::new(NamedStore::new(key.0.clone())));
        let mut made = of_subject(&subject, &self.pool).into_iter();
        let Some(function) = made.find(|function| function.name() == name) else {
            return plan_err!("the function {name} is unknown: another version made the plan");
        };
        let function = Arc::new(function);
        functions.retain(|_, function| function.strong_count() > 0);
        functions.insert(key, Arc::downgrade(&function));
        Ok(function)
    }
}

impl PhysicalExtensionCodec for Codec {
    fn try_decode(
        &self,
        bytes: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.nodes.try_decode(bytes, inputs, context, converter)
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        bytes: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        self.nodes.try_encode(node, bytes, converter)
    }

    fn try_encode_udf(&self, function: &ScalarUDF, bytes: &mut Vec<u8>) -> Result<()> {
        let place = match subject_of(function) {
            None => return Ok(()),
            Some(Subject::Named(store)) => store.place.clone(),
            Some(Subject::Store(snapshot)) => {
                StorePlace { name: snapshot.store.name().to_owned(), change: snapshot.number }
            }
            Some(Subject::Archive(_)) => return internal_err!("an archive is not on a cluster"),
        };
        serde_json::to_writer(bytes, &place).map_err(|it| DataFusionError::External(it.into()))
    }

    fn try_decode_udf(&self, name: &str, bytes: &[u8]) -> Result<Arc<ScalarUDF>> {
        match serde_json::from_slice(bytes) {
            Ok(place) => self.function(place, name),
            Err(_) => plan_err!("the function {name} is unknown: another version made the plan"),
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::execution::memory_pool::UnboundedMemoryPool;

    use super::*;

    #[test]
    fn a_function_keeps_its_store_and_is_shared() {
        let codec = Codec::new(Arc::new(UnboundedMemoryPool::default()));
        let place = StorePlace { name: "s3://bucket/ä".to_owned(), change: 7 };
        let function = codec.function(place.clone(), "extract_arg").unwrap();
        let mut bytes = Vec::new();
        codec.try_encode_udf(&function, &mut bytes).unwrap();
        let read = codec.try_decode_udf("extract_arg", &bytes).unwrap();
        assert!(Arc::ptr_eq(&function, &read));
        let Some(Subject::Named(store)) = subject_of(&read) else { panic!("{read:?}") };
        assert_eq!(store.place, place);
        drop((function, read));
        assert!(codec.functions.lock().unwrap().values().all(|it| it.strong_count() == 0));
        assert!(codec.try_decode_udf("missing", &bytes).is_err());
        assert!(codec.try_decode_udf("extract_arg", b"{}").is_err());
    }
}
