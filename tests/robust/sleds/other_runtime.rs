//! A program that is linked with LLVM's runtime.

use std::fs;
use std::process::Command;

use super::Recorded;
use crate::harness::building::products;
use crate::harness::Run;

/// Turns its own sleds on and off.
const SOURCE: &str = r#"
#include <stdio.h>
int __xray_patch(void);
int __xray_unpatch(void);
__attribute__((noinline, xray_always_instrument)) int twice(int a) { return 2 * a; }
int main(void) {
    int sum = 0;
    for (int i = 0; i < 1000; i++) {
        __xray_patch();
        sum += twice(i);
        __xray_unpatch();
    }
    printf("%d\n", sum);
}
"#;

/// Two runtimes would write the same bytes, each as if nobody executed them.
#[test]
#[ignore = "requires clang: run .ci/xray"]
fn sleds_that_llvms_runtime_patches_stay_its_own() {
    products();
    let directory = tempfile::tempdir().unwrap();
    let [source, program] = ["own.c", "own"].map(|name| directory.path().join(name));
    fs::write(&source, SOURCE).unwrap();
    let mut clang = Command::new("clang-19");
    clang.args(["-O2", "-fxray-instrument"]).arg(&source).arg("-o").arg(&program);
    assert_eq!(Run::of(&mut clang).code(), 0);
    let recorded = Recorded::of(&program, &[], &[]);
    assert_eq!(recorded.output, "999000\n");
    let reasons = recorded.reasons("cannot patch sleds");
    assert_eq!(reasons, ["it has LLVM's runtime: link it with -fno-xray-link-deps"]);
    assert!(recorded.calls().is_empty());
    let missing = "not recorded: 1 programs and libraries whose sleds cannot be patched";
    assert!(recorded.messages.contains(missing), "{}", recorded.messages);
}
