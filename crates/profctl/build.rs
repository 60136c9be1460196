//! What `--version` says besides the number: the commit and the features.

#![expect(clippy::disallowed_methods, reason = "a build script asks its environment")]

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    };
    // Builds for development need not be made again for every commit.
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let watched = if is_release { "logs/HEAD" } else { "HEAD" };
    if let Some(path) = git(&["rev-parse", "--git-path", watched]) {
        println!("cargo::rerun-if-changed={path}");
    }
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
    let has_sql = std::env::var_os("CARGO_FEATURE_TABLES").is_some();
    let has_view = std::env::var_os("CARGO_FEATURE_VIEW").is_some();
    let features = match (has_sql, has_view) {
        (true, true) => "sql, parquet, view",
        (true, false) => "sql, parquet (no view)",
        (false, true) => "view (no sql, no parquet)",
        (false, false) => "none (no sql, no parquet, no view)",
    };
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    println!(
        "cargo::rustc-env=PROFCTL_LONG_VERSION={version} (commit {commit}; features: {features})"
    );
}
