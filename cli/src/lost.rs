//! What can be done where a file of the home, or beside its head file, is lost or is something
//! else: what a backup holds, what comes again by itself, and what only its own copy brings back.

/// What can be done, by the name of the file, or of the folder of the home in which it lies.
pub(crate) fn lost(name: &str) -> &'static str {
    match name {
        "ledger.key" => {
            "put it back from the copy that you keep of it: no backup holds it; without it the \
             ledger is used by one process alone at a time"
        }
        "keys" => {
            "put it back: no backup holds this one; a backup has its contents under keys of its \
             own: placet restore DIR, with another --home once this home is moved away"
        }
        "host" => {
            "put it back: no backup holds it; it is one line with the id that segment.started \
             names as host of what was driven here, and only such runs are driven on"
        }
        "recovery.key" => "move it away: a recovery key is a file, and is kept offline",
        "ledger" => "put it back: the folder store of each backup of this ledger has the same one",
        "socket" | "socket.key" => {
            "move away what lies there: the next process to hold the ledger makes it anew"
        }
        "owner" | "holder" | "home" => {
            "move away what lies there: the next process to write to the ledger makes it anew"
        }
        "head" => {
            "put it back: no backup holds it; else move the home away, and the folder of the head \
             file too: placet restore DIR then takes the records of that backup for all there were"
        }
        "snapshots" | "locks" => "move it away: it is made anew where it is needed",
        "driving" | "running" => {
            "make sure that no run is driven here and that nothing of one runs, then move it away"
        }
        _ => {
            "put it back as it was; else placet restore DIR makes a home of a backup, which holds \
             the records up to when it was made"
        }
    }
}
