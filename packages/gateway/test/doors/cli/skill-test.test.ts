import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { openRecords, systemClock, systemRandom } from '../../../src/open.ts';
import { guest } from '../../tiers/a-wasm/guests.ts';
import { runInside } from './fake-edge.ts';
import { holdGateways } from './held-gateways.ts';
import { makeScratch, useBuild } from './palisade.ts';
import { ECHO_CASES, ECHO_MANIFEST, writeSkill } from './skill-fixture.ts';

/* Cases run on real engines; the file of the engine is a built one. */
useBuild();
const scratch = makeScratch();
const { open: openGateway, close } = holdGateways();
afterAll(close);
const palisade = (...words: string[]) =>
  runInside([...words, '--state', join(scratch, 'state')], {
    ...{ clock: systemClock, random: systemRandom, cwd: scratch, openGateway, openRecords },
  });
const testOf = (name: string, ...words: string[]) => palisade('skill', 'test', name, ...words);
const casesOf = (...cases: object[]) => JSON.stringify({ cases });
const [GOOD] = ECHO_CASES.cases;

const STORING = `${ECHO_MANIFEST.replace('output_schema = "schemas/any.json"', 'output_schema = { type = "integer" }')}
[capabilities.filesystem]
read_roots = ["notes/"]
write_roots = ["notes/"]
`;
/** Puts its input under a key, and gives what the gateway answered. */
const PUT = guest(
  `(call $print (call $storage_put (call $capability_handle (i32.const 3) (i32.const 0)) (i32.const 16) (i32.const 7)
    (local.get $at) (local.get $length) (f64.const -1)))`,
  ['notes/a'],
);

describe('palisade skill test', () => {
  test('runs the cases of a folder, and says how each ended', async () => {
    writeSkill(join(scratch, 'good'));
    const { status, out } = await testOf('good');
    expect(out).toMatch(/^✓ echo: gives back an object {2}\d+ fuel$/m);
    expect(out).toContain('✓ echo: takes no list');
    expect(out).toContain('2 passed, 0 not run\n');
    expect(status).toBe(0);
  });

  test('runs those of a package as well', async () => {
    writeSkill(join(scratch, 'packed'));
    await palisade('skill', 'pack', 'packed', '--out', 'packed.skill');
    const { status, out } = await testOf('packed.skill', '--json');
    expect(JSON.parse(out)).toMatchObject({ ...{ status: 'ok', skill: 'acme.echo', passed: 2, failed: 0 } });
    expect(status).toBe(0);
  });

  test('shows what the guest of a failed case logged and was denied, with what its author can do', async () => {
    const put = guest(
      `(call $log (i32.const 1) (i32.const 16) (i32.const 7))
       (call $print (call $storage_put (call $capability_handle (i32.const 3) (i32.const 0)) (i32.const 16) (i32.const 7)
         (local.get $at) (local.get $length) (f64.const -1)))`,
      ['notes/a'],
    );
    const manifest = STORING.replace(
      '[capabilities.filesystem]',
      '[capabilities]\nlog = true\n\n[capabilities.filesystem]',
    );
    const cases = casesOf({ name: 'keeps it', tool: 'echo', input: {}, output: 0 });
    writeSkill(join(scratch, 'noted'), {
      'skill.toml': manifest,
      'echo.wasm': put,
      'tests/echo.json': cases,
    });
    const { out } = await testOf('noted');
    expect(out).toContain(
      'it gave -1, expected 0\n    info: notes/a\n    denied: storage_put "notes/a": This call has no grant of it.\n',
    );
    expect(out).toContain('      → Run `palisade skill test` or `dev` with --with-capabilities');
    const { out: json } = await testOf('noted', '--json');
    expect(JSON.parse(json)).toMatchObject({ cases: [{ log: { denied: [{ why: 'withheld' }] } }] });
    // The same case with its capabilities passes, and its log is not shown.
    const { out: good } = await testOf('noted', '--with-capabilities');
    expect(good).toContain('✓ echo: keeps it');
    expect(good).not.toContain('info: notes/a');
  });

  test('shows what is other than expected, and exits 1', async () => {
    const other = casesOf(GOOD as object, { ...GOOD, name: 'gives something else', output: { a: 2 } });
    writeSkill(join(scratch, 'other'), { 'tests/echo.json': other });
    const { status, out, err } = await testOf('other');
    expect(out).toContain('✓ echo: gives back an object');
    expect(out).toContain(
      '✗ echo: gives something else\n    tests/echo.json: it gave {"a":1}, expected {"a":2}\n',
    );
    expect(err).toContain('failed  skill/tests-failed\nCannot pass: 1 of 2 test cases');
    expect(status).toBe(1);
    const { out: json } = await testOf('other', '--json');
    expect(JSON.parse(json)).toMatchObject({
      ...{ code: 'skill/tests-failed', passed: 1, failed: 1, notRun: 0 },
      cases: [{ verdict: 'passed' }, { name: 'gives something else', verdict: 'failed' }],
    });
  });

  test('runs what needs a capability only where it is given', async () => {
    const needy = { name: 'stores', tool: 'echo', input: {}, output: 0, needs: ['storage'] };
    writeSkill(join(scratch, 'needy'), {
      ...{ 'skill.toml': STORING, 'echo.wasm': PUT, 'tests/echo.json': casesOf(needy) },
    });
    const without = await testOf('needy');
    expect(without.out).toContain('· echo: stores  not run: it needs storage\n0 passed, 1 not run\n');
    expect(without.err).toBe('→ palisade skill test needy --with-capabilities\n');
    expect(without.status).toBe(0);
    const supplied = await testOf('needy', '--with-capabilities');
    expect(supplied.out).toContain('1 passed, 0 not run\n');
    expect(supplied.status).toBe(0);
  });

  test('gives a case no capability that it does not say it needs', async () => {
    const denied = { name: 'is denied', tool: 'echo', input: {}, output: 0 };
    writeSkill(join(scratch, 'denied'), {
      ...{ 'skill.toml': STORING, 'echo.wasm': PUT, 'tests/echo.json': casesOf(denied) },
    });
    expect((await testOf('denied')).status).toBe(1);
  });

  test('says so where there are no cases', async () => {
    writeSkill(join(scratch, 'none'), { 'tests/echo.json': null });
    const { status, out } = await testOf('none');
    expect(out).toBe('The skill has no test cases: add some in tests/NAME.json.\n');
    expect(status).toBe(0);
  });

  test('shows what a stranger wrote without obeying it', async () => {
    const named = casesOf({ ...GOOD, name: '\u001b[2J\u202eevil' });
    writeSkill(join(scratch, 'hostile'), { 'tests/echo.json': named });
    const { out, err } = await testOf('hostile');
    for (const active of ['\u001b', '\u202e']) expect(`${out}${err}`).not.toContain(active);
    expect(`${out}${err}`).toContain('evil');
  });

  test('refuses a file that is no package', async () => {
    writeFileSync(join(scratch, 'no.skill'), 'no');
    const { status, err } = await testOf('no.skill');
    expect(err).toContain('refused  skill/invalid-package\n');
    expect(status).toBe(2);
  });
});
