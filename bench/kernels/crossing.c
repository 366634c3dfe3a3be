#include "kernel.h"

/* No kernel: a guest that does nothing but call its host, n times. */

__attribute__((import_module("bench"), import_name("touch"))) u32 touch(u32 handle);
__attribute__((import_module("bench"), import_name("show"))) u32 show(const char *text, u32 length);

static const char TEXT[] = "thirty-two bytes of plain text!!";

__attribute__((export_name("touch_all"))) u32 touch_all(u32 n) {
  u32 sum = 0;
  for (u32 i = 0; i < n; i++) sum += touch(i & 7);
  return sum;
}

__attribute__((export_name("show_all"))) u32 show_all(u32 n) {
  u32 sum = 0;
  for (u32 i = 0; i < n; i++) sum += show(TEXT, 32);
  return sum;
}
