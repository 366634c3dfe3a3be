/* A component that wants a network. */
#include "guest.h"

IMPORT("wasi:sockets/instance-network@0.2.12", "instance-network") uint32_t network(void);

EXPORT("run") ending *run(char *tool_at, uint32_t tool_length, char *input_at, uint32_t input_length) {
  number(network());
  return returned();
}
