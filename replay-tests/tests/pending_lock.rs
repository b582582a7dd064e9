//! While calls wait for a person nothing new enters a run, and nothing is executed before every
//! call of the reply has its verdict and its answer.

use placet_replay::facts::call;
use placet_replay::script::{self, Script};
use placet_replay::world::{Drove, Options, World};
use serde_json::json;

#[tokio::test]
async fn a_parked_run_runs_nothing_until_it_is_answered() {
    let mut world = World::new().await.unwrap();
    let calls = [
        script::call("look", &json!({"key": "a"})),
        script::call("set", &json!({"key": "a", "value": "1"})),
    ];
    let script = Script::new().calls(calls).says("Done.");
    let (run, drove) = world.run(script, Options::default()).await.unwrap();
    assert_eq!(drove, Drove::Waits);
    assert_eq!(world.tools.executed(), 0, "{:?}", world.tools.ran());
    world.approve(run).await.unwrap();
    assert_eq!(world.tools.executed(), 0, "an answer executes nothing");
    assert!(matches!(world.resume(run).await.unwrap(), Drove::Ended(_)));
    assert_eq!(world.tools.executions(call(1)), 1);
    assert_eq!(world.tools.executions(call(2)), 1);
    assert_eq!(world.tools.value("a").as_deref(), Some("1"));
}
