use trace_macros::trace_fn;

#[trace_fn(skip(password))]
fn login(user: &str, password: &str) {
    let _ = (user, password);
}

#[trace_fn(args(user), skip(password))]
fn enter(user: &str, password: &str) {
    let _ = (user, password);
}

fn main() {
    login("", "");
    enter("", "");
}
