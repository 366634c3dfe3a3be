/* Reports: lines on the status descriptor, and on standard error why nothing was started. */
#pragma once

#include "text.h"

extern int exec_report;
extern bool has_tree;
extern pid_t starter;

void write_all(int descriptor, const char *bytes, size_t length);
void write_line(struct text *line, int descriptor);
void report_status(struct text *line);
_Noreturn void refuse(const char *argument, const char *is, const char *expected);
_Noreturn void fail(const char *step, int error);
void must(bool done, const char *step);
