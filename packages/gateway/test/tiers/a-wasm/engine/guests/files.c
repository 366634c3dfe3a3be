/* A component that opens a file of a directory whose handle it made up. */
#include "guest.h"

IMPORT("wasi:filesystem/types@0.2.12", "[method]descriptor.open-at")
void open_at(uint32_t directory, uint32_t path_flags, char *path, uint32_t length, uint32_t open_flags, uint32_t flags, uint32_t *to);

EXPORT("run") ending *run(char *tool_at, uint32_t tool_length, char *input_at, uint32_t input_length) {
  uint32_t opened[2];
  open_at(3, 1, "/etc/passwd", 11, 0, 1, opened);
  number(opened[1]);
  return returned();
}
