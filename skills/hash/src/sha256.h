/* SHA-256 of FIPS 180-4. */
#ifndef SHA256_H
#define SHA256_H

#include <palisade.h>

#define SHA256_BYTES 32
#define SHA256_BLOCK 64

/** The first 32 bits of the fractions of the cube roots of the first 64 primes. */
static const uint32_t sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static inline uint32_t sha256_turn(uint32_t word, int bits) {
  return word >> bits | word << (32 - bits);
}

/** Mixes one block into the state. */
static inline void sha256_mix(uint32_t state[8], const uint8_t *block) {
  uint32_t words[64];
  for (int at = 0; at < 16; at++)
    words[at] = (uint32_t)block[4 * at] << 24 | (uint32_t)block[4 * at + 1] << 16 | (uint32_t)block[4 * at + 2] << 8 |
                block[4 * at + 3];
  for (int at = 16; at < 64; at++) {
    const uint32_t late = words[at - 2], early = words[at - 15];
    words[at] = words[at - 16] + words[at - 7] + (sha256_turn(late, 17) ^ sha256_turn(late, 19) ^ late >> 10) +
                (sha256_turn(early, 7) ^ sha256_turn(early, 18) ^ early >> 3);
  }
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
  for (int at = 0; at < 64; at++) {
    const uint32_t choice = (e & f) ^ (~e & g), majority = (a & b) ^ (a & c) ^ (b & c);
    const uint32_t one = h + (sha256_turn(e, 6) ^ sha256_turn(e, 11) ^ sha256_turn(e, 25)) + choice +
                         sha256_constants[at] + words[at];
    const uint32_t two = (sha256_turn(a, 2) ^ sha256_turn(a, 13) ^ sha256_turn(a, 22)) + majority;
    h = g, g = f, f = e, e = d + one, d = c, c = b, b = a, a = one + two;
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d;
  state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

static inline void sha256_digest(palisade_bytes data, uint8_t digest[SHA256_BYTES]) {
  uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  palisade_bytes rest = data;
  for (; rest.length >= SHA256_BLOCK; rest = palisade_after(rest, SHA256_BLOCK)) sha256_mix(state, rest.at);
  // What is left, a bit, zeros, and the length in bits: in one block, or in two where it does not fit.
  uint8_t tail[2 * SHA256_BLOCK] = {0};
  const uint32_t tail_length = rest.length < SHA256_BLOCK - 8 ? SHA256_BLOCK : 2 * SHA256_BLOCK;
  memcpy(tail, rest.at, rest.length);
  tail[rest.length] = 0x80;
  const uint64_t bits = (uint64_t)data.length * 8;
  for (uint32_t at = 0; at < 8; at++) tail[tail_length - 1 - at] = (uint8_t)(bits >> (8 * at));
  for (uint32_t at = 0; at < tail_length; at += SHA256_BLOCK) sha256_mix(state, tail + at);
  for (int at = 0; at < SHA256_BYTES; at++) digest[at] = (uint8_t)(state[at / 4] >> (24 - 8 * (at % 4)));
}

#endif
