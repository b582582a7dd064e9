//! Recordings as files: what is saved loads as it was and replays, and a divergence can be read.

use placet_ledger::content::Commitment;
use placet_ledger::envelope::Envelope;
use placet_replay::history::{self, History};
use placet_replay::recording::{self, RecordingError};

/// The text of an export of a run.
async fn saved(made: &History) -> String {
    let bytes = recording::save(&**made.world.store(), made.run).await;
    String::from_utf8(bytes.unwrap()).unwrap()
}

#[tokio::test]
async fn every_canned_run_is_saved_loaded_and_replayed() {
    for made in history::all().await.unwrap() {
        let loaded = recording::load(&saved(&made).await).unwrap();
        let made_of = made.recording().await.unwrap();
        assert_eq!(loaded.run, made_of.run, "{}", made.name);
        assert_eq!(loaded.authority, made_of.authority);
        assert_eq!(loaded.contents, made_of.contents);
        let judge = made.world.judge().clone();
        let replayed = recording::replay_under(&loaded, judge).await.unwrap();
        assert_eq!(replayed.records, made_of.run.len());
    }
}

#[tokio::test]
async fn a_changed_content_or_a_cut_file_is_no_recording() {
    let made = history::denied().await.unwrap();
    let text = saved(&made).await;
    let changed = text.replace("leave b alone", "leave a alone");
    assert_ne!(changed, text);
    let error = recording::load(&changed).unwrap_err();
    assert!(matches!(error, RecordingError::Content(Commitment { .. })));
    let cut: Vec<_> = text.lines().collect();
    let cut = cut[..cut.len() - 1].join("\n");
    assert!(matches!(
        recording::load(&cut),
        Err(RecordingError::Export(_))
    ));
    assert!(recording::load("").is_err());
}

#[tokio::test]
async fn the_first_divergence_reads_as_a_diff() {
    let made = history::approved_pair().await.unwrap();
    let mut recorded = made.recording().await.unwrap();
    let at = recorded
        .run
        .iter()
        .position(|record| record.event().name() == "approval.requested")
        .unwrap();
    let text = String::from_utf8(recorded.run[at].bytes().to_vec()).unwrap();
    let other = text.replace("\"quorum\":1", "\"quorum\":2");
    recorded.run[at] = Envelope::parse(other.into_bytes()).unwrap();
    let error = recording::replay(&recorded).await.unwrap_err();
    let divergence = error.divergence().unwrap();
    assert_eq!(divergence.version.get() as usize, at);
    let diff = recording::explain(divergence);
    let changed: Vec<_> = diff
        .lines()
        .filter(|line| line.starts_with(['+', '-']))
        .collect();
    assert_eq!(
        changed,
        [
            "--- a/version 5",
            "+++ b/version 5",
            "-    \"quorum\": 2,",
            "+    \"quorum\": 1,",
        ]
    );
    let shown = format!("{error:?}");
    assert!(shown.starts_with("the replay differs from the record at version 5"));
    assert!(shown.ends_with(&diff), "{shown}");
}

#[tokio::test]
async fn a_recording_that_goes_on_or_stops_early_reads_so() {
    let made = history::finished_without_calls().await.unwrap();
    let mut recorded = made.recording().await.unwrap();
    let last = recorded.run.pop().unwrap();
    let error = recording::replay(&recorded).await.unwrap_err();
    let diff = recording::explain(error.divergence().unwrap());
    assert!(diff.contains("--- /dev/null"), "{diff}");
    assert!(diff.contains("+  \"type\": \"run.finished\""), "{diff}");
    recorded.run.push(last.clone());
    recorded.run.push(last);
    let error = recording::replay(&recorded).await.unwrap_err();
    let diff = recording::explain(error.divergence().unwrap());
    assert!(diff.contains("+++ /dev/null"), "{diff}");
}
