import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatHost, type Site } from '../../src/egress/authority.ts';
import { type BoundSecret, checkSecretValue, fillIn } from '../../src/egress/secrets.ts';
import { hostOf } from './sample.ts';

const KEY = newSecret('key', 'PLACEHOLDER_KEY', 'sk-live-0123456789');
const API: Site = { scheme: 'https', host: hostOf('api.test'), port: 443 };

/** A secret for api.test:443. */
function newSecret(name: string, placeholder: string, value: string): BoundSecret {
  const isFor: BoundSecret['isFor'] = (host, port) => formatHost(host) === 'api.test' && port === 443;
  return { name, placeholder, value, isFor };
}

function fieldsOf(...lines: string[]) {
  return lines.map((line) => {
    const [, rawName = '', value = ''] = /^([^:]*): (.*)$/s.exec(line) ?? [];
    return { name: rawName.toLowerCase(), rawName, value };
  });
}

/** The headers that go to api.test, and which secrets are in them. */
function fill(lines: readonly string[], secrets: readonly BoundSecret[] = [KEY], requested = API) {
  const filled = fillIn(fieldsOf(...lines), requested, secrets);
  return { ...filled, lines: filled.fields.map(({ rawName, value }) => `${rawName}: ${value}`) };
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

describe('fillIn()', () => {
  it.each([
    [
      'as a bearer token',
      'Authorization: Bearer PLACEHOLDER_KEY',
      'Authorization: Bearer sk-live-0123456789',
    ],
    ['in a header of any name', 'X-Api-Key: PLACEHOLDER_KEY', 'X-Api-Key: sk-live-0123456789'],
    ['in a cookie', 'Cookie: a=b; s=PLACEHOLDER_KEY', 'Cookie: a=b; s=sk-live-0123456789'],
    ['inside a longer word', 'X-A: vPLACEHOLDER_KEYw', 'X-A: vsk-live-0123456789w'],
    ['twice', 'X-A: PLACEHOLDER_KEY PLACEHOLDER_KEY', 'X-A: sk-live-0123456789 sk-live-0123456789'],
    [
      'as a password',
      `Authorization: Basic ${base64('user:PLACEHOLDER_KEY')}`,
      `Authorization: Basic ${base64('user:sk-live-0123456789')}`,
    ],
    [
      'as a user, in other letters of the scheme',
      `Authorization: BASIC ${base64('PLACEHOLDER_KEY:')}`,
      `Authorization: BASIC ${base64('sk-live-0123456789:')}`,
    ],
    ['as the credentials', 'Authorization: Basic PLACEHOLDER_KEY', 'Authorization: Basic sk-live-0123456789'],
  ])('fills a secret in %s', (_where, line, expected) => {
    expect(fill([line])).toMatchObject({ lines: [expected], used: ['key'] });
  });

  it.each([
    'Host: PLACEHOLDER_KEY',
    'Content-Type: PLACEHOLDER_KEY',
    'Content-Disposition: PLACEHOLDER_KEY',
    'Transfer-Encoding: PLACEHOLDER_KEY',
    'Connection: PLACEHOLDER_KEY',
    'Referer: http://a.test/PLACEHOLDER_KEY',
    'ORIGIN: PLACEHOLDER_KEY',
    'User-Agent: PLACEHOLDER_KEY',
    'X-Forwarded-For: PLACEHOLDER_KEY',
    'Forwarded: for=PLACEHOLDER_KEY',
    'Via: PLACEHOLDER_KEY',
    'Proxy-Authorization: PLACEHOLDER_KEY',
    'X-A: placeholder_key',
    'X-A: PLACEHOLDER-KEY',
    'X-A: PLACEHOLDER_KE',
    `X-A: ${base64('PLACEHOLDER_KEY')}`,
    `X-A: Basic ${base64('user:PLACEHOLDER_KEY')}`,
    `Authorization: Bearer ${base64('user:PLACEHOLDER_KEY')}`,
    'PLACEHOLDER_KEY: a',
  ])('leaves %j as it is', (line) => {
    expect(fill([line, 'X-B: PLACEHOLDER_KEY'])).toMatchObject({
      lines: [line, 'X-B: sk-live-0123456789'],
      used: ['key'],
    });
    expect(fill([line])).toMatchObject({ lines: [line], used: [] });
  });

  it.each([
    ['another host', { ...API, host: hostOf('other.test') }],
    ['a host below it', { ...API, host: hostOf('evil.api.test') }],
    ['another port', { ...API, port: 80 }],
  ])('fills nothing in for %s', (_what, requested) => {
    const line = `Authorization: Basic ${base64('user:PLACEHOLDER_KEY')}`;
    const filled = fill([line, 'X-A: PLACEHOLDER_KEY'], [KEY], requested);
    expect(filled).toMatchObject({ lines: [line, 'X-A: PLACEHOLDER_KEY'], used: [], isBound: false });
    expect(filled.hide('sk-live-0123456789')).toBe('sk-live-0123456789');
  });

  it('fills nothing in that anybody could read on the way to the port of TLS, and still hides it', () => {
    const line = `Authorization: Basic ${base64('user:PLACEHOLDER_KEY')}`;
    const filled = fill([line, 'X-A: PLACEHOLDER_KEY'], [KEY], { ...API, scheme: 'http' });
    expect(filled).toMatchObject({ lines: [line, 'X-A: PLACEHOLDER_KEY'], used: [], isBound: true });
    expect(filled.hide('X-B: sk-live-0123456789')).toBe('X-B: PLACEHOLDER_KEY');
    expect(fill([line], [KEY], API).used).toEqual(['key']);
  });

  it.each(['http', 'https'] as const)('fills in over %s on a port that the secret is for', (scheme) => {
    const secret: BoundSecret = { ...KEY, isFor: (_host, port) => port === 8080 };
    const filled = fill(['X-A: PLACEHOLDER_KEY'], [secret], { ...API, scheme, port: 8080 });
    expect(filled).toMatchObject({ lines: ['X-A: sk-live-0123456789'], used: ['key'] });
  });

  it('tells placeholders apart of which one begins like another', () => {
    const secrets = [newSecret('short', 'KEY_1', 'first'), newSecret('long', 'KEY_10', 'tenth')];
    expect(fill(['X-A: KEY_10', 'X-B: KEY_1'], secrets)).toMatchObject({
      lines: ['X-A: tenth', 'X-B: first'],
      used: ['short', 'long'],
    });
  });

  it('does not look into what it filled in', () => {
    const secrets = [newSecret('a', 'KEY_A', 'KEY_B'), newSecret('b', 'KEY_B', 'KEY_A')];
    expect(fill(['X-A: KEY_A KEY_B'], secrets).lines).toEqual(['X-A: KEY_B KEY_A']);
  });

  it('takes a placeholder and a value as they are, whatever they mean elsewhere', () => {
    const secrets = [newSecret('a', '{{a.b|c}}(', "$&-$1-$'-\\")];
    expect(fill(['X-A: {{a.b|c}}(', 'X-B: {{aXb'], secrets).lines).toEqual([
      "X-A: $&-$1-$'-\\",
      'X-B: {{aXb',
    ]);
  });

  it('does not make an endless request of a short one', () => {
    const secrets = [newSecret('a', 'P', 'v'.repeat(8_192))];
    const { lines } = fill([`X-A: ${'P'.repeat(60_000)}`], secrets);
    expect(lines.join('').length).toBeLessThan(1024 * 1024);
    expect(lines[0]).toContain('vvv');
  });

  it('sends a value outside ASCII as the bytes of its UTF-8', () => {
    const line = `Authorization: Basic ${base64('user:PLACEHOLDER_KEY')}`;
    const { fields } = fill(['X-A: PLACEHOLDER_KEY', line], [newSecret('a', 'PLACEHOLDER_KEY', 'pässčwort')]);
    expect(Buffer.from(fields[0]?.value ?? '', 'latin1').toString('utf8')).toBe('pässčwort');
    expect(fields[1]?.value).toBe(`Basic ${base64('user:pässčwort')}`);
  });

  it.each([
    ['placeholder', newSecret('a', '', 'value')],
    ['value', newSecret('a', 'PLACEHOLDER_KEY', '')],
  ])('knows no secret with an empty %s', (_what, secret) => {
    expect(fill(['X-A: PLACEHOLDER_KEY'], [secret])).toMatchObject({
      lines: ['X-A: PLACEHOLDER_KEY'],
      used: [],
    });
    expect(fill([], [secret]).hide('abc')).toBe('abc');
  });

  it('puts no line break into a header, and hide() undoes what it did', () => {
    // Two of these end in the bytes of a CR and an LF when their upper halves are dropped.
    const text = (...signs: string[]) => fc.string({ unit: fc.constantFrom(...signs), minLength: 1 });
    const values = fc.array(text('P', 'Q', ' ', ':', '=', '"', 'c'));
    fc.assert(
      fc.property(values, text('č', 'Ċ', '\u{1f600}', 'b', '$&'), (given, value) => {
        const { fields, hide, used } = fill(
          given.map((each) => `X-A: ${each}`),
          [newSecret('a', 'PQ', value)],
        );
        expect(fields.map(({ value: sent }) => hide(sent))).toEqual(given);
        expect(used).toEqual(given.some((each) => each.includes('PQ')) ? ['a'] : []);
        for (const { value: sent } of fields) expect(sent).toMatch(/^[ -~\x80-\xff]*$/);
      }),
    );
  });
});

describe('hide()', () => {
  it('puts the placeholder back wherever the value stands, used or not', () => {
    const { hide } = fill(['X-A: b']);
    expect(hide('sk-live-0123456789,sk-live-0123456789 sk-live')).toBe(
      'PLACEHOLDER_KEY,PLACEHOLDER_KEY sk-live',
    );
  });

  it('puts basic credentials back as they came', () => {
    const requested = base64('user:PLACEHOLDER_KEY');
    const { hide } = fill([`Authorization: Basic ${requested}`]);
    expect(hide(`you sent Basic ${base64('user:sk-live-0123456789')}`)).toBe(`you sent Basic ${requested}`);
  });
});

describe('checkSecretValue()', () => {
  it.each(['a', 'sk-live-0123456789', 'two words', 'pässwort', 'v'.repeat(8_192)])('takes %j', (value) => {
    expect(() => checkSecretValue(value)).not.toThrow();
  });

  it.each([
    ['', 'it is empty'],
    ['hunter2\r', 'it has a line break'],
    ['hunter2\nX-Admin: 1', 'it has a line break'],
    ['hunter2\0', 'it has a NUL'],
    ['hunter2\x1b[', 'it has a control character'],
    ['hunter2\x85', 'it has a control character'],
    ['hunter2 ', 'it begins or ends with white space'],
    ['hunter2'.repeat(2_000), 'it has 14000 characters'],
  ])('refuses %j and does not repeat it', (value, is) => {
    const refuse = () => checkSecretValue(value);
    expect(refuse).toThrow(TypeError);
    expect(refuse).toThrow(`Cannot use value of secret: ${is}, expected`);
    expect(refuse).not.toThrow(/hunter2/);
  });
});

describe('hide()', () => {
  const bytes = Buffer.from(KEY.value);

  it.each([
    ['as it is', KEY.value],
    ['in other letter case', KEY.value.toUpperCase()],
    ['percent-encoded', Array.from(bytes, (byte) => `%${byte.toString(16)}`).join('')],
    ['in hexadecimal', bytes.toString('hex').toUpperCase()],
    ['in base64', bytes.toString('base64')],
  ])('replaces a value %s', (_, text) => {
    const { hide } = fill([]);
    expect(hide(`a ${text} b`)).toBe('a PLACEHOLDER_KEY b');
  });

  it('leaves nothing of any value at any place of a text in base64', () => {
    const text = fc.string({ minLength: 8, maxLength: 40 });
    const around = fc.string({ maxLength: 9 });
    fc.assert(
      fc.property(text, around, around, (value, before, after) => {
        const { hide } = fill([], [newSecret('key', 'PLACEHOLDER_KEY', value)]);
        expect(hide(base64(before + value + after))).toContain('PLACEHOLDER_KEY');
      }),
      { numRuns: 50 },
    );
  });

  it('finds nothing in other texts, and of a short value only the value', () => {
    const { hide } = fill([], [newSecret('key', 'PLACEHOLDER_KEY', 'ab')]);
    expect(hide('6162 YWI= %61%62 AB')).toBe('6162 YWI= %61%62 PLACEHOLDER_KEY');
    expect(fill([]).hide('sk-live application/json')).toBe('sk-live application/json');
  });
});
