#include <errno.h>

#include "text.h"

/* One byte is kept free for the end of a line or of a string. */
void add_byte(struct text *text, char byte)
{
    if (text->length + 1 < text->size) text->bytes[text->length++] = byte;
}

void add(struct text *text, const char *string)
{
    while (*string != '\0') add_byte(text, *string++);
}

void add_number(struct text *text, uint64_t number)
{
    char digits[20];
    size_t count = 0;
    do digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (count > 0) add_byte(text, digits[--count]);
}

/* Boundary: foreign names (paths, arguments) cannot end a line or a list; `also` is escaped too. */
void add_escaped(struct text *text, const char *string, char also)
{
    static const char HEX[] = "0123456789abcdef";
    for (; *string != '\0'; string++) {
        unsigned char byte = (unsigned char)*string;
        if (byte >= 0x20 && byte <= 0x7e && byte != '\\' && *string != also) {
            add_byte(text, *string);
        } else {
            /* Never a truncated escape, which a reader would misread. */
            if (text->length + 4 >= text->size) return;
            add(text, "\\x");
            add_byte(text, HEX[byte >> 4]);
            add_byte(text, HEX[byte & 15]);
        }
    }
}

const char *string_of(struct text *text)
{
    text->bytes[text->length] = '\0';
    return text->bytes;
}

#define ERROR(name) {name, #name}
static const struct {
    int number;
    const char *name;
} ERRORS[] = {
    ERROR(EPERM), ERROR(ENOENT), ERROR(ESRCH), ERROR(EINTR), ERROR(EIO), ERROR(ENXIO), ERROR(E2BIG),
    ERROR(ENOEXEC), ERROR(EBADF), ERROR(ECHILD), ERROR(EAGAIN), ERROR(ENOMEM), ERROR(EACCES), ERROR(EFAULT),
    ERROR(EBUSY), ERROR(EEXIST), ERROR(EXDEV), ERROR(ENODEV), ERROR(ENOTDIR), ERROR(EISDIR), ERROR(EINVAL),
    ERROR(ENFILE), ERROR(EMFILE), ERROR(ETXTBSY), ERROR(EFBIG), ERROR(ENOSPC), ERROR(EROFS), ERROR(EPIPE),
    ERROR(ERANGE), ERROR(ENAMETOOLONG), ERROR(ENOSYS), ERROR(ELOOP), ERROR(EOVERFLOW), ERROR(ELIBBAD),
    ERROR(EUSERS), ERROR(EOPNOTSUPP), ERROR(ETIMEDOUT), ERROR(ESTALE), ERROR(EDQUOT), ERROR(ECANCELED),
    ERROR(EAFNOSUPPORT), ERROR(EADDRINUSE), ERROR(EADDRNOTAVAIL), ERROR(ECONNRESET), ERROR(ENOBUFS), ERROR(ENOTCONN),
    ERROR(ETOOMANYREFS),
};

const char *name_of_error(int number)
{
    for (size_t i = 0; i < COUNT(ERRORS); i++)
        if (ERRORS[i].number == number) return ERRORS[i].name;
    return "OTHER";
}

bool read_number(const char *text, uint64_t least, uint64_t most, uint64_t *number)
{
    uint64_t value = 0;
    /* Boundary: only digits; no sign, no space, no second spelling of a number. */
    if (text[0] == '\0' || (text[0] == '0' && text[1] != '\0')) return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9') return false;
        uint64_t digit = (uint64_t)(*text - '0');
        if (digit > most || value > (most - digit) / 10) return false;
        value = value * 10 + digit;
    }
    *number = value;
    return value >= least;
}
