/* What an approved command tries in order to reach the person: each attempt prints what came of it. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

static void fail(const char *what) {
    printf("%s: %s\n", what, strerror(errno));
    exit(1);
}

/* Says where to, in a request that any server here answers; what is not answered was not heard. */
static void speak(int made, const char *word) {
    char line[256], answer[256];
    int length = snprintf(line, sizeof line, "GET /%s HTTP/1.0\r\n\r\n", word);
    if (send(made, line, length, MSG_NOSIGNAL) != length)
        fail("send");
    if (recv(made, answer, sizeof answer, 0) <= 0)
        fail("answer");
    printf("answered\n");
}

/* A name that begins with @ is an abstract one. */
static socklen_t address_of(struct sockaddr_un *address, const char *name) {
    size_t length = strlen(name);
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, name, length);
    if (name[0] == '@')
        address->sun_path[0] = 0;
    return offsetof(struct sockaddr_un, sun_path) + length;
}

static void by_connect(const char *name, const char *word) {
    struct sockaddr_un address;
    socklen_t size = address_of(&address, name);
    int made = socket(AF_UNIX, SOCK_STREAM, 0);
    if (made < 0)
        fail("socket");
    if (connect(made, (struct sockaddr *)&address, size) != 0)
        fail("connect");
    speak(made, word);
}

static void by_inet(int kind, int port, const char *word) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int made = socket(AF_INET, kind, 0);
    if (made < 0)
        fail("socket");
    if (connect(made, (struct sockaddr *)&address, sizeof address) != 0)
        fail("connect");
    speak(made, word);
}

/* One queue of requests to the kernel, none of which is a system call of its own. */
struct queue {
    int ring;
    unsigned *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
    struct io_uring_sqe *requests;
    struct io_uring_cqe *answers;
};

static void open_queue(struct queue *queue) {
    struct io_uring_params with = {0};
    int flags = MAP_SHARED | MAP_POPULATE, use = PROT_READ | PROT_WRITE;
    queue->ring = syscall(SYS_io_uring_setup, 4, &with);
    if (queue->ring < 0)
        fail("io_uring");
    size_t sq_size = with.sq_off.array + with.sq_entries * sizeof(unsigned);
    size_t cq_size = with.cq_off.cqes + with.cq_entries * sizeof(struct io_uring_cqe);
    char *sq = mmap(NULL, sq_size, use, flags, queue->ring, IORING_OFF_SQ_RING);
    char *cq = mmap(NULL, cq_size, use, flags, queue->ring, IORING_OFF_CQ_RING);
    size_t all = with.sq_entries * sizeof(struct io_uring_sqe);
    queue->requests = mmap(NULL, all, use, flags, queue->ring, IORING_OFF_SQES);
    if (sq == MAP_FAILED || cq == MAP_FAILED || queue->requests == MAP_FAILED)
        fail("queue");
    queue->sq_tail = (unsigned *)(sq + with.sq_off.tail);
    queue->sq_mask = (unsigned *)(sq + with.sq_off.ring_mask);
    queue->sq_array = (unsigned *)(sq + with.sq_off.array);
    queue->cq_head = (unsigned *)(cq + with.cq_off.head);
    queue->cq_tail = (unsigned *)(cq + with.cq_off.tail);
    queue->cq_mask = (unsigned *)(cq + with.cq_off.ring_mask);
    queue->answers = (struct io_uring_cqe *)(cq + with.cq_off.cqes);
}

static int ask(struct queue *queue, struct io_uring_sqe request) {
    unsigned tail = *queue->sq_tail, slot = tail & *queue->sq_mask;
    queue->requests[slot] = request;
    queue->sq_array[slot] = slot;
    __atomic_store_n(queue->sq_tail, tail + 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, queue->ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
        fail("io_uring_enter");
    unsigned head = *queue->cq_head;
    int result = queue->answers[head & *queue->cq_mask].res;
    __atomic_store_n(queue->cq_head, head + 1, __ATOMIC_RELEASE);
    return result;
}

static void by_uring(const char *name, const char *word) {
    struct sockaddr_un address;
    socklen_t size = address_of(&address, name);
    struct queue queue;
    open_queue(&queue);
    struct io_uring_sqe make = {.opcode = IORING_OP_SOCKET, .fd = AF_UNIX, .off = SOCK_STREAM};
    int made = ask(&queue, make);
    struct io_uring_sqe to = {.opcode = IORING_OP_CONNECT, .fd = made};
    to.addr = (unsigned long)&address;
    to.off = size;
    if (made < 0 || ask(&queue, to) < 0)
        fail("io_uring connect");
    char line[256], answer[256];
    struct io_uring_sqe send = {.opcode = IORING_OP_SEND, .fd = made};
    send.addr = (unsigned long)line;
    send.len = snprintf(line, sizeof line, "GET /%s HTTP/1.0\r\n\r\n", word);
    struct io_uring_sqe hear = {.opcode = IORING_OP_RECV, .fd = made};
    hear.addr = (unsigned long)answer;
    hear.len = sizeof answer;
    if (ask(&queue, send) < 0 || ask(&queue, hear) <= 0)
        fail("io_uring answer");
    printf("answered\n");
}

static void trace(pid_t who) {
    if (ptrace(PTRACE_SEIZE, who, 0, 0) != 0)
        fail("ptrace");
    printf("traced\n");
}

/* Reads what lies at an address of another process, by its file or by a system call. */
static void peek(pid_t who, unsigned long at, int by_call) {
    char found[64] = {0}, path[64];
    ssize_t got;
    if (by_call) {
        struct iovec here = {found, sizeof found - 1}, there = {(void *)at, sizeof found - 1};
        got = process_vm_readv(who, &here, 1, &there, 1, 0);
    } else {
        snprintf(path, sizeof path, "/proc/%d/mem", who);
        int file = open(path, O_RDONLY);
        got = file < 0 ? -1 : pread(file, found, sizeof found - 1, at);
    }
    if (got < 0)
        fail("memory");
    printf("%s\n", found);
}

static void take_descriptor(pid_t who, int number) {
    char found[64] = {0};
    int process = syscall(SYS_pidfd_open, who, 0);
    int taken = process < 0 ? -1 : syscall(SYS_pidfd_getfd, process, number, 0);
    if (taken < 0 || pread(taken, found, sizeof found - 1, 0) < 0)
        fail("descriptor");
    printf("%s\n", found);
}

static void attach(int segment) {
    char *found = shmat(segment, NULL, SHM_RDONLY);
    if (found == (void *)-1)
        fail("shmat");
    printf("%.60s\n", found);
}

/* Another process of the person, without privileges: tells where its secrets are, and stays. */
static void be_victim(const char *secret) {
    struct __user_cap_header_struct version = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {0};
    if (syscall(SYS_capset, &version, none) != 0)
        fail("capset");
    prctl(PR_SET_DUMPABLE, 1);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    char *kept = strdup(secret);
    int file = memfd_create("kept", 0), segment = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
    char *shared = shmat(segment, NULL, 0);
    if (shared == (void *)-1 || write(file, secret, strlen(secret)) < 0)
        fail("victim");
    strcpy(shared, secret);
    /* It goes with this process. */
    shmctl(segment, IPC_RMID, NULL);
    printf("%lu %d %d\n", (unsigned long)kept, file, segment);
    fflush(stdout);
    pause();
}

/* Looks for the driver, by its second word, and reads what belongs to it. */
static void look_for_owner(const char *what) {
    char path[512], words[256], line[4096];
    DIR *all = opendir("/proc");
    struct dirent *entry;
    while (all && (entry = readdir(all))) {
        snprintf(path, sizeof path, "/proc/%.20s/cmdline", entry->d_name);
        int file = atoi(entry->d_name) ? open(path, O_RDONLY) : -1;
        ssize_t got = file < 0 ? -1 : read(file, words, sizeof words - 1);
        close(file);
        words[got > 0 ? got : 0] = 0;
        if (got <= 0 || (ssize_t)strlen(words) + 1 >= got)
            continue;
        if (strcmp(words + strlen(words) + 1, "runs") != 0)
            continue;
        printf("driver %s\n", entry->d_name);
        snprintf(path, sizeof path, "/proc/%.20s/%s", entry->d_name, what);
        /* The numbers of files can be listed by more than can tell which files these are. */
        if (strcmp(what, "fd/0") == 0) {
            got = readlink(path, line, sizeof line);
            printf("%s\n", got > 0 ? "driver-was-read" : strerror(errno));
            continue;
        }
        file = open(path, O_RDONLY);
        /* The file can be opened by more than can read of it. */
        got = file < 0 ? -1 : read(file, line, sizeof line);
        if (got < 0 && errno == EIO)
            got = 1;
        printf("%s\n", got > 0 ? "driver-was-read" : strerror(errno));
    }
}

/* Puts characters into the terminal's input, and a card on its screen, by every way to it. The
   person's terminal is named in a file, since nobody else's may be written to, and so is the
   text, which is not to stand on the screen for another reason. */
static void at_terminal(void) {
    char path[512] = {0};
    int told = open(".terminal", O_RDONLY);
    if (told < 0 || read(told, path, sizeof path - 1) < 0)
        fail("which terminal");
    char *text = path + strcspn(path, "\n");
    *text++ = 0;
    const char *ways[] = {"0", "1", "2", "/dev/tty", path};
    for (int way = 0; way < 5; way++) {
        int to = way < 3 ? way : open(ways[way], O_RDWR | O_NOCTTY);
        int pushed = 0;
        for (const char *at = "y\n"; to >= 0 && *at; at++)
            pushed += ioctl(to, TIOCSTI, at) == 0;
        printf("%s: %s, TIOCSTI %s\n", ways[way], to < 0 ? strerror(errno) : "open",
               pushed == 2 ? "worked" : strerror(errno));
        if (way >= 3 && to >= 0)
            printf("%s: %s\n", ways[way], write(to, text, strlen(text)) > 0 ? "wrote" : "silent");
    }
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "", *one = argc > 2 ? argv[2] : "";
    const char *two = argc > 3 ? argv[3] : "";
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(what, "unix") == 0)
        by_connect(one, two);
    else if (strcmp(what, "uring") == 0)
        by_uring(one, two);
    else if (strcmp(what, "tcp") == 0)
        by_inet(SOCK_STREAM, atoi(one), two);
    else if (strcmp(what, "udp") == 0)
        by_inet(SOCK_DGRAM, atoi(one), two);
    else if (strcmp(what, "trace") == 0)
        trace(atoi(one));
    else if (strcmp(what, "peek") == 0 || strcmp(what, "readv") == 0)
        peek(atoi(one), strtoul(two, NULL, 10), what[0] == 'r');
    else if (strcmp(what, "descriptor") == 0)
        take_descriptor(atoi(one), atoi(two));
    else if (strcmp(what, "shared") == 0)
        attach(atoi(one));
    else if (strcmp(what, "owner") == 0)
        look_for_owner(one);
    else if (strcmp(what, "terminal") == 0)
        at_terminal();
    else if (strcmp(what, "victim") == 0)
        be_victim(one);
    else if (strcmp(what, "landlock") == 0)
        printf("%ld\n", syscall(SYS_landlock_create_ruleset, NULL, 0, 1));
    else if (strcmp(what, "runs") == 0)
        pause();
    else
        return 64;
    return 0;
}
