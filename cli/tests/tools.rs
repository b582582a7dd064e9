//! `tools list` and `tools show`.

use crate::support::World;

#[test]
fn lists_tools_without_a_ledger() {
    let world = World::new();
    insta::assert_snapshot!(world.show(&["tools", "list"]), @r"
    TOOL             TIER       KIND      DESCRIPTION
    ask_user         read-only  question  Ask the person a question and wait for the r (+92 bytes)
    cp               high-risk  pair      Copy a file of the workspace; with `recursiv (+158 bytes)
    edit_file        high-risk  pair      Replace a text in a file of the workspace. ` (+88 bytes)
    execute_command  unknown    pair      Run a command in the workspace, without inpu (+308 bytes)
    find             read-only  plain     Find files and folders beneath a folder of t (+274 bytes)
    grep             read-only  plain     Search the files beneath a folder of the wor (+317 bytes)
    ls               read-only  plain     List a folder of the workspace: one entry a  (+97 bytes)
    memory           low-risk   plain     Keep short texts for later runs of this agen (+229 bytes)
    mkdir            high-risk  pair      Make a folder in the workspace; with `parent (+41 bytes)
    mv               high-risk  pair      Move or rename a file of the workspace; with (+168 bytes)
    read_file        read-only  plain     Read a UTF-8 text file of the workspace. `of (+72 bytes)
    retrieve_result  read-only  plain     Read the result of an earlier call of this r (+56 bytes)
    rm               high-risk  pair      Remove a file of the workspace; with `recurs (+36 bytes)
    scratchpad       read-only  plain     Keep notes for yourself during this run: the (+177 bytes)
    stat             read-only  plain     Tell what a file, folder or symbolic link of (+170 bytes)
    todo             read-only  plain     Write down your list of what is to be done;  (+91 bytes)
    write_file       high-risk  pair      Write a text file of the workspace: creates  (+34 bytes)
    -- stderr --
    -- exit 0 --
    ");
    let tools = world.call(&["--json", "tools", "list"]).stdout;
    let tools: serde_json::Value = serde_json::from_str(&tools).unwrap();
    let names = tools["tools"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|tool| tool["tool"].as_str().unwrap()).collect();
    assert_eq!(names, placet_engine::tool::NAMES);
    assert!(!world.path("data").exists());
    let left: Vec<_> = std::fs::read_dir(world.dir.path()).unwrap().collect();
    assert_eq!(left.len(), 2, "a scratch folder was left behind");
}

#[test]
fn shows_a_tool() {
    let world = World::new();
    insta::assert_snapshot!(world.show(&["tools", "show", "rm"]), @r#"
    rm
      tier         high-risk
      kind         pair: proposes, and is executed once it is allowed
      time limit   180 s
      definition   <digest>
      description
        | Remove a file of the workspace; with `recursive`, a folder and
        >  everything in it.
      schema of its arguments
        | {
        |   "additionalProperties": false,
        |   "properties": {
        |     "path": {
        |       "minLength": 1,
        |       "type": "string"
        |     },
        |     "recursive": {
        |       "default": false,
        |       "type": "boolean"
        |     }
        |   },
        |   "required": [
        |     "path"
        |   ],
        |   "type": "object"
        | }
    -- stderr --
    -- exit 0 --
    "#);
    insta::assert_snapshot!(world.json(&["tools", "show", "rm"]), @r#"
    {
      "definition": "<digest>",
      "description": "Remove a file of the workspace; with `recursive`, a folder and everything in it.",
      "kind": "pair",
      "schema": {
        "additionalProperties": false,
        "properties": {
          "path": {
            "minLength": 1,
            "type": "string"
          },
          "recursive": {
            "default": false,
            "type": "boolean"
          }
        },
        "required": [
          "path"
        ],
        "type": "object"
      },
      "tier": "high-risk",
      "timeout_ms": 180000,
      "tool": "rm"
    }
    -- stderr --
    -- exit 0 --
    "#);
    insta::assert_snapshot!(world.show(&["tools", "show", "write_fiel"]), @r#"
    -- stderr --
    error: there is no tool "write_fiel"
      hint: did you mean write_file?
      hint: placet tools list names every tool
    -- exit 4 --
    "#);
    insta::assert_snapshot!(world.show(&["tools", "show", "\u{1b}[2J"]), @r#"
    -- stderr --
    error: there is no tool "\u{1b}[2J"
      hint: placet tools list names every tool
    -- exit 4 --
    "#);
}

#[test]
fn the_page_about_tools_names_all_and_no_other() {
    let page = include_str!("../../docs/TOOLS.md");
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let rows = rows.filter(|line| {
        ["read-only", "-risk", "judged"]
            .iter()
            .any(|t| line.contains(t))
    });
    let first = rows.filter_map(|line| line.split('|').nth(1));
    let mut named: Vec<_> = first
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    named.sort_unstable();
    assert_eq!(named, placet_engine::tool::NAMES);
}
