//! Rules before the gate: no way to write a command that one is about gets past it.

use std::collections::BTreeSet;

use placet_ledger::approval::By;
use placet_ledger::containment::Level;
use placet_ledger::id::Name;
use placet_ledger::judge::{CommandInput, GateInput, RulesInput, Verdict};
use placet_ledger::policy::{ApprovalPolicy, Attendance, ContainmentRule};
use placet_ledger::risk::DeclaredRisk;

use super::gate;
use super::rules::SHIPPED;
use crate::shell::wide::tests::RULES;
use crate::shell::wide::tests::respelled::respellings;

/// What the gate says of a command whose tool is on the list of the run.
fn verdict(command: &str, policy: ApprovalPolicy, rules: &str, narrowing: Option<&str>) -> Verdict {
    let tool: Name = "execute_command".parse().unwrap();
    let allowlist = match policy {
        ApprovalPolicy::HighRisk => BTreeSet::from([tool.clone()]),
        ApprovalPolicy::False | ApprovalPolicy::ReadOnly | ApprovalPolicy::LowRisk => {
            BTreeSet::new()
        }
    };
    gate(&GateInput {
        tool: &tool,
        paired: true,
        question: false,
        reach: Some(Vec::new()),
        declared: DeclaredRisk::Unknown,
        policy,
        allowlist: &allowlist,
        offered: true,
        attendance: Attendance::Park,
        repeats: None,
        command: Some(CommandInput {
            text: Some(command.to_owned()),
            class: None,
            program: None,
            network: BTreeSet::new(),
        }),
        level: Level::IN_PROCESS,
        weaker: false,
        containment: ContainmentRule::Prefer,
        assessed: None,
        judgeable: true,
        plugin: false,
        rules: RulesInput {
            recorded: Ok(rules.as_bytes()),
            current: Ok(rules.as_bytes()),
            narrowing: narrowing.map(|text| Ok(text.as_bytes())),
        },
        grants: Vec::new(),
    })
}

#[test]
fn no_respelling_of_a_denied_command_is_approved() {
    let mut past = Vec::new();
    for rule in RULES {
        for effect in ["deny", "ask"] {
            let text = format!(r#"[{{"command":"{rule}","effect":"{effect}"}}]"#);
            let allowed = "[]";
            for command in respellings(rule) {
                let of_user = verdict(&command, ApprovalPolicy::HighRisk, &text, None);
                let of_workspace =
                    verdict(&command, ApprovalPolicy::HighRisk, allowed, Some(&text));
                for said in [of_user, of_workspace] {
                    if !matches!(said, Verdict::Decline { .. } | Verdict::Ask { .. }) {
                        past.push(format!("{effect} {rule}: {command}: {said:?}"));
                    }
                }
            }
        }
    }
    assert!(past.is_empty(), "{}", past.join("\n"));
}

#[test]
fn no_respelling_of_what_shipped_rules_keep_out_is_allowed_by_a_rule() {
    let shipped: Vec<serde_json::Value> = serde_json::from_str(SHIPPED).unwrap();
    for rule in &shipped {
        let rule = rule["command"].as_str().unwrap();
        let (program, _) = rule.split_once(' ').unwrap_or((rule, ""));
        let mut rules = shipped.clone();
        rules.push(serde_json::json!({"command": program, "effect": "allow"}));
        let rules = serde_json::to_string(&rules).unwrap();
        let command = format!("{} y", rule.replace('*', "x"));
        let said = verdict(&command, ApprovalPolicy::False, &rules, None);
        let by_rule = matches!(
            &said,
            Verdict::Approve {
                by: By::Rule { .. },
                ..
            }
        );
        assert!(!by_rule, "{rule}: {command}: {said:?}");
    }
}
