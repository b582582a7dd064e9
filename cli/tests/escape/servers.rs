//! What a person's processes listen on: real servers where Debian has them, and where an engine
//! would be, a server that records every connection.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::Person;
use super::person::text;

/// How long a server waits for the words of whoever connected.
const PATIENCE: Duration = Duration::from_secs(10);

/// A bus that starts a service when a message is sent to it, as those of a session do.
const BUS: &str = r#"<busconfig><type>session</type><listen>unix:path={run}/bus</listen>
<servicedir>{run}/services</servicedir><policy context="default"><allow send_destination="*"/>
<allow receive_sender="*"/><allow own="*"/></policy></busconfig>"#;
const SERVICE: &str = "[D-BUS Service]\nName=org.placet.Escape\nExec=/bin/sh {run}/service\n";
/// The bus gives up on a service at once that fails.
const STARTED: &str = "touch {home}/started; exit 1\n";

/// All that runs and listens.
#[derive(Default)]
pub(crate) struct Servers {
    heard: Arc<Mutex<Vec<String>>>,
    abstract_name: Option<String>,
    port: Option<u16>,
    udp: Option<u16>,
    /// Folders outside the person's own, as far as these could be made.
    slash_run: Option<PathBuf>,
    slash_tmp: Option<PathBuf>,
    system: Option<PathBuf>,
    agents: Vec<String>,
    tmux: Option<PathBuf>,
}

/// Answers whoever connects, once it is recorded what they said.
fn answer(heard: &Mutex<Vec<String>>, place: &str, mut stream: impl Read + Write) {
    let mut said = [0; 256];
    let length = stream.read(&mut said).unwrap_or(0);
    let said = text(&said[..length]);
    heard.lock().unwrap().push(format!("{place}: {said}"));
    let _gone = stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n");
}

impl Servers {
    /// Starts them all.
    pub(crate) fn start(person: &Person) -> Self {
        let mut servers = Self::default();
        let id = person
            .path("")
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .replace('.', "");
        let id = format!("placet-escape-{id}");
        fs::create_dir_all(person.path("home/.docker/run")).unwrap();
        servers.tmux = Some(person.path("run/tmux"));
        let own = [
            "home/.local/share/placet/owner.sock",
            "home/.docker/run/docker.sock",
        ];
        for place in own.iter().chain(&["run/docker.sock", "home/work/dev.sock"]) {
            servers.listen(&person.path(place));
        }
        for (above, kept) in [
            ("/run", &mut servers.slash_run),
            ("/tmp", &mut servers.slash_tmp),
            ("/opt", &mut servers.system),
        ] {
            let folder = Path::new(above).join(&id);
            *kept = fs::create_dir(&folder).ok().map(|()| folder);
        }
        let elsewhere = [&servers.slash_run, &servers.slash_tmp, &servers.system];
        let elsewhere: Vec<_> = elsewhere.into_iter().flatten().cloned().collect();
        for folder in elsewhere {
            servers.listen(&folder.join("docker.sock"));
        }
        servers.listen_without_files(&id);
        servers.start_agent(person);
        servers.start_tmux(person);
        Self::start_bus(person);
        servers
    }

    fn listen(&self, path: &Path) {
        self.serve(
            UnixListener::bind(path).unwrap(),
            path.display().to_string(),
        );
    }

    fn serve(&self, listener: UnixListener, place: String) {
        let heard = Arc::clone(&self.heard);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let _set = stream.set_read_timeout(Some(PATIENCE));
                answer(&heard, &place, stream);
            }
        });
    }

    fn listen_without_files(&mut self, id: &str) {
        let address = SocketAddr::from_abstract_name(id).unwrap();
        self.serve(UnixListener::bind_addr(&address).unwrap(), format!("@{id}"));
        self.abstract_name = Some(id.to_owned());
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        self.port = Some(listener.local_addr().unwrap().port());
        let heard = Arc::clone(&self.heard);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let _set = stream.set_read_timeout(Some(PATIENCE));
                answer(&heard, "http", stream);
            }
        });
        let socket = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        self.udp = Some(socket.local_addr().unwrap().port());
        let heard = Arc::clone(&self.heard);
        std::thread::spawn(move || {
            let mut said = [0; 256];
            while let Ok((length, from)) = socket.recv_from(&mut said) {
                let said = text(&said[..length]);
                heard.lock().unwrap().push(format!("udp: {said}"));
                let _gone = socket.send_to(b"heard", from);
            }
        });
    }

    /// An agent that holds a key, and one that holds none.
    fn start_agent(&mut self, person: &Person) {
        let (socket, key) = (person.at("run/ssh-agent"), person.at("home/.ssh/id"));
        fs::create_dir(person.path("home/work/tmp")).unwrap();
        // The second one has a relative name, beneath the workspace.
        for socket in [&socket[..], "tmp/agent.sock"] {
            // It returns once it listens, and tells its number.
            let started = person.output("ssh-agent", &["-s", "-a", socket]);
            let said = text(&started.stdout);
            let pid = said.split("SSH_AGENT_PID=").nth(1).unwrap();
            self.agents.push(pid.split(';').next().unwrap().to_owned());
        }
        for (program, words) in [
            (
                "ssh-keygen",
                &[
                    "-q",
                    "-t",
                    "ed25519",
                    "-N",
                    "",
                    "-C",
                    "person@home",
                    "-f",
                    &key,
                ][..],
            ),
            ("ssh-add", &["-q", &key]),
        ] {
            let done = person.output(program, words);
            assert!(done.status.success(), "{}", text(&done.stderr));
        }
    }

    /// A session in which the person's shell waits for words.
    fn start_tmux(&self, person: &Person) {
        self.tmux(person, &["new-session", "-d", "env", "PS1=$ ", "sh"]);
    }

    fn tmux(&self, person: &Person, words: &[&str]) {
        let socket = self.tmux.as_ref().unwrap().to_str().unwrap();
        let words = [&["-f", "/dev/null", "-S", socket], words].concat();
        let done = person.output("tmux", &words);
        assert!(done.status.success(), "{words:?} {}", text(&done.stderr));
    }

    fn start_bus(person: &Person) {
        let fill = |words: &str| person.fill(words, "").unwrap();
        fs::create_dir(person.path("run/services")).unwrap();
        let service = person.path("run/services/org.placet.Escape.service");
        fs::write(service, fill(SERVICE)).unwrap();
        fs::write(person.path("run/service"), fill(STARTED)).unwrap();
        fs::write(person.path("run/bus.conf"), fill(BUS)).unwrap();
        let mut daemon = person
            .command("dbus-daemon")
            .args([
                "--nofork",
                "--nopidfile",
                "--print-address=1",
                "--config-file",
            ])
            .arg(person.path("run/bus.conf"))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(daemon.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert!(line.starts_with("unix:"), "{line}");
        person.keep(daemon);
    }

    /// What stands for what in a command.
    pub(crate) fn names(&self) -> [(&'static str, Option<String>); 7] {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        [
            ("{abstract}", self.abstract_name.clone()),
            ("{port}", self.port.map(|port| port.to_string())),
            ("{udp}", self.udp.map(|port| port.to_string())),
            ("{slash_run}", path(&self.slash_run)),
            ("{slash_tmp}", path(&self.slash_tmp)),
            ("{system}", path(&self.system)),
            ("{tmux}", path(&self.tmux)),
        ]
    }

    /// Every connection that a server had, with what was said.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    /// Waits until the person's shell has done all that was typed.
    pub(crate) fn wait_for_shell(&self, person: &Person) {
        let socket = self.tmux.as_ref().unwrap().display();
        let done = format!("tmux -S {socket} wait-for -S done");
        self.tmux(person, &["send-keys", &done, "Enter"]);
        self.tmux(person, &["wait-for", "done"]);
    }

    /// The keys that the agent holds.
    pub(crate) fn keys(person: &Person) -> String {
        text(&person.output("ssh-add", &["-l"]).stdout)
    }

    /// Ends what is no child of this process, and takes away what lies elsewhere.
    pub(crate) fn stop(&mut self) {
        for pid in self.agents.drain(..) {
            let _gone = Command::new("kill").arg(pid).status();
        }
        if let Some(socket) = self.tmux.take() {
            let words = ["-S", socket.to_str().unwrap(), "kill-server"];
            let _gone = Command::new("tmux").args(words).status();
        }
        let folders = [&mut self.slash_run, &mut self.slash_tmp, &mut self.system];
        for folder in folders.into_iter().filter_map(Option::take) {
            let _gone = fs::remove_dir_all(folder);
        }
    }
}
