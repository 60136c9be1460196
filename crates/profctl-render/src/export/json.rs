//! JSON, as far as exports need it.

/// `text` as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text can always be written as JSON")
}
