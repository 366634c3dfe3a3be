import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Finished } from '../../packages/gateway/test/doors/cli/palisade.ts';
import { scratch } from '../fixtures/cli.ts';
import { guest, listOf } from '../fixtures/modules/guest.ts';
import { LOGIN, startRegistry } from '../fixtures/registry/real.ts';
import { palisade } from '../fixtures/skills/commands.ts';
import { ACME, PLAIN, publicDocument, samplePackage } from '../fixtures/skills/sample.ts';

/*
 * Skills shared through a real registry, as their author and the operator of another machine live it. Each has a state
 * directory of their own, and nothing but the registry in between, and the key that came over another channel.
 */

const folder = scratch();
const AUTHOR = ['--state', join(folder, 'author')];
const OPERATOR = ['--state', join(folder, 'operator')];
const REASON = ['--yes', '--reason', 'looked at it'];
const KEY = join(folder, 'acme.pub.json');
writeFileSync(KEY, publicDocument(ACME));

function packageFile(name: string, version: string, gives: number): string {
  const bytes = guest(() => listOf(`(i32.const ${gives})`));
  const path = join(folder, name);
  writeFileSync(path, samplePackage({ version, tools: { plain: gives === 0 ? PLAIN : { bytes } } }));
  return path;
}

const first = packageFile('first.skill', '1.0.0', 1);
const rebuilt = packageFile('rebuilt.skill', '1.0.0', 2);
const second = packageFile('second.skill', '1.1.0+build.7', 3);

async function ok(...words: readonly string[]): Promise<Record<string, unknown>> {
  const finished = await palisade([...words, '--json']);
  expect(finished, words.join(' ')).toMatchObject({ status: 0 });
  return JSON.parse(finished.out);
}

async function refused(code: string, ...words: readonly string[]) {
  const finished: Finished = await palisade([...words, '--json']);
  const document = JSON.parse(finished.out) as { code: string; message: string; remedy: string };
  expect(document, words.join(' ')).toMatchObject({ code });
  return document;
}

async function called(): Promise<unknown> {
  const { out } = await palisade(['call', 'acme.sample.plain', '--as', 'user:olga', '--json', ...OPERATOR]);
  const { code, output } = JSON.parse(out) as { code: string; output?: unknown };
  return output ?? code;
}

describe('a registry without a log-in', async () => {
  const { host } = await startRegistry();
  const REF = `${host}/acme/sample`;

  test('a skill is pushed, searched, installed by its tag, approved and called; then its tag moves', async () => {
    const pushed = await ok('skill', 'push', first, REF, ...AUTHOR);
    expect(pushed).toMatchObject({ reference: `${REF}:1.0.0`, skill: 'acme.sample', isNew: true });
    const { digest } = pushed as { digest: string };
    expect(await ok('skill', 'push', first, REF, ...AUTHOR)).toMatchObject({ digest, isNew: false });

    const { skills } = (await ok('skill', 'search', host, 'MADE FOR A test', ...OPERATOR)) as {
      skills: unknown[];
    };
    expect(skills).toMatchObject([
      { reference: `${REF}:1.0.0`, id: 'acme.sample', publisher: 'acme', digest },
    ]);
    expect(await ok('skill', 'search', host, 'nothing like it', ...OPERATOR)).toMatchObject({ skills: [] });

    await refused('skill/untrusted', 'skill', 'install', `${REF}:1.0.0`, ...OPERATOR);
    await ok('trust', 'add', 'acme', KEY, '--yes', ...OPERATOR);
    const installed = await ok('skill', 'install', `${REF}:1.0.0`, ...OPERATOR);
    expect(installed).toMatchObject({ skill: { state: 'quarantined' }, from: { digest } });
    expect(await called()).toBe('skill/quarantined');
    await ok('skill', 'approve', 'acme.sample', ...REASON, ...OPERATOR);
    expect(await called()).toEqual([1]);

    // The author must say that a tag moves, and each reader hears of it.
    await refused('oci/moved', 'skill', 'push', rebuilt, `${REF}:1.0.0`, ...AUTHOR);
    const moved = await ok('skill', 'push', rebuilt, `${REF}:1.0.0`, '--move-tag', ...AUTHOR);
    expect(moved).toMatchObject({ movedFrom: digest });
    const { message, remedy } = await refused('oci/moved', 'skill', 'install', `${REF}:1.0.0`, ...OPERATOR);
    expect(message).toContain(digest);
    expect(message).toContain(moved.digest);
    expect(remedy).toContain(`palisade skill pull ${REF}@${moved.digest}`);
    expect(await called()).toEqual([1]);

    // The old bytes are still there under their digest, and a version never changes its bytes, whatever the tag says.
    const out = join(folder, 'pulled.skill');
    await ok('skill', 'pull', `${REF}@${digest}`, '--out', out, ...OPERATOR);
    expect(readFileSync(out).equals(readFileSync(first))).toBe(true);
    await refused('skill/conflict', 'skill', 'install', `${REF}:1.0.0`, '--accept-moved', ...OPERATOR);
    await ok('skill', 'pull', `${REF}:1.0.0`, '--accept-moved', '--out', out, ...OPERATOR);
    expect(readFileSync(out).equals(readFileSync(rebuilt))).toBe(true);
    await ok('skill', 'pull', `${REF}:1.0.0`, '--out', out, ...OPERATOR);

    // A new version comes under its own tag, is in quarantine again, and an older one is a downgrade.
    expect(await ok('skill', 'push', second, REF, ...AUTHOR)).toMatchObject({
      reference: `${REF}:1.1.0_build.7`,
    });
    const listed = (await ok('skill', 'search', REF, ...OPERATOR)) as { skills: { version: string }[] };
    expect(listed.skills.map(({ version }) => version)).toEqual(['1.1.0+build.7', '1.0.0']);
    await ok('skill', 'install', `oci://${REF}:1.1.0_build.7`, ...OPERATOR);
    expect(await called()).toEqual([1]);
    await ok('skill', 'approve', 'acme.sample', ...REASON, ...OPERATOR);
    expect(await called()).toEqual([3]);
    await ok('skill', 'revoke', 'acme.sample', ...REASON, ...OPERATOR);
    await refused('skill/revoked', 'skill', 'install', `${REF}@${digest}`, ...OPERATOR);

    const { records } = (await ok(
      'journal',
      'search',
      '--kind',
      'skill-pulled',
      '--limit',
      '100',
      ...OPERATOR,
    )) as {
      records: { body: unknown; principal: string }[];
    };
    expect(records.map(({ body }) => body)).toContainEqual(
      expect.objectContaining({ skill: 'acme.sample', reference: `${REF}:1.0.0`, digest, movedFrom: null }),
    );
    const { records: pushes } = (await ok('journal', 'search', '--kind', 'skill-pushed', ...AUTHOR)) as {
      records: { body: unknown }[];
    };
    expect(pushes.map(({ body }) => body)).toContainEqual(
      expect.objectContaining({ reference: `${REF}:1.0.0`, movedFrom: digest }),
    );
    for (const state of [AUTHOR, OPERATOR]) await ok('journal', 'verify', ...state);
  });

  test('what is not there, and what is not a skill, is an error that says so', async () => {
    await refused('oci/unknown', 'skill', 'pull', `${REF}:9.9.9`, ...OPERATOR);
    await refused('oci/unknown', 'skill', 'search', `${host}/acme/none`, ...OPERATOR);
    const noHost = await refused('door/wrong-usage', 'skill', 'install', 'acme/sample:1.0.0', ...OPERATOR);
    expect(noHost.message).toContain('"acme": it does not look like a host');
    const withLogin = await refused(
      'door/wrong-usage',
      'skill',
      'install',
      `ada:pw-4711@${REF}:1`,
      ...OPERATOR,
    );
    expect(withLogin.message).not.toContain('pw-4711');
    const noFile = await refused('door/wrong-usage', 'skill', 'install', './folder/text.skill', ...OPERATOR);
    expect(noFile.message).toContain('no such file');
    const put = (path: string, type: string, body: string) =>
      fetch(`http://${host}/v2/acme/image/${path}`, {
        method: 'PUT',
        headers: { 'content-type': type },
        body,
      });
    const type = 'application/vnd.oci.image.index.v1+json';
    const index = await put(
      'manifests/1.0.0',
      type,
      JSON.stringify({ schemaVersion: 2, mediaType: type, manifests: [] }),
    );
    expect(index.status).toBe(201);
    const { message } = await refused(
      'oci/not-a-skill',
      'skill',
      'pull',
      `${host}/acme/image:1.0.0`,
      ...OPERATOR,
    );
    expect(message).toContain('an index of several images');
    const listed = await ok('skill', 'search', `${host}/acme/image`, ...OPERATOR);
    expect(listed).toMatchObject({ skills: [], others: 1 });
  });
});

describe('a registry with a log-in', async () => {
  const { host } = await startRegistry({ isPrivate: true });
  const REF = `${host}/acme/sample`;
  const SECRET = `oci.${host.replace(':', '-')}`;

  test('is used with the log-in of the vault or of standard input, and says what is missing', async () => {
    const { remedy } = await refused('oci/denied', 'skill', 'push', first, REF, ...AUTHOR);
    expect(remedy).toContain(`palisade secrets set ${SECRET}`);
    const wrong = await palisade(['skill', 'push', first, REF, '--login', '--json', ...AUTHOR], {
      stdin: 'ada:no',
    });
    expect(JSON.parse(wrong.out)).toMatchObject({ code: 'oci/denied' });
    expect(wrong.out).toContain('refuses the log-in');

    const { status } = await palisade(['secrets', 'set', SECRET, ...AUTHOR], { stdin: `${LOGIN}\n` });
    expect(status).toBe(0);
    expect(await ok('skill', 'push', first, REF, ...AUTHOR)).toMatchObject({ isNew: true });
    const words = ['skill', 'search', host, '--login', '--json', ...OPERATOR];
    const found = await palisade(words, { stdin: LOGIN });
    expect(JSON.parse(found.out)).toMatchObject({ skills: [{ id: 'acme.sample' }] });
  });
});
