import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { digestBytes } from '../../../src/core/digest.ts';
import { runInside } from './fake-edge.ts';
import { makeScratch } from './palisade.ts';
import { ECHO_MANIFEST, writeSkill } from './skill-fixture.ts';

const scratch = makeScratch();
const at = (name: string) => join(scratch, name);
const skill = (...words: string[]) => runInside(['skill', ...words], { cwd: scratch });

const ASKING = `${ECHO_MANIFEST}
[capabilities]
http_egress_allowlist = ["api.example.com:443"]
[capabilities.quotas]
fuel = 5000000
`;

beforeAll(async () => {
  writeSkill(at('echo'));
  writeSkill(at('asking'), { 'skill.toml': ASKING });
  await skill('pack', 'echo', '--out', 'echo.skill');
  await skill('pack', 'asking', '--out', 'asking.skill');
  await skill('sign', 'asking.skill', '--key', 'acme.key', '--new-key');
});

describe('palisade skill inspect', () => {
  test('shows who made it, what is in it and that it asks for nothing', async () => {
    const { status, out, err } = await skill('inspect', 'echo.skill');
    expect(out).toContain('acme.echo 1.2.0  Echo\n');
    expect(out).toMatch(/^signed +no$/m);
    expect(out).toContain('acme.echo.echo  Echo: Gives back what it gets.\n');
    expect(out).toContain('It requests no capability.\n');
    expect(out).toMatch(/^echo\.wasm +\d+ +[0-9a-f]{64}$/m);
    expect(err).toBe('');
    expect(status).toBe(0);
  });

  test('shows the signer and every wish', async () => {
    const { keyId } = JSON.parse(readFileSync(at('acme.key.pub.json'), 'utf8'));
    const { out } = await skill('inspect', 'asking.skill');
    expect(out).toContain(`by ${keyId}, over every byte`);
    expect(out).toContain('  http=api.example.com:443  ');
    expect(out).toContain('A call uses at most 5000000 fuel.\n');
  });

  test('gives one document with all of it', async () => {
    const { out } = await skill('inspect', 'asking.skill', '--json');
    const reported = JSON.parse(out);
    const module = readFileSync(join(at('asking'), 'echo.wasm'));
    expect(reported).toMatchObject({
      ...{ file: 'asking.skill', id: 'acme.echo', version: '1.2.0', publisher: 'acme' },
      artifact: digestBytes(readFileSync(at('asking.skill'))),
      signer: { keyId: expect.stringMatching(/^sha256:/) },
      tools: [{ tool: 'acme.echo.echo', risk: 'low', annotations: { destructive: true } }],
      asks: { http: ['api.example.com:443'] },
    });
    expect(reported.entries).toContainEqual({
      ...{ path: 'echo.wasm', bytes: module.length, sha256: digestBytes(module) },
    });
  });

  test.each([
    ['no archive', Buffer.from('not a package')],
    ['nothing', Buffer.alloc(0)],
  ])('refuses a file that is %s', async (_, bytes) => {
    writeFileSync(at('bad.skill'), bytes);
    const { status, out } = await skill('inspect', 'bad.skill', '--json');
    expect(JSON.parse(out)).toMatchObject({ status: 'refused', code: 'skill/invalid-package' });
    expect(status).toBe(2);
  });

  test.each(['asking.skill', 'echo.skill'])(
    'refuses %s where any byte of its prose is another',
    async (name) => {
      const bytes = readFileSync(at(name));
      const place = bytes.indexOf('Call it with anything.');
      expect(place).toBeGreaterThan(0);
      bytes[place] = 0x63;
      writeFileSync(at('changed.skill'), bytes);
      const { status, err } = await skill('inspect', 'changed.skill');
      expect(err).toMatch(/^refused {2}skill\/(bad-signature|invalid-package)\n/);
      expect(status).toBe(2);
    },
  );

  test('refuses a file that is not there as wrong usage', async () => {
    const { status, err } = await skill('inspect', 'nowhere.skill');
    expect(err).toContain('Cannot read "');
    expect(status).toBe(64);
  });
});
