//! What rules demand of approvals: how it is written, and what several demands come to.

use placet_ledger::approval::{Assurance, Demands};

use super::super::{Judgement, Origin, Rules, strictest};
use super::{KUBECTL, ask_for, of_kubectl, on_command, rules, several};

fn demands_of(require: &str) -> Demands {
    let text = format!("[[rules]]\ncommand = 'rm'\nrequire = {{ {require} }}");
    rules(&text).as_slice()[0].demands().clone()
}

fn from(names: &[&str]) -> Demands {
    Demands {
        from: Some(names.iter().map(|name| name.parse().unwrap()).collect()),
        ..Demands::default()
    }
}

fn at_least(assurance: Assurance) -> Demands {
    Demands {
        assurance,
        ..Demands::default()
    }
}

#[test]
fn the_rule_of_the_documentation_loads_wherever_rules_may_ask() {
    for origin in [Origin::User, Origin::Workspace, Origin::Record] {
        let rules = Rules::from_toml(KUBECTL, origin).unwrap();
        assert_eq!(rules.as_slice()[0].demands(), &of_kubectl());
        // What is recorded of it demands the same.
        let read = Rules::parse_json(&rules.to_json().unwrap()).unwrap();
        assert_eq!(read.as_slice()[0].demands(), &of_kubectl());
    }
}

#[test]
fn each_demand_is_read_as_it_is_written() {
    let not_starter = Demands {
        not_starter: true,
        ..Demands::default()
    };
    let not_amender = Demands {
        not_amender: true,
        ..Demands::default()
    };
    for (written, expected) in [
        ("", Demands::default()),
        ("expires = '1h'", Demands::default()),
        ("approvers = 1", Demands::default()),
        ("approvers = 64", several(64)),
        ("from = ['uid:1000']", from(&["uid:1000"])),
        (
            "from = ['uid:1000', 'alice@example.org']",
            from(&["alice@example.org", "uid:1000"]),
        ),
        ("signed = false", Demands::default()),
        ("signed = true", at_least(Assurance::Signed)),
        ("assurance = 'same-user'", Demands::default()),
        ("assurance = 'token'", at_least(Assurance::Token)),
        ("assurance = 'passkey'", at_least(Assurance::Passkey)),
        ("assurance = 'signed'", at_least(Assurance::Signed)),
        (
            "assurance = 'signed-touch'",
            at_least(Assurance::SignedTouch),
        ),
        // The higher of both.
        (
            "signed = true, assurance = 'token'",
            at_least(Assurance::Signed),
        ),
        (
            "signed = true, assurance = 'signed-touch'",
            at_least(Assurance::SignedTouch),
        ),
        (
            "signed = false, assurance = 'token'",
            at_least(Assurance::Token),
        ),
        ("not_starter = true", not_starter),
        ("not_starter = false", Demands::default()),
        ("not_amender = true", not_amender),
        ("not_amender = false", Demands::default()),
    ] {
        assert_eq!(demands_of(written), expected, "{written}");
    }
}

#[test]
fn rules_that_ask_for_one_command_together_demand_what_all_of_them_do() {
    let all = rules(
        "[[rules]]\ncommand = 'kubectl'\n\
            require = { from = ['a@b.org', 'uid:7'], not_starter = true, expires = '1h' }\n\
            [[rules]]\ncommand = 'kubectl delete'\n\
            require = { approvers = 2, from = ['uid:7', 'uid:8'], expires = '2h' }\n\
            [[rules]]\ncommand = 'env'\nrequire = { signed = true, not_amender = true }\n\
            [[rules]]\ncommand = 'ls'\neffect = 'ask'",
    );
    let hour = Some(3_600_000);
    let of_kubectl = Demands {
        not_starter: true,
        ..from(&["a@b.org", "uid:7"])
    };
    let both = Demands {
        quorum: 2,
        not_starter: true,
        ..from(&["uid:7"])
    };
    let three = Demands {
        assurance: Assurance::Signed,
        not_amender: true,
        ..both.clone()
    };
    for (command, expected) in [
        (
            "kubectl get pods",
            ask_for("rule:kubectl", of_kubectl.clone(), hour),
        ),
        (
            "kubectl delete pod x",
            ask_for("rule:kubectl-delete", both, hour),
        ),
        (
            "env kubectl delete pod x",
            ask_for("rule:kubectl-delete", three, hour),
        ),
        // A rule that demands nothing takes nothing away, and gives its name to nothing.
        (
            "ls | kubectl get pods -f -",
            ask_for(
                "rule:kubectl-delete",
                {
                    Demands {
                        quorum: 2,
                        ..of_kubectl.and(&from(&["uid:7"]))
                    }
                },
                hour,
            ),
        ),
    ] {
        assert_eq!(on_command(&all, command), expected, "{command}");
    }
}

#[test]
fn recorded_current_and_workspace_rules_add_their_demands_up() {
    let (one, other) = (from(&["uid:7", "uid:8"]), at_least(Assurance::Signed));
    let both = one.clone().and(&other);
    let unreadable = |demands: &Demands| Judgement::Unreadable {
        rule: "unreadable:b".parse().unwrap(),
        demands: demands.clone(),
        expires_ms: None,
    };
    for (recorded, current, expected) in [
        (
            ask_for("a", one.clone(), None),
            ask_for("b", other.clone(), Some(5)),
            ask_for("b", both.clone(), Some(5)),
        ),
        (
            ask_for("b", other.clone(), None),
            ask_for("a", one.clone(), None),
            ask_for("b", both.clone(), None),
        ),
        // What cannot be read does not ask for less, and gives way to a rule that does not either.
        (
            ask_for("a", one.clone(), None),
            unreadable(&other),
            unreadable(&both),
        ),
        (
            ask_for("a", one.clone(), None),
            unreadable(&one),
            ask_for("a", one.clone(), None),
        ),
        (
            ask_for("a", one.clone(), None),
            Judgement::Silent,
            ask_for("a", one.clone(), None),
        ),
        // Where both name people and nobody is among both, nobody may approve.
        (
            ask_for("a", from(&["uid:7"]), None),
            ask_for("b", from(&["uid:8"]), None),
            ask_for("a", from(&[]), None),
        ),
    ] {
        assert_eq!(strictest(recorded.clone(), current.clone()), expected);
        assert_eq!(recorded.narrowed_by(current), expected);
    }
}
