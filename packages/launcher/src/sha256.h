/* SHA-256 (FIPS 180-4), for comparing a copied file with the digest that was judged. */
#pragma once

#include "launcher.h"

enum { SHA256_BYTES = 32, SHA256_BLOCK = 64 };

struct sha256 {
    uint32_t state[8];
    uint64_t length;
    unsigned char block[SHA256_BLOCK];
};

void sha256_begin(struct sha256 *hash);
void sha256_add(struct sha256 *hash, const unsigned char *bytes, size_t length);
void sha256_end(struct sha256 *hash, unsigned char digest[SHA256_BYTES]);
