import { describe, expect, test } from 'vitest';
import { answersFrom, parseFixtures } from '../../src/skills/http-fixtures.ts';
import { FIXTURE_LIMITS } from '../../src/skills/limits.ts';

const fileOf = (text: string) => new Map([['fixtures/http.json', Buffer.from(text)]]);
const parse = (...fixtures: object[]) => parseFixtures(fileOf(JSON.stringify({ fixtures })));

function answersOf(...fixtures: object[]) {
  const parsed = parse(...fixtures);
  if (!parsed.ok || parsed.value === null) throw new Error('these fixtures cannot be read');
  return answersFrom(parsed.value);
}

type Asked = { method?: string; url?: string; headers?: [string, string][]; body?: string };
const asked = ({ method = 'GET', url = 'https://a.test/v1', headers = [], body = '' }: Asked = {}) => ({
  ...{ method, url, headers, body: Buffer.from(body) },
});

describe('answersFrom()', () => {
  test('answers with a status, headers and a body: text as it is, other values as JSON', () => {
    const { answer, takeMisses } = answersOf(
      { request: { url: 'https://a.test/v1' }, response: { body: { a: 1 } } },
      {
        request: { url: 'https://a.test/text' },
        response: { status: 404, headers: { 'X-A': 'b' }, body: 'no' },
      },
      { request: { url: 'https://a.test/down' }, error: 'tooSlow' },
    );
    expect(answer(asked())).toEqual({
      ...{ status: 200, headers: [['content-type', 'application/json']], body: Buffer.from('{"a":1}') },
    });
    expect(answer(asked({ url: 'https://a.test/text' }))).toEqual({
      ...{ status: 404, headers: [['x-a', 'b']], body: Buffer.from('no') },
    });
    expect(answer(asked({ url: 'https://a.test/down' }))).toEqual({ error: 'tooSlow' });
    expect(takeMisses()).toEqual([]);
  });

  test('matches the method, the URL, and the headers and the body where they are named', () => {
    const request = {
      method: 'POST',
      url: 'https://A.test',
      headers: { Accept: 'x' },
      body: { b: 1, a: [2] },
    };
    const { answer } = answersOf({ request, response: {} });
    const good: Asked = {
      method: 'POST',
      url: 'https://a.test/',
      headers: [['accept', 'x']],
      body: '{"a":[2],"b":1}',
    };
    expect(answer(asked(good))).toMatchObject({ status: 200 });
    const others: Asked[] = [
      { method: 'PUT' },
      { url: 'https://a.test/?q' },
      { headers: [['accept', 'y']] },
      { headers: [] },
      { body: '{"a":[2]}' },
      { body: 'text' },
    ];
    for (const other of others)
      expect(answer(asked({ ...good, ...other }))).toEqual({ error: 'unavailable' });
  });

  test('says of a request without an answer what to add, and which part of a near one differs', () => {
    const { answer, takeMisses } = answersOf(
      { request: { url: 'https://b.test/' }, response: {} },
      { request: { url: 'https://a.test/v1', body: 'one' }, response: {} },
    );
    answer(asked({ body: 'two' }));
    answer(asked({ method: 'DELETE' }));
    expect(takeMisses()).toEqual([
      'the request GET https://a.test/v1 has no fixture; fixtures[1] expects another body. Add one to fixtures/http.json: {"request":{"method":"GET","url":"https://a.test/v1"},"response":{"status":200,"body":{}}}',
      expect.stringMatching(/^the request DELETE https:\/\/a\.test\/v1 has no fixture\. Add one/),
    ]);
    expect(takeMisses()).toEqual([]);
  });

  test('tells no more of hostile requests than a few short lines that a terminal does not obey', () => {
    const { answer, takeMisses } = answersOf({ request: { url: 'https://b.test/' }, response: {} });
    for (let n = 0; n < 1_000; n += 1)
      answer(asked({ url: `https://a.test/\u001b[2J${'x'.repeat(10_000)}` }));
    const misses = takeMisses();
    expect(misses).toHaveLength(FIXTURE_LIMITS.shownMisses);
    for (const miss of misses) {
      expect(miss.length).toBeLessThan(2_000);
      expect(miss).not.toContain('\u001b');
    }
  });
});

describe('parseFixtures()', () => {
  test('finds none where the skill has no such file', () => {
    expect(parseFixtures(new Map())).toEqual({ ok: true, value: null });
  });

  test.each([
    [{ request: { url: '/v1' }, response: {} }, 'fixtures[0].request.url'],
    [{ request: { url: 'ftp://a.test' }, response: {} }, 'an absolute URL'],
    [{ request: { url: 'https://a.test' } }, 'a response or an error'],
    [{ request: { url: 'https://a.test' }, response: {}, error: 'denied' }, 'it has both'],
    [{ request: { url: 'https://a.test' }, error: 'broken' }, '"unavailable"'],
    [{ request: { url: 'https://a.test' }, response: { status: 99 } }, 'a status from 200 to 599'],
    [{ request: { url: 'https://a.test', verb: 'GET' }, response: {} }, 'request.verb'],
  ])('refuses %j', (fixture, part) => {
    const parsed = parse(fixture);
    expect(parsed.ok).toBe(false);
    expect(JSON.stringify(parsed).replaceAll('\\', '')).toContain(part);
  });

  test('refuses a file that is too large, and one with too many fixtures', () => {
    expect(parseFixtures(fileOf(`{"fixtures":[${' '.repeat(FIXTURE_LIMITS.fileBytes)}]}`)).ok).toBe(false);
    const many = Array.from({ length: FIXTURE_LIMITS.fixtures + 1 }, () => ({
      ...{ request: { url: 'https://a.test' }, response: {} },
    }));
    expect(parse(...many).ok).toBe(false);
    expect(parse(...many.slice(1)).ok).toBe(true);
  });
});
