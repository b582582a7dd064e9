/* Becomes another program on a machine that lacks parts of the containment: what these need of the
   kernel is refused, as an old or a closed one does. Usage: lesser PART[,PART..] PROGRAM [WORD..] */

#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OFFSET_NUMBER offsetof(struct seccomp_data, nr)
#define OFFSET_WORD(n) (offsetof(struct seccomp_data, args) + 8 * (n))
#define LOAD(at) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at)
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)

static void install(struct sock_filter *filter, size_t length) {
    struct sock_fprog program = {length, filter};
    /* By the older of two ways, so that one filter can take the newer one away. */
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("filter");
        _exit(125);
    }
}

#define REFUSE(...)                                                                                \
    do {                                                                                           \
        struct sock_filter filter[] = {__VA_ARGS__};                                               \
        install(filter, sizeof filter / sizeof *filter);                                           \
    } while (0)

static void without_call(int number) {
    REFUSE(LOAD(OFFSET_NUMBER), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
           RETURN(SECCOMP_RET_ERRNO | ENOSYS), RETURN(SECCOMP_RET_ALLOW));
}

static void without_namespace(int kind) {
    REFUSE(LOAD(OFFSET_NUMBER), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 3),
           LOAD(OFFSET_WORD(0)), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kind, 0, 1),
           RETURN(SECCOMP_RET_ERRNO | EPERM), RETURN(SECCOMP_RET_ALLOW));
}

/* A limit on processes can be read and not set. */
static void without_limits(void) {
    REFUSE(LOAD(OFFSET_NUMBER), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prlimit64, 0, 5),
           LOAD(OFFSET_WORD(1)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RLIMIT_NPROC, 0, 3),
           LOAD(OFFSET_WORD(2)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
           RETURN(SECCOMP_RET_ERRNO | EPERM), RETURN(SECCOMP_RET_ALLOW));
}

int main(int argc, char **argv) {
    if (argc < 3 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return 125;
    for (char *part = strtok(argv[1], ","); part; part = strtok(NULL, ",")) {
        if (strcmp(part, "processes") == 0)
            without_namespace(CLONE_NEWPID);
        else if (strcmp(part, "mounts") == 0)
            without_namespace(CLONE_NEWNS);
        else if (strcmp(part, "network") == 0)
            without_namespace(CLONE_NEWNET);
        else if (strcmp(part, "users") == 0)
            without_namespace(CLONE_NEWUSER);
        else if (strcmp(part, "landlock") == 0)
            without_call(SYS_landlock_create_ruleset);
        else if (strcmp(part, "syscalls") == 0)
            without_call(SYS_seccomp);
        else if (strcmp(part, "limits") == 0)
            without_limits();
        else
            return 125;
    }
    execv(argv[2], argv + 2);
    perror(argv[2]);
    return 125;
}
