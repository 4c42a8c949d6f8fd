#ifndef CSYS_DIRECTORY_H
#define CSYS_DIRECTORY_H

#include <stdint.h>

// Handles on file system objects, for walks that no link may lead astray. Every function returns a descriptor or a
// count, or the negated errno.

enum {
    CSYS_KIND_FILE = 1,
    CSYS_KIND_DIRECTORY = 2,
    CSYS_KIND_LINK = 3,
    CSYS_KIND_OTHER = 4,
};

struct csys_object {
    int32_t kind;
    int64_t size;
    uint64_t device;
    uint64_t inode;
};

// Opens what `path` names, following links, without reading it: a FIFO does not block and a device does nothing.
int csys_open_path(const char *path);

// Opens the one entry `name` of `directory` without following a link. `name` is one component, never "..".
int csys_open_entry(int directory, const char *name);

// Opens `directory` again, this time for reading its entries.
int csys_open_for_listing(int directory);

int csys_describe(int handle, struct csys_object *object);

// The text of a link opened with csys_open_entry; not zero-terminated.
int csys_read_link(int handle, char *text, int capacity);

// Where the object of `handle` is now, seen from the root directory; not zero-terminated.
int csys_path_of(int handle, char *text, int capacity);

#endif
