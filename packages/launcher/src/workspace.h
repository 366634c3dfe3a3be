/* The workspace, mounted so that its owner on disk is the user of the run. */
#pragma once

#include "launcher.h"

struct map_ids {
    uint64_t owner_uid, owner_gid, uid, gid;
};

int make_map(const struct map_ids *ids);
void mount_workspace(void);
