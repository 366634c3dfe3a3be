/* What the guests of these tests share: bytes, a place for them, and JSON by hand. */
#include <stddef.h>
#include <stdint.h>

#define IMPORT(module, name) __attribute__((import_module(module), import_name(name)))
#define EXPORT(name) __attribute__((export_name(name)))

typedef struct { char *at; uint32_t length; } text;

extern char __heap_base;
static char *free_at = &__heap_base;

/* Memory is never given back: each call has a new guest. */
EXPORT("cabi_realloc") void *cabi_realloc(void *old, uint32_t old_size, uint32_t align, uint32_t size) {
  uintptr_t at = ((uintptr_t)free_at + align - 1) & ~(uintptr_t)(align - 1);
  while (at + size > __builtin_wasm_memory_size(0) * 65536)
    if (__builtin_wasm_memory_grow(0, 1) == (size_t)-1) __builtin_trap();
  free_at = (char *)at + size;
  for (uint32_t i = 0; old != NULL && i < old_size && i < size; i += 1) ((char *)at)[i] = ((char *)old)[i];
  return (void *)at;
}

static char out[1 << 17];
static uint32_t out_length;

static void put(char c) { if (out_length < sizeof out) out[out_length++] = c; }
static void puts_(const char *s) { while (*s) put(*s++); }
static void quoted(text t) {
  put('"');
  for (uint32_t i = 0; i < t.length; i += 1) {
    if (t.at[i] == '"' || t.at[i] == '\\') put('\\');
    put(t.at[i]);
  }
  put('"');
}
static void number(uint64_t n) {
  char digits[20];
  int count = 0;
  do digits[count++] = '0' + n % 10; while ((n /= 10) != 0);
  while (count > 0) put(digits[--count]);
}

static uint32_t length_of(const char *s) { uint32_t n = 0; while (s[n]) n += 1; return n; }
static text text_of(const char *s) { return (text){ (char *)s, length_of(s) }; }
static int is(text t, const char *s) {
  if (t.length != length_of(s)) return 0;
  for (uint32_t i = 0; i < t.length; i += 1) if (t.at[i] != s[i]) return 0;
  return 1;
}
static uint64_t number_of(text t) {
  uint64_t n = 0;
  for (uint32_t i = 0; i < t.length; i += 1) n = n * 10 + (t.at[i] - '0');
  return n;
}

/* The input is a list of texts without escapes, one beneath the key "a": {"a":["one","two"]}. */
static text args[8];
static void read_args(text input) {
  uint32_t found = 0, i = 5;
  while (i < input.length && found < 8) {
    if (input.at[i++] != '"') continue;
    uint32_t from = i;
    while (i < input.length && input.at[i] != '"') i += 1;
    args[found++] = (text){ input.at + from, i - from };
    i += 1;
  }
}

typedef struct { uint32_t is_error; text value; text message; } ending;
static ending end;
static ending *returned(void) {
  end.is_error = 0;
  end.value = (text){ out, out_length };
  return &end;
}
static ending *failed(const char *code, const char *message) {
  end.is_error = 1;
  end.value = text_of(code);
  end.message = text_of(message);
  return &end;
}
