/*
 * The library for tools in C: the input as a tree of JSON, a writer for the output, the host functions, and an allocator
 * that never frees, because every call has a guest of its own.
 *
 *   clang --target=wasm32 -nostdlib -O2 -mbulk-memory -I include -Wl,--no-entry -Wl,--stack-first tool.c -o tool.wasm
 *
 * A function that is not called is not imported, so it needs no grant. Several files of one module may include this.
 */
#ifndef PALISADE_H
#define PALISADE_H

#include "palisade/memory.h"
#include "palisade/number.h"
#include "palisade/json-read.h"
#include "palisade/json-write.h"
#include "palisade/host.h"

/** Reports that the tool failed, with a message for its caller. Return `palisade_none` after it; it is ignored. */
static inline palisade_bytes palisade_fail(palisade_bytes code, palisade_bytes message) {
  palisade_writer error = palisade_write();
  palisade_open(&error, '{');
  palisade_put_text_member(&error, "code", code);
  palisade_put_text_member(&error, "message", message);
  palisade_close(&error, '}');
  const palisade_bytes written = palisade_written(&error);
  palisade_v1_fail(written.at, written.length);
  return palisade_none;
}

/**
 * Exports a tool: `PALISADE_TOOL(greet) { return …; }` is a function that gets its input as `const palisade_json *input`
 * and returns JSON as `palisade_bytes`.
 */
#define PALISADE_TOOL(name)                                                                         \
  static palisade_bytes palisade_tool_##name(const palisade_json *input);                           \
  __attribute__((export_name(#name))) uint64_t palisade_export_##name(const uint8_t *pointer,       \
                                                                      uint32_t length) {            \
    const palisade_json *input = palisade_parse((palisade_bytes){pointer, length});                 \
    const palisade_bytes output =                                                                   \
        input ? palisade_tool_##name(input)                                                         \
              : palisade_fail(palisade_text("wrong-input"), palisade_text("expected JSON"));        \
    return (uint64_t)(uintptr_t)output.at << 32 | output.length;                                    \
  }                                                                                                 \
  static palisade_bytes palisade_tool_##name(const palisade_json *input)

#endif
