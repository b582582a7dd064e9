//! The programs and verbs that clearly change something, in lists of words.

/// Programs that exist to change, end or install something: wherever they stand.
pub(super) const PROGRAMS: &str = "\
    rm rmdir unlink shred srm mv cp dd ln truncate mkdir mkfifo mknod mktemp touch tee csplit \
    rsync scp sftp \
    chmod chown chgrp chattr setfacl setfattr chcon setcap \
    mkfs mkswap fdisk sfdisk cfdisk parted wipefs blkdiscard umount swapon swapoff losetup \
    cryptsetup lvremove vgremove pvremove fsck resize2fs tune2fs \
    kill killall pkill xkill shutdown reboot poweroff telinit renice sysctl modprobe insmod rmmod \
    iptables ip6tables nft ufw hostnamectl timedatectl loginctl \
    sudo doas su runuser pkexec gosu chroot unshare nsenter setpriv \
    useradd userdel usermod groupadd groupdel groupmod passwd chpasswd visudo adduser deluser \
    dropdb createdb dropuser createuser pg_restore dpkg-reconfigure add-apt-repository \
    easy_install";

/// Programs whose names are common words: where a command begins.
pub(super) const FIRST: &str =
    "at batch split link install patch mount rename wipe halt init skill";

/// Programs with the verbs and flags by which they change something.
pub(super) const VERBS: &[(&str, &str)] = &[
    (
        "git",
        "push reset clean checkout switch restore commit merge rebase cherry-pick revert rm mv add \
         am apply pull fetch clone init gc prune filter-branch filter-repo update-ref update-index \
         replace bisect submodule worktree notes stash config fast-import commit-tree read-tree \
         symbolic-ref send-email -d -D -m -M --delete -c --exec-path --force --output",
    ),
    (
        "hg svn jj bzr",
        "push pull update up commit ci revert purge strip rm delete merge rebase abandon squash \
         checkout co switch import",
    ),
    (
        "gh glab hub",
        "create delete merge close reopen edit push sync api run release comment review rerun \
         cancel set upload fork archive",
    ),
    (
        "curl",
        "-X --request -d --data --data-raw --data-binary --data-urlencode --data-ascii --json -F \
         --form --form-string -T --upload-file -o -O --output --output-dir --remote-name -K \
         --config -c --cookie-jar -D --dump-header",
    ),
    (
        "wget",
        "--post-data --post-file --method --body-data --body-file --output-document \
         --directory-prefix",
    ),
    ("http https xh", "post put patch delete"),
    ("sed gsed perl ruby", "-i --in-place"),
    ("sort shuf", "-o --output"),
    ("date", "-s --set"),
    (
        "find fd fdfind",
        "-delete -exec -execdir -ok -okdir -fprint -fprintf -fls -x -X --exec --exec-batch",
    ),
    (
        "tar bsdtar",
        "-x -c -r -u x c xf xzf xvf xvzf cf czf cvf cvzf --extract --create --delete --append \
         --update",
    ),
    (
        "dpkg rpm",
        "-i -r -P -U -e -F --install --remove --purge --upgrade --erase",
    ),
    ("pacman", "-S -R -U --sync --remove --upgrade"),
    (
        "apt apt-get aptitude dnf yum zypper apk brew snap flatpak port emerge nix-env pip pip3 \
         pipx uv poetry conda mamba gem bundle npm pnpm yarn bun cargo go composer cabal stack \
         opam luarocks mix rustup volta nvm asdf",
        "install i add remove uninstall purge autoremove upgrade update dist-upgrade full-upgrade \
         downgrade reinstall sync link unlink publish unpublish yank deprecate login logout clean \
         get fix push tap untap create init new",
    ),
    (
        "docker podman nerdctl docker-compose buildah",
        "run exec rm rmi kill stop start restart push pull build prune create cp load import \
         commit up down update pause unpause rename login tag",
    ),
    (
        "kubectl oc helm flux argocd",
        "apply create delete edit patch replace scale rollout drain cordon uncordon taint label \
         annotate exec run cp set expose autoscale install upgrade uninstall rollback sync \
         reconcile port-forward attach debug proxy",
    ),
    (
        "terraform tofu terragrunt pulumi cdk",
        "apply destroy import taint untaint state up deploy refresh init rm cancel",
    ),
    (
        "aws gcloud az gsutil doctl heroku fly flyctl vercel netlify",
        "delete create update put rm mv cp sync deploy terminate start stop restart run destroy \
         set scale remove add",
    ),
    (
        "systemctl service launchctl rc-service supervisorctl",
        "start stop restart reload enable disable mask unmask kill isolate poweroff reboot halt \
         daemon-reload edit set-default load unload suspend hibernate",
    ),
    ("crontab", "-r -e -"),
    (
        "ip ifconfig route nmcli tc",
        "add del delete set flush replace change up down modify",
    ),
    (
        "psql mysql mariadb sqlite3 mongo mongosh redis-cli duckdb",
        "drop delete insert update alter truncate create grant revoke set del flushall flushdb \
         replace attach vacuum",
    ),
];

/// Programs whose words are only printed, searched for or read.
pub(super) const DATA: &str = "\
    echo printf grep egrep fgrep rg ag ack cat head tail wc ls pwd which type whereis man whatis \
    apropos tldr cut tr uniq nl tac rev jq basename dirname stat file diff cmp comm test [ true \
    false seq column fold";

/// Programs that run the text or the words that they are given.
pub(super) const RUNS_TEXT: &str = "\
    sh bash dash zsh ksh mksh fish csh tcsh ash busybox eval source . exec xargs parallel python \
    python2 python3 perl ruby node deno bun php lua awk gawk mawk tclsh env ssh watch entr script \
    trap coproc alias";
