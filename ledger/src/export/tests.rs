//! Exports of the worked example, whole and in part, and files that are no exports.

use futures_executor::block_on;

use super::*;
use crate::audit::tests::example::{Fake, RECORDS, RUN, envelopes, memory, run};
use crate::store::ReadStore;

fn lines_of(store: &dyn ReadStore, what: What) -> (Vec<String>, Exported) {
    let mut bytes = Vec::new();
    let exported = block_on(export(store, what, &mut bytes)).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    (text.lines().map(str::to_owned).collect(), exported)
}

fn everything() -> Vec<String> {
    lines_of(&block_on(memory()), What::default()).0
}

#[test]
fn records_come_back_verbatim() {
    let lines = everything();
    assert_eq!(lines.len(), 1 + 25 + 20 + 1);
    let export = read_export(&lines).unwrap();
    for (stored, line) in export.records.iter().zip(RECORDS.lines()) {
        assert_eq!(std::str::from_utf8(&stored.bytes).unwrap(), line);
    }
    assert_eq!((export.records.len(), export.contents.len()), (25, 20));
    for one in &export.contents {
        assert_eq!(one.content.commitment(), one.commitment);
    }
    assert_eq!(
        lines[0],
        "{\"format\":1,\"kind\":\"placet-export\",\
         \"ledger\":\"6f0c9a52-3f0e-4a57-9a0b-2d7b6c1e4f80\",\
         \"root\":\"743db0094d1019bec653ebe92f6a3ec8a02f35cd98d93128ccf3f5677b1dc7e1\",\
         \"size\":25}"
    );
    assert_eq!(lines[46], "{\"complete\":true,\"lines\":46}");
}

#[test]
fn a_run_comes_with_the_whole_authority_stream() {
    let what = What {
        run: Some(run()),
        facts_only: true,
    };
    let (lines, exported) = lines_of(&block_on(memory()), what);
    assert_eq!(lines.len(), 1 + 25 + 1);
    assert!(exported.trailer.complete);
    let export = read_export(&lines).unwrap();
    assert_eq!(export.header.run, Some(run()));
    assert!(export.contents.is_empty());
    let positions: Vec<_> = export.records.iter().map(|r| r.position.get()).collect();
    assert_eq!(positions, (0..25).collect::<Vec<_>>());
}

#[test]
fn an_unfinished_run_is_open_as_of_its_size() {
    let (lines, exported) = lines_of(&Fake::of(&envelopes()[..14]), What::default());
    assert!(!exported.trailer.complete);
    let export = read_export(&lines).unwrap();
    assert_eq!((export.header.size, export.trailer.complete), (14, false));
}

#[test]
fn a_content_that_is_lost_is_counted_and_one_that_is_no_text_is_hex() {
    let mut fake = Fake::example();
    let (&lost, _) = fake.contents.first_key_value().unwrap();
    fake.contents.remove(&lost);
    let (lines, exported) = lines_of(&fake, What::default());
    assert_eq!(exported.unreadable, 1);
    assert_eq!(read_export(&lines).unwrap().contents.len(), 19);
    let (_, content) = fake.contents.iter_mut().next().unwrap();
    content.bytes = [0xff_u8, 0x00, 0x1a].as_slice().into();
    let (lines, _) = lines_of(&fake, What::default());
    assert!(lines.iter().any(|line| line.contains("\"hex\":\"ff001a\"")));
    let export = read_export(&lines).unwrap();
    let odd = |one: &ExportedContent| *one.content.bytes == [0xff, 0x00, 0x1a];
    assert!(export.contents.iter().any(odd));
}

#[test]
fn an_empty_ledger_and_an_unknown_run_are_not_exported() {
    let mut out = Vec::new();
    let error = block_on(export(&Fake::new(Vec::new()), What::default(), &mut out));
    assert!(matches!(error, Err(ExportWriteError::Empty)));
    let what = What {
        run: Some("b3e41f07-8c2d-4e6a-9f51-0a7d3c58e913".parse().unwrap()),
        facts_only: false,
    };
    let error = block_on(export(&Fake::example(), what, &mut out));
    assert!(matches!(error, Err(ExportWriteError::NoRun(_))));
}

#[test]
fn files_that_are_no_exports_are_refused_with_the_line() {
    let lines = everything();
    let wrong = |change: &dyn Fn(&mut Vec<String>)| {
        let mut lines = lines.clone();
        change(&mut lines);
        let error = read_export(&lines).unwrap_err();
        (error.line, error.why.to_string())
    };
    assert_eq!(wrong(&|l| l.clear()).0, 1);
    assert_eq!(wrong(&|l| l[0].push('x')).0, 1);
    assert_eq!(wrong(&|l| l[0] = l[0].replace(":1,", ":2,")).0, 1);
    assert_eq!(wrong(&|l| l.swap(3, 4)).0, 5);
    assert_eq!(wrong(&|l| l.swap(1, 30)).0, 3);
    assert_eq!(wrong(&|l| l[5] = String::from("{}")).0, 6);
    assert_eq!(wrong(&|l| l[5] = l[5].replace("\"record\"", "\"x\"")).0, 6);
    assert_eq!(wrong(&|l| l[25] = l[25].replace(":24,", ":25,")).0, 26);
    assert_eq!(wrong(&|l| l[30] = l[29].clone()).0, 31);
    assert_eq!(
        wrong(&|l| l[30] = l[30].replace("\"salt\":\"", "\"salt\":\"0")).0,
        31
    );
    assert_eq!(
        wrong(&|l| l[30] = l[30].replace("\"text\"", "\"hex\"")).0,
        31
    );
    assert_eq!(wrong(&|l| drop(l.remove(30))).0, 46);
    assert_eq!(wrong(&|l| drop(l.pop())).0, 47);
    assert_eq!(wrong(&|l| l.push(l[46].clone())).0, 48);
    assert!(RUN.starts_with("b3e41f"));
}
