//! Traits whose methods the crate `async-trait` makes asynchronous.

use trace_macros::trace_fn;

use crate::fake::{self, recorded, run, yielded};

#[async_trait::async_trait]
pub(crate) trait Service {
    async fn call(&mut self, request: u32) -> Result<u32, String>;

    #[trace_fn(crate = fake, category = "c")]
    async fn plain(&mut self) {}

    #[trace_fn(crate = fake, category = "c")]
    async fn twice(&mut self, request: u32) -> Result<u32, String> {
        self.call(request).await?;
        self.call(request).await
    }
}

pub(crate) struct First(pub(crate) u32);

/// On the methods: expanded after `async_trait`, which has made boxed futures of them.
#[async_trait::async_trait]
impl Service for First {
    #[trace_fn(crate = fake, category = "c", args(request), err)]
    async fn call(&mut self, request: u32) -> Result<u32, String> {
        yielded().await;
        self.0 = self.0.checked_sub(request).ok_or("too much")?;
        Ok(self.0)
    }
}

struct Second;

/// Outside: expanded before.
#[trace_fn(crate = fake, category = "c", args)]
#[async_trait::async_trait]
impl Service for Second {
    async fn call(&mut self, request: u32) -> Result<u32, String> {
        Ok(request)
    }
}

struct Third;

/// Inside: expanded after.
#[async_trait::async_trait]
#[trace_fn(crate = fake, category = "c", args)]
impl Service for Third {
    async fn call(&mut self, request: u32) -> Result<u32, String> {
        Ok(request)
    }
}

#[test]
fn async_trait_in_every_order() {
    let (result, lines) = recorded(|| run(First(1).call(2)));
    assert_eq!(result, Err("too much".to_string()));
    let expected = [
        "task c call request=2",
        "poll call",
        "pending call",
        "poll call",
        r#"instant c error error="too much""#,
        "ready call",
    ];
    assert_eq!(lines, expected);
    for service in [&mut Second as &mut dyn Service, &mut Third] {
        let (result, lines) = recorded(|| run(service.call(2)));
        assert_eq!(result, Ok(2));
        assert_eq!(lines, ["task c call request=2", "poll call", "ready call"]);
    }
    let (_, lines) = recorded(|| run(Second.twice(2)));
    assert_eq!(lines.iter().filter(|line| line.starts_with("task")).count(), 3, "{lines:?}");
}
