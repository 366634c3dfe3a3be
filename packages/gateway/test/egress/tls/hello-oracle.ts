/**
 * A second reader of hellos, to compare the real one with. It is not strict and knows no errors: it walks the bytes as a
 * careless server would, and lists every name that stands where some server might look for one.
 */

/** The message in records, with its header; null when it is not all there. */
export function messageIn(bytes: Uint8Array): Buffer | null {
  let [joined, rest] = ['', Buffer.from(bytes).toString('hex')];
  for (;;) {
    const whole = joined.length < 8 ? Infinity : 8 + Number.parseInt(joined.slice(2, 8), 16) * 2;
    if (joined.length >= whole) return Buffer.from(joined.slice(0, whole), 'hex');
    const [header, size = ''] = /^16[0-9a-f]{4}([0-9a-f]{4})/.exec(rest) ?? [];
    if (header === undefined) return null;
    const end = header.length + Number.parseInt(size, 16) * 2;
    joined += rest.slice(header.length, end);
    rest = rest.slice(end);
  }
}

/** All names in a hello, of any type and in any of its extensions for names. */
export function namesIn(bytes: Uint8Array): string[] {
  const message = messageIn(bytes);
  if (message === null) return [];
  const number = (at: number, count: number) =>
    Number.parseInt(message.toString('hex', at, at + count).padEnd(1, '0'), 16);
  const session = 4 + 2 + 32;
  const suites = session + 1 + number(session, 1);
  const methods = suites + 2 + number(suites, 2);
  const names: string[] = [];
  for (let at = methods + 1 + number(methods, 1) + 2; at < message.length; at += 4 + number(at + 2, 2)) {
    if (number(at, 2) !== 0) continue;
    const end = at + 4 + number(at + 2, 2);
    for (let entry = at + 6; entry < end; entry += 3 + number(entry + 1, 2))
      names.push(message.toString('latin1', entry + 3, entry + 3 + number(entry + 1, 2)));
  }
  return names;
}
