import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { scratch } from '../fixtures/cli.ts';
import {
  HONEST,
  MANIFEST,
  MANIFEST_PATH,
  manifestReply,
  PACKAGE,
  type Reply,
  type Routes,
  sha256,
  startFake,
} from '../fixtures/registry/fake.ts';
import { palisade } from '../fixtures/skills/commands.ts';
import { samplePackage } from '../fixtures/skills/sample.ts';

/* Registries that do what the specification permits, and each a little differently. */

const folder = scratch();
const STATE = ['--state', join(folder, 'state')];
const registry = await startFake();
const REF = `${registry.host}/acme/sample`;
const MIB = 1024 * 1024;

async function run(...words: readonly string[]) {
  const { out } = await palisade(['skill', ...words, '--json', ...STATE]);
  return JSON.parse(out) as Record<string, unknown>;
}

/** A registry that takes at most so many bytes in one request, and keeps what it is sent. */
function keeping(mostBytes: number, more: Readonly<Record<string, string>> = {}) {
  const kept = new Map<string, Buffer>();
  const ranges: string[] = [];
  let upload = Buffer.alloc(0);
  let sessions = 0;
  const at = (path: string): Record<string, string> => ({ location: path, ...more });
  const serve = (
    request: { method?: string; url?: string; headers: Record<string, unknown> },
    body: Buffer,
  ): Reply => {
    const [path = '', query = ''] = (request.url ?? '').split('?');
    const digest = decodeURIComponent(/digest=([^&]*)/.exec(query)?.[1] ?? '');
    const known = kept.get(path);
    if (body.length > mostBytes) return { status: 413 };
    if (request.method === 'HEAD') return { status: known === undefined ? 404 : 200 };
    if (request.method === 'GET')
      return known === undefined ? { status: 404 } : manifestReply(known.toString());
    if (request.method === 'POST') {
      upload = Buffer.alloc(0);
      sessions += 1;
      return { status: 202, headers: at(`/u/${sessions}?_state=a%2Fb`) };
    }
    if (request.method === 'PATCH') {
      ranges.push(String(request.headers['content-range']));
      upload = Buffer.concat([upload, body]);
      return { status: 202, headers: at(`${path.replace('/u/', '/u/p')}?_state=${upload.length}`) };
    }
    if (path.includes('/manifests/')) {
      kept.set(path, body);
      return { status: 201 };
    }
    const whole = Buffer.concat([upload, body]);
    if (sha256(whole) !== digest) return { status: 400, body: '{"errors":[{"code":"DIGEST_INVALID"}]}' };
    kept.set(`/v2/acme/sample/blobs/${digest}`, whole);
    return { status: 201 };
  };
  const routes: Routes = new Proxy({}, { get: () => serve });
  return { kept, ranges, routes };
}

describe('a registry that takes only so many bytes at once', () => {
  const big = samplePackage({ files: { 'LICENSES/data.bin': randomBytes(9 * MIB) } });
  const file = join(folder, 'big.skill');
  writeFileSync(file, big);

  test.each([
    ['and says nothing of it', {}, [4 * MIB, 4 * MIB]],
    ['and wants pieces of at least 6 MiB', { 'oci-chunk-min-length': String(6 * MIB) }, [6 * MIB]],
  ])('%s is sent a package in pieces, each where the one before ends', async (_, headers, whole) => {
    const { kept, ranges, routes } = keeping(7 * MIB, headers);
    registry.serve(routes);
    const pushed = await run('push', file, `${REF}:big`);
    expect(pushed).toMatchObject({ isNew: true, bytes: big.length });
    expect(kept.get(`/v2/acme/sample/blobs/${sha256(big)}`)?.equals(big)).toBe(true);
    const ends = whole.map((_bytes, i) => whole.slice(0, i + 1).reduce((sum, bytes) => sum + bytes, 0));
    const starts = [0, ...ends];
    const expected = starts.map((start, i) => `${start}-${(ends[i] ?? big.length) - 1}`);
    expect(ranges).toEqual(expected);
    // What is there already is not sent again.
    const before = registry.asked.length;
    expect(await run('push', file, `${REF}:again`)).toMatchObject({ isNew: true, digest: pushed.digest });
    expect(registry.asked.slice(before).some(({ line }) => /^(POST|PATCH)/.test(line))).toBe(false);
  });

  test('refuses bytes that are not those of the digest, and the push says so', async () => {
    const { routes } = keeping(64 * MIB);
    const inner = routes.any as (request: unknown, body: Buffer) => Reply;
    registry.serve(
      new Proxy(
        {},
        { get: () => (request: unknown, body: Buffer) => inner(request, body.subarray(0, 10)) },
      ) as Routes,
    );
    const refused = await run('push', file, `${REF}:big`);
    expect(refused).toMatchObject({ code: 'oci/failed' });
    expect(refused.message).toContain('status 400 and DIGEST_INVALID');
  });
});

describe('a registry that is busy', () => {
  test('is asked again after the time that it names', async () => {
    let asked = 0;
    registry.serve({
      ...HONEST,
      [MANIFEST_PATH]: () => {
        asked += 1;
        return asked < 3 ? { status: 429, headers: { 'retry-after': '0' } } : manifestReply(MANIFEST);
      },
    });
    const out = join(folder, 'busy.skill');
    expect(await run('pull', `${REF}:1.0.0`, '--out', out)).toMatchObject({ skill: 'acme.sample' });
    expect(asked).toBe(3);
    expect(readFileSync(out).equals(PACKAGE)).toBe(true);
  });

  test('is not asked for ever', async () => {
    registry.serve({ ...HONEST, [MANIFEST_PATH]: { status: 429, headers: { 'retry-after': '0' } } });
    const before = registry.asked.length;
    expect(await run('pull', `${REF}:1.0.0`)).toMatchObject({ code: 'oci/failed' });
    expect(registry.asked.length - before).toBe(6);
  });
});

describe('a registry without a catalog', () => {
  test('is searched by the name of a repository', async () => {
    registry.serve({ ...HONEST, 'GET /v2/_catalog': { status: 404 } });
    const refused = await run('search', registry.host);
    expect(refused).toMatchObject({ code: 'oci/unknown' });
    expect(refused.remedy).toContain(`palisade skill search ${registry.host}/NAME`);
    expect(await run('search', REF)).toMatchObject({ skills: [{ reference: `${REF}:1.0.0` }] });
  });
});

describe('a registry that is to be reached by https and does not speak it', () => {
  test('gets no request without encryption', async () => {
    writeFileSync(
      join(folder, 'state', 'palisade.toml'),
      `[[registry]]\nname = "${registry.host}"\nscheme = "https"\n`,
    );
    registry.serve(HONEST);
    const before = registry.asked.length;
    const refused = await run('pull', `${REF}:1.0.0`);
    writeFileSync(join(folder, 'state', 'palisade.toml'), '');
    expect(refused).toMatchObject({ code: 'oci/failed' });
    expect(refused.message).toContain('it does not speak TLS');
    expect(registry.asked.length).toBe(before);
  });
});
