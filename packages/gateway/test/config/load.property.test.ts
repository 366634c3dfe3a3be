import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CONFIG_KEYS, type ConfigKey } from '../../src/config/config.table.ts';
import type { GrammarName } from '../../src/config/grammar.ts';
import { makeScratch } from './scratch.ts';

const { load, refusal } = makeScratch();
const KEYS: readonly ConfigKey[] = CONFIG_KEYS;
const PLACED = /^palisade\.toml:\d+:\d+: Cannot .+, expected .+/;

const names = KEYS.flatMap(({ key }) => key.replace('[]', '').split('.'));
const key = fc.oneof(
  fc.constantFrom(...names),
  fc.constantFrom('__proto__', 'constructor', '"a b"', '""', 'x'),
);
const dotted = fc.array(key, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('.'));
const scalar = fc.oneof(
  fc.constantFrom(
    '1',
    '0',
    '-1',
    '256',
    '1.5',
    'nan',
    '0x7fffffffffffffff',
    'true',
    '1979-05-27',
    '07:32:00',
  ),
  fc.constantFrom('"run"', '"1h"', '"agent:ada"', '"*_X"', "'''\nx'''", '"\\u00e9\\e"', '"', '[', ''),
);
const value = fc.oneof(
  scalar,
  fc.array(scalar, { maxLength: 3 }).map((list) => `[${list.join(', ')}]`),
  fc.tuple(dotted, scalar).map(([name, content]) => `{ ${name} = ${content} }`),
  fc.tuple(dotted, scalar).map(([name, content]) => `[{ ${name} = ${content} }, {\n}]`),
);
const line = fc.oneof(
  fc.tuple(dotted, value).map(([name, content]) => `${name} = ${content}`),
  dotted.map((name) => `[${name}]`),
  dotted.map((name) => `[[${name}]]`),
  fc.string({ maxLength: 8 }),
);

const SAMPLES: Readonly<Record<GrammarName, string>> = {
  name: 'n.1',
  principal: 'agent:ada',
  'variable-pattern': 'A_*',
  'subject-pattern': 'a*',
  path: '/srv/work',
  'path-or-none': '/srv/passphrase',
  'inner-path': '.git/hooks',
  'protected-row': 'git-hooks',
  'port-range': '8000-8999',
  'tool-home': 'nvm',
  program: 'git',
  'egress-entry': '*.example.com',
  'egress-host': '*.example.com',
  'egress-target': 'api.example.com:8443',
  'secret-variable': 'API_TOKEN',
  'listen-address': '[::1]:7433',
  'host-name': 'palisade.example.com:8443',
  origin: 'https://console.example.com',
  'url-or-none': 'https://id.example.com/keys',
  'text-or-none': 'some-text',
  word: 'a word',
  'upstream-name': 'files',
};

function sampleOf(row: ConfigKey): string {
  if (row.type === 'integer') return String(row.default ?? row.max);
  if (row.type === 'duration') return '"36h"';
  if (row.type === 'choice') return JSON.stringify(row.choices.at(-1));
  const sample = SAMPLES[row.grammar];
  return JSON.stringify(row.type === 'string' ? sample : [sample]);
}

describe('loadConfig()', () => {
  it('loads TOML-like text or refuses it with config/invalid and a place, and nothing else', async () => {
    let placed = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 6 }), async (lines) => {
        const ending = await refusal(lines.join('\n'));
        if (ending === 'loaded') return;
        expect(ending).toMatch(PLACED);
        placed += 1;
      }),
      { numRuns: 1_500 },
    );
    expect(placed).toBeGreaterThan(0);
    expect('polluted' in {}).toBe(false);
  });

  it('loads arbitrary bytes or refuses them with config/invalid, and nothing else', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 40 }), async (bytes) => {
        const ending = await refusal(bytes);
        if (ending !== 'loaded') expect(ending).toMatch(PLACED);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['nested lists', `a = ${'['.repeat(100_000)}`],
    ['nested inline tables', `a = ${'{a='.repeat(50_000)}`],
    ['one endless dotted key', `${'a.'.repeat(100_000)}a = 1`],
    ['one endless table name', `[${'a.'.repeat(100_000)}a]`],
    ['endless elements', `journal.redact_env = [${'"A",'.repeat(60_000)}]`],
    ['endless tables', '[[x]]\n'.repeat(40_000)],
  ])('refuses %s and stays alive', async (_, text) => {
    expect(await refusal(text)).toMatch(PLACED);
  });

  it.each(KEYS.filter(({ key }) => !/^(groups|secret|upstream|registry|budget)/.test(key)))(
    'takes the documented key $key',
    async (row) => {
      const [section = '', name = ''] = row.key.split('.');
      // An issuer is taken with an audience alone.
      const beside = row.key === 'oauth.issuer' ? '\naudience = "palisade"' : '';
      const config = await load(`[${section}]\n${name} = ${sampleOf(row)}${beside}`);
      const camel = name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
      const values = (config as unknown as Record<string, Record<string, unknown>>)[section];
      if (row.type === 'duration') expect(values?.[`${camel}Ms`]).toBe(36 * 3_600_000);
      else expect(values?.[camel]).toEqual(JSON.parse(sampleOf(row)));
    },
  );

  it.each(KEYS.filter(({ key }) => key.startsWith('budget')))(
    'takes the documented key $key',
    async (row) => {
      const name = row.key.replace('budget[].', '');
      const lines = { name: '"a"', per: '"tool"', window: '"1m"', fuel: '7', [name]: sampleOf(row) };
      const { budgets } = await load(
        `[[budget]]\n${Object.entries(lines)
          .map((pair) => pair.join(' = '))
          .join('\n')}`,
      );
      const shown = name === 'window' ? 36 * 3_600_000 : JSON.parse(sampleOf(row));
      expect(Object.values(budgets[0] ?? {})).toContainEqual(shown);
    },
  );

  it.each(KEYS.filter(({ key }) => key.startsWith('upstream')))(
    'takes the documented key $key',
    async (row) => {
      const name = row.key.replace('upstream[].', '');
      const sample = name === 'env' ? '["A=b"]' : sampleOf(row);
      const lines = { name: '"a"', command: '["b"]', [name]: sample };
      const text = Object.entries(lines).map((pair) => pair.join(' = '));
      const { upstreams } = await load(`[[upstream]]\n${text.join('\n')}`);
      expect(Object.values(upstreams[0] ?? {})).toContainEqual(JSON.parse(sample));
    },
  );

  it.each(KEYS.filter(({ key }) => key.startsWith('registry')))(
    'takes the documented key $key',
    async (row) => {
      const lines = { name: '"registry.example.com"', [row.key.replace('registry[].', '')]: sampleOf(row) };
      const text = Object.entries(lines).map((pair) => pair.join(' = '));
      const { registries } = await load(`[[registry]]\n${text.join('\n')}`);
      expect(Object.values(registries[0] ?? {})).toContainEqual(JSON.parse(sampleOf(row)));
    },
  );

  it.each([
    ['without a name', 'scheme = "http"', 'it has no name'],
    ['whose name is an address', 'name = "https://a.example/b"', 'a host such as'],
    ['whose scheme is neither', 'name = "a.example"\nscheme = "ftp"', 'one of "https", "http"'],
  ])('refuses a registry %s', async (_, lines, why) => {
    expect(await refusal(`[[registry]]\n${lines}`)).toContain(why);
  });

  it.each([
    ['without a command', 'name = "a"', 'it has no command'],
    ['whose variable is none', 'name = "a"\ncommand = ["b"]\nenv = ["A"]', 'NAME=VALUE'],
    ['whose name is none', 'name = "A b"\ncommand = ["b"]', 'small letters'],
  ])('refuses an upstream server %s', async (_, lines, why) => {
    expect(await refusal(`[[upstream]]\n${lines}`)).toContain(why);
  });

  it('refuses an issuer without an audience', async () => {
    expect(await refusal('oauth.issuer = "https://id.test"')).toContain('oauth.audience is not set');
  });

  it('takes a secret without a file for one of the vault', async () => {
    const lines = ['name = "a"', 'variable = "A_TOKEN"', 'hosts = ["a.test"]'];
    const { secrets } = await load(`[[secret]]\n${lines.join('\n')}\n`);
    expect(secrets).toEqual([{ name: 'a', variable: 'A_TOKEN', hosts: ['a.test'], file: null }]);
  });

  it.each(KEYS.filter(({ key }) => key.startsWith('secret') && key !== 'secret[].file'))(
    'takes the documented key $key and does not do without it',
    async (row) => {
      const name = row.key.replace('secret[].', '');
      const others = { name: '"a"', variable: '"V"', hosts: '["b.example"]', file: '"/c"' };
      const write = (table: Readonly<Record<string, string>>) =>
        `[[secret]]\n${Object.entries(table)
          .map((pair) => pair.join(' = '))
          .join('\n')}`;
      const { secrets } = await load(write({ ...others, [name]: sampleOf(row) }));
      expect(secrets[0]).toHaveProperty(name, JSON.parse(sampleOf(row)));
      const without = Object.fromEntries(Object.entries(others).filter(([key]) => key !== name));
      expect(await refusal(write(without))).toBe(
        `palisade.toml:1:3: Cannot use secret[0]: it has no ${name}, expected the key ${name}`,
      );
    },
  );

  it.each(KEYS.filter((row) => row.type === 'integer'))(
    'holds $key between its least and its most',
    async (row) => {
      const [table = '', name = ''] = row.key.split('.');
      const write = (number: bigint) => {
        if (table === 'budget[]') return `[[budget]]\nname = "a"\nper = "run"\n${name} = ${number}`;
        const hasCeiling = CONFIG_KEYS.some(({ key }) => key === `ceilings.${name}`);
        const isLimit = hasCeiling && (table === 'limits' || table === 'wasm');
        const ceiling = isLimit ? `ceilings.${name} = ${row.max}\n` : '';
        return `${ceiling}${row.key} = ${number}`;
      };
      const [min, max] = [BigInt(row.min), BigInt(row.max)];
      expect(await refusal(write(min))).toBe('loaded');
      expect(await refusal(write(max))).toBe('loaded');
      expect(await refusal(write(min - 1n))).toMatch(PLACED);
      expect(await refusal(write(max + 1n))).toMatch(PLACED);
    },
  );
});
