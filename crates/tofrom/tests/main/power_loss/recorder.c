/* Records every change of the files in a folder: loaded with LD_PRELOAD, it appends to the file in RECORDER_TRACE what the
 * process does to files below RECORDER_FOLDER. A record is the header below, the path and the data. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { WRITE = 1, TRUNCATE, CREATE, SYNC, UNLINK, RENAME };

struct header {
    uint32_t kind;
    uint32_t path_length;
    /* The place of a write, the length after a truncation, the length of the trace when a sync began. */
    uint64_t offset;
    uint64_t data_length;
};

static int trace = -1;
static char folder[PATH_MAX];

__attribute__((constructor)) static void start(void) {
    const char *file = getenv("RECORDER_TRACE"), *root = getenv("RECORDER_FOLDER");
    if (file && root && realpath(root, folder))
        trace = syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

/* The memory that SQLite's processes share is rebuilt after a crash. */
static int is_watched(const char *path) {
    size_t length = strlen(folder), size = strlen(path);
    return trace >= 0 && !strncmp(path, folder, length) && (path[length] == '/' || !path[length]) &&
           !(size > 4 && !strcmp(path + size - 4, "-shm")) && !strstr(path, " (deleted)");
}

static int watched_path(int file, char *path) {
    if (trace < 0)
        return 0;
    int before = errno;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    errno = before;
    if (length < 0)
        return 0;
    path[length] = 0;
    return is_watched(path);
}

static uint64_t trace_length(void) {
    struct stat now;
    return fstat(trace, &now) ? 0 : (uint64_t)now.st_size;
}

/* One call appends the whole record, also beside other threads. A trace with a gap would prove nothing. */
static void record(enum kind kind, const char *path, uint64_t offset, const void *data, size_t length) {
    int before = errno;
    struct header header = {kind, strlen(path), offset, length};
    struct iovec parts[] = {{&header, sizeof header}, {(void *)path, header.path_length}, {(void *)data, length}};
    if (syscall(SYS_writev, trace, parts, 3) != (ssize_t)(sizeof header + header.path_length + length))
        abort();
    errno = before;
}

ssize_t write(int file, const void *data, size_t length) {
    char path[PATH_MAX];
    int watched = watched_path(file, path);
    ssize_t written = syscall(SYS_write, file, data, length);
    if (watched && written > 0)
        record(WRITE, path, lseek(file, 0, SEEK_CUR) - written, data, written);
    return written;
}

ssize_t pwrite64(int file, const void *data, size_t length, off64_t offset) {
    char path[PATH_MAX];
    ssize_t written = syscall(SYS_pwrite64, file, data, length, offset);
    if (written > 0 && watched_path(file, path))
        record(WRITE, path, offset, data, written);
    return written;
}

ssize_t pwrite(int file, const void *data, size_t length, off_t offset) { return pwrite64(file, data, length, offset); }

int ftruncate64(int file, off64_t length) {
    char path[PATH_MAX];
    int result = syscall(SYS_ftruncate, file, length);
    if (!result && watched_path(file, path))
        record(TRUNCATE, path, length, NULL, 0);
    return result;
}

int ftruncate(int file, off_t length) { return ftruncate64(file, length); }

static int recorded_sync(long call, int file) {
    char path[PATH_MAX];
    uint64_t began = trace >= 0 ? trace_length() : 0;
    int result = syscall(call, file);
    if (!result && watched_path(file, path))
        record(SYNC, path, began, NULL, 0);
    return result;
}

int fsync(int file) { return recorded_sync(SYS_fsync, file); }

int fdatasync(int file) { return recorded_sync(SYS_fdatasync, file); }

static int recorded_open(int directory, const char *name, int flags, mode_t mode) {
    struct stat before;
    int existed = !fstatat(directory, name, &before, 0);
    int file = syscall(SYS_openat, directory, name, flags, mode);
    char path[PATH_MAX];
    if (file >= 0 && flags & (O_CREAT | O_TRUNC) && watched_path(file, path)) {
        if (!existed)
            record(CREATE, path, 0, NULL, 0);
        else if (flags & O_TRUNC)
            record(TRUNCATE, path, 0, NULL, 0);
    }
    return file;
}

#define OPEN(directory, name)                                                                                          \
    mode_t mode = 0;                                                                                                   \
    if (flags & (O_CREAT | O_TMPFILE)) {                                                                               \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode = va_arg(rest, mode_t);                                                                                   \
        va_end(rest);                                                                                                  \
    }                                                                                                                  \
    return recorded_open(directory, name, flags, mode)

int open(const char *name, int flags, ...) { OPEN(AT_FDCWD, name); }
int open64(const char *name, int flags, ...) { OPEN(AT_FDCWD, name); }
int openat(int directory, const char *name, int flags, ...) { OPEN(directory, name); }
int openat64(int directory, const char *name, int flags, ...) { OPEN(directory, name); }

int unlink(const char *name) {
    char path[PATH_MAX];
    int watched = trace >= 0 && realpath(name, path) && is_watched(path);
    int result = syscall(SYS_unlink, name);
    if (!result && watched)
        record(UNLINK, path, 0, NULL, 0);
    return result;
}

int rename(const char *from, const char *to) {
    char path[PATH_MAX], new_path[PATH_MAX];
    int watched = trace >= 0 && realpath(from, path) && is_watched(path);
    int result = syscall(SYS_rename, from, to);
    if (!result && watched && realpath(to, new_path))
        record(RENAME, path, 0, new_path, strlen(new_path));
    return result;
}
