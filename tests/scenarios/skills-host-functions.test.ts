import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { CAPABILITY_KINDS } from '../../packages/gateway/src/core/wasm.ts';
import { ABI_ERRORS, ABI_FUNCTIONS } from '../../packages/gateway/src/tiers/a-wasm/engine/abi.table.ts';
import { GLOBAL } from '../../packages/gateway/src/vault/secret.ts';
import { type ModuleEnd, sharedModules } from '../fixtures/modules/index.ts';
import { type Standing, sharedServers } from '../fixtures/modules/servers.ts';
import { type Built, ROOT, skillBuilder } from '../fixtures/skills/build.ts';
import { skillTool } from '../fixtures/skills/tool.ts';

/* Every function of the ABI, asked through the library in both of its languages, on real parts. */

const LANGUAGES = ['assemblyscript', 'c'] as const;
const [HIDDEN, SHOWN] = ['sk-hidden-81hd72', 'shown: ü'];
const [DENIED, MISSING, CONFLICT, INVALID] = [-1, -2, -5, -6];

const { http } = sharedServers();
const site: { here?: Standing } = {};
const seen: { readonly [header: string]: unknown }[] = [];
const built = new Map<string, Built>();
const build = skillBuilder();

const { call, opened } = sharedModules(async () => {
  site.here = await http(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    seen.push({ ...request.headers, method: request.method, body });
    response.setHeader('content-type', 'text/plain; charset=utf-8').writeHead(201).end(`got ${body}`);
  });
  for (const language of LANGUAGES) built.set(language, await build(language, 'everything'));
  const grants = {
    ...{ http: [site.here.at], log: true, clock: true, random: true, config: { units: 'metric: ü' } },
    secrets: [
      { name: 'hidden', mayReveal: false, hosts: [site.here.at] },
      { name: 'shown', mayReveal: true, hosts: [] },
    ],
    storage: [{ read: ['notes/'], write: ['notes/'] }],
    channels: [{ name: 'news', publish: true, receive: true }],
  };
  return {
    tools: LANGUAGES.map((language) =>
      skillTool(`${language}.everything`, bytesOf(language), 'everything', { grants }),
    ),
  };
});

beforeAll(async () => {
  const { vault } = opened().gateway;
  const by = { kind: 'user', name: 'operator' } as const;
  await vault.set('hidden', GLOBAL, Buffer.from(HIDDEN), by);
  await vault.set('shown', GLOBAL, Buffer.from(SHOWN), by);
});

function bytesOf(language: string): Uint8Array<ArrayBuffer> {
  return built.get(language)?.bytes ?? new Uint8Array();
}

type Told = { readonly surroundings: { readonly now: number; readonly random: readonly number[] } };
const reportedBy = ({ output }: ModuleEnd) => output as unknown as Told;

/** Where a language has its names for the numbers of the ABI, and how it spells one. */
const SPELLINGS = {
  assemblyscript: {
    files: ['assembly/answer.ts', 'assembly/palisade_v1.ts'],
    spell: (name: string, number: number) => `export const ${name}: i32 = ${number};`,
  },
  c: {
    files: ['include/palisade/host.h'],
    spell: (name: string, number: number) => `PALISADE_${name} = ${number}`,
  },
} as const;

const numbers = [
  ...Object.entries(ABI_ERRORS).map(([name, { code }]) => [name, code] as const),
  ...Object.entries(CAPABILITY_KINDS).map(([name, { number }]) => [name, number] as const),
].map(([name, number]) => [name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase(), number] as const);

function everything(language: string, tenant = 'default'): Promise<ModuleEnd> {
  return call(`${language}.everything`, { url: `http://${site.here?.at}/path?a=b` }, { tenant });
}

describe.each(LANGUAGES)('the library for %s', (language) => {
  test('imports every function of the ABI where all are used', () => {
    const imports = WebAssembly.Module.imports(new WebAssembly.Module(bytesOf(language)));
    expect(imports.map(({ name }) => name).sort()).toEqual(ABI_FUNCTIONS.map(({ name }) => name).sort());
  });

  test('has the numbers of the ABI', () => {
    const { files, spell } = SPELLINGS[language];
    const text = files.map((file) => readFileSync(join(ROOT, 'packages/guest', file), 'utf8')).join('\n');
    for (const [name, number] of numbers) expect(text).toContain(spell(name, number));
  });

  test('gives what the gateway does for every one of them', async () => {
    const before = Date.now();
    const end = await everything(language);
    expect([end.code, end.message]).toEqual(['ok', '']);
    const { surroundings } = reportedBy(end);
    expect(end.output).toEqual({
      capabilities: { counts: [1, 2, 1, 1], first: 30_000, none: MISSING, wrong: INVALID },
      channel: {
        ...{ published: 0, text: 'good news', missed: 0, skill: `${language}.everything` },
        second: MISSING,
      },
      request: {
        ...{ error: 0, status: 201, body: 'got the body: ü', type: 'text/plain; charset=utf-8' },
        url: `http://${site.here?.at}/path?a=b`,
        elsewhere: DENIED,
      },
      secrets: { hidden: DENIED, shown: SHOWN },
      storage: [
        ...[0, CONFLICT, 'one', 0, CONFLICT, 0],
        ...['notes/a', 'notes/b/ü', 1, DENIED],
        ...[CONFLICT, 0, 0, MISSING, INVALID],
      ],
      surroundings: { ...surroundings, config: 'metric: ü', hasOther: false },
    });
    expect(surroundings.now).toBeGreaterThanOrEqual(before);
    expect(surroundings.now).toBeLessThanOrEqual(Date.now());
    expect(end.log).toBe('debug: at debug\ninfo: at info: ü\nwarning: at warning\nerror: at error\n');
  });

  test('sends the request as it was made up, and the secret that it does not have', async () => {
    await everything(language);
    expect(seen.at(-1)).toMatchObject({
      ...{ method: 'POST', body: 'the body: ü', 'x-note': 'a "note"', authorization: `Bearer ${HIDDEN}` },
    });
  });

  test('gives other random bytes to every call', async () => {
    const [one, other] = [reportedBy(await everything(language)), reportedBy(await everything(language))];
    expect(one.surroundings.random).toHaveLength(8);
    expect(one.surroundings.random.every((byte) => byte >= 0 && byte < 256)).toBe(true);
    expect(other.surroundings.random).not.toEqual(one.surroundings.random);
  });
});
