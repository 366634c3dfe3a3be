/* The gate: facts that must hold, or the command is not started. */
#pragma once

#include "launcher.h"

enum expectation_kind { FACT_EQUALS, FACT_DIFFERS, FACT_IS_WITHIN };
struct expectation {
    enum expectation_kind kind;
    /* NAME=VALUE */
    const char *text;
    bool is_checked;
};
enum { MAX_EXPECTATIONS = 64 };

bool take_expectation(const char *argument, const char *key, const char *value);
void check_fact(const char *text);
const char *find_gap(void);
