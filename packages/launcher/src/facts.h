/* Facts: what is true of the command's process, read from the kernel after everything is set. */
#pragma once

void open_facts(void);
void report_facts(void);
void report_pid(int outer_proc);
