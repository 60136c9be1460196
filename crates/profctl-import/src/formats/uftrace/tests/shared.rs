//! Recordings that are too large to commit.

use super::report::compare_with;
use super::*;

/// Every function is as uftrace 0.19 reports it, or differs by a rule of docs/formats/uftrace.md.
#[test]
fn large_recordings_are_as_uftrace_reports_them() {
    let Some(shared) = fixtures::shared() else { return };
    let compare = |name: &str| {
        let recording = shared.join("peers").join(format!("uftrace-{name}"));
        let report = shared.join(format!("peers/uftrace-outputs/{name}/report-all.v019.csv"));
        compare_with(name, &fixtures::parts(&recording), &report)
    };
    expect![""].assert_eq(&compare("lua"));
    expect!["linux:schedule: time off CPU"].assert_eq(&compare("sqlite"));
    expect![[r"
        exit: shorter incomplete calls
        linux:schedule: time off CPU
        linux:schedule (pre-empted): time off CPU
        main: shorter incomplete calls
        tuklib_exit: shorter incomplete calls
        worker_start: shorter incomplete calls
        stitch/unclosed-entry 5"]]
    .assert_eq(&compare("xz-mt"));
    expect![[r"
        auxresume: incomplete calls are in sums only
        docall: incomplete calls are in sums only
        f_call: incomplete calls are in sums only
        luaB_auxwrap: incomplete calls are in sums only
        luaB_yield: incomplete calls are in sums only
        luaD_call: incomplete calls are in sums only
        luaD_callnoyield: incomplete calls are in sums only
        luaD_pcall: incomplete calls are in sums only
        luaD_precall: incomplete calls are in sums only
        luaD_rawrunprotected: incomplete calls are in sums only
        luaD_throw: incomplete calls are in sums only
        luaE_resetthread: incomplete calls are in sums only
        luaV_execute: incomplete calls are in sums only
        lua_pcallk: incomplete calls are in sums only
        lua_resume: incomplete calls are in sums only
        lua_yieldk: incomplete calls are in sums only
        main: incomplete calls are in sums only
        pmain: incomplete calls are in sums only
        resume: incomplete calls are in sums only
        stitch/unclosed-entry 28"]]
    .assert_eq(&compare("lua-longjmp-crash"));
}
