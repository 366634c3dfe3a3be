#include "kernel.h"

/* Writes a JSON document of n records, at most 20,000, and parses it four times by recursive descent. */

#define MOST 20000

static char text[MOST * 160];
static const char *at, *end;
static u32 sum;

static char *put(char *to, const char *words) {
  while (*words) *to++ = *words++;
  return to;
}

static char *put_number(char *to, u32 value) {
  char digits[10];
  int count = 0;
  do {
    digits[count++] = (char)('0' + value % 10);
    value /= 10;
  } while (value);
  while (count) *to++ = digits[--count];
  return to;
}

static char *put_record(char *to, u32 *seed) {
  to = put(to, "{\"id\": ");
  to = put_number(to, next_random(seed) % 100000);
  to = put(to, ", \"name\": \"user \\\"");
  to = put_number(to, next_random(seed) % 1000);
  to = put(to, "\\u00e9\\n\", \"tags\": [\"red\", \"green\", [1, 2.5, -3e2]], \"ok\": ");
  to = put(to, next_random(seed) & 1 ? "true" : "false");
  return put(to, ", \"none\": null}");
}

static void skip_space(void) {
  while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) at++;
}

static u32 hex(char c) {
  return c <= '9' ? (u32)(c - '0') : (u32)((c | 32) - 'a' + 10);
}

static void parse_string(void) {
  u32 hash = 2166136261u;
  for (at++; at < end && *at != '"'; at++) {
    u32 c = (u8)*at;
    if (c == '\\') {
      c = (u8) * ++at;
      if (c == 'u') {
        c = 0;
        for (int i = 0; i < 4; i++) c = c << 4 | hex(*++at);
      } else if (c == 'n') {
        c = '\n';
      }
    }
    hash = mix(hash, c);
  }
  at++;
  sum = mix(sum, hash);
}

static void parse_number(void) {
  double value = 0, scale = 1;
  int negative = *at == '-';
  if (negative) at++;
  while (*at >= '0' && *at <= '9') value = value * 10 + (*at++ - '0');
  if (*at == '.')
    for (at++; *at >= '0' && *at <= '9'; at++) value += (*at - '0') * (scale /= 10);
  if (*at == 'e' || *at == 'E') {
    int power = 0;
    for (at++; *at >= '0' && *at <= '9'; at++) power = power * 10 + (*at - '0');
    while (power--) value *= 10;
  }
  sum = mix(sum, (u32)(int)(negative ? -value : value));
}

static void parse_value(u32 depth);

static void parse_list(char close, u32 depth) {
  at++;
  skip_space();
  while (at < end && *at != close) {
    if (close == '}') {
      parse_string();
      skip_space();
      at++;
    }
    parse_value(depth + 1);
    skip_space();
    if (*at == ',') at++;
    skip_space();
  }
  at++;
}

static void parse_word(const char *word) {
  while (*word && *at == *word) at++, word++;
  sum = mix(sum, (u8)*word);
}

static void parse_value(u32 depth) {
  skip_space();
  switch (*at) {
    case '{': parse_list('}', depth); break;
    case '[': parse_list(']', depth); break;
    case '"': parse_string(); break;
    case 't': parse_word("true"); break;
    case 'f': parse_word("false"); break;
    case 'n': parse_word("null"); break;
    default: parse_number();
  }
  sum = mix(sum, depth);
}

EXPORT u32 run(u32 n) {
  if (n > MOST) n = MOST;
  u32 seed = 99;
  char *to = text;
  *to++ = '[';
  for (u32 i = 0; i < n; i++) {
    if (i) to = put(to, ",\n");
    to = put_record(to, &seed);
  }
  *to++ = ']';
  end = to;
  sum = 0;
  for (int i = 0; i < 4; i++) {
    at = text;
    parse_value(0);
  }
  return mix(sum, (u32)(end - text));
}
