const MOST_SECONDS = 86_400;

/** How long a reply asks to wait; a time is measured against the clock of whoever sent it. Null: it does not ask. */
export function retryAfterOf(headers: Headers): number | null {
  const raw = headers.get('retry-after');
  if (raw === null) return null;
  if (/^[0-9]{1,9}$/.test(raw)) return Math.min(Number(raw), MOST_SECONDS) * 1000;
  const [until, now] = [Date.parse(raw), Date.parse(headers.get('date') ?? '')];
  if (Number.isNaN(until) || Number.isNaN(now)) return null;
  return Math.min(Math.max(until - now, 0), MOST_SECONDS * 1000);
}
