#include <string.h>

#include "sha256.h"

static const uint32_t ROUND[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t word, int by)
{
    return word >> by | word << (32 - by);
}

static void add_block(uint32_t state[8], const unsigned char *block)
{
    uint32_t words[64], a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (size_t i = 0; i < 16; i++)
        words[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
                   block[4 * i + 3];
    for (size_t i = 16; i < 64; i++) {
        uint32_t near = words[i - 2], far = words[i - 15];
        words[i] = words[i - 16] + (turn(far, 7) ^ turn(far, 18) ^ far >> 3) + words[i - 7] +
                   (turn(near, 17) ^ turn(near, 19) ^ near >> 10);
    }
    for (size_t i = 0; i < 64; i++) {
        uint32_t first = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + (g ^ (e & (f ^ g))) + ROUND[i] + words[i];
        uint32_t second = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) | (c & (a | b)));
        h = g;
        g = f;
        f = e;
        e = d + first;
        d = c;
        c = b;
        b = a;
        a = first + second;
    }
    const uint32_t sums[8] = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < 8; i++) state[i] += sums[i];
}

void sha256_begin(struct sha256 *hash)
{
    *hash = (struct sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                                      0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(struct sha256 *hash, const unsigned char *bytes, size_t length)
{
    size_t at = hash->length % SHA256_BLOCK;
    hash->length += length;
    while (length > 0) {
        if (at == 0 && length >= SHA256_BLOCK) {
            add_block(hash->state, bytes);
            bytes += SHA256_BLOCK;
            length -= SHA256_BLOCK;
            continue;
        }
        size_t count = length < SHA256_BLOCK - at ? length : SHA256_BLOCK - at;
        memcpy(hash->block + at, bytes, count);
        bytes += count;
        length -= count;
        at = (at + count) % SHA256_BLOCK;
        if (at == 0) add_block(hash->state, hash->block);
    }
}

void sha256_end(struct sha256 *hash, unsigned char digest[SHA256_BYTES])
{
    static const unsigned char PADDING[SHA256_BLOCK] = {0x80};
    unsigned char bits[8];
    uint64_t length = hash->length * 8;
    for (size_t i = 0; i < sizeof bits; i++) bits[i] = (unsigned char)(length >> (56 - 8 * i));
    size_t at = hash->length % SHA256_BLOCK;
    sha256_add(hash, PADDING, at < 56 ? 56 - at : 120 - at);
    sha256_add(hash, bits, sizeof bits);
    for (size_t i = 0; i < SHA256_BYTES; i++) digest[i] = (unsigned char)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}
