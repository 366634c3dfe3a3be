/* The checksum of ISO 3309, Ethernet, gzip and PNG. */
#ifndef CRC32_H
#define CRC32_H

#include <palisade.h>

/** The polynomial with its bits turned round. */
#define CRC32_POLYNOMIAL 0xedb88320u

static inline uint32_t crc32_of(palisade_bytes data) {
  uint32_t table[256];
  for (uint32_t byte = 0; byte < 256; byte++) {
    table[byte] = byte;
    for (int bit = 0; bit < 8; bit++) table[byte] = table[byte] >> 1 ^ (table[byte] & 1 ? CRC32_POLYNOMIAL : 0);
  }
  uint32_t sum = 0xffffffffu;
  for (uint32_t at = 0; at < data.length; at++) sum = sum >> 8 ^ table[(sum ^ data.at[at]) & 0xff];
  return ~sum;
}

#endif
