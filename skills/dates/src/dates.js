// Dates and times of the calendar that ISO 8601 counts with, as a component. Nothing here knows what time it is.
const TOOLS = { add, between, explain };

const DAY_MS = 86_400_000;
const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
const SPELLING =
  /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,3}))?)?(Z|[+-]\d{2}:\d{2})?)?$/;
const [FIRST_MS, LAST_MS] = [dayMs(1, 0, 1), dayMs(10_000, 0, 1) - 1];

export function run(tool, input) {
  if (!Object.hasOwn(TOOLS, tool)) throw failure('no-tool', 'there is no such tool');
  return JSON.stringify(TOOLS[tool](JSON.parse(input)));
}

/** What there is to say about a date. */
function explain({ date }) {
  const moment = read(date);
  const day = new Date(moment.ms);
  const [weekYear, week] = weekOf(moment.ms);
  return {
    day_of_year: dayOfYear(moment.ms),
    days_in_month: daysIn(day.getUTCFullYear(), day.getUTCMonth()),
    is_leap_year: daysIn(day.getUTCFullYear(), 1) === 29,
    iso_week: `${String(weekYear).padStart(4, '0')}-W${String(week).padStart(2, '0')}`,
    quarter: Math.floor(day.getUTCMonth() / 3) + 1,
    utc: spell(moment),
    unix_ms: moment.ms,
    weekday: WEEKDAYS[weekdayOf(moment.ms)],
  };
}

/** Years and months first, on the last day of a month where it has no such day; then what has a fixed length. */
function add({ date, years = 0, months = 0, weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0 }) {
  const moment = read(date);
  const day = new Date(moment.ms);
  const month = day.getUTCFullYear() * 12 + day.getUTCMonth() + years * 12 + months;
  const [year, inYear] = [Math.floor(month / 12), month - 12 * Math.floor(month / 12)];
  if (year < 1 || year > 9999) throw outOfRange();
  const inMonth = Math.min(day.getUTCDate(), daysIn(year, inYear));
  const moved = dayMs(year, inYear, inMonth) + timeOf(moment.ms);
  const ms = moved + (weeks * 7 + days) * DAY_MS + ((hours * 60 + minutes) * 60 + seconds) * 1_000;
  if (ms < FIRST_MS || ms > LAST_MS) throw outOfRange();
  const hasTime = moment.hasTime || hours !== 0 || minutes !== 0 || seconds !== 0;
  return { date: spell({ ms, hasTime }), weekday: WEEKDAYS[weekdayOf(ms)] };
}

/** How far it is from one date to another, in days and by the calendar. */
function between({ from, to }) {
  const [start, end] = [read(from).ms, read(to).ms];
  const [earlier, later] = start <= end ? [start, end] : [end, start];
  const [years, months, days] = calendarDistance(earlier, later);
  const sign = start <= end ? 1 : -1;
  return {
    calendar: { days, months, years },
    // A zero has no sign.
    days: sign * Math.floor((later - earlier) / DAY_MS) + 0,
    is_after: end > start,
    ms: end - start,
    working_days: workingDays(earlier, later),
  };
}

/** Whole years, then whole months, then whole days. */
function calendarDistance(earlier, later) {
  const [first, last] = [new Date(earlier), new Date(later)];
  let months =
    (last.getUTCFullYear() - first.getUTCFullYear()) * 12 + last.getUTCMonth() - first.getUTCMonth();
  if (monthsAfter(first, months) > later) months -= 1;
  const days = Math.floor((later - monthsAfter(first, months)) / DAY_MS);
  return [Math.floor(months / 12), months % 12, days];
}

function monthsAfter(date, months) {
  const month = date.getUTCFullYear() * 12 + date.getUTCMonth() + months;
  const [year, inYear] = [Math.floor(month / 12), month % 12];
  const day = Math.min(date.getUTCDate(), daysIn(year, inYear));
  return dayMs(year, inYear, day) + timeOf(date.getTime());
}

/** Days from Monday to Friday, the first one counted and the last one not. */
function workingDays(earlier, later) {
  const [first, last] = [Math.floor(earlier / DAY_MS), Math.floor(later / DAY_MS)];
  const weeks = Math.floor((last - first) / 7);
  let count = weeks * 5;
  for (let day = first + weeks * 7; day < last; day += 1) if (weekdayOf(day * DAY_MS) < 5) count += 1;
  return count;
}

/** The week has the year that most of its days are in. */
function weekOf(ms) {
  const thursday = ms + (3 - weekdayOf(ms)) * DAY_MS;
  const year = new Date(thursday).getUTCFullYear();
  return [year, Math.floor((dayOfYear(thursday) - 1) / 7) + 1];
}

function dayOfYear(ms) {
  return Math.floor((ms - dayMs(new Date(ms).getUTCFullYear(), 0, 1)) / DAY_MS) + 1;
}

/** From Monday on. */
function weekdayOf(ms) {
  return (((Math.floor(ms / DAY_MS) + 3) % 7) + 7) % 7;
}

function timeOf(ms) {
  return ms - Math.floor(ms / DAY_MS) * DAY_MS;
}

function daysIn(year, month) {
  return new Date(dayMs(year, month + 1, 0)).getUTCDate();
}

/** The beginning of a day. Date.UTC takes years below 100 for those of the 20th century. */
function dayMs(year, month, day) {
  const date = new Date(0);
  date.setUTCFullYear(year, month, day);
  return date.getTime();
}

/** Reads a date, or a date with a time; one without a word about its zone is in UTC. */
function read(text) {
  const parts = SPELLING.exec(text);
  if (parts === null)
    throw failure(
      'wrong-date',
      'expected a date such as 2024-02-29 or a time such as 2024-02-29T13:45:00+01:00',
    );
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map((part) => Number(part ?? 0));
  const millis = Number((parts[7] ?? '').padEnd(3, '0'));
  const isDay = year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month - 1);
  if (!isDay || hour > 23 || minute > 59 || second > 59)
    throw failure('no-such-date', `there is no ${text} in the calendar`);
  const local = dayMs(year, month - 1, day) + ((hour * 60 + minute) * 60 + second) * 1_000 + millis;
  const ms = local - offsetOf(parts[8]);
  if (ms < FIRST_MS || ms > LAST_MS) throw outOfRange();
  return { ms, hasTime: parts[4] !== undefined };
}

function offsetOf(zone = 'Z') {
  if (zone === 'Z') return 0;
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(4))];
  if (hours > 23 || minutes > 59) throw failure('wrong-date', `there is no offset ${zone}`);
  return (zone[0] === '-' ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}

function spell({ ms, hasTime }) {
  const iso = new Date(ms).toISOString();
  return hasTime ? iso : iso.slice(0, 10);
}

function outOfRange() {
  return failure('out-of-range', 'expected dates of the years 1 to 9999');
}

/** What `run` throws to say that the tool failed. */
function failure(code, message) {
  return { code, message };
}
