/* A component that never asks for a stream, and writes to one whose number it made up. */
#include "guest.h"

typedef struct { uint8_t is_error; uint8_t tag; uint32_t error; } wrote;

IMPORT("wasi:io/streams@0.2.12", "[method]output-stream.write") void write_bytes(uint32_t stream, char *at, uint32_t length, wrote *to);

EXPORT("run") ending *run(char *tool_at, uint32_t tool_length, char *input_at, uint32_t input_length) {
  text input = { input_at, input_length };
  wrote w;
  read_args(input);
  write_bytes((uint32_t)number_of(args[0]), "forged\n", 7, &w);
  puts_("null");
  return returned();
}
