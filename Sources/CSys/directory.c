#define _GNU_SOURCE
#include "csys_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int result(long value) { return value < 0 ? -errno : (int)value; }

int csys_open_path(const char *path) { return result(open(path, O_PATH | O_CLOEXEC)); }

int csys_open_entry(int directory, const char *name) {
    return result(openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

int csys_open_for_listing(int directory) {
    return result(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

int csys_describe(int handle, struct csys_object *object) {
    struct stat status;
    if (fstat(handle, &status) < 0) return -errno;
    switch (status.st_mode & S_IFMT) {
    case S_IFREG: object->kind = CSYS_KIND_FILE; break;
    case S_IFDIR: object->kind = CSYS_KIND_DIRECTORY; break;
    case S_IFLNK: object->kind = CSYS_KIND_LINK; break;
    default: object->kind = CSYS_KIND_OTHER; break;
    }
    object->size = status.st_size;
    object->device = status.st_dev;
    object->inode = status.st_ino;
    return 0;
}

int csys_read_link(int handle, char *text, int capacity) {
    return result(readlinkat(handle, "", text, (size_t)capacity));
}

int csys_path_of(int handle, char *text, int capacity) {
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", handle);
    return result(readlink(name, text, (size_t)capacity));
}
