//! What demands come to together, and which approvals are what they demand.

use std::collections::BTreeSet;

use super::{Approver, Assurance, By, Demands, Miss};
use crate::id::Principal;

fn name(text: &str) -> Principal {
    text.parse().unwrap()
}

fn from(names: &[&str]) -> Demands {
    Demands {
        from: Some(names.iter().map(|text| name(text)).collect()),
        ..Demands::default()
    }
}

fn several(quorum: u32) -> Demands {
    Demands {
        quorum,
        ..Demands::default()
    }
}

fn at_least(assurance: Assurance) -> Demands {
    Demands {
        assurance,
        ..Demands::default()
    }
}

const NOT_STARTER: Demands = Demands {
    quorum: 1,
    assurance: Assurance::SameUser,
    from: None,
    not_amender: false,
    not_starter: true,
};

const NOT_AMENDER: Demands = Demands {
    quorum: 1,
    assurance: Assurance::SameUser,
    from: None,
    not_amender: true,
    not_starter: false,
};

#[test]
fn assurance_has_one_word_and_one_order() {
    let words = ["same-user", "token", "passkey", "signed", "signed-touch"];
    assert_eq!(Assurance::ALL.map(Assurance::as_str), words);
    assert!(Assurance::ALL.is_sorted());
    for known in Assurance::ALL {
        assert_eq!(known.as_str().parse(), Ok(known));
        assert_eq!(serde_json::to_value(known).unwrap(), known.as_str());
    }
    for wrong in ["", "Signed", "signed ", "person"] {
        assert!(wrong.parse::<Assurance>().is_err(), "{wrong:?}");
    }
}

#[test]
fn no_record_claims_an_assurance_that_nothing_proves() {
    for assurance in Assurance::ALL {
        let word = assurance.as_str();
        let text = format!(
            r#"{{"assurance":"{word}","channel":"cli","kind":"person","principal":"uid:1000"}}"#
        );
        let read = serde_json::from_str::<By>(&text);
        assert_eq!(
            read.is_ok(),
            assurance == Assurance::SameUser,
            "{word}: {read:?}"
        );
    }
}

/// An approval by `uid:1000` in a run that `uid:1` started, of a call that `uid:2` amended; each
/// row changes what it says.
#[test]
#[expect(clippy::too_many_lines, reason = "one table, a row a case")]
fn an_approval_counts_where_it_is_all_that_is_demanded() {
    let (starter, amender) = (name("uid:1"), name("uid:2"));
    let alice = "alice@example.org";
    let all = |who: &str| Demands {
        assurance: Assurance::Signed,
        not_amender: true,
        not_starter: true,
        ..from(&[who])
    };
    let same = Assurance::SameUser;
    for (demands, who, assurance, expected) in [
        (Demands::default(), "uid:1000", same, None),
        (Demands::default(), "uid:1", same, None),
        (Demands::default(), "uid:2", same, None),
        (
            several(2),
            "uid:1000",
            Assurance::SignedTouch,
            Some(Miss::Several),
        ),
        (several(0), "uid:1000", same, Some(Miss::Several)),
        (
            at_least(Assurance::Token),
            "uid:1000",
            same,
            Some(Miss::Assurance),
        ),
        (
            at_least(Assurance::Passkey),
            alice,
            Assurance::Token,
            Some(Miss::Assurance),
        ),
        (at_least(Assurance::Signed), alice, Assurance::Signed, None),
        (
            at_least(Assurance::Signed),
            alice,
            Assurance::SignedTouch,
            None,
        ),
        (
            at_least(Assurance::SignedTouch),
            alice,
            Assurance::Signed,
            Some(Miss::Assurance),
        ),
        (from(&["uid:1000"]), "uid:1000", same, None),
        (from(&["uid:7", "uid:1000"]), "uid:1000", same, None),
        (from(&["uid:10000"]), "uid:1000", same, Some(Miss::From)),
        (from(&[alice]), "uid:1000", same, Some(Miss::From)),
        (from(&[]), "uid:1000", same, Some(Miss::Nobody)),
        (NOT_STARTER, "uid:1000", same, None),
        (NOT_STARTER, "uid:2", same, None),
        (
            NOT_STARTER,
            "uid:1",
            Assurance::SignedTouch,
            Some(Miss::Starter),
        ),
        (NOT_AMENDER, "uid:1000", same, None),
        (NOT_AMENDER, "uid:1", same, None),
        (
            NOT_AMENDER,
            "uid:2",
            Assurance::SignedTouch,
            Some(Miss::Amender),
        ),
        (all(alice), alice, Assurance::Signed, None),
        (all(alice), alice, same, Some(Miss::Assurance)),
        (
            all("uid:1"),
            "uid:1",
            Assurance::Signed,
            Some(Miss::Starter),
        ),
        (
            all("uid:2"),
            "uid:2",
            Assurance::Signed,
            Some(Miss::Amender),
        ),
    ] {
        let who = name(who);
        let found = demands.met_by(Approver {
            principal: &who,
            assurance,
            starter: Some(&starter),
            amender: Some(&amender),
        });
        let miss = found.err().map(|unmet| unmet.miss);
        assert_eq!(miss, expected, "{demands:?} by {who}, {assurance:?}");
    }
    // Where nobody started or amended it, nobody is ruled out.
    let who = name("uid:1");
    for demands in [NOT_STARTER, NOT_AMENDER] {
        let found = demands.met_by(Approver {
            principal: &who,
            assurance: same,
            starter: None,
            amender: None,
        });
        assert_eq!(found, Ok(()));
    }
}

#[test]
fn two_demands_become_one_that_satisfies_both() {
    let both = Demands {
        not_amender: true,
        ..NOT_STARTER
    };
    let strict = Demands {
        quorum: 3,
        assurance: Assurance::Signed,
        ..from(&["a", "b"])
    };
    for (one, other, expected) in [
        (Demands::default(), Demands::default(), Demands::default()),
        (several(2), several(3), several(3)),
        (
            at_least(Assurance::Token),
            at_least(Assurance::Signed),
            at_least(Assurance::Signed),
        ),
        (from(&["a", "b"]), Demands::default(), from(&["a", "b"])),
        (from(&["a", "b"]), from(&["b", "c"]), from(&["b"])),
        (from(&["a"]), from(&["b"]), from(&[])),
        (from(&[]), from(&["b"]), from(&[])),
        (from(&[]), Demands::default(), from(&[])),
        (NOT_STARTER, NOT_AMENDER, both),
        (
            several(3),
            at_least(Assurance::Signed).and(&from(&["a", "b"])),
            strict,
        ),
    ] {
        assert_eq!(one.clone().and(&other), expected, "{one:?} {other:?}");
        assert_eq!(other.clone().and(&one), expected, "{other:?} {one:?}");
        assert_eq!(expected.clone().and(&one), expected);
    }
}

#[test]
fn demands_are_said_in_words() {
    let example = Demands {
        quorum: 2,
        assurance: Assurance::Signed,
        ..from(&["alice@example.org", "bob@example.org"])
    };
    let reach = "alice@example.org";
    for (demands, words, out_of_reach) in [
        (Demands::default(), "1 approval", false),
        (
            example,
            "2 approvals, from alice@example.org or bob@example.org, signed",
            true,
        ),
        (several(2), "2 approvals", true),
        (from(&["uid:7"]), "1 approval, from uid:7", false),
        (
            from(&["uid:7", reach]),
            "1 approval, from alice@example.org or uid:7",
            false,
        ),
        (from(&[reach]), "1 approval, from alice@example.org", true),
        (
            from(&[]),
            "1 approval, from nobody: its rules name different people",
            true,
        ),
        (
            at_least(Assurance::Token),
            "1 approval, with a token at least",
            true,
        ),
        (
            at_least(Assurance::Passkey),
            "1 approval, with a passkey at least",
            true,
        ),
        (
            at_least(Assurance::SignedTouch),
            "1 approval, signed with a touch",
            true,
        ),
        (
            NOT_STARTER.and(&NOT_AMENDER),
            "1 approval, not by who started the run, not by who amended the call",
            false,
        ),
    ] {
        assert_eq!(demands.to_string(), words);
        assert_eq!(demands.is_out_of_reach(), out_of_reach, "{words}");
    }
}

#[test]
fn what_is_demanded_beside_a_number_is_told_apart() {
    assert!(several(2).is_number());
    for (demands, expected) in [
        (several(2), serde_json::json!({})),
        (from(&["a"]), serde_json::json!({"from": ["a"]})),
        (from(&[]), serde_json::json!({"from": []})),
        (
            at_least(Assurance::Token),
            serde_json::json!({"assurance": "token"}),
        ),
        (NOT_STARTER, serde_json::json!({"not_starter": true})),
        (NOT_AMENDER, serde_json::json!({"not_amender": true})),
    ] {
        assert_eq!(serde_json::to_value(&demands).unwrap(), expected);
        let nothing = BTreeSet::<&str>::new();
        let fields = expected.as_object().unwrap().keys().map(String::as_str);
        let is_number = fields.collect::<BTreeSet<_>>() == nothing;
        assert_eq!(demands.is_number(), is_number, "{demands:?}");
    }
}
