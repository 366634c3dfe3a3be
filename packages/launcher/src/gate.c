#include <string.h>

#include "gate.h"
#include "report.h"

static struct expectation expectations[MAX_EXPECTATIONS];
static size_t count;
static const struct expectation *broken = NULL;

/* Whether the key is one of the gate. */
bool take_expectation(const char *argument, const char *key, const char *value)
{
    static const char *const KEYS[] = {"expect", "differ", "within"};
    size_t kind = 0;
    while (kind < COUNT(KEYS) && strcmp(key, KEYS[kind]) != 0) kind++;
    if (kind == COUNT(KEYS)) return false;
    if (strchr(value, '=') == NULL) refuse(argument, "is not a fact", "KEY=NAME=VALUE");
    if (count == MAX_EXPECTATIONS) refuse(argument, "is one fact too many", "64 at most");
    expectations[count++] = (struct expectation){(enum expectation_kind)kind, value, false};
    return true;
}

/* Whether each item of a list with commas is also in another one. */
static bool is_within(const char *items, const char *list)
{
    while (*items != '\0') {
        size_t length = strcspn(items, ",");
        const char *at = list;
        while (*at != '\0' && (strcspn(at, ",") != length || strncmp(at, items, length) != 0)) {
            at += strcspn(at, ",");
            if (*at == ',') at++;
        }
        if (*at == '\0') return false;
        items += length;
        if (*items == ',') items++;
    }
    return true;
}

static bool holds(enum expectation_kind kind, const char *is, const char *value)
{
    if (kind == FACT_IS_WITHIN) return is_within(is, value);
    /* Boundary: what was not reported counts as shared. */
    if (kind == FACT_DIFFERS) return is[0] != '\0' && strcmp(is, value) != 0;
    return strcmp(is, value) == 0;
}

/* Compares a fact, NAME=VALUE, with what is expected of it. */
void check_fact(const char *text)
{
    size_t name = strcspn(text, "=") + 1;
    for (size_t i = 0; i < count; i++) {
        struct expectation *each = &expectations[i];
        if (strncmp(each->text, text, name) != 0) continue;
        each->is_checked = true;
        if (broken == NULL && !holds(each->kind, text + name, each->text + name)) broken = each;
    }
}

/* The name of a fact that is missing or not as expected, after "fact."; NULL if all are. */
const char *find_gap(void)
{
    static char bytes[64];
    struct text name = {bytes, sizeof bytes, 0};
    for (size_t i = 0; broken == NULL && i < count; i++)
        if (!expectations[i].is_checked) broken = &expectations[i];
    if (broken == NULL) return NULL;
    add(&name, "fact.");
    for (const char *sign = broken->text; *sign != '=' && *sign > ' '; sign++) add_byte(&name, *sign);
    return string_of(&name);
}
