import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CodedError } from '../../src/core/coded-error.ts';
import { LIMIT_CEILINGS } from '../../src/core/limits.ts';
import type { Asks } from '../../src/core/wasm.ts';
import { spellAsks, termsOf, withholdingsOf } from '../../src/skills/capabilities/kinds.ts';
import { type Narrowing, narrowGrant, type SkillGrant, wholeGrant } from '../../src/skills/grant.ts';
import type { Manifest } from '../../src/skills/manifest/manifest.ts';
import { ASKS_FOR_MUCH, manifestWith } from './operate-manifest.ts';

const MUCH = manifestWith(ASKS_FOR_MUCH);
const CONFIGURED = ['log', 'clock', 'random'];

function narrowed(manifest: Manifest, narrowing: Partial<Narrowing>): SkillGrant | string {
  try {
    return narrowGrant(manifest, { withhold: [], limits: {}, config: {}, ...narrowing });
  } catch (error) {
    if (error instanceof CodedError && error.code === 'skill/invalid-grant') return error.message;
    throw error;
  }
}

const name = fc.constantFrom('a', 'b', 'c.d', 'news', 'x-1');
const prefix = fc.constantFrom('notes/', 'notes/daily/', 'shared', 'a/b/c/', '');
const entry = fc.constantFrom(
  ...['api.example.com', '*.example.com', 'api.example.com:443', '10.1.2.0/24:80', '10.1.2.3:80'],
  ...['GET https://api.example.com/v1/', 'https://api.example.com/v1', 'example.org'],
);
const asks: fc.Arbitrary<Asks> = fc.record({
  http: fc.uniqueArray(entry),
  secrets: fc.array(
    fc.record({
      name,
      scope: fc.constantFrom('global', 'tenant', 'principal', 'skill'),
      mayReveal: fc.boolean(),
      hosts: fc.array(fc.constantFrom('api.example.com', 'example.org')),
    }),
    { maxLength: 4 },
  ),
  storage: fc.record({ read: fc.uniqueArray(prefix), write: fc.uniqueArray(prefix) }),
  channels: fc.array(fc.record({ name, publish: fc.boolean(), receive: fc.boolean() }), { maxLength: 4 }),
  log: fc.boolean(),
  clock: fc.boolean(),
  random: fc.boolean(),
  config: fc.option(fc.uniqueArray(name)),
  allowWildcards: fc.boolean(),
});
const quota = fc.option(fc.integer({ min: 1, max: 1_000_000 }));
const manifest = fc
  .record({ asks, quotas: fc.record({ wallMs: quota, fuel: quota, memoryBytes: quota }) })
  .map((more) => manifestWith({}, more));
const limit = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(undefined, 1) },
  fc.integer({ min: -2, max: 2_000_000 }),
);
const limits = fc
  .record({ wallMs: limit, fuel: limit, memoryBytes: limit })
  .map((each) => Object.fromEntries(Object.entries(each).filter(([, value]) => value !== undefined)));

/** A skill, and words of which many fit it. */
const wanted = manifest.chain((each) => {
  const fitting = [...withholdingsOf(each), 'all'];
  const word = fc.oneof({ weight: 15, arbitrary: fc.constantFrom(...fitting) }, fc.string());
  return fc.tuple(fc.constant(each), fc.array(word, { maxLength: 5 }));
});

describe('narrowGrant()', () => {
  test('gives no more than is asked for, in no term, and keeps every place', () => {
    let supplied = 0;
    fc.assert(
      fc.property(wanted, limits, ([each, withhold], lower) => {
        const grant = narrowed(each, { withhold, limits: lower });
        if (typeof grant === 'string') return;
        supplied += 1;
        const whole = wholeGrant(each);
        expect(termsOf(whole.wasm)).toEqual(expect.arrayContaining([...termsOf(grant.wasm)]));
        for (const kind of ['http', 'secrets', 'storage', 'channels'] as const)
          expect(grant.wasm[kind]).toHaveLength(whole.wasm[kind].length);
        expect(grant.wasm.secrets.map(nameOf)).toEqual(whole.wasm.secrets.map(nameOf));
        expect(grant.wasm.channels.map(nameOf)).toEqual(whole.wasm.channels.map(nameOf));
        for (const [term, value] of Object.entries(whole.limits))
          expect(grant.limits[term as 'fuel']).toBeLessThanOrEqual(value);
      }),
      { numRuns: 2_000 },
    );
    // Otherwise nothing of the above was looked at.
    expect(supplied).toBeGreaterThan(200);
  });

  test('leaves nothing that reaches anything when all is withheld', () => {
    fc.assert(
      fc.property(manifest, (each) => {
        const grant = narrowGrant(each, { withhold: ['all'], limits: {}, config: {} });
        expect(termsOf(grant.wasm).filter((term) => !CONFIGURED.includes(term))).toEqual([]);
      }),
    );
  });

  test('leaves nothing that reaches anything when every single ask is withheld by its spelling', () => {
    fc.assert(
      fc.property(manifest, (each) => {
        const withhold = spellAsks(each).flatMap(({ spelling, isReaching }) =>
          isReaching ? [spelling] : [],
        );
        const grant = narrowGrant(each, { withhold, limits: {}, config: {} });
        expect(termsOf(grant.wasm).filter((term) => !CONFIGURED.includes(term))).toEqual([]);
      }),
    );
  });

  test('is the whole grant when nothing is withheld', () => {
    fc.assert(
      fc.property(manifest, (each) => {
        expect(narrowGrant(each, { withhold: [], limits: {}, config: {} })).toEqual(wholeGrant(each));
      }),
    );
  });

  test.each<[string, Partial<SkillGrant['wasm']>]>([
    ['http=api.example.com:443', { http: [null, 'GET https://files.example.com/v1/'] }],
    [
      'secret=seed',
      {
        secrets: [
          { name: 'api_token', scope: 'skill', mayReveal: false, hosts: ['api.example.com'] },
          { name: 'seed', scope: 'tenant', mayReveal: false, hosts: [] },
        ],
      },
    ],
    [
      'reveal=seed',
      {
        secrets: [
          { name: 'api_token', scope: 'skill', mayReveal: false, hosts: ['api.example.com'] },
          { name: 'seed', scope: 'tenant', mayReveal: false, hosts: ['api.example.com'] },
        ],
      },
    ],
    ['storage', { storage: [{ read: [], write: [] }] }],
    ['storage:write', { storage: [{ read: ['notes/', 'shared/'], write: [] }] }],
    ['storage=notes/', { storage: [{ read: ['shared/'], write: [] }] }],
    ['channel=news', { channels: [{ name: 'news', publish: false, receive: false }] }],
    ['channel=news:publish', { channels: [{ name: 'news', publish: false, receive: true }] }],
    ['channel=news:receive', { channels: [{ name: 'news', publish: true, receive: false }] }],
  ])('takes away exactly what %s spells', (word, left) => {
    const whole = wholeGrant(MUCH);
    expect(narrowed(MUCH, { withhold: [word] })).toEqual({ ...whole, wasm: { ...whole.wasm, ...left } });
  });

  test.each([
    ['another host', 'http=api.example.com'],
    ['a host in upper case', 'http=API.example.com:443'],
    ['a secret that is not asked for', 'secret=other'],
    ['the reading of a secret that is only sent', 'reveal=api_token'],
    ['a prefix without its slash', 'storage=notes'],
    ['a channel that is not asked for', 'channel=other'],
    ['an act of a channel that there is none of', 'channel=news:both'],
    ['what modules are linked with', 'log'],
    ['a key of the configuration', 'config:unit'],
    ['no word', ''],
    ['a word of every object', 'constructor'],
  ])('refuses to withhold %s, and says what could be', (_, word) => {
    const message = narrowed(MUCH, { withhold: [word] });
    expect(message).toContain(`Cannot withhold "${word}": the skill does not ask for that, expected one of`);
    for (const spelling of [
      'http=api.example.com:443',
      'reveal=seed',
      'storage:write',
      'channel=news',
      'all',
    ])
      expect(message).toContain(spelling);
  });

  test('says so where there is nothing to withhold, and takes "all" there', () => {
    expect(narrowed(manifestWith(), { withhold: ['storage'] })).toContain(
      'expected nothing, for the skill asks',
    );
    expect(narrowed(manifestWith(), { withhold: ['all'] })).toEqual(wholeGrant(manifestWith()));
  });

  test.each<[string, Partial<Asks>, string, string]>([
    [
      'a host beneath a wildcard that is left',
      { http: ['*.example.com', 'api.example.com'] },
      'http=api.example.com',
      'http=*.example.com',
    ],
    [
      'a path beneath another',
      { http: ['https://api.example.com/v1', 'GET https://api.example.com/v1/users'] },
      'http=GET https://api.example.com/v1/users',
      'http=https://api.example.com/v1',
    ],
    [
      'an address in a range',
      { http: ['10.1.2.0/24:80', '10.1.2.3:80'] },
      'http=10.1.2.3:80',
      'http=10.1.2.0/24:80',
    ],
    [
      'a prefix beneath another',
      { storage: { read: ['notes/', 'notes/daily/'], write: [] } },
      'storage=notes/daily/',
      'storage=notes/',
    ],
    [
      'a prefix where everything is asked for',
      { storage: { read: [], write: ['', 'notes/'] } },
      'storage=notes/',
      'storage=',
    ],
  ])('refuses to withhold %s alone, which would close nothing', (_, some, word, cover) => {
    const each = manifestWith(some);
    expect(narrowed(each, { withhold: [word] })).toContain(`"${cover}" gives the same`);
    expect(termsOf((narrowed(each, { withhold: [word, cover] }) as SkillGrant).wasm)).toEqual([]);
  });

  test.each<[string, Partial<Asks>, string]>([
    ['another port of the host', { http: ['a.example:80', 'a.example:443'] }, 'http=a.example:443'],
    [
      'another method',
      { http: ['GET https://a.example/', 'POST https://a.example/'] },
      'http=POST https://a.example/',
    ],
    ['the name that a wildcard is below', { http: ['*.a.example', 'a.example'] }, 'http=a.example'],
    [
      'a sibling with the same beginning',
      { storage: { read: ['note', 'notes'], write: [] } },
      'storage=notes',
    ],
    ['writing beneath what is read', { storage: { read: ['n/'], write: ['n/w/'] } }, 'storage=n/w/'],
  ])('withholds %s alone', (_, some, word) => {
    const each = manifestWith(some);
    const left = narrowed(each, { withhold: [word] }) as SkillGrant;
    expect(termsOf(left.wasm)).toHaveLength(termsOf(wholeGrant(each).wasm).length - 1);
  });

  test('lowers limits and refuses to raise one', () => {
    const quotas = { wallMs: 5_000, fuel: 1_000, memoryBytes: null };
    const each = manifestWith({}, { quotas });
    expect(wholeGrant(each).limits).toEqual({ wallMs: 5_000, fuel: 1_000 });
    expect(narrowed(each, { limits: { fuel: 10, memoryBytes: 65_536 } })).toMatchObject({
      limits: { wallMs: 5_000, fuel: 10, memoryBytes: 65_536 },
    });
    for (const fuel of [1_001, 0, -1, 1.5, Number.NaN])
      expect(narrowed(each, { limits: { fuel } })).toContain(`Cannot grant ${fuel} fuel: expected 1 to 1000`);
    expect(narrowed(each, { limits: { memoryBytes: LIMIT_CEILINGS.memoryBytes + 1 } })).toContain(
      'no call gets more',
    );
  });

  test('takes values for the keys that are asked for and for no others', () => {
    expect(narrowed(MUCH, { config: { unit: 'km' } })).toMatchObject({ wasm: { config: { unit: 'km' } } });
    expect(narrowed(MUCH, { config: { units: 'km' } })).toContain('expected one of unit, lang');
    expect(narrowed(MUCH, { config: { unit: 'x'.repeat(4_097) } })).toContain('4097 characters');
    expect(narrowed(manifestWith(), { config: { unit: 'km' } })).toContain('it has no configuration');
    expect(wholeGrant(manifestWith()).wasm.config).toBeNull();
    expect(wholeGrant(MUCH).wasm.config).toEqual({});
  });
});

describe('spellAsks()', () => {
  test('says everything that is asked for in words', () => {
    expect(spellAsks(MUCH).map(({ spelling, sentence }) => `${spelling}: ${sentence}`)).toEqual([
      'http=api.example.com:443: sends requests to api.example.com:443',
      'http=GET https://files.example.com/v1/: sends requests to GET https://files.example.com/v1/',
      'secret=api_token: sends the secret "api_token" of the scope skill to api.example.com, without seeing it',
      'secret=seed: sends the secret "seed" of the scope tenant to api.example.com',
      'reveal=seed: reads the secret "seed" of the scope tenant',
      'storage=notes/: reads and writes what is stored at notes/',
      'storage=shared/: reads what is stored at shared/',
      'channel=news:publish: publishes to the channel "news"',
      'channel=news:receive: receives from the channel "news"',
      'log: writes lines to the log',
      'clock: knows the time when the call began',
      'random: gets random bytes',
      'config:unit: reads the value of "unit" that you give it',
      'config:lang: reads the value of "lang" that you give it',
    ]);
    expect(spellAsks(MUCH).filter(({ isReaching }) => isReaching)).toHaveLength(9);
    expect(spellAsks(manifestWith())).toEqual([]);
  });
});

function nameOf(named: { readonly name: string }): string {
  return named.name;
}
