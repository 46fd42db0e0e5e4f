use trace_macros::trace_fn;

#[trace_fn(args, skip(pasword))]
fn login(user: &str, password: &str) {
    let _ = (user, password);
}

#[trace_fn(args, skip())]
fn enter(user: &str) {
    let _ = user;
}

#[trace_fn(args, skip = user)]
fn leave(user: &str) {
    let _ = user;
}

#[trace_fn(args, skip("user"))]
fn remove(user: &str) {
    let _ = user;
}

fn main() {
    login("", "");
    enter("");
    leave("");
    remove("");
}
