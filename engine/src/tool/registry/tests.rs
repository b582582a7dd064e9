//! Names that are refused, and lists that narrow.

use async_trait::async_trait;
use placet_ledger::permit::Permit;
use placet_ledger::risk::DeclaredRisk;
use serde_json::json;

use super::*;
use crate::stop::Halt;
use crate::tool::{Draft, Interrupted, Output, Reconciled, ToolError};

struct Nothing;

#[async_trait]
impl ProposeTool for Nothing {
    async fn propose(&self, _: &Value) -> Result<Draft, ToolError> {
        Err(ToolError::failed("nothing"))
    }
}

#[async_trait]
impl ExecuteTool for Nothing {
    async fn execute(&self, _: Permit, _: &Halt) -> Result<Output, ToolError> {
        Err(ToolError::failed("nothing"))
    }

    async fn reconcile(&self, _: Interrupted<'_>) -> Result<Reconciled, ToolError> {
        Ok(Reconciled::Unknown)
    }
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.parse().unwrap(),
        description: "Does nothing.".into(),
        schema: json!({"type": "object", "additionalProperties": false}),
        risk: DeclaredRisk::HighRisk,
        timeout_ms: None,
    }
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry
        .pair(spec("write_file"), Arc::new(Nothing), Arc::new(Nothing))
        .unwrap();
    registry
        .plain(spec("read_file"), Arc::new(Nothing))
        .unwrap();
    registry.plain(spec("ls"), Arc::new(Nothing)).unwrap();
    registry
}

fn list(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn only_visible_names_are_found() {
    let registry = registry();
    let Lookup::Tool(tool) = registry.visible("write_file") else {
        panic!("write_file is registered");
    };
    assert_eq!(tool.execute_name().unwrap().as_str(), "write_file_execute");
    assert!(tool.propose().is_some());
    assert!(matches!(
        registry.visible("write_file_execute"),
        Lookup::HiddenHalf
    ));
    for unknown in [
        "read_file_execute",
        "Write_file",
        "write_file ",
        "",
        "x\0",
        "WRITE_FILE_EXECUTE",
    ] {
        assert!(
            matches!(registry.visible(unknown), Lookup::Unknown),
            "{unknown}"
        );
    }
    let names: Vec<_> = registry.names().map(Name::as_str).collect();
    assert_eq!(names, ["ls", "read_file", "write_file"]);
}

#[test]
fn a_plain_tool_has_no_hidden_half() {
    let registry = registry();
    let Lookup::Tool(tool) = registry.visible("ls") else {
        panic!("ls is registered");
    };
    assert!(tool.execute_name().is_none() && tool.propose().is_none());
}

#[test]
fn refuses_names_that_mislead() {
    let mut registry = registry();
    for hidden in ["x_execute", "x_EXECUTE", "write_file_execute"] {
        let error = registry.plain(spec(hidden), Arc::new(Nothing)).unwrap_err();
        assert!(matches!(error, RegistryError::Hidden(_)), "{hidden}");
    }
    let error = registry.plain(spec("ls"), Arc::new(Nothing)).unwrap_err();
    assert!(matches!(error, RegistryError::Duplicate(_)));
    let error = registry.plain(spec("LS"), Arc::new(Nothing)).unwrap_err();
    assert!(matches!(error, RegistryError::Case { .. }));
    let long = "x".repeat(125);
    let error = registry
        .pair(spec(&long), Arc::new(Nothing), Arc::new(Nothing))
        .unwrap_err();
    assert!(matches!(error, RegistryError::Name { .. }));
    assert_eq!(registry.names().count(), 3);
}

#[test]
fn refuses_a_schema_that_does_not_compile() {
    let mut wrong = spec("x");
    wrong.schema = json!({"type": 5});
    let error = Registry::new().plain(wrong, Arc::new(Nothing)).unwrap_err();
    assert!(matches!(error, RegistryError::Schema { .. }));
}

#[test]
fn a_denied_tool_is_withheld_even_if_it_is_listed() {
    let registry = registry();
    let all = Scope::new(&registry, None, &[]).unwrap();
    assert_eq!(all.available().len(), 3);
    assert!(all.withheld().is_empty());
    let some = list(&["write_file", "ls"]);
    let scope = Scope::new(&registry, Some(&some), &list(&["write_file"])).unwrap();
    assert!(scope.contains("ls") && !scope.contains("write_file"));
    let withheld: Vec<_> = scope.withheld().iter().map(Name::as_str).collect();
    assert_eq!(withheld, ["read_file", "write_file"]);
    let none = Scope::new(&registry, Some(&[]), &[]).unwrap();
    assert!(none.available().is_empty());
}

#[test]
fn an_unknown_name_in_a_list_is_an_error_with_the_nearest_known_one() {
    let registry = registry();
    for (tools, denied) in [
        (Some(list(&["raed_file"])), list(&[])),
        (None, list(&["raed_file"])),
    ] {
        let error = Scope::new(&registry, tools.as_deref(), &denied).unwrap_err();
        assert_eq!(error.to_string(), "there is no tool \"raed_file\"");
        let ScopeError::Unknown { nearest, .. } = error;
        assert_eq!(nearest.as_ref().map(Name::as_str), Some("read_file"));
    }
    let hidden = Scope::new(&registry, None, &list(&["write_file_execute"]));
    assert!(hidden.is_err());
    let far = Scope::new(&registry, None, &list(&["zzzzzz"])).unwrap_err();
    assert_eq!(far.to_string(), "there is no tool \"zzzzzz\"");
}

#[test]
fn the_record_of_a_scope_names_definition_and_name() {
    let scope = Scope::new(&registry(), Some(&list(&["ls"])), &[]).unwrap();
    let bytes = placet_ledger::canonical::to_vec(&scope.available()).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert!(
        text.starts_with("[{\"definition\":\"") && text.ends_with("\"name\":\"ls\"}]"),
        "{text}"
    );
}
