//! What a contained program finds: its surroundings, and nothing of the person's.

use super::Place;

#[test]
fn smoke() {
    let place = Place::new();
    eprintln!("{:?}", place.container.level());
    let out = place.says("id; ls -la / /dev /proc . ; cat /proc/self/status | grep -E 'Cap|No|Sec'; env; cat /proc/self/mountinfo; ip addr");
    eprintln!("{out}");
}
