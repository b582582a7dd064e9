//! Programs that tell about the machine, its users and its processes.

use super::Line;
use super::Operands::{Format, Names, NamesUpTo, Nothing, Text, TextUpTo};
use super::Rule::{Exact, Flags};

pub(super) const TABLE: &[Line] = &[
    (
        "pwd",
        Flags(&["-LP --logical --physical --help --version"], Nothing),
    ),
    (
        "whoami logname users hostid arch",
        Flags(&["--help --version"], Nothing),
    ),
    ("groups", Flags(&["--help --version"], Text)),
    (
        "id",
        Flags(
            &["-aZgGnruz --context --group --groups --name --real --user --zero --help --version"],
            Text,
        ),
    ),
    (
        "uname",
        Flags(
            &[
                "-asnrvmpio --all --kernel-name --nodename --kernel-release --kernel-version",
                "--machine --processor --hardware-platform --operating-system --help --version",
            ],
            Nothing,
        ),
    ),
    // An operand, `-F` and `-b` set the name, `-A` asks the network about every address.
    (
        "hostname",
        Flags(
            &[
                "-adfiIsV --alias --domain --fqdn --long --ip-address --all-ip-addresses --short",
                "--help --version",
            ],
            Nothing,
        ),
    ),
    // `-s` and any operand but a format set the clock.
    (
        "date",
        Flags(
            &[
                "-uR -d: -r@ -I? --date: --debug --iso-8601? --resolution --rfc-email --rfc-2822",
                "--rfc-3339: --reference@ --utc --universal --uct --help --version",
            ],
            Format,
        ),
    ),
    (
        "cal ncal",
        Flags(
            &["-13bhjJmMsSwyY -n: -A: -B: -d: --one --three --sunday --monday --julian --year"],
            TextUpTo(3),
        ),
    ),
    (
        "uptime",
        Flags(&["-psV --pretty --since --help --version"], Nothing),
    ),
    (
        "tty",
        Flags(&["-s --silent --quiet --help --version"], Nothing),
    ),
    (
        "who",
        Flags(
            &[
                "-abdHlmpqrstTwu --all --boot --dead --heading --ips --login --process --count",
                "--runlevel --short --time --mesg --users --message --writable --help --version",
            ],
            Nothing,
        ),
    ),
    (
        "w",
        Flags(
            &["-husfoiV --no-header --no-current --short --from --old-style --ip-addr --version"],
            TextUpTo(1),
        ),
    ),
    (
        "last",
        Flags(
            &[
                "-NUM -aFiRwx -n: -s: -t: -p: --hostlast --fulltimes --ip --limit: --nohostname",
                "--since: --until: --present: --fullnames --system --time-format: --help --version",
            ],
            Text,
        ),
    ),
    ("which", Flags(&["-as --all"], Text)),
    ("type", Flags(&["-aftpP"], Text)),
    ("whereis", Flags(&["-bmsu"], Text)),
    // The environment is the scrubbed one.
    ("env", Flags(&["-0 --null --help --version"], Nothing)),
    ("printenv", Flags(&["-0 --null --help --version"], Text)),
    (
        "locale",
        Flags(
            &["-amck --all-locales --charmaps --category-name --keyword-name"],
            Text,
        ),
    ),
    ("getconf", Flags(&["-a"], NamesUpTo(2))),
    (
        "nproc",
        Flags(&["--all --ignore: --help --version"], Nothing),
    ),
    (
        "free",
        Flags(
            &[
                "-bkmghltwvV --bytes --kibi --mebi --gibi --tebi --kilo --mega --giga --tera --si",
                "--human --lohi --total --wide --committed --line --help --version",
            ],
            Nothing,
        ),
    ),
    (
        "lscpu",
        Flags(
            &[
                "-abBcJxyrV -C? -e? -p? --all --online --offline --bytes --caches? --json",
                "--extended? --parse? --hex --physical --raw --output-all --help --version",
            ],
            Nothing,
        ),
    ),
    (
        "lsblk",
        Flags(
            &[
                "-AabDdfJlmNnOPpstSTrV -o: -x: -I: -e: --all --bytes --discard --nodeps --fs",
                "--json --list --perms --noheadings --output: --output-all --pairs --paths",
                "--inverse --scsi --tree? --raw --sort: --include: --exclude: --ascii --topology",
                "--help --version",
            ],
            Nothing,
        ),
    ),
    (
        "lsmem",
        Flags(
            &["-abJnPrV -o: -S: --all --bytes --json --noheadings --summary?"],
            Nothing,
        ),
    ),
    ("lsmod", Flags(&[], Nothing)),
    // `-q` asks the network, `-H` the hardware.
    ("lspci", Flags(&["-vnkmtDbx -s: -d:"], Nothing)),
    (
        "lsusb",
        Flags(&["-vtV -s: -d: --verbose --tree --version"], Nothing),
    ),
    (
        "findmnt",
        Flags(
            &[
                "-AaDfiJlnPRruv -o: -O: -t: --all --ascii --df --first-only --invert --json --list",
                "--noheadings --options: --output: --output-all --pairs --submounts --raw --types:",
                "--tree --help --version",
            ],
            Names,
        ),
    ),
    ("mount", Exact(&["", "-l"])),
    (
        "ulimit",
        Exact(&[
            "", "-a", "-n", "-u", "-c", "-s", "-v", "-f", "-Sa", "-Ha", "-Sn", "-Hn",
        ]),
    ),
    ("umask", Exact(&["", "-S"])),
    ("stty", Exact(&["size", "-a", "--all"])),
    ("kill", Exact(&["-l", "-L"])),
    ("alias", Exact(&[""])),
    ("history", Exact(&[""])),
    (
        "pgrep",
        Flags(
            &[
                "-acfilnovwxV -d: -g: -G: -P: -s: -t: -u: -U: --delimiter: --list-name --list-full",
                "--inverse --lightweight --count --full --pgroup: --group: --ignore-case --newest",
                "--oldest --parent: --session: --terminal: --euid: --uid: --exact --help --version",
            ],
            TextUpTo(1),
        ),
    ),
    ("pidof", Flags(&["-scqwxV -o:"], Names)),
    (
        "pstree",
        Flags(
            &[
                "-aAcgGhlnpsStTuUVZ -C: -H: --arguments --ascii --compact-not --show-pgids",
                "--highlight-all --long --numeric-sort --show-pids --show-parents --thread-names",
                "--hide-threads --uid-changes --unicode --version",
            ],
            TextUpTo(1),
        ),
    ),
    (
        "vmstat",
        Flags(
            &["-afmnsdDwtyV -S: --active --stats --wide --timestamp"],
            TextUpTo(2),
        ),
    ),
    ("iostat", Flags(&["-cdhkmtxyzN -p:"], Text)),
    // `-c`, `-C` clear, `-n`, `-D`, `-E` set, `-H` runs a pager, `-w` follows.
    (
        "dmesg",
        Flags(
            &[
                "-kurxTtdeJPV -f: -l: -L? --ctime --decode --facility: --json --kernel --level:",
                "--nopager --notime --raw --reltime --show-delta --since: --until: --time-format:",
                "--userspace --color? --help --version",
            ],
            Nothing,
        ),
    ),
    // `-K` ends connections, `-D` writes, `-F` reads a filter, `-r` asks the network.
    (
        "ss",
        Flags(
            &[
                "-nalompieszbtudwx460HOSZ -f: --numeric --all --listening --options --memory",
                "--processes --info --extended --summary --tcp --udp --raw --unix --ipv4 --ipv6",
                "--no-header --oneline --family: --sctp --packet --help --version",
            ],
            Nothing,
        ),
    ),
    (
        "netstat",
        Flags(
            &[
                "-nalpeovWrisgtuwxSF46V --numeric --all --listening --programs --extend --timers",
                "--verbose --wide --route --interfaces --statistics --groups --tcp --udp --raw",
                "--unix --version --help",
            ],
            Nothing,
        ),
    ),
    (
        "dpkg",
        Flags(
            &["-lsLS --list --status --listfiles --search --print-architecture --version"],
            Text,
        ),
    ),
    (
        "dpkg-query",
        Flags(
            &["-lsLSW -f: --list --status --listfiles --search --show --showformat: --version"],
            Text,
        ),
    ),
    ("sleep", Flags(&["--help --version"], Text)),
    (
        "whatis",
        Flags(&["-lv -s: --long --section: --sections: --version"], Text),
    ),
    (
        "apropos",
        Flags(
            &["-aelv -s: --and --exact --long --section: --version"],
            Text,
        ),
    ),
];
