/* Writes down what a process does to the files of one directory, and what it says on sockets, in one order.
 *
 * Preloaded into the server by the fault lab (see src/power/). Each call is made and written down under one lock, so
 * that the record has the order of the calls; only a sync is two records, one before it begins and one after it has
 * come back well, since others may write meanwhile and are not covered by it.
 *
 * LAB_RECORD        the file that the record is appended to; it must not exist yet
 * LAB_RECORD_UNDER  the directory; it need not exist yet
 * LAB_FAIL_SYNC     if n: the nth sync of a file does nothing and fails, once
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* The same numbers as in src/power/record.rs. */
enum kind { BEGIN = 1, OPEN, CREATE, WRITE, TRUNCATE, RENAME, UNLINK, MKDIR, SYNC_BEGIN, SYNC_END, SYNC_FAILED, TOLD, ASKED, ALIEN };

struct head {
    uint32_t kind;
    uint32_t file; /* which opened file or connection; both count from 1 */
    uint64_t at;   /* where in the file, or how long it becomes */
    uint64_t bytes;
};

#define FDS 65536
enum { NONE, FILE_OF_OURS, ACCEPTED, CONNECTED };
static struct { uint32_t number; uint8_t what; } fds[FDS];
static uint32_t last_file, last_connection;
static long fail_sync, syncs;
static int out = -1;
static char under[PATH_MAX];
static size_t under_len;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ({ static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name); real; })

/* A record that cannot be kept is worse than a server that ends. */
static void put(enum kind kind, uint32_t file, uint64_t at, const void *data, uint64_t bytes) {
    struct head head = { kind, file, at, bytes };
    struct iovec parts[2] = { { &head, sizeof head }, { (void *)data, bytes } };
    ssize_t all = (ssize_t)(sizeof head + bytes);
    if (syscall(SYS_writev, out, parts, 2) != all) abort();
}

static int ours(int fd) { return out >= 0 && fd >= 0 && fd < FDS && fds[fd].what == FILE_OF_OURS; }

/* The whole name, without looking at the disk: of a thing that may not be there. */
static int whole(int dir, const char *path, char *to) {
    if (path[0] == '/') return snprintf(to, PATH_MAX, "%s", path) < PATH_MAX;
    char base[PATH_MAX], link[64];
    if (dir == AT_FDCWD) {
        if (!getcwd(base, sizeof base)) return 0;
    } else {
        snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
        ssize_t n = readlink(link, base, sizeof base - 1);
        if (n < 0) return 0;
        base[n] = 0;
    }
    return snprintf(to, PATH_MAX, "%s/%s", base, path) < PATH_MAX;
}

/* Under the directory, it, or the one above it, which keeps it. */
static int watched(const char *path) {
    if (strncmp(path, under, under_len) == 0 && (path[under_len] == 0 || path[under_len] == '/')) return 1;
    const char *slash = strrchr(under, '/');
    size_t above = slash ? (size_t)(slash - under) : 0;
    return strlen(path) == above && strncmp(path, under, above) == 0;
}

__attribute__((constructor)) static void begin(void) {
    const char *file = getenv("LAB_RECORD"), *dir = getenv("LAB_RECORD_UNDER"), *fail = getenv("LAB_FAIL_SYNC");
    if (!file || !dir) return;
    under_len = (size_t)snprintf(under, sizeof under, "%s", dir);
    fail_sync = fail ? atol(fail) : 0;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) {
        fprintf(stderr, "the record `%s` cannot be begun: %s\n", file, strerror(errno));
        _exit(9);
    }
    out = fd;
    /* Not for the children of the server. */
    unsetenv("LD_PRELOAD");
    char who[32];
    int bytes = snprintf(who, sizeof who, "%d", getpid());
    put(BEGIN, 0, 0, who, (uint64_t)bytes);
}

static int opened(int dir, const char *path, int flags, mode_t mode) {
    char name[PATH_MAX];
    int looked = out >= 0 && whole(dir, path, name) && watched(name);
    if (!looked) return (int)syscall(SYS_openat, dir, path, flags, mode);
    pthread_mutex_lock(&lock);
    int is_new = (flags & O_CREAT) && faccessat(AT_FDCWD, name, F_OK, 0) != 0;
    int fd = (int)syscall(SYS_openat, dir, path, flags, mode);
    int error = errno;
    if (fd >= FDS) abort();
    if (fd >= 0) {
        fds[fd].what = FILE_OF_OURS;
        fds[fd].number = ++last_file;
        put(is_new ? CREATE : OPEN, last_file, 0, name, strlen(name));
        if ((flags & O_TRUNC) && !is_new) put(TRUNCATE, last_file, 0, "", 0);
    }
    pthread_mutex_unlock(&lock);
    errno = error;
    return fd;
}

#define MODE(flags) ({ mode_t mode = 0; if ((flags) & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); } mode; })

int open(const char *path, int flags, ...) { return opened(AT_FDCWD, path, flags, MODE(flags)); }
int open64(const char *path, int flags, ...) { return opened(AT_FDCWD, path, flags, MODE(flags)); }
int openat(int dir, const char *path, int flags, ...) { return opened(dir, path, flags, MODE(flags)); }
int openat64(int dir, const char *path, int flags, ...) { return opened(dir, path, flags, MODE(flags)); }
int creat(const char *path, mode_t mode) { return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

int close(int fd) {
    if (out >= 0 && fd == out) return 0;
    if (fd >= 0 && fd < FDS) fds[fd].what = NONE;
    return REAL(close)(fd);
}

static void same(int fd, int as) {
    if (fd >= 0 && fd < FDS && as >= 0 && as < FDS) fds[fd] = fds[as];
}

int dup(int fd) { int made = REAL(dup)(fd); same(made, fd); return made; }
int dup2(int fd, int to) { int made = REAL(dup2)(fd, to); same(made, fd); return made; }

static int control(int fd, int command, void *argument) {
    int answer = (int)syscall(SYS_fcntl, fd, command, argument);
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) same(answer, fd);
    return answer;
}

#define ARGUMENT(last) ({ va_list rest; va_start(rest, last); void *argument = va_arg(rest, void *); va_end(rest); argument; })
int fcntl(int fd, int command, ...) { return control(fd, command, ARGUMENT(command)); }
int fcntl64(int fd, int command, ...) { return control(fd, command, ARGUMENT(command)); }

/* A way of changing a file that is not written down would make every verdict worthless, so it is one itself. */
static void alien(int fd, const char *what) {
    if (!ours(fd)) return;
    pthread_mutex_lock(&lock);
    put(ALIEN, fds[fd].number, 0, what, strlen(what));
    pthread_mutex_unlock(&lock);
}

static ssize_t written(int fd, const struct iovec *parts, int count, off_t at) {
    pthread_mutex_lock(&lock);
    ssize_t done = at < 0 ? syscall(SYS_writev, fd, parts, count) : syscall(SYS_pwritev, fd, parts, count, at, 0);
    int error = errno;
    if (at < 0 && done > 0) at = lseek(fd, 0, SEEK_CUR) - done;
    ssize_t left = done;
    for (int i = 0; i < count && left > 0; i++) {
        ssize_t here = left < (ssize_t)parts[i].iov_len ? left : (ssize_t)parts[i].iov_len;
        put(WRITE, fds[fd].number, (uint64_t)at, parts[i].iov_base, (uint64_t)here);
        at += here;
        left -= here;
    }
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}

static ssize_t written_one(int fd, const void *data, size_t bytes, off_t at) {
    struct iovec part = { (void *)data, bytes };
    return written(fd, &part, 1, at);
}

/* What is said on a socket. Sockets here never block, so the lock is not held for long. */
static int speaks(int fd) {
    if (out < 0 || fd < 0 || fd >= FDS || fds[fd].what == FILE_OF_OURS) return 0;
    if (fds[fd].what != NONE) return 1;
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    if (getpeername(fd, (struct sockaddr *)&peer, &size) != 0) return 0;
    if (peer.ss_family != AF_INET && peer.ss_family != AF_INET6) return 0;
    pthread_mutex_lock(&lock);
    fds[fd].number = ++last_connection;
    fds[fd].what = CONNECTED;
    pthread_mutex_unlock(&lock);
    return 1;
}

static ssize_t said(int fd, const struct msghdr *message, int flags) {
    pthread_mutex_lock(&lock);
    ssize_t done = syscall(SYS_sendmsg, fd, message, flags | MSG_NOSIGNAL);
    int error = errno;
    ssize_t left = done;
    for (size_t i = 0; i < message->msg_iovlen && left > 0; i++) {
        ssize_t here = left < (ssize_t)message->msg_iov[i].iov_len ? left : (ssize_t)message->msg_iov[i].iov_len;
        enum kind kind = fds[fd].what == ACCEPTED ? TOLD : ASKED;
        put(kind, fds[fd].number, 0, message->msg_iov[i].iov_base, (uint64_t)here);
        left -= here;
    }
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}

static ssize_t said_parts(int fd, const struct iovec *parts, size_t count, int flags) {
    struct msghdr message = { 0 };
    message.msg_iov = (struct iovec *)parts;
    message.msg_iovlen = count;
    return said(fd, &message, flags);
}

ssize_t write(int fd, const void *data, size_t bytes) {
    struct iovec part = { (void *)data, bytes };
    if (ours(fd)) return written(fd, &part, 1, -1);
    if (speaks(fd)) return said_parts(fd, &part, 1, 0);
    return syscall(SYS_write, fd, data, bytes);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    if (ours(fd)) return written(fd, parts, count, -1);
    if (speaks(fd)) return said_parts(fd, parts, (size_t)count, 0);
    return syscall(SYS_writev, fd, parts, count);
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at) {
    return ours(fd) ? written_one(fd, data, bytes, at) : syscall(SYS_pwrite64, fd, data, bytes, at);
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t at) { return pwrite(fd, data, bytes, at); }

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) {
    return ours(fd) ? written(fd, parts, count, at) : syscall(SYS_pwritev, fd, parts, count, at, 0);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) { return pwritev(fd, parts, count, at); }

ssize_t send(int fd, const void *data, size_t bytes, int flags) {
    struct iovec part = { (void *)data, bytes };
    if (speaks(fd)) return said_parts(fd, &part, 1, flags);
    return syscall(SYS_sendto, fd, data, bytes, flags, NULL, 0);
}

ssize_t sendto(int fd, const void *data, size_t bytes, int flags, const struct sockaddr *to, socklen_t size) {
    if (to == NULL) return send(fd, data, bytes, flags);
    return syscall(SYS_sendto, fd, data, bytes, flags, to, size);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    if (speaks(fd)) return said(fd, message, flags);
    return syscall(SYS_sendmsg, fd, message, flags);
}

int accept4(int fd, struct sockaddr *from, socklen_t *size, int flags) {
    int made = (int)syscall(SYS_accept4, fd, from, size, flags);
    if (out >= 0 && made >= FDS) abort();
    if (out >= 0 && made >= 0) {
        int error = errno;
        pthread_mutex_lock(&lock);
        fds[made].number = ++last_connection;
        fds[made].what = ACCEPTED;
        pthread_mutex_unlock(&lock);
        errno = error;
    }
    return made;
}

int accept(int fd, struct sockaddr *from, socklen_t *size) { return accept4(fd, from, size, 0); }

int ftruncate(int fd, off_t length) {
    if (!ours(fd)) return (int)syscall(SYS_ftruncate, fd, length);
    pthread_mutex_lock(&lock);
    int done = (int)syscall(SYS_ftruncate, fd, length);
    int error = errno;
    if (done == 0) put(TRUNCATE, fds[fd].number, (uint64_t)length, "", 0);
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}

int ftruncate64(int fd, off64_t length) { return ftruncate(fd, length); }

int fallocate(int fd, int mode, off_t at, off_t length) { alien(fd, "fallocate"); return REAL(fallocate)(fd, mode, at, length); }
int fallocate64(int fd, int mode, off64_t at, off64_t length) { alien(fd, "fallocate"); return REAL(fallocate64)(fd, mode, at, length); }
int posix_fallocate(int fd, off_t at, off_t length) { alien(fd, "fallocate"); return REAL(posix_fallocate)(fd, at, length); }
int posix_fallocate64(int fd, off64_t at, off64_t length) { alien(fd, "fallocate"); return REAL(posix_fallocate64)(fd, at, length); }
ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *there, size_t bytes, unsigned flags) {
    alien(to, "copy_file_range");
    return REAL(copy_file_range)(from, at, to, there, bytes, flags);
}
ssize_t sendfile(int to, int from, off_t *at, size_t bytes) { alien(to, "sendfile"); return REAL(sendfile)(to, from, at, bytes); }
ssize_t sendfile64(int to, int from, off64_t *at, size_t bytes) { alien(to, "sendfile"); return REAL(sendfile64)(to, from, at, bytes); }

static int synced(int fd, long number) {
    if (!ours(fd)) return (int)syscall(number, fd);
    pthread_mutex_lock(&lock);
    uint32_t file = fds[fd].number;
    long count = ++syncs;
    put(count == fail_sync ? SYNC_FAILED : SYNC_BEGIN, file, (uint64_t)count, "", 0);
    pthread_mutex_unlock(&lock);
    if (count == fail_sync) {
        errno = EIO;
        return -1;
    }
    int done = (int)syscall(number, fd);
    int error = errno;
    if (done == 0) {
        pthread_mutex_lock(&lock);
        put(SYNC_END, file, (uint64_t)count, "", 0);
        pthread_mutex_unlock(&lock);
    }
    errno = error;
    return done;
}

int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

/* A change of names; the two of a rename are parted by a zero. */
static void named(enum kind kind, const char *first, const char *second) {
    char both[2 * PATH_MAX + 1];
    size_t length = strlen(first);
    memcpy(both, first, length);
    if (second) {
        both[length++] = 0;
        memcpy(both + length, second, strlen(second));
        length += strlen(second);
    }
    put(kind, 0, 0, both, length);
}

int renameat2(int dir, const char *from, int other, const char *to, unsigned flags) {
    char first[PATH_MAX], second[PATH_MAX];
    int looked = out >= 0 && whole(dir, from, first) && whole(other, to, second) && (watched(first) || watched(second));
    if (!looked) return (int)syscall(SYS_renameat2, dir, from, other, to, flags);
    pthread_mutex_lock(&lock);
    int done = (int)syscall(SYS_renameat2, dir, from, other, to, flags);
    int error = errno;
    if (done == 0) named(RENAME, first, second);
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}

int renameat(int dir, const char *from, int other, const char *to) { return renameat2(dir, from, other, to, 0); }
int rename(const char *from, const char *to) { return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }

int unlinkat(int dir, const char *path, int flags) {
    char name[PATH_MAX];
    int looked = out >= 0 && whole(dir, path, name) && watched(name);
    if (!looked) return (int)syscall(SYS_unlinkat, dir, path, flags);
    pthread_mutex_lock(&lock);
    int done = (int)syscall(SYS_unlinkat, dir, path, flags);
    int error = errno;
    if (done == 0) named(UNLINK, name, NULL);
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }

int mkdirat(int dir, const char *path, mode_t mode) {
    char name[PATH_MAX];
    int looked = out >= 0 && whole(dir, path, name) && watched(name);
    if (!looked) return (int)syscall(SYS_mkdirat, dir, path, mode);
    pthread_mutex_lock(&lock);
    int done = (int)syscall(SYS_mkdirat, dir, path, mode);
    int error = errno;
    if (done == 0) named(MKDIR, name, NULL);
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}

int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
