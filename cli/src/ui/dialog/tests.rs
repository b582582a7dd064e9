//! Every key at every place of the walk, and what can never happen on any way through it.

use std::collections::BTreeSet;

use proptest::prelude::*;

use placet_ledger::approval::Miss;

use super::*;
use crate::ui::card::screen::Cut;

/// What is cut of a card that fits.
const NOTHING: Cut = Cut { lines: 0, bytes: 0 };

/// What is cut of one that does not.
const SOME: Cut = Cut {
    lines: 4,
    bytes: 26,
};

fn asked(run: char, call: &str, asks: Asks) -> Asked {
    let run = "b3e41f07-8c2d-4e6a-9f51-0a7d3c58e912".replacen('b', &run.to_string(), 1);
    Asked {
        run: run.parse().unwrap(),
        call: call.parse().unwrap(),
        request: Some(Digest::from_bytes([1; 32])),
        asks,
    }
}

const APPROVAL: Asks = Asks::Approval {
    always: Always::Tool,
    miss: None,
};

/// A walk over approvals of one run.
fn approvals(calls: &[&str]) -> Walk {
    let asked = calls.iter().map(|call| asked('b', call, APPROVAL));
    Walk::new(asked.collect(), &Kept::default()).unwrap()
}

/// A key by its name in these tables.
fn key(name: &str) -> Key {
    match name {
        "enter" => Key::Enter,
        "esc" => Key::Escape,
        "back" => Key::Backspace,
        "^c" => Key::Interrupt,
        "^u" => Key::Clear,
        "paste" => Key::Paste("A\na".to_owned()),
        "other" => Key::Other,
        "space" => Key::Char(NEXT),
        one => Key::Char(one.chars().next().unwrap()),
    }
}

/// Presses keys as a person does: each card is on the screen before the next key, whole.
fn press(walk: &mut Walk, keys: &str) -> Move {
    press_on(walk, NOTHING, keys)
}

/// The same where this is cut of each card; `v` shows it whole, and `resize` is no key.
fn press_on(walk: &mut Walk, cut: Cut, keys: &str) -> Move {
    let mut last = Move::Show;
    for name in keys.split_whitespace() {
        walk.on_screen(cut);
        if name == "resize" {
            walk.forget();
            continue;
        }
        last = walk.press(&key(name));
        if let Move::Page(card) = last {
            walk.shown_whole(card);
        }
    }
    last
}

/// Where a walk is, in a word or two.
fn place(walk: &Walk) -> String {
    match walk.at() {
        At::Card(card) => format!("card {card}"),
        At::Writing { card, what, line } => format!("{what:?} {card} {:?}", line.text()),
        At::Help(card) => format!("help {card}"),
        At::Summary => "summary".to_owned(),
    }
}

/// What was decided, card by card.
fn verdicts(walk: &Walk) -> String {
    let word = |verdict: &Option<Verdict>| match verdict {
        None => "-".to_owned(),
        Some(Verdict::Deny(None)) => "deny".to_owned(),
        Some(Verdict::Deny(Some(note))) => format!("deny {note}"),
        Some(Verdict::Approve) => "yes".to_owned(),
        Some(Verdict::Always) => "always".to_owned(),
        Some(Verdict::Reply(text)) => format!("reply {text}"),
        Some(Verdict::Settle { done, note }) => format!("done={done} {note}"),
        Some(Verdict::Leave) => "leave".to_owned(),
    };
    let all: Vec<String> = walk.verdicts.iter().map(word).collect();
    all.join(", ")
}

/// What a key came to: what is to be done, where the walk is, what was decided.
fn came_to(walk: &mut Walk, name: &str) -> String {
    walk.on_screen(NOTHING);
    let moved = walk.press(&key(name));
    format!("{moved:?}, {}, {}", place(walk), verdicts(walk))
}

#[test]
fn every_key_on_a_card_does_one_thing() {
    // On the second of three cards, after the first one was approved.
    for (name, comes_to) in [
        ("a", "Show, card 2, yes, yes, -"),
        ("t", "Show, card 2, yes, always, -"),
        ("d", "Show, Deny 1 \"\", yes, -, -"),
        ("D", "Show, DenyAll 1 \"\", yes, -, -"),
        ("A", "Show, card 1, yes, -, -"),
        ("v", "Page(1), card 1, yes, -, -"),
        ("e", "Edit(1), card 1, yes, -, -"),
        ("b", "Show, card 0, yes, -, -"),
        ("?", "Show, help 1, yes, -, -"),
        ("p", "Park, card 1, yes, -, -"),
        ("s", "Stop, card 1, yes, -, -"),
        ("^c", "Stop, card 1, yes, -, -"),
        ("enter", "Show, card 1, yes, -, -"),
        ("esc", "Show, card 1, yes, -, -"),
        ("back", "Show, card 1, yes, -, -"),
        ("^u", "Show, card 1, yes, -, -"),
        ("paste", "Show, card 1, yes, -, -"),
        ("other", "Show, card 1, yes, -, -"),
        ("y", "Show, card 1, yes, -, -"),
        ("n", "Show, card 1, yes, -, -"),
        ("r", "Show, card 1, yes, -, -"),
        ("q", "Show, card 1, yes, -, -"),
    ] {
        let mut walk = approvals(&["c1", "c2", "c3"]);
        press(&mut walk, "a");
        assert_eq!(came_to(&mut walk, name), comes_to, "{name}");
    }
}

#[test]
fn every_key_in_a_note_writes_or_leaves_it() {
    for (name, comes_to) in [
        ("a", "Show, Deny 0 \"noa\", -, -"),
        ("A", "Show, Deny 0 \"noA\", -, -"),
        ("p", "Show, Deny 0 \"nop\", -, -"),
        ("back", "Show, Deny 0 \"n\", -, -"),
        ("^u", "Show, Deny 0 \"\", -, -"),
        ("paste", "Show, Deny 0 \"noA a\", -, -"),
        ("other", "Show, Deny 0 \"no\", -, -"),
        ("esc", "Show, card 0, -, -"),
        ("^c", "Show, card 0, -, -"),
        ("enter", "Show, card 1, deny no, -"),
    ] {
        let mut walk = approvals(&["c1", "c2"]);
        press(&mut walk, "d n o");
        assert_eq!(came_to(&mut walk, name), comes_to, "{name}");
    }
    let mut wordless = approvals(&["c1"]);
    press(&mut wordless, "d enter");
    assert_eq!(verdicts(&wordless), "deny");
}

#[test]
fn every_key_on_the_summary_sends_or_goes_back() {
    for (name, comes_to) in [
        ("enter", "Send, summary, yes, yes"),
        ("b", "Show, card 1, yes, yes"),
        ("p", "Park, summary, yes, yes"),
        ("s", "Stop, summary, yes, yes"),
        ("^c", "Stop, summary, yes, yes"),
        ("esc", "Show, summary, yes, yes"),
        ("back", "Show, summary, yes, yes"),
        ("a", "Show, summary, yes, yes"),
        ("D", "Show, summary, yes, yes"),
        ("v", "Show, summary, yes, yes"),
        ("paste", "Show, summary, yes, yes"),
        ("other", "Show, summary, yes, yes"),
    ] {
        let mut walk = approvals(&["c1", "c2"]);
        press(&mut walk, "a a");
        assert_eq!(came_to(&mut walk, name), comes_to, "{name}");
    }
}

#[test]
fn any_key_leaves_the_help_and_does_nothing_else() {
    for name in ["a", "A", "d", "D", "t", "p", "?", "enter", "esc", "paste"] {
        let mut walk = approvals(&["c1", "c2"]);
        press(&mut walk, "?");
        assert_eq!(came_to(&mut walk, name), "Show, card 0, -, -", "{name}");
    }
    let mut walk = approvals(&["c1"]);
    press(&mut walk, "?");
    assert_eq!(press(&mut walk, "^c"), Move::Stop);
}

#[test]
fn a_key_that_does_nothing_says_which_ones_do() {
    let mut walk = approvals(&["c1", "c2"]);
    for (name, said) in [
        ("q", "q does nothing here; keys: a d D t e v Space p s ?"),
        (
            "enter",
            "Enter does nothing here; keys: a d D t e v Space p s ?",
        ),
        (
            "\u{202e}",
            "\\u{202e} does nothing here; keys: a d D t e v Space p s ?",
        ),
        (
            "other",
            "that does nothing here; keys: a d D t e v Space p s ?",
        ),
        ("A", "A comes after every card was on the screen"),
        ("paste", "pasted text is not taken for keys"),
    ] {
        press(&mut walk, name);
        assert_eq!(walk.say(), Some(said), "{name}");
    }
    press(&mut walk, "a");
    assert_eq!(walk.say(), None);
    press(&mut walk, "q");
    let said = "q does nothing here; keys: a d A D t e v b p s ?";
    assert_eq!(walk.say(), Some(said));
}

#[test]
fn a_card_can_be_passed_without_a_verdict_and_all_approved_at_the_last_one() {
    let mut walk = approvals(&["c1", "c2", "c3"]);
    press(&mut walk, "space");
    assert_eq!(
        (place(&walk), verdicts(&walk)),
        ("card 1".into(), "-, -, -".into())
    );
    press(&mut walk, "d enter");
    assert_eq!(place(&walk), "card 2");
    press(&mut walk, "space");
    assert_eq!(place(&walk), "card 2", "there is no next one");
    press(&mut walk, "A");
    assert_eq!(verdicts(&walk), "yes, deny, yes");
}

#[test]
fn all_are_approved_only_after_every_card_was_on_the_screen() {
    let mut walk = approvals(&["c1", "c2", "c3"]);
    press(&mut walk, "A d n o enter");
    assert_eq!(
        (place(&walk), verdicts(&walk)),
        ("card 1".into(), "deny no, -, -".into())
    );
    // A card that is not on the screen has no key but those that leave it.
    for name in ["a", "A", "t", "d", "D", "e", "v"] {
        walk.press(&key(name));
        assert_eq!(place(&walk), "card 1", "{name}");
    }
    press(&mut walk, "a");
    walk.press(&key("A"));
    assert_eq!(verdicts(&walk), "deny no, yes, -");
    press(&mut walk, "A");
    assert_eq!(
        (place(&walk), verdicts(&walk)),
        ("summary".into(), "deny no, yes, yes".into())
    );
}

#[test]
fn all_are_denied_at_any_time_with_one_note() {
    let mut walk = approvals(&["c1", "c2", "c3"]);
    press(&mut walk, "a D n o enter");
    assert_eq!(verdicts(&walk), "deny no, deny no, deny no");
    assert_eq!(press(&mut walk, "enter"), Move::Send);
}

#[test]
fn a_card_can_be_decided_anew() {
    let mut walk = approvals(&["c1", "c2"]);
    press(&mut walk, "a b d enter a");
    assert_eq!(
        (place(&walk), verdicts(&walk)),
        ("summary".into(), "deny, yes".into())
    );
}

#[test]
fn a_tool_is_cleared_only_where_that_is_offered() {
    let offered = Asks::Approval {
        always: Always::Nothing("this rule asks always"),
        miss: None,
    };
    let mut walk = Walk::new(vec![asked('b', "c1", offered)], &Kept::default()).unwrap();
    press(&mut walk, "t");
    assert_eq!(
        (place(&walk), verdicts(&walk)),
        ("card 0".into(), "-".into())
    );
    let mut walk = approvals(&["c1"]);
    press(&mut walk, "t");
    assert_eq!(verdicts(&walk), "always");
}

#[test]
fn what_an_approval_does_not_count_for_can_only_be_denied() {
    let closed = Asks::Approval {
        always: Always::Tool,
        miss: Some(Miss::Starter),
    };
    let walk = |asks: [Asks; 3]| {
        let cards = asks.into_iter().zip(["c1", "c2", "c3"]);
        let asked = cards.map(|(asks, call)| asked('b', call, asks));
        Walk::new(asked.collect(), &Kept::default()).unwrap()
    };
    for (keys, comes_to) in [
        ("space a", "-, -, -"),
        ("space t", "-, -, -"),
        ("space d enter", "-, deny, -"),
        ("a d n o enter a", "yes, deny no, yes"),
        // What is left is what all do not stand for.
        ("space space A", "yes, -, yes"),
        ("space space A d enter", "yes, deny, yes"),
        ("D enter", "deny, deny, deny"),
    ] {
        let mut walk = walk([APPROVAL, closed, APPROVAL]);
        press(&mut walk, keys);
        assert_eq!(verdicts(&walk), comes_to, "{keys}");
    }
    let mut walk = walk([closed, closed, closed]);
    press(&mut walk, "space space A");
    let said = "A does nothing here, since its author started the run; d denies";
    assert_eq!(walk.say(), Some(said));
    for key in ['a', 'A', 't'] {
        assert!(!walk.keys().contains(&key), "{key}");
    }
    assert_eq!(verdicts(&walk), "-, -, -");
}

#[test]
fn questions_and_calls_in_doubt_have_keys_of_their_own() {
    let asked = || {
        vec![
            asked('b', "c1", Asks::Question),
            asked('b', "c2", Asks::InDoubt),
        ]
    };
    for (keys, comes_to) in [
        ("r n o enter n s o enter", "reply no, done=false so"),
        ("n y s o enter", "leave, done=true so"),
        ("n l", "leave, leave"),
        // Both need words.
        ("r enter", "-, -"),
        ("n y enter", "leave, -"),
        // Neither is an approval.
        ("a d D t y A", "-, -"),
        ("n a d D t r e A", "leave, -"),
    ] {
        let mut walk = Walk::new(asked(), &Kept::default()).unwrap();
        press(&mut walk, keys);
        assert_eq!(verdicts(&walk), comes_to, "{keys}");
    }
}

#[test]
fn a_run_is_left_as_a_whole_and_taken_up_as_a_whole() {
    let two_runs = || {
        let asked = vec![
            asked('b', "c1", APPROVAL),
            asked('c', "c1", APPROVAL),
            asked('b', "c2", APPROVAL),
        ];
        Walk::new(asked, &Kept::default()).unwrap()
    };
    let mut walk = two_runs();
    assert_eq!(press(&mut walk, "a p"), Move::Show);
    assert_eq!(
        (place(&walk), verdicts(&walk)),
        ("card 2".into(), "yes, leave, -".into())
    );
    let mut walk = two_runs();
    press(&mut walk, "p");
    assert_eq!(
        (place(&walk), verdicts(&walk)),
        ("card 1".into(), "leave, -, leave".into())
    );
    // All that is left is denied; what was left waiting is not.
    press(&mut walk, "D enter");
    assert_eq!(verdicts(&walk), "leave, deny, leave");
    // One verdict on the run that was left, and its other card needs one too.
    press(&mut walk, "b a");
    assert_eq!(
        (place(&walk), verdicts(&walk)),
        ("card 0".into(), "-, deny, yes".into())
    );
    let mut walk = two_runs();
    assert_eq!(press(&mut walk, "p p"), Move::Park);
}

#[test]
fn there_is_no_walk_without_cards() {
    assert_eq!(Walk::new(Vec::new(), &Kept::default()), None);
}

#[test]
fn a_line_ends_somewhere_and_holds_nothing_that_moves_a_cursor() {
    let mut walk = approvals(&["c1"]);
    press(&mut walk, "d");
    walk.press(&Key::Paste(
        "x\u{1b}[2J\r\n\ty".to_owned() + &"z".repeat(5000),
    ));
    let At::Writing { line, .. } = walk.at() else {
        panic!("the note is left");
    };
    assert!(line.text().starts_with("x[2J   yzz"));
    assert_eq!(line.text().chars().count(), 2000);
}

#[test]
fn what_was_decided_about_a_card_stays_until_the_card_is_another() {
    let mut walk = approvals(&["c1", "c2", "c3"]);
    press(&mut walk, "a d n o enter");
    walk.on_screen(NOTHING);
    let kept = walk.keep();
    // The second call has other arguments now: another call in its place.
    let mut asked = walk.asked().to_vec();
    asked[1].call = "c4".parse().unwrap();
    let mut again = Walk::new(asked.clone(), &kept).unwrap();
    assert_eq!(
        (place(&again), verdicts(&again)),
        ("card 1".into(), "yes, -, -".into())
    );
    assert_eq!(again.seen, [Seen::Whole, Seen::Never, Seen::Whole]);
    press(&mut again, "a");
    assert_eq!(again.seen, [Seen::Whole; 3]);
    // The same call, asked for anew, is another card too.
    asked[0].request = Some(Digest::from_bytes([9; 32]));
    let anew = Walk::new(asked, &kept).unwrap();
    assert_eq!(
        (place(&anew), verdicts(&anew)),
        ("card 0".into(), "-, -, -".into())
    );
}

#[test]
fn a_run_whose_cards_were_all_left_is_not_asked_about_again() {
    let mut walk = Walk::new(
        vec![asked('b', "c1", Asks::Question), asked('b', "c2", APPROVAL)],
        &Kept::default(),
    )
    .unwrap();
    press(&mut walk, "n a");
    let kept = walk.keep();
    assert!(kept.left_all(&walk.asked()[..1]));
    assert!(!kept.left_all(walk.asked()));
    assert!(!kept.left_all(&[asked('b', "c3", Asks::Question)]));
}

#[test]
fn the_first_key_that_approves_a_cut_card_only_warns() {
    // On the second of three cards that are cut, after the first one was denied.
    for (name, comes_to, warned) in [
        ("a", "Show, card 1, deny, -, -", Some('a')),
        ("t", "Show, card 1, deny, -, -", Some('t')),
        ("d", "Show, Deny 1 \"\", deny, -, -", None),
        ("D", "Show, DenyAll 1 \"\", deny, -, -", None),
        // The third card was not on the screen.
        ("A", "Show, card 1, deny, -, -", None),
        ("v", "Page(1), card 1, deny, -, -", None),
        ("e", "Edit(1), card 1, deny, -, -", None),
        ("b", "Show, card 0, deny, -, -", None),
        ("?", "Show, help 1, deny, -, -", None),
        ("p", "Park, card 1, deny, -, -", None),
        ("s", "Stop, card 1, deny, -, -", None),
        ("^c", "Stop, card 1, deny, -, -", None),
        ("enter", "Show, card 1, deny, -, -", None),
        ("esc", "Show, card 1, deny, -, -", None),
        ("back", "Show, card 1, deny, -, -", None),
        ("^u", "Show, card 1, deny, -, -", None),
        ("paste", "Show, card 1, deny, -, -", None),
        ("other", "Show, card 1, deny, -, -", None),
        ("y", "Show, card 1, deny, -, -", None),
        ("n", "Show, card 1, deny, -, -", None),
        ("r", "Show, card 1, deny, -, -", None),
        ("q", "Show, card 1, deny, -, -", None),
    ] {
        let mut walk = approvals(&["c1", "c2", "c3"]);
        press_on(&mut walk, SOME, "d enter");
        walk.on_screen(SOME);
        let moved = walk.press(&key(name));
        let came_to = format!("{moved:?}, {}, {}", place(&walk), verdicts(&walk));
        assert_eq!(came_to, comes_to, "{name}");
        assert_eq!(walk.warned(), warned, "{name}");
        assert!(walk.warned().is_none() || walk.say().is_none());
    }
}

#[test]
fn the_same_key_again_at_once_approves_and_nothing_else_does() {
    for (keys, comes_to) in [
        ("a a", "yes, -"),
        ("t t", "always, -"),
        // Another key in between, or instead.
        ("a t", "-, -"),
        ("t a", "-, -"),
        ("a t a", "-, -"),
        ("a t t", "always, -"),
        ("a q a", "-, -"),
        ("a enter a", "-, -"),
        ("a esc a", "-, -"),
        ("a back a", "-, -"),
        ("a ^u a", "-, -"),
        ("a paste a", "-, -"),
        ("a other a", "-, -"),
        ("a A a", "-, -"),
        ("a e a", "-, -"),
        ("a ? esc a", "-, -"),
        ("a d esc a", "-, -"),
        ("a resize a", "-, -"),
        ("t resize t", "-, -"),
        // It was shown whole in between, or before.
        ("a v a", "yes, -"),
        ("v a", "yes, -"),
        ("v t", "always, -"),
        // Each card by itself.
        ("a a a", "yes, -"),
        ("a a b a", "yes, -"),
        ("a a a b a", "yes, -"),
        ("a a a a", "yes, yes"),
        // Denying is not warned about.
        ("d enter", "deny, -"),
        ("D enter", "deny, deny"),
    ] {
        let mut walk = approvals(&["c1", "c2"]);
        press_on(&mut walk, SOME, keys);
        assert_eq!(verdicts(&walk), comes_to, "{keys}");
    }
}

#[test]
fn a_card_that_was_whole_at_some_size_is_not_cut_later() {
    let mut walk = approvals(&["c1"]);
    walk.on_screen(SOME);
    walk.on_screen(NOTHING);
    walk.on_screen(SOME);
    press_on(&mut walk, SOME, "a");
    assert_eq!(verdicts(&walk), "yes");
    // Also where it fits above a note, and in a later walk.
    let mut walk = approvals(&["c1", "c2"]);
    press_on(&mut walk, SOME, "d");
    press(&mut walk, "esc");
    press_on(&mut walk, SOME, "q");
    let mut again = Walk::new(walk.asked().to_vec(), &walk.keep()).unwrap();
    press_on(&mut again, SOME, "a a");
    assert_eq!(verdicts(&again), "yes, -");
    assert_eq!(again.warned(), Some('a'));
}

#[test]
fn a_warning_names_what_is_cut_of_the_cards_that_the_key_approves() {
    let warning = |key, cards, lines, bytes| {
        let cut = Cut { lines, bytes };
        Some(Warning { key, cards, cut })
    };
    // With the warning on the screen more is cut of the card at hand.
    let now = Cut {
        lines: 5,
        bytes: 30,
    };
    for (keys, comes_to) in [
        ("a a a a a", warning('a', 1, 5, 30)),
        ("a a a a t", warning('t', 1, 5, 30)),
        ("a a a a q", None),
        ("a a a a a d", None),
        // Only those that have no answer yet.
        ("a a a a A", warning('A', 1, 5, 30)),
        ("a a d enter A", warning('A', 1, 5, 30)),
    ] {
        let mut walk = approvals(&["c1", "c2", "c3"]);
        press_on(&mut walk, SOME, keys);
        assert_eq!(walk.warning(now), comes_to, "{keys}");
    }
    // Cards that were seen in an earlier walk, without an answer.
    let mut walk = approvals(&["c1", "c2", "c3"]);
    for card in 0..3 {
        walk.at = At::Card(card);
        walk.on_screen(SOME);
    }
    let kept = walk.keep();
    let again = || Walk::new(walk.asked().to_vec(), &kept).unwrap();
    let mut all = again();
    press_on(&mut all, SOME, "A");
    assert_eq!(all.warning(now), warning('A', 3, 13, 82));
    assert_eq!(all.warning(NOTHING), warning('A', 3, 8, 52));
    press_on(&mut all, SOME, "A");
    assert_eq!(
        (place(&all), verdicts(&all)),
        ("summary".into(), "yes, yes, yes".into())
    );
    for (keys, comes_to) in [
        ("v A", warning('A', 2, 8, 52)),
        ("A q", None),
        ("A a", warning('a', 1, 5, 30)),
        ("A resize", None),
        ("d enter A", warning('A', 2, 9, 56)),
    ] {
        let mut walk = again();
        press_on(&mut walk, SOME, keys);
        assert_eq!(walk.warning(now), comes_to, "{keys}");
        assert!(!verdicts(&walk).contains("yes"), "{keys}");
    }
}

#[test]
fn questions_and_doubts_that_are_cut_are_answered_without_a_warning() {
    let asked = vec![
        asked('b', "c1", Asks::Question),
        asked('b', "c2", Asks::InDoubt),
    ];
    let mut walk = Walk::new(asked, &Kept::default()).unwrap();
    press_on(&mut walk, SOME, "r n o enter y s o enter");
    assert_eq!(verdicts(&walk), "reply no, done=true so");
}

fn some_key() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "a", "d", "D", "A", "t", "e", "v", "b", "p", "s", "?", "r", "y", "n", "l", "x", "enter",
        "esc", "back", "^c", "^u", "paste", "other",
    ])
}

/// What happens before a key.
#[derive(Debug, Clone, Copy)]
enum Happens {
    Nothing,
    Resized,
    OnScreen(Cut),
}

fn happens() -> impl Strategy<Value = Happens> {
    prop::sample::select(vec![
        Happens::Nothing,
        Happens::Resized,
        Happens::OnScreen(SOME),
        Happens::OnScreen(SOME),
        Happens::OnScreen(SOME),
        Happens::OnScreen(NOTHING),
    ])
}

proptest! {
    #[test]
    fn whatever_is_pressed_only_what_was_seen_is_approved_and_only_enter_sends(
        keys in prop::collection::vec((some_key(), happens()), 0..60),
    ) {
        let cards = vec![
            asked('b', "c1", APPROVAL),
            asked('c', "c1", APPROVAL),
            asked('b', "c2", APPROVAL),
            asked('b', "c3", Asks::Question),
            asked('c', "c2", Asks::InDoubt),
        ];
        let mut walk = Walk::new(cards, &Kept::default()).unwrap();
        // What was shown whole, and the key that was warned about with no other since.
        let mut whole = BTreeSet::new();
        let mut warned = None;
        for (name, happens) in keys {
            if let Happens::OnScreen(cut) = happens {
                if let (At::Card(card) | At::Writing { card, .. }, true) =
                    (walk.at(), cut.is_nothing())
                {
                    whole.insert(*card);
                }
                walk.on_screen(cut);
            }
            if let Happens::Resized = happens {
                walk.forget();
                warned = None;
            }
            let before = walk.clone();
            let moved = walk.press(&key(name));
            for (card, verdict) in walk.verdicts.iter().enumerate() {
                let runs = matches!(verdict, Some(Verdict::Approve | Verdict::Always));
                if runs && before.verdict(card) != verdict.as_ref() {
                    let twice = warned == Some((name, before.at().clone()));
                    prop_assert!(twice || whole.contains(&card), "{} by {}", card, name);
                }
            }
            let key = walk.warned().map(String::from);
            warned = key.filter(|key| key == name).map(|_| (name, walk.at().clone()));
            if let Move::Page(card) = moved {
                walk.shown_whole(card);
                whole.insert(card);
            }
            if moved == Move::Send {
                prop_assert_eq!(name, "enter");
                prop_assert_eq!(before.at(), &At::Summary);
                prop_assert!(walk.verdicts.iter().all(Option::is_some));
            }
            for run in ['b', 'c'] {
                let run = asked(run, "c1", APPROVAL).run;
                let of_run = walk.asked.iter().zip(&walk.verdicts);
                let left: Vec<bool> = of_run
                    .filter(|(asked, _)| asked.run == run && asked.asks == APPROVAL)
                    .map(|(_, verdict)| *verdict == Some(Verdict::Leave))
                    .collect();
                prop_assert!(left.iter().all(|one| *one == left[0]), "answered in part");
            }
            for (card, verdict) in walk.verdicts.iter().enumerate() {
                let runs = matches!(verdict, Some(Verdict::Approve | Verdict::Always));
                prop_assert!(!runs || walk.is_seen(card));
            }
        }
    }
}
