//! Every form of `#[trace_fn]`: an inventory that takes orders.
//!
//! ```text
//! trace record -o attributes.fxt -- cargo run --example attributes
//! ```
//!
//! Open the archive in <https://ui.perfetto.dev>, or print it with `trace dump attributes.fxt`.

use std::future::Future;
use std::pin::{pin, Pin};
use std::task::{Context, Poll, Waker};

use trace_runtime::{trace_fn, trace_nonce};

fn main() {
    let _trace = trace_runtime::init();
    let mut inventory = Inventory::default();
    inventory.put("nails", 500);
    for (article, number) in [("nails", 300), ("nails", 300), ("screws", 1)] {
        let order = Order { id: trace_nonce!(), article: article.to_string(), number };
        received(&order);
        match shipped(&mut inventory, &order) {
            Ok(left) => println!("{article}: {left} are left"),
            Err(problem) => println!("{article}: {problem}"),
        }
    }
    println!("confirmed: {}", run(confirm("order 1".to_string(), "secret")));
    println!("notified: {}", run(notify("order 2")));
    println!("sum of everything: {}", shapes::sum(&[1, 2, 3]));
}

/// A customer's order.
#[derive(Debug)]
struct Order {
    id: u64,
    article: String,
    number: u32,
}

/// An expression, and the begin of a flow that ends when the order is shipped.
#[trace_fn(category = "orders", args(article = order.article, number = order.number), flow_begin = order.id)]
fn received(order: &Order) {
    let _ = order;
}

/// A result and an error: each outcome has its record. The order has neither a typed form nor
/// `Display`, so its `Debug` text is recorded.
#[trace_fn(category = "orders", args(order), flow_end = order.id, ret, err)]
fn shipped(inventory: &mut Inventory, order: &Order) -> Result<u32, String> {
    let stock = inventory.stock(&order.article).ok_or("we do not have that")?;
    *stock = stock.checked_sub(order.number).ok_or_else(|| format!("there are {stock} only"))?;
    Ok(*stock)
}

/// The articles in stock.
#[derive(Default)]
struct Inventory {
    articles: Vec<(String, u32)>,
}

/// All methods except one, with all their arguments. Their names are `Inventory::put` and so on.
#[trace_fn(args)]
impl Inventory {
    fn put(&mut self, article: &str, number: u32) {
        self.articles.push((article.to_string(), number));
    }

    fn stock(&mut self, article: &str) -> Option<&mut u32> {
        let position = self.position(article)?;
        self.articles.get_mut(position).map(|(_, number)| number)
    }

    #[trace_fn(skip)]
    fn position(&self, article: &str) -> Option<usize> {
        self.articles.iter().position(|(name, _)| name == article)
    }
}

/// An async function is a task. Secrets are excluded from the trace.
#[trace_fn(category = "mail", args, skip(token), ret)]
async fn confirm(order: String, token: &str) -> usize {
    Later::default().await;
    order.len() + token.len()
}

/// A function that returns a future is a task too.
#[trace_fn(category = "mail", name = "notify customer", args(order))]
fn notify(order: &str) -> impl Future<Output = bool> + '_ {
    async move {
        Later::default().await;
        !order.is_empty()
    }
}

/// All functions in a module.
#[trace_fn(category = "shapes")]
mod shapes {
    pub(super) fn sum(sides: &[u32]) -> u32 {
        sides.iter().copied().map(doubled).sum()
    }

    fn doubled(side: u32) -> u32 {
        side * two()
    }

    /// Not traced: it may run in the compiler.
    const fn two() -> u32 {
        2
    }
}

/// Is ready at the second poll.
#[derive(Default)]
struct Later(bool);

impl Future for Later {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

/// An executor for one future that never waits.
fn run<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
}
