//! Names that are not known: what was looked for, what was probably meant, and where all are.

use crate::support::World;

#[test]
fn an_unknown_run_is_named() {
    let world = World::parked();
    // Another first digit, and the seven that follow.
    let first = if world.run().starts_with('0') {
        '1'
    } else {
        '0'
    };
    let near = format!("{first}{}", &world.run()[1..8]);
    insta::assert_snapshot!(world.show(&["runs", "show", "b3e"]), @r#"
    -- stderr --
    error: expected the first 6 or more hex digits of a run's id, found "b3e"
      hint: placet runs list --all names every run
    -- exit 64 --
    "#);
    insta::assert_snapshot!(world.show(&["runs", "show", "../../etc\u{1b}[2J"]), @r#"
    -- stderr --
    error: expected the first 6 or more hex digits of a run's id, found "../../etc\u{1b}[2J"
      hint: placet runs list --all names every run
    -- exit 64 --
    "#);
    let told = |text: String| text.replace(&near, "<near>");
    insta::assert_snapshot!(told(world.show(&["runs", "show", &near])), @r"
    -- stderr --
    error: no run begins with <near>
      hint: did you mean <run1>?
      hint: placet runs list --all names every run
    -- exit 4 --
    ");
    insta::assert_snapshot!(told(world.json(&["runs", "show", &near])), @r#"
    -- stderr --
    {"error":{"code":"not_found","hints":["did you mean <run1>?","placet runs list --all names every run"],"message":"no run begins with <near>"}}
    -- exit 4 --
    "#);
    insta::assert_snapshot!(world.show(&["runs", "cancel", "ffffffffffff", "--note", "no"]), @r"
    -- stderr --
    error: no run begins with ffffffffffff
      hint: placet runs list --all names every run
    -- exit 4 --
    ");
    assert_eq!(
        world.call(&["audit", "log", "--run", "ffffffffffff"]).code,
        4
    );
    assert_eq!(
        world
            .call(&["audit", "export", "--run", "ffffffffffff"])
            .code,
        4
    );
    assert_eq!(world.call(&["audit", "show", "ffffffffffff@0"]).code, 4);
}

#[test]
fn a_malformed_event_is_named() {
    let world = World::parked();
    insta::assert_snapshot!(world.show(&["audit", "show", "12"]), @r"
    -- stderr --
    error: invalid value '12' for '<EVENT>': expected RUN@VERSION such as <stream>@9, or #POSITION such as '#12', as placet audit log prints them
      hint: --help tells more
    -- exit 64 --
    ");
    insta::assert_snapshot!(world.json(&["audit", "show", "#999"]), @r#"
    -- stderr --
    {"error":{"code":"not_found","hints":["the last one is '#13'"],"message":"there is no position 999: the ledger has 14 records"}}
    -- exit 4 --
    "#);
    insta::assert_snapshot!(world.show(&["audit", "show", "#999"]), @r"
    -- stderr --
    error: there is no position 999: the ledger has 14 records
      hint: the last one is '#13'
    -- exit 4 --
    ");
    let event = format!("{}@999", &world.run()[..8]);
    insta::assert_snapshot!(world.show(&["audit", "show", &event]), @r"
    -- stderr --
    error: <run1> has no version 999
      hint: the last one is <run1>@11
    -- exit 4 --
    ");
    assert_eq!(world.call(&["audit", "show", "b3@1"]).code, 64);
}

#[test]
fn unknown_words_are_answered_with_the_known_ones() {
    let world = World::parked();
    insta::assert_snapshot!(world.show(&["runs", "list", "--state", "parkt"]), @r"
    -- stderr --
    error: invalid value 'parkt' for '--state <S>'
      [possible values: running, waiting, parked, in_doubt, finished, quarantined]
      hint: did you mean parked?
      hint: --help tells more
    -- exit 64 --
    ");
    insta::assert_snapshot!(world.show(&["audit", "log", "--verdict", "yes"]), @r"
    -- stderr --
    error: invalid value 'yes' for '--verdict <V>'
      [possible values: granted, denied, revoked, expired, refused, settled]
      hint: --help tells more
    -- exit 64 --
    ");
    insta::assert_snapshot!(world.show(&["audit", "log", "--risk", "high"]), @r"
    -- stderr --
    error: invalid value 'high' for '--risk <R>'
      [possible values: read-only, low-risk, high-risk, unknown]
      hint: did you mean high-risk?
      hint: --help tells more
    -- exit 64 --
    ");
    insta::assert_snapshot!(world.show(&["audit", "log", "--type", "run.startd"]), @"
    -- stderr --
    error: invalid value 'run.startd' for '--type <T>'
      [possible values: run.started, segment.started, segment.ended, prompt.added, model.called, model.replied, model.failed, context.compacted, call.proposed, risk.assessed, call.refused, approval.requested, approval.granted, approval.denied, approval.revoked, approval.expired, question.asked, question.answered, execution.started, execution.refused, execution.succeeded, execution.failed, execution.stale, execution.interrupted, execution.in_doubt, execution.settled, policy.changed, tool.allowed, limits.tightened, tools.narrowed, run.parked, run.cancel_requested, run.finished, ledger.created, rules.adopted, grant.added, grant.revoked, clock.stepped, attempt.refused]
      hint: did you mean run.started?
      hint: --help tells more
    -- exit 64 --
    ");
    insta::assert_snapshot!(world.show(&["audit", "log", "--since", "yesterday"]), @r"
    -- stderr --
    error: invalid value 'yesterday' for '--since <T>': expected a UTC time such as <time>, a day such as 2026-12-01, or how long ago, such as 90s, 10m, 24h or 7d
      hint: --help tells more
    -- exit 64 --
    ");
    insta::assert_snapshot!(world.show(&["audit", "log", "--tool", "a b"]), @r#"
    -- stderr --
    error: invalid value 'a b' for '--tool <T>': expected a name of 1 to 128 of the characters A-Z a-z 0-9 . _ : / @ + - that begins with a letter or digit, found "a b"
      hint: --help tells more
    -- exit 64 --
    "#);
}

#[test]
fn a_tool_that_is_not_there_is_named_before_a_home_is_made() {
    let world = World::new();
    let run = |option: &str| {
        world.show(&[
            "run",
            "--model",
            "script:tidy.toml",
            "--workspace",
            "ws",
            "--park",
            option,
            "write_fiel",
            "Tidy up.",
        ])
    };
    insta::assert_snapshot!(run("--tools"), @r#"
    -- stderr --
    error: there is no tool "write_fiel"
      hint: did you mean write_file?
      hint: placet tools list names every tool
    -- exit 64 --
    "#);
    for option in ["--deny-tools", "--auto-approve-tools"] {
        assert_eq!(run(option), run("--tools"));
    }
    assert_eq!(world.call(&["runs", "list"]).code, 4);
}

#[test]
fn a_tool_that_a_run_does_not_have_is_named() {
    let world = World::parked();
    let run = &world.run()[..8];
    insta::assert_snapshot!(world.show(&["runs", "resume", run, "--deny-tools", "writefile"]), @r#"
    -- stderr --
    error: the run does not have the tool "writefile"
      hint: did you mean write_file?
      hint: tools can be taken away, not added
    -- exit 3 --
    "#);
    insta::assert_snapshot!(world.json(&["runs", "resume", run, "--tools", "zzz"]), @r#"
    -- stderr --
    {"error":{"code":"refused","hints":["tools can be taken away, not added"],"message":"the run does not have the tool \"zzz\""}}
    -- exit 3 --
    "#);
}

#[test]
fn an_agent_that_no_config_has_is_named() {
    let world = World::new();
    let config = "[agents.reader]\n[agents.writer]\n";
    std::fs::write(world.path("config.toml"), config).unwrap();
    let run = |agent| ["--config", "config.toml", "run", "--agent", agent, "go"];
    insta::assert_snapshot!(world.show(&run("reder")), @r#"
    -- stderr --
    error: there is no agent "reder"
      hint: did you mean reader?
      hint: agents of the config: reader, writer
    -- exit 4 --
    "#);
    insta::assert_snapshot!(world.json(&run("reder")), @r#"
    -- stderr --
    {"error":{"code":"not_found","hints":["did you mean reader?","agents of the config: reader, writer"],"message":"there is no agent \"reder\""}}
    -- exit 4 --
    "#);
    insta::assert_snapshot!(world.show(&run("zzz")), @r#"
    -- stderr --
    error: there is no agent "zzz"
      hint: agents of the config: reader, writer
    -- exit 4 --
    "#);
    insta::assert_snapshot!(world.show(&["run", "--agent", "reader", "go"]), @r#"
    -- stderr --
    error: there is no agent "reader"
      hint: agents of the config: none
    -- exit 4 --
    "#);
}

#[test]
fn a_key_that_no_config_has_is_named_with_file_and_line() {
    let world = World::new();
    let list = |config: &str| {
        std::fs::write(world.path("config.toml"), config).unwrap();
        ["--config", "config.toml", "run", "go"]
    };
    insta::assert_snapshot!(world.show(&list("[agents.a]\nmodle = \"script:a\"\n")), @"
    -- stderr --
    error: <dir>/config.toml:2: unknown field `modle`, expected one of `model`, `description`, `system`, `tools`, `denied_tools`, `approval_policy`, `max_cost_usd`, `max_tokens`, `max_duration`, `max_iterations`
      hint: did you mean model?
    -- exit 64 --
    ");
    insta::assert_snapshot!(world.json(&list("\n\n[agent.a]\n")), @r#"
    -- stderr --
    {"error":{"code":"usage","hints":["did you mean agents?"],"message":"<dir>/config.toml:3: unknown field `agent`, expected one of `agents`, `containment`, `rules`, `classifier`, `plugin`, `models`, `prices`"}}
    -- exit 64 --
    "#);
    insta::assert_snapshot!(world.show(&list("[agents.a]\napproval_policy = \"lowrisk\"\n")), @r"
    -- stderr --
    error: <dir>/config.toml:2: unknown policy `lowrisk`, expected one of `false`, `read-only`, `low-risk`, `high-risk`, `true`
      hint: did you mean low-risk?
    -- exit 64 --
    ");
    insta::assert_snapshot!(world.show(&list("[agents.a]\napproval_policy = 3\n")), @r"
    -- stderr --
    error: <dir>/config.toml:2: unknown policy `3`, expected one of `false`, `read-only`, `low-risk`, `high-risk`, `true`
    -- exit 64 --
    ");
    insta::assert_snapshot!(world.show(&list("[agents.a]\nzzz = 1\n")), @"
    -- stderr --
    error: <dir>/config.toml:2: unknown field `zzz`, expected one of `model`, `description`, `system`, `tools`, `denied_tools`, `approval_policy`, `max_cost_usd`, `max_tokens`, `max_duration`, `max_iterations`
    -- exit 64 --
    ");
    insta::assert_snapshot!(world.show(&list("[agents.a]\n\"\u{1b}[2J\" = 1\n")), @r"
    -- stderr --
    error: <dir>/config.toml:2: invalid basic string, expected non-double-quote visible characters, `\`
    -- exit 64 --
    ");
    std::fs::write(world.path("ws/placet.toml"), "denied_tool = [\"rm\"]\n").unwrap();
    let run = [
        "run",
        "--model",
        "script:tidy.toml",
        "--workspace",
        "ws",
        "go",
    ];
    insta::assert_snapshot!(world.show(&run), @"
    -- stderr --
    error: <dir>/ws/placet.toml:1: unknown field `denied_tool`, expected one of `denied_tools`, `containment`, `rules`
      hint: did you mean denied_tools?
      hint: a file in the workspace may hold denied_tools, rules that deny or ask, and containment = 'require': nothing that grants
    -- exit 64 --
    ");
    std::fs::write(
        world.path("ws/placet.toml"),
        "denied_tools = [\"edit_fil\"]\n",
    )
    .unwrap();
    insta::assert_snapshot!(world.show(&run), @r#"
    -- stderr --
    nobody is asked: calls that need an approval are declined (--park waits)
    error: there is no tool "edit_fil"
      hint: did you mean edit_file?
      hint: placet tools list names every tool
    -- exit 64 --
    "#);
    assert!(!world.path("data").exists());
}

#[test]
fn a_policy_that_is_none_is_named() {
    let world = World::new();
    let run = |policy| ["run", "--approval-policy", policy, "go"];
    insta::assert_snapshot!(world.show(&run("lowrisk")), @r"
    -- stderr --
    error: invalid value 'lowrisk' for '--approval-policy <TIER>'
      [possible values: false, read-only, low-risk, high-risk, true]
      hint: did you mean low-risk?
      hint: --help tells more
    -- exit 64 --
    ");
    insta::assert_snapshot!(world.json(&run("lowrisk")), @r#"
    -- stderr --
    {"error":{"code":"usage","hints":["did you mean low-risk?","--help tells more"],"message":"invalid value 'lowrisk' for '--approval-policy <TIER>'\n  [possible values: false, read-only, low-risk, high-risk, true]"}}
    -- exit 64 --
    "#);
    insta::assert_snapshot!(world.show(&run("zzz")), @r"
    -- stderr --
    error: invalid value 'zzz' for '--approval-policy <TIER>'
      [possible values: false, read-only, low-risk, high-risk, true]
      hint: --help tells more
    -- exit 64 --
    ");
}

#[test]
fn a_verb_or_an_option_that_is_none_is_named() {
    let world = World::new();
    insta::assert_snapshot!(world.show(&["runs", "aprove"]), @r"
    -- stderr --
    error: unrecognized subcommand 'aprove'
      hint: did you mean approve?
      hint: usage: placet runs [OPTIONS] <COMMAND>
      hint: --help tells more
    -- exit 64 --
    ");
    insta::assert_snapshot!(world.json(&["runs", "aprove"]), @r#"
    -- stderr --
    {"error":{"code":"usage","hints":["did you mean approve?","usage: placet runs [OPTIONS] <COMMAND>","--help tells more"],"message":"unrecognized subcommand 'aprove'"}}
    -- exit 64 --
    "#);
    insta::assert_snapshot!(world.show(&["inbox", "--jsn"]), @r"
    -- stderr --
    error: unexpected argument '--jsn' found
      hint: did you mean --json?
      hint: usage: placet inbox --json
      hint: --help tells more
    -- exit 64 --
    ");
    insta::assert_snapshot!(world.show(&["inbox", "b3e41f"]), @r"
    -- stderr --
    error: unexpected argument 'b3e41f' found
      hint: usage: placet inbox [OPTIONS]
      hint: --help tells more
    -- exit 64 --
    ");
    insta::assert_snapshot!(world.show(&["runs", "show"]), @r"
    -- stderr --
    error: the following required arguments were not provided:
      <RUN>
      hint: usage: placet runs show <RUN>
      hint: --help tells more
    -- exit 64 --
    ");
}
