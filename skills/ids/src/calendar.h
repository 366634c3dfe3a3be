/* Days since 1970 as a date, in the calendar that ISO 8601 counts with. */
#ifndef CALENDAR_H
#define CALENDAR_H

#include <palisade.h>

#define DAY_MS 86400000
#define DAYS_OF_400_YEARS 146097
/** From the first of March of the year 0, so that a leap day is the last of its year, to 1970. */
#define DAYS_TO_1970 719468

typedef struct {
  int32_t year, month, day;
} calendar_date;

/** For days from 1970 on. */
static inline calendar_date calendar_of(int64_t days) {
  const int64_t all = days + DAYS_TO_1970;
  const int64_t cycle = all / DAYS_OF_400_YEARS, in_cycle = all % DAYS_OF_400_YEARS;
  const int64_t year = (in_cycle - in_cycle / 1460 + in_cycle / 36524 - in_cycle / 146096) / 365;
  const int64_t in_year = in_cycle - (365 * year + year / 4 - year / 100);
  const int64_t month_from_march = (5 * in_year + 2) / 153;
  const int32_t month = (int32_t)(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);
  return (calendar_date){
      .year = (int32_t)(cycle * 400 + year + (month <= 2)),
      .month = month,
      .day = (int32_t)(in_year - (153 * month_from_march + 2) / 5 + 1),
  };
}

/** Writes so many digits; gives the place behind them. */
static inline uint8_t *calendar_digits(uint8_t *place, int32_t number, int32_t count) {
  for (int32_t at = count - 1; at >= 0; at--, number /= 10) place[at] = (uint8_t)('0' + number % 10);
  return place + count;
}

/** `2001-02-03T04:05:06.789Z`, for milliseconds from 1970 up to the year 9999. */
static inline palisade_bytes calendar_spell(int64_t ms) {
  const calendar_date date = calendar_of(ms / DAY_MS);
  const int32_t in_day = (int32_t)(ms % DAY_MS);
  const int32_t parts[] = {date.year,         date.month,         date.day,          in_day / 3600000,
                           in_day / 60000 % 60, in_day / 1000 % 60, in_day % 1000};
  static const char behind[] = "--T::.Z";
  uint8_t *const place = palisade_alloc(24);
  uint8_t *end = place;
  for (int at = 0; at < 7; at++) {
    end = calendar_digits(end, parts[at], at == 0 ? 4 : at == 6 ? 3 : 2);
    *end++ = (uint8_t)behind[at];
  }
  return (palisade_bytes){place, (uint32_t)(end - place)};
}

#endif
