/* What a contained program tries in order to get out: each attempt prints its name and its errno. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void tell(const char *name, long result) {
    printf("%s %d\n", name, result < 0 ? errno : 0);
    fflush(stdout);
}

static void system_calls(void) {
    tell("io_uring_setup", syscall(SYS_io_uring_setup, 8, NULL));
    tell("ptrace", syscall(SYS_ptrace, 0, 0, 0, 0));
    tell("process_vm_readv", syscall(SYS_process_vm_readv, getpid(), NULL, 0, NULL, 0, 0));
    tell("process_vm_writev", syscall(SYS_process_vm_writev, getpid(), NULL, 0, NULL, 0, 0));
    tell("pidfd_getfd", syscall(SYS_pidfd_getfd, -1, 0, 0));
    tell("keyctl", syscall(SYS_keyctl, 0, -3, 0, 0, 0));
    tell("add_key", syscall(SYS_add_key, NULL, NULL, NULL, 0, 0));
    tell("request_key", syscall(SYS_request_key, NULL, NULL, NULL, 0));
    tell("bpf", syscall(SYS_bpf, 99, NULL, 0));
    tell("userfaultfd", syscall(SYS_userfaultfd, 1));
    tell("perf_event_open", syscall(SYS_perf_event_open, NULL, 0, 0, -1, 0));
    tell("mount", syscall(SYS_mount, NULL, NULL, NULL, 0, NULL));
    tell("fsopen", syscall(SYS_fsopen, NULL, 0));
    tell("open_tree", syscall(SYS_open_tree, -1, NULL, 0));
    tell("move_mount", syscall(SYS_move_mount, -1, NULL, -1, NULL, 0));
    tell("unshare", unshare(CLONE_NEWUSER));
    tell("setns", setns(-1, 0));
    tell("clone", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
    tell("clone3", syscall(SYS_clone3, NULL, 0));
    tell("open_by_handle_at", syscall(SYS_open_by_handle_at, -1, NULL, 0));
    tell("init_module", syscall(SYS_init_module, NULL, 0, NULL));
    tell("kexec_load", syscall(SYS_kexec_load, 0, 0, NULL, 0));
    tell("TIOCSTI", ioctl(0, TIOCSTI, "y"));
    tell("TIOCLINUX", ioctl(0, TIOCLINUX, "\002"));
    tell("AF_VSOCK", socket(AF_VSOCK, SOCK_STREAM, 0));
    tell("AF_PACKET", socket(AF_PACKET, SOCK_RAW, 0));
    tell("AF_ALG", socket(AF_ALG, SOCK_SEQPACKET, 0));
    tell("openat2", syscall(437, AT_FDCWD, ".", NULL, 0));
#ifdef __x86_64__
    tell("x32", syscall(0x40000000 + SYS_getpid));
#endif
}

/* A name that begins with @ is an abstract one. */
static void connect_unix(const char *name) {
    int made = socket(AF_UNIX, SOCK_STREAM, 0);
    if (made < 0) {
        tell("socket", -1);
        return;
    }
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    memcpy(address.sun_path, name, length);
    if (name[0] == '@')
        address.sun_path[0] = 0;
    socklen_t size = offsetof(struct sockaddr_un, sun_path) + length;
    tell("connect", connect(made, (struct sockaddr *)&address, size));
}

static void connect_tcp(int port) {
    int made = socket(AF_INET, SOCK_STREAM, 0);
    if (made < 0) {
        tell("socket", -1);
        return;
    }
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    tell("connect", connect(made, (struct sockaddr *)&address, sizeof address));
}

/* A port of whoever the network belongs to, of the kernel's choice. */
static void bind_tcp(void) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    int made = socket(AF_INET, SOCK_STREAM, 0);
    tell("bind", bind(made, (struct sockaddr *)&address, sizeof address));
    tell("listen", listen(made, 1));
}

/* Every type and protocol by which something could be sent around a rule for TCP. */
static void sockets(void) {
    tell("stream", socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    tell("stream6", socket(AF_INET6, SOCK_STREAM, IPPROTO_TCP));
    tell("mptcp", socket(AF_INET, SOCK_STREAM, 262));
    tell("mptcp6", socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 262));
    tell("sctp", socket(AF_INET, SOCK_STREAM, 132));
    tell("sctp_packets", socket(AF_INET, SOCK_SEQPACKET, 132));
    tell("raw", socket(AF_INET, SOCK_RAW, IPPROTO_UDP));
    tell("dccp", socket(AF_INET, 6, 33));
    tell("smc", socket(43, SOCK_STREAM, 0));
    tell("ping", socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP));
    tell("udp", socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0));
    tell("udp6", socket(AF_INET6, SOCK_DGRAM, IPPROTO_UDP));
    struct msghdr message = {0};
    struct mmsghdr messages = {0};
    tell("sendto", sendto(-1, "", 1, MSG_FASTOPEN | MSG_NOSIGNAL, NULL, 0));
    tell("sendmsg", sendmsg(-1, &message, MSG_FASTOPEN));
    tell("sendmmsg", sendmmsg(-1, &messages, 1, MSG_FASTOPEN));
    tell("send", send(-1, "", 1, MSG_NOSIGNAL));
    tell("route", socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0));
    tell("users", socket(AF_NETLINK, SOCK_RAW, 2));
    tell("diagnoses", socket(AF_NETLINK, SOCK_DGRAM, 4));
    tell("audit", socket(AF_NETLINK, SOCK_RAW, 9));
    tell("events", socket(AF_NETLINK, SOCK_RAW, 15));
    tell("generic", socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, 16));
    /* Without an address: the kernel chooses a port, on all of the machine's. */
    tell("listen", listen(socket(AF_INET, SOCK_STREAM, 0), 1));
    tell("listen6", listen(socket(AF_INET6, SOCK_STREAM, 0), 1));
}

/* Every way to leave a file that lends its owner's rights. */
static void modes(void) {
    umask(0);
    tell("plain", open("plain", O_CREAT | O_WRONLY, 0755));
    int file = open("plain", O_WRONLY, 06755);
    tell("unused", file);
    tell("fchmod_plain", fchmod(file, 01777));
    tell("chmod", chmod("plain", 04755));
    tell("chmod_group", chmod("plain", 02755));
    tell("fchmod", fchmod(file, 04755));
    tell("fchmodat", fchmodat(AT_FDCWD, "plain", 06755, 0));
    tell("fchmodat2", syscall(452, AT_FDCWD, "plain", 04755, 0));
    tell("open", syscall(SYS_openat, AT_FDCWD, "lending", O_CREAT | O_WRONLY, 04755));
    tell("open_group", open("lending", O_CREAT | O_WRONLY, 02755));
    tell("tmpfile", open(".", O_TMPFILE | O_WRONLY, 04755));
    tell("creat", creat("lending", 04755));
    tell("mknod", mknod("lending", S_IFREG | 04755, 0));
    tell("device", mknod("device", S_IFCHR | 0600, 0x103));
    tell("pipe_plain", mknod("named", S_IFIFO | 0600, 0));
#ifdef __x86_64__
    tell("old_open", syscall(SYS_open, "lending", O_CREAT | O_WRONLY, 04755));
    tell("old_creat", syscall(SYS_creat, "lending", 04755));
    tell("old_chmod", syscall(SYS_chmod, "plain", 04755));
    tell("old_mknod", syscall(SYS_mknod, "device", S_IFBLK | 0600, 0x103));
#endif
}

/* Changes of a node that leave it as it is, where nothing refuses them. */
static void touch(const char *name) {
    struct stat now;
    if (stat(name, &now) != 0)
        return;
    struct timespec times[2] = {now.st_atim, now.st_mtim};
    tell(name, chmod(name, now.st_mode & 07777));
    tell(name, utimensat(AT_FDCWD, name, times, 0));
    int open_one = open(name, O_RDONLY | O_NONBLOCK);
    if (open_one >= 0)
        tell(name, fchmod(open_one, now.st_mode & 07777));
}

/* Everything whose mode and times are the machine's. */
static void nodes(void) {
    static const char *names[] = {
        "/dev/null",     "/dev/zero",     "/dev/full",     "/dev/random",   "/dev/urandom",
        "/proc",         "/proc/meminfo", "/proc/version", "/proc/cpuinfo", "/proc/loadavg",
        "/proc/driver",  "/proc/tty",     "/proc/stat",    "/proc/uptime",  "/proc/pressure",
        "/proc/devices", "/proc/kmsg",    "/proc/net/tcp", "/proc/sys",     "/proc/self/comm",
    };
    for (size_t index = 0; index < sizeof names / sizeof *names; index++)
        touch(names[index]);
    struct stat input;
    fstat(0, &input);
    tell("input", fchmod(0, input.st_mode & 07777));
    int null = open("/dev/null", O_RDWR | O_CREAT | O_TRUNC, 0666);
    printf("written %zd\n", write(null, "x", 1));
}

static void descriptors(void) {
    for (int number = 0; number < 1024; number++)
        if (fcntl(number, F_GETFD) >= 0)
            printf("%d\n", number);
}

/* Holds more and more memory, a piece at a time, and stays. */
static void hog(size_t mebibytes) {
    for (size_t done = 0; done < mebibytes; done++) {
        char *piece = malloc(1 << 20);
        if (piece == NULL)
            break;
        memset(piece, 1, 1 << 20);
    }
    pause();
}

/* Holds memory that it could share, without a name or as a file of memory, and stays. */
static void share(size_t mebibytes, int named) {
    size_t size = mebibytes << 20;
    int flags = MAP_SHARED | (named ? 0 : MAP_ANONYMOUS);
    int file = named ? memfd_create("shared", 0) : -1;
    if (named && ftruncate(file, size) != 0)
        exit(1);
    char *all = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, file, 0);
    if (all == MAP_FAILED)
        exit(1);
    memset(all, 1, size);
    pause();
}

/* Starts processes that stay, until the system refuses. */
static void fork_many(int most) {
    int done = 0;
    for (; done < most; done++) {
        pid_t child = fork();
        if (child == 0) {
            pause();
            _exit(0);
        }
        if (child < 0)
            break;
    }
    printf("forked %d\n", done);
}

/* Wants cores, or none: with either a limit of nothing would have the machine's program started. */
static void cores(void) {
    struct rlimit none = {0, 0}, old = {7, 7};
    tell("setrlimit", setrlimit(RLIMIT_CORE, &none));
    tell("prlimit", prlimit(0, RLIMIT_CORE, &none, NULL));
    tell("prlimit_old", prlimit(0, RLIMIT_CORE, &none, &old));
    tell("setrlimit_call", syscall(SYS_setrlimit, RLIMIT_CORE, &none));
    tell("prlimit_read", prlimit(0, RLIMIT_CORE, NULL, &old));
    printf("limit %lu %lu\n", (unsigned long)old.rlim_cur, (unsigned long)old.rlim_max);
    tell("files", setrlimit(RLIMIT_NOFILE, &(struct rlimit){64, 64}));
}

static uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Makes more of itself as long as there is room, whatever it is told. A file says when the first
 * began and when the last was still alive. */
static void bomb(void) {
    int file = open("alive", O_CREAT | O_RDWR, 0600);
    if (ftruncate(file, 2 * sizeof(uint64_t)) != 0)
        exit(1);
    uint64_t *alive = mmap(NULL, 16, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    alive[0] = now_ms();
    for (int number = 1; number < 65; number++)
        signal(number, SIG_IGN);
    for (;;) {
        fork();
        alive[1] = now_ms();
    }
}

/* Becomes a program to which the system refuses to give up new privileges. */
static void refusing(char **argv) {
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_NO_NEW_PRIVS, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof program / sizeof *program, program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, 2, &filter) == 0)
        execv(argv[0], argv);
    exit(1);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    const char *with = argc > 2 ? argv[2] : "";
    if (strcmp(what, "calls") == 0)
        system_calls();
    else if (strcmp(what, "unix") == 0)
        connect_unix(with);
    else if (strcmp(what, "tcp") == 0)
        connect_tcp(atoi(with));
    else if (strcmp(what, "bind") == 0)
        bind_tcp();
    else if (strcmp(what, "descriptors") == 0)
        descriptors();
    else if (strcmp(what, "hog") == 0)
        hog(strtoul(with, NULL, 10));
    else if (strcmp(what, "share") == 0 || strcmp(what, "memfd") == 0)
        share(strtoul(with, NULL, 10), what[0] == 'm');
    else if (strcmp(what, "sockets") == 0)
        sockets();
    else if (strcmp(what, "modes") == 0)
        modes();
    else if (strcmp(what, "nodes") == 0)
        nodes();
    else if (strcmp(what, "fork") == 0)
        fork_many(atoi(with));
    else if (strcmp(what, "cores") == 0)
        cores();
    else if (strcmp(what, "bomb") == 0)
        bomb();
    else if (strcmp(what, "refusing") == 0)
        refusing(argv + 2);
    else if (strcmp(what, "user") == 0)
        printf("%d %d\n", getuid(), geteuid());
    else
        return 64;
    return 0;
}
