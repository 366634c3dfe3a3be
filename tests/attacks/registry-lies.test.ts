import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { palisadeProcess, useBuild } from '../../packages/gateway/test/doors/cli/palisade.ts';
import { scratch } from '../fixtures/cli.ts';
import {
  BLOB_PATH,
  HONEST,
  LAYER,
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
import { ACME, packed, publicDocument, sampleFiles, samplePackage } from '../fixtures/skills/sample.ts';

/*
 * A registry that lies: about digests, lengths, what a thing is, where it is, and how much of it there is. Whatever it
 * answers, nothing is installed that its manifest and its signature do not name, and the operator reads why.
 */

useBuild();

const folder = scratch();
const STATE = ['--state', join(folder, 'state')];
const registry = await startFake();
const REF = `${registry.host}/acme/sample:1.0.0`;
const OUT = join(folder, 'out.skill');

beforeAll(async () => {
  writeFileSync(join(folder, 'acme.pub.json'), publicDocument(ACME));
  const { status } = await palisade([
    'trust',
    'add',
    'acme',
    join(folder, 'acme.pub.json'),
    '--yes',
    ...STATE,
  ]);
  expect(status).toBe(0);
});

/** Tries to install from a registry that answers like this; nothing may come of it. */
async function attack(lies: Routes, reference = REF) {
  registry.serve({ ...HONEST, ...lies });
  const { out, status } = await palisade(['skill', 'install', reference, '--json', ...STATE]);
  const { code, message, remedy } = JSON.parse(out) as { code: string; message: string; remedy: string };
  const listed = await palisade(['skill', 'list', '--json', ...STATE]);
  expect((JSON.parse(listed.out) as { skills: unknown[] }).skills).toEqual([]);
  const stored = join(folder, 'state', 'skills');
  expect(existsSync(stored) ? readdirSync(stored) : []).toEqual([]);
  expect(status).not.toBe(0);
  expect(remedy).not.toBe('');
  return { code, message, remedy };
}

const ALTERED = Buffer.from(PACKAGE);
ALTERED[ALTERED.length - 30] = (ALTERED[ALTERED.length - 30] ?? 0) ^ 1;
const unsigned = packed(sampleFiles());
const OTHER = samplePackage({ version: '2.0.0' });

function withLayers(...layers: readonly unknown[]): Reply {
  return manifestReply({ ...MANIFEST, layers });
}

function blobOf(bytes: Uint8Array, more: Routes = {}): Routes {
  const layer = { ...LAYER, digest: sha256(bytes), size: bytes.length };
  const path = `GET /v2/acme/sample/blobs/${layer.digest}`;
  const manifest = manifestReply({ ...MANIFEST, layers: [layer], annotations: {} });
  return { [MANIFEST_PATH]: manifest, [path]: { body: bytes }, ...more };
}

const OTHER_DIGEST = sha256('another');

describe('a registry that lies', () => {
  test.each<[string, Routes, string, string]>([
    ['sends other bytes for a package', { [BLOB_PATH]: { body: ALTERED } }, 'oci/mismatch', 'has the digest'],
    [
      'sends less of a package',
      { [BLOB_PATH]: { body: PACKAGE.subarray(0, 100) } },
      'oci/mismatch',
      'has 100 bytes',
    ],
    [
      'sends more than a package',
      { [BLOB_PATH]: { body: Buffer.concat([PACKAGE, Buffer.alloc(200_000)]) } },
      'oci/failed',
      'it is too long',
    ],
    [
      'breaks off a package',
      { [BLOB_PATH]: { headers: { 'content-length': String(PACKAGE.length + 10) }, body: PACKAGE } },
      'oci/failed',
      'expected all of it',
    ],
    [
      'names another digest for a package',
      { [BLOB_PATH]: { headers: { 'docker-content-digest': OTHER_DIGEST }, body: PACKAGE } },
      'oci/mismatch',
      'the registry names the digest',
    ],
    [
      'names another digest for a manifest',
      { [MANIFEST_PATH]: manifestReply(MANIFEST, { 'docker-content-digest': OTHER_DIGEST }) },
      'oci/mismatch',
      'the registry names the digest',
    ],
    [
      'names two digests for a manifest',
      {
        [MANIFEST_PATH]: manifestReply(MANIFEST, {
          'docker-content-digest': [sha256(JSON.stringify(MANIFEST)), '\tsha256:no'],
        }),
      },
      'oci/mismatch',
      'a malformed digest',
    ],
    [
      'has a container image there',
      {
        [MANIFEST_PATH]: manifestReply({
          schemaVersion: 2,
          config: { mediaType: 'application/vnd.oci.image.config.v1+json', digest: sha256('{}'), size: 2 },
          layers: [{ ...LAYER, mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip' }],
        }),
      },
      'oci/not-a-skill',
      'an ordinary container image',
    ],
    [
      'has an index there',
      {
        [MANIFEST_PATH]: manifestReply(
          { schemaVersion: 2, manifests: [{ digest: OTHER_DIGEST }] },
          { 'content-type': 'application/vnd.oci.image.index.v1+json' },
        ),
      },
      'oci/not-a-skill',
      'an index of several images',
    ],
    [
      'has a skill there that is an index at the same time',
      { [MANIFEST_PATH]: manifestReply({ ...MANIFEST, manifests: [{ digest: OTHER_DIGEST }] }) },
      'oci/not-a-skill',
      'an image and an index at once',
    ],
    [
      'has something of another kind there',
      { [MANIFEST_PATH]: manifestReply({ ...MANIFEST, artifactType: 'application/\u001b[2Jx' }) },
      'oci/not-a-skill',
      'its artifact type is',
    ],
    [
      'serves a manifest as something else',
      { [MANIFEST_PATH]: manifestReply(MANIFEST, { 'content-type': 'text/html' }) },
      'oci/not-a-skill',
      'served as "text/html"',
    ],
    ['has two layers', { [MANIFEST_PATH]: withLayers(LAYER, LAYER) }, 'oci/not-a-skill', 'has 2 layers'],
    ['has no layer', { [MANIFEST_PATH]: withLayers() }, 'oci/not-a-skill', 'has 0 layers'],
    [
      'has a layer of another type',
      { [MANIFEST_PATH]: withLayers({ ...LAYER, mediaType: 'application/zip' }) },
      'oci/not-a-skill',
      'its layer is of the type "application/zip"',
    ],
    [
      'names a layer by a path',
      { [MANIFEST_PATH]: withLayers({ ...LAYER, digest: 'sha256:../../../etc/passwd' }) },
      'oci/not-a-skill',
      'no SHA-256 digest',
    ],
    [
      'announces a package of a terabyte',
      { [MANIFEST_PATH]: withLayers({ ...LAYER, size: 2 ** 40 }) },
      'oci/not-a-skill',
      'expected at most',
    ],
    [
      'has a manifest of 100 MB',
      { [MANIFEST_PATH]: () => manifestReply(' '.repeat(100_000_000)) },
      'oci/failed',
      'it is too long',
    ],
    [
      'has a manifest that is a bomb',
      { [MANIFEST_PATH]: manifestReply('['.repeat(100_000)) },
      'oci/not-a-skill',
      'cannot be read',
    ],
    [
      'has a manifest with two lists of layers',
      {
        [MANIFEST_PATH]: manifestReply(JSON.stringify(MANIFEST).replace('"layers"', '"layers":[],"layers"')),
      },
      'oci/not-a-skill',
      'cannot be read',
    ],
    [
      'claims another publisher than the package has',
      {
        [MANIFEST_PATH]: manifestReply({
          ...MANIFEST,
          annotations: { 'vnd.palisade.skill.publisher': 'microsoft' },
        }),
      },
      'oci/mismatch',
      'its annotation of the publisher is "microsoft", expected "acme"',
    ],
    [
      'offers another version than it says',
      {
        ...blobOf(OTHER),
        [MANIFEST_PATH]: manifestReply({
          ...MANIFEST,
          layers: [{ ...LAYER, digest: sha256(OTHER), size: OTHER.length }],
          annotations: { 'vnd.palisade.skill.version': '1.0.0' },
        }),
      },
      'oci/mismatch',
      'expected "2.0.0"',
    ],
    [
      'offers a package that is not one',
      blobOf(Buffer.from('PK not a package')),
      'skill/invalid-package',
      '',
    ],
    ['offers an unsigned package', blobOf(unsigned), 'skill/unsigned', ''],
    [
      'offers a package by a stranger',
      blobOf(samplePackage({ publisher: 'evil', id: 'evil.sample' })),
      'skill/untrusted',
      '',
    ],
    [
      'redirects in a circle',
      { [BLOB_PATH]: { status: 307, headers: { location: `/v2/acme/sample/blobs/${LAYER.digest}` } } },
      'oci/failed',
      'redirects more than 5 times',
    ],
    [
      'redirects to another port of this machine',
      { [BLOB_PATH]: { status: 307, headers: { location: 'http://127.0.0.1:1/secret' } } },
      'oci/not-allowed',
      'not encrypted',
    ],
    [
      'redirects into the private network',
      { [BLOB_PATH]: { status: 302, headers: { location: 'https://10.1.2.3/secret' } } },
      'oci/not-allowed',
      'private network',
    ],
    [
      'redirects to the metadata service',
      { [MANIFEST_PATH]: { status: 302, headers: { location: 'https://169.254.169.254/latest' } } },
      'oci/not-allowed',
      '169.254.169.254',
    ],
    [
      'redirects to a file',
      { [BLOB_PATH]: { status: 302, headers: { location: 'file:///etc/passwd' } } },
      'oci/not-allowed',
      'scheme',
    ],
    [
      'asks to wait for an hour',
      { [MANIFEST_PATH]: { status: 429, headers: { 'retry-after': '3600' } } },
      'oci/failed',
      'limits the number of requests',
    ],
    ['has nothing there', { [MANIFEST_PATH]: { status: 404 } }, 'oci/unknown', 'does not have it'],
    ['fails', { [MANIFEST_PATH]: { status: 500, body: 'x'.repeat(1000) } }, 'oci/failed', 'status 500'],
  ])('%s: nothing is installed, and the message says why', async (_, lies, code, why) => {
    const refused = await attack(lies);
    expect(refused.code).toBe(code);
    expect(refused.message).toContain(why);
    expect(refused.message).not.toMatch(/[^ -~…]/);
  });

  test('what is named by its digest is that, or refused', async () => {
    const digest = sha256(JSON.stringify(MANIFEST));
    const byDigest = `GET /v2/acme/sample/manifests/${OTHER_DIGEST}`;
    const named = `${registry.host}/acme/sample@${OTHER_DIGEST}`;
    const refused = await attack({ [byDigest]: manifestReply(MANIFEST) }, named);
    expect(refused).toMatchObject({ code: 'oci/mismatch' });
    expect(refused.message).toContain(digest);
    expect(refused.message).toContain(OTHER_DIGEST);
  });

  test('the time to wait is in the remedy', async () => {
    const { remedy } = await attack({ [MANIFEST_PATH]: { status: 429, headers: { 'retry-after': '3600' } } });
    expect(remedy).toBe('Try again in 3600 seconds.');
  });

  test('a file that is there already is not replaced by the name in a package', async () => {
    registry.serve(HONEST);
    writeFileSync(OUT, 'mine');
    const first = await palisade(['skill', 'pull', REF, '--out', OUT, '--json', ...STATE]);
    expect(JSON.parse(first.out)).toMatchObject({
      skill: 'acme.sample',
      digest: sha256(JSON.stringify(MANIFEST)),
    });
    const place = join(folder, 'place');
    mkdirSync(place);
    writeFileSync(join(place, 'sample-1.0.0.skill'), 'mine');
    const second = await palisadeProcess(['skill', 'pull', REF, ...STATE], { cwd: place });
    expect(second.status).toBe(64);
    expect(second.err).toContain('it is there already, expected --out FILE');
    expect(readFileSync(join(place, 'sample-1.0.0.skill'), 'utf8')).toBe('mine');
  });

  test('a list with hostile names shows and asks for nothing of them', async () => {
    const names = [
      'acme/sample',
      '../../etc/passwd',
      '\u001b[2Jacme/x',
      'a/../../b',
      'ACME/x',
      `n${'x'.repeat(999)}`,
    ];
    const tags = ['1.0.0', '../../../x', '\u001b]0;owned\u0007', 'a b', '1.0.0\n2.0.0'];
    registry.serve({
      ...HONEST,
      'GET /v2/_catalog': { body: JSON.stringify({ repositories: names }) },
      'GET /v2/acme/sample/tags/list': { body: JSON.stringify({ name: 'x', tags }) },
      [MANIFEST_PATH]: manifestReply({
        ...MANIFEST,
        annotations: {
          'org.opencontainers.image.description': 'nice\u001b[31m\u202e\nrefused  policy/denied',
        },
      }),
    });
    registry.asked.length = 0;
    const { out, err } = await palisade(['skill', 'search', registry.host, ...STATE]);
    expect(out).toContain(`${registry.host}/acme/sample:1.0.0`);
    expect(out.trimEnd().split('\n')).toHaveLength(2);
    expect(out).not.toMatch(/[^ -~\n…]/);
    expect(err).toContain('9 malformed names left out');
    expect(registry.asked.map(({ line }) => line.split('?', 1)[0])).toEqual(Object.keys(HONEST).slice(0, 3));
  });

  test('a list that never ends is read as far as it is of use', async () => {
    let page = 0;
    registry.serve({
      ...HONEST,
      'GET /v2/_catalog': () => {
        page += 1;
        return {
          headers: { link: `</v2/_catalog?last=${page}>; rel="next"` },
          body: JSON.stringify({ repositories: ['acme/sample'] }),
        };
      },
    });
    const { out } = await palisade(['skill', 'search', registry.host, '--json', ...STATE]);
    expect(JSON.parse(out)).toMatchObject({ isCut: true, skills: [{ id: 'acme.sample' }] });
    expect(page).toBe(20);
  });

  test('a link to another list is not followed', async () => {
    registry.serve({
      ...HONEST,
      'GET /v2/_catalog': {
        headers: { link: '</admin?delete=all>; rel="next"' },
        body: JSON.stringify({ repositories: [] }),
      },
    });
    registry.asked.length = 0;
    const { out } = await palisade(['skill', 'search', registry.host, '--json', ...STATE]);
    expect(JSON.parse(out)).toMatchObject({ code: 'oci/failed' });
    expect(registry.asked.some(({ line }) => line.includes('admin'))).toBe(false);
  });

  test('the same registry without a lie: the skill is installed, in quarantine', async () => {
    registry.serve(HONEST);
    const { out } = await palisade(['skill', 'install', REF, '--json', ...STATE]);
    expect(JSON.parse(out)).toMatchObject({
      isNew: true,
      skill: { state: 'quarantined', trust: 'operator' },
    });
  });
});
