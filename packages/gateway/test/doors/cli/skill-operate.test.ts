import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeScratch, useBuild } from './palisade.ts';
import { newOperator } from './skill-operator.ts';
import { EXCESS, KEY, OTHER_KEY, packageOf, STORAGE, writeKey, writePackage } from './skill-sample.ts';

/* What an operator types and reads, on a real state directory with real engines. */
useBuild();
const scratch = makeScratch();
const YES = ['--yes', '--reason', 'reviewed'];

describe('palisade skill, from a file to a call and back', () => {
  test('installs into quarantine, approves with less, calls, updates with the difference, rolls back and revokes', async () => {
    const { state, palisade, told } = await newOperator(scratch, 'walk');
    const first = writePackage(state, 'first');
    const call = (tool: string) =>
      palisade(['call', `acme.text.${tool}`, '--input', '{"text":"hi"}', '--json']);

    const installed = await palisade(['skill', 'install', first]);
    expect(installed.out).toContain('acme.text@1.0.0  quarantined');
    expect(installed.out).toContain(`publisher  acme, key ${KEY.keyId}, trusted by an operator`);
    expect(installed.err).toContain('palisade skill approve acme.text@1.0.0');
    const early = await call('echo');
    expect([early.status, JSON.parse(early.out).code]).toEqual([2, 'skill/quarantined']);

    const approved = await palisade(['skill', 'approve', 'acme.text', '--withhold', 'storage:write', ...YES]);
    expect(approved.err).toContain('approved  acme.text@1.0.0 by user:ada; it is active');
    expect(approved.out).toContain('~ storage=notes/');
    expect((await told(['call', 'acme.text.echo', '--input', '{"text":"hi"}'])).output).toEqual({
      text: 'hi',
    });
    // The guest prints what the host answers; a minus is a refusal.
    expect(JSON.parse((await call('save')).out).output).toBeLessThan(0);
    const shown = await palisade(['skill', 'show', 'acme.text']);
    expect(shown.out).toMatch(
      /~ storage=notes\/ {2}reads and writes what is stored at notes\/ \(only storage:read=notes\/\)/,
    );
    expect(shown.out).toMatch(/changed {4}\S+ by user:ada: reviewed/);

    const asks = `${STORAGE}[[capabilities.channels]]\nname = "news"\npublish = true\nreceive = false\n`;
    const second = writePackage(state, 'second', { version: '1.1.0', asks, prose: 'Other words.' });
    const updated = await palisade(['skill', 'install', second]);
    expect(updated.out).toMatch(/Compared with the active version\n! it requests more than before/);
    expect(updated.out).toContain('+ channel=news:publish');
    expect(updated.out).toContain('+ storage:write=notes/');
    expect(updated.out).toContain('- Use `echo` to get back what you gave.');
    expect((await told(['call', 'acme.text.echo', '--input', '{"text":"hi"}'])).output).toEqual({
      text: 'hi',
    });

    await told(['skill', 'approve', 'acme.text', '--accept-findings', ...YES]);
    expect(versionsOf(await told(['skill', 'list']))).toEqual(['1.0.0 disabled', '1.1.0 active']);
    expect(await told(['skill', 'rollback', 'acme.text'])).toEqual({
      ...{ id: 'acme.text', from: '1.1.0', to: '1.0.0' },
    });
    expect(versionsOf(await told(['skill', 'list']))).toEqual(['1.0.0 active', '1.1.0 disabled']);

    await told(['skill', 'revoke', 'acme.text@1.0.0', ...YES]);
    expect(JSON.parse((await call('echo')).out).code).toMatch(/^skill\/(?:revoked|disabled)$/);
    const again = await palisade(['skill', 'install', first, '--allow-downgrade', '--json']);
    expect([again.status, JSON.parse(again.out).code]).toEqual([2, 'skill/revoked']);
    await told(['skill', 'remove', 'acme.text@1.0.0', ...YES]);
    expect(versionsOf(await told(['skill', 'list']))).toEqual(['1.1.0 disabled']);
    const records = (await told(['journal', 'search', '--kind', 'skill-changed', '--limit', '100'])).records;
    expect((records as { principal: string }[]).every(({ principal }) => principal === 'user:ada')).toBe(
      true,
    );
  });

  test('switches off and on and puts away, each with a document and a record', async () => {
    const { state, told, palisade } = await newOperator(scratch, 'switch');
    await told(['skill', 'install', '-'], { stdin: packageOf() });
    await told(['skill', 'approve', 'acme.text', '--no-enable', ...YES]);
    expect(await told(['skill', 'enable', 'acme.text'])).toMatchObject({ event: 'enable', state: 'active' });
    expect(await told(['skill', 'disable', 'acme.text', '--reason', 'later'])).toMatchObject({
      ...{ event: 'disable', state: 'disabled', reason: 'later', changedBy: 'user:ada' },
    });
    expect(await told(['skill', 'quarantine', 'acme.text'])).toMatchObject({
      state: 'quarantined',
      grant: null,
    });
    const wrong = await palisade(['skill', 'enable', 'acme.text', '--json']);
    expect([wrong.status, JSON.parse(wrong.out).code]).toEqual([2, 'skill/wrong-state']);
    const out = join(state, 'out.skill');
    expect(await told(['skill', 'export', 'acme.text', '--out', out])).toMatchObject({ file: out });
    expect(new Uint8Array(readFileSync(out))).toEqual(packageOf());
  });

  test('means the version that runs, or was left last, and none where two could be meant', async () => {
    const { state, palisade, told } = await newOperator(scratch, 'meant');
    for (const version of ['1.0.0', '1.1.0']) {
      await told(['skill', 'install', writePackage(state, version, { version })]);
      await told(['skill', 'approve', 'acme.text', ...YES]);
    }
    await told(['skill', 'rollback', 'acme.text']);
    await told(['skill', 'disable', 'acme.text']);
    // Not the newest one, which was rolled back from.
    expect(await told(['skill', 'enable', 'acme.text'])).toMatchObject({ version: '1.0.0', state: 'active' });
    await told(['skill', 'install', writePackage(state, '1.2.0', { version: '1.2.0' })]);
    const two = await palisade(['skill', 'remove', 'acme.text', '--yes']);
    expect([two.status, two.err]).toEqual([
      64,
      expect.stringContaining('1.2.0 (quarantined), 1.1.0 (disabled)'),
    ]);
    expect(await told(['skill', 'revoke', 'acme.text', '--yes'])).toMatchObject({
      version: '1.0.0',
      state: 'revoked',
    });
    expect(versionsOf(await told(['skill', 'list']))).toEqual([
      '1.0.0 revoked',
      '1.1.0 revoked',
      '1.2.0 revoked',
    ]);
  });

  test('refuses an agent every change, and a user what a policy forbids', async () => {
    const { state, palisade, told, reopen } = await newOperator(scratch, 'forbidden');
    await told(['skill', 'install', writePackage(state, 'one')]);
    for (const words of [
      ['skill', 'approve', 'acme.text', ...YES],
      ['skill', 'revoke', 'acme.text', ...YES],
      ['skill', 'remove', 'acme.text', ...YES],
      ['skill', 'install', writePackage(state, 'two', { version: '2.0.0' })],
      ['trust', 'add', 'acme', writeKey(state, 'other', OTHER_KEY), '--yes'],
      ['trust', 'revoke', KEY.keyId, '--reason', 'mine now'],
    ]) {
      const { status, out } = await palisade([...words, '--as', 'agent:eve', '--json']);
      expect([words.slice(0, 2), status, JSON.parse(out).code]).toEqual([
        words.slice(0, 2),
        2,
        'policy/denied',
      ]);
    }
    writeFileSync(
      join(state, 'policies', '99.cedar'),
      '@id("not-eve") forbid(principal == User::"eve", action == Action::"approveSkill", resource);\n',
    );
    await reopen();
    const eve = await palisade(['skill', 'approve', 'acme.text', ...YES, '--as', 'user:eve', '--json']);
    expect(JSON.parse(eve.out)).toMatchObject({
      code: 'policy/denied',
      message: expect.stringContaining('not-eve'),
    });
    expect(versionsOf(await told(['skill', 'list']))).toEqual(['1.0.0 quarantined']);
    await told(['skill', 'approve', 'acme.text', ...YES, '--as', 'user:grace']);
  });
});

describe('palisade skill approve', () => {
  test('asks at a terminal with everything in front of it, and takes the very id alone', async () => {
    const { state, palisade, told } = await newOperator(scratch, 'ask');
    await told(['skill', 'install', writePackage(state, 'one', { asks: `${EXCESS}${STORAGE}` })]);
    const no = await palisade(['skill', 'approve', 'acme.text'], { typed: 'yes\n' });
    expect([no.status, no.err]).toEqual([
      64,
      expect.stringContaining('you typed "yes", expected "acme.text"'),
    ]);
    expect(no.out).toContain('http=api.example.com:443');
    expect(no.out).toContain(`signed by  acme, key ${KEY.keyId}, trusted by an operator`);
    expect(no.out).toMatch(/must be accepted by a reviewer\n! /);
    expect(no.err).toMatch(/Type the id of the skill to approve it with its \d+ warnings?: /);
    const left = await palisade(['skill', 'approve', 'acme.text'], { typed: '' });
    expect(left.err).toContain('tier/cancelled');
    expect(versionsOf(await told(['skill', 'list']))).toEqual(['1.0.0 quarantined']);
    const yes = await palisade(['skill', 'approve', 'acme.text', '--withhold', 'all'], {
      typed: 'acme.text\n',
    });
    expect([yes.status, yes.err]).toEqual([0, expect.stringContaining('it is active')]);
    expect(yes.out).toMatch(/✗ http=api\.example\.com:443 .*\(withheld\)/);
  });

  test('approves nothing that replaced what was shown while the operator read it', async () => {
    const { state, palisade, told } = await newOperator(scratch, 'exchanged');
    await told(['skill', 'install', writePackage(state, 'shown')]);
    const exchanged = writePackage(state, 'exchanged', { prose: 'Other words.' });
    const meanwhile = async () => {
      await told(['skill', 'remove', 'acme.text', '--yes']);
      await told(['skill', 'install', exchanged]);
    };
    const { status, err } = await palisade(['skill', 'approve', 'acme.text'], {
      typed: 'acme.text\n',
      meanwhile,
    });
    expect([status, err]).toEqual([2, expect.stringContaining('skill/conflict')]);
    expect(versionsOf(await told(['skill', 'list']))).toEqual(['1.0.0 quarantined']);
    expect((await palisade(['skill', 'approve', 'acme.text'], { typed: 'acme.text\n' })).status).toBe(0);
  });

  test('takes no warning for accepted that nobody accepted', async () => {
    const { state, palisade, told } = await newOperator(scratch, 'warned');
    await told(['skill', 'install', writePackage(state, 'one', { asks: `${EXCESS}${STORAGE}` })]);
    const { status, err } = await palisade(['skill', 'approve', 'acme.text', ...YES]);
    expect([status, err]).toEqual([64, expect.stringContaining('expected --accept-findings')]);
    await told(['skill', 'approve', 'acme.text', '--accept-findings', ...YES]);
  });

  test('says what could be withheld, and lowers limits alone', async () => {
    const { state, palisade, told } = await newOperator(scratch, 'narrow');
    const asks = `${STORAGE}[capabilities.quotas]\nfuel = 1000000\n`;
    await told(['skill', 'install', writePackage(state, 'one', { asks })]);
    const odd = await palisade(['skill', 'approve', 'acme.text', '--withhold', 'http', ...YES]);
    expect([odd.status, odd.err]).toEqual([
      2,
      expect.stringContaining('expected one of storage=notes/, storage'),
    ]);
    const more = await palisade(['skill', 'approve', 'acme.text', '--fuel', '1000001', ...YES]);
    expect([more.status, more.err]).toEqual([2, expect.stringContaining('expected 1 to 1000000')]);
    expect(await told(['skill', 'approve', 'acme.text', '--fuel', '500000', ...YES])).toMatchObject({
      ...{ state: 'active', reviewersMissing: 0, grant: { limits: { fuel: 500_000 } } },
    });
  });

  test('says how many more reviewers are needed, and that one person is one', async () => {
    const { state, palisade, told } = await newOperator(scratch, 'reviewers');
    await told([
      'skill',
      'install',
      writePackage(state, 'one', { asks: `${STORAGE}[trust]\nreviewers = 2\n` }),
    ]);
    const once = await palisade(['skill', 'approve', 'acme.text', ...YES]);
    expect([once.status, once.err]).toEqual([
      0,
      expect.stringContaining('waits for one more reviewer; so far user:ada'),
    ]);
    expect(await told(['skill', 'approve', 'acme.text', ...YES])).toMatchObject({
      ...{ state: 'quarantined', reviewersMissing: 1 },
    });
    expect(await told(['skill', 'approve', 'acme.text', '--as', 'user:grace', ...YES])).toMatchObject({
      ...{ state: 'active', reviewersMissing: 0, approvedBy: ['user:ada', 'user:grace'] },
    });
  });
});

describe('palisade skill audit, diff and list', () => {
  test('audits a file without keeping anything, and says by its exit status that it must not run', async () => {
    const { state, palisade, told } = await newOperator(scratch, 'audit');
    const good = await palisade(['skill', 'audit', writePackage(state, 'good')]);
    expect([good.status, good.out]).toEqual([0, expect.stringMatching(/\npassed {2}/)]);
    const bare = await palisade(['skill', 'audit', writePackage(state, 'bare', { key: null })]);
    expect(bare.status).toBe(2);
    expect(bare.out).toMatch(/must not run\n✗ .*\n {2}→ .*/);
    expect(bare.out).toMatch(/\nfailed {2}.*it cannot be approved\n$/);
    expect(await told(['skill', 'list'])).toEqual({ skills: [], cursor: null });
    await told(['skill', 'install', join(state, 'good.skill')]);
    expect(await told(['skill', 'audit', 'acme.text'])).toMatchObject({
      ...{ verdict: 'passed', state: 'quarantined', cases: { passed: 1, failed: 0, notRun: 0 } },
    });
    expect(await told(['skill', 'audit', 'acme.text', '--no-tests'])).toMatchObject({ cases: null });
    expect(await told(['skill', 'audit', '--due'])).toEqual({ audited: [] });
    await told(['skill', 'approve', 'acme.text', ...YES]);
    const later = Date.now() + 400 * 86_400_000;
    expect(await told(['skill', 'audit', '--due'], { nowMs: later })).toMatchObject({
      audited: [{ skill: 'acme.text@1.0.0', verdict: 'passed', state: 'active' }],
    });
  });

  test('shows the difference of two versions, and of a version and a file', async () => {
    const { state, palisade, told } = await newOperator(scratch, 'diff');
    await told(['skill', 'install', writePackage(state, 'one', { asks: '' })]);
    const alone = await palisade(['skill', 'diff', 'acme.text']);
    expect([alone.status, alone.err]).toEqual([
      64,
      expect.stringContaining('only version 1.0.0 is installed'),
    ]);
    const two = writePackage(state, 'two', { version: '1.1.0', description: 'Else.' });
    expect(await told(['skill', 'diff', 'acme.text', two])).toMatchObject({
      ...{ from: '1.0.0', to: '1.1.0', against: 'asked', widens: true },
      capabilities: { added: ['storage:read=notes/', 'storage:write=notes/'], removed: [] },
      tools: { added: ['save'], removed: [] },
    });
    await told(['skill', 'install', two]);
    const back = await palisade(['skill', 'diff', 'acme.text', '--from', '1.1.0', '--to', '1.0.0']);
    expect(back.out).toContain('✓ it requests no more than before');
    expect(back.out).toContain('- storage:write=notes/');
    expect(back.out).toContain('~ echo: description: "Else." → "Gives it back."');
    const other = writePackage(state, 'other', { publisher: 'other' });
    expect((await palisade(['skill', 'diff', 'acme.text', other])).err).toContain(
      'the package is of other.text',
    );
  });

  test('lists a page at a time, in one state or all, and says how to go on', async () => {
    const { state, palisade, told } = await newOperator(scratch, 'pages');
    for (const version of ['1.0.0', '1.1.0', '1.2.0'])
      await told(['skill', 'install', writePackage(state, version, { version })]);
    await told(['skill', 'approve', 'acme.text@1.1.0', ...YES]);
    const page = await palisade(['skill', 'list', '--limit', '2']);
    expect(page.out).toMatch(
      /^ID +VERSION +STATE +PUBLISHER +AUDIT +TOOLS +CHANGED\nacme\.text +1\.0\.0 +quarantined/,
    );
    const [, cursor = ''] = /--limit 2 --cursor (\S+)/.exec(page.err) ?? [];
    const rest = await told(['skill', 'list', '--limit', '2', '--cursor', cursor]);
    expect([versionsOf(rest), rest.cursor]).toEqual([['1.2.0 quarantined'], null]);
    expect(versionsOf(await told(['skill', 'list', '--only', 'active']))).toEqual(['1.1.0 active']);
    expect((await palisade(['skill', 'list', '--only', 'revoked'])).out).toBe('No skill is revoked.\n');
    const missing = await palisade(['skill', 'show', 'acme.text@9.9.9', '--json']);
    expect([missing.status, JSON.parse(missing.out).code]).toEqual([2, 'skill/unknown']);
    expect(JSON.parse(missing.out).message).toContain('1.2.0, 1.1.0, 1.0.0');
  });

  test('shows nothing that a terminal would obey, of what strangers wrote and of what was typed', async () => {
    const { state, palisade } = await newOperator(scratch, 'inert');
    await palisade(['skill', 'install', writePackage(state, 'one')]);
    const approve = (reason: string) =>
      palisade(['skill', 'approve', 'acme.text', '--yes', '--reason', reason]);
    expect((await approve('seen\u001b[2J\nby me')).status).toBe(64);
    await approve('seen\u202e\u2028by me');
    const hostile = { version: '1.1.0', prose: 'Now \u001b]0;owned\u0007 you \u202eevil' };
    const file = writePackage(state, 'two', hostile);
    const shown = [
      await palisade(['skill', 'show', 'acme.text']),
      await palisade(['skill', 'audit', file]),
      await palisade(['skill', 'install', file]),
      await palisade(['skill', 'diff', 'acme.text']),
    ];
    for (const { out, err } of shown) expect(out + err).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
    expect(shown[0]?.out).toContain('seen\\u{202e}\\u{2028}by me');
    expect(shown[3]?.out).toContain('+ Now \\u{1b}]0;owned\\u{7} you \\u{202e}evil');
  });
});

describe('palisade trust', () => {
  test('adds after the name is typed, lists, rotates, and revokes with what was signed', async () => {
    const { state, palisade, told } = await newOperator(scratch, 'trust', false);
    const [one, two] = [writeKey(state, 'one', KEY), writeKey(state, 'two', OTHER_KEY)];
    const early = await palisade(['skill', 'install', writePackage(state, 'p'), '--json']);
    expect([early.status, JSON.parse(early.out).code]).toEqual([2, 'skill/untrusted']);
    const no = await palisade(['trust', 'add', 'acme', one], { typed: 'y\n' });
    expect([no.status, no.out]).toEqual([64, expect.stringContaining(KEY.keyId.slice(7, 15))]);
    expect((await palisade(['trust', 'list'])).out).toBe('No publisher is trusted.\n');
    expect((await palisade(['trust', 'add', 'acme', one], { typed: 'acme\n' })).status).toBe(0);
    await told(['skill', 'install', join(state, 'p.skill')]);
    await told(['skill', 'approve', 'acme.text', ...YES]);
    const rotated = await told(['trust', 'rotate', 'acme', two, '--expires', '90d', '--yes']);
    expect(rotated).toMatchObject({
      added: { keyId: OTHER_KEY.keyId, state: 'trusted' },
      retired: [KEY.keyId],
    });
    const old = await palisade([
      'skill',
      'install',
      writePackage(state, 'q', { version: '2.0.0' }),
      '--json',
    ]);
    expect(JSON.parse(old.out).code).toBe('skill/untrusted');
    expect((await told(['call', 'acme.text.echo', '--input', '{"text":"a"}'])).output).toEqual({ text: 'a' });
    const short = await palisade(['trust', 'revoke', KEY.keyId.slice(7, 12), '--reason', 'stolen']);
    expect([short.status, short.err]).toEqual([64, expect.stringContaining('first 8 digits')]);
    expect(await told(['trust', 'revoke', KEY.keyId.slice(7, 19), '--reason', 'stolen'])).toMatchObject({
      ...{ key: { state: 'revoked', reason: 'stolen' }, quarantined: ['acme.text@1.0.0'] },
    });
    const table = await palisade(['trust', 'list', 'acme']);
    expect(table.out).toMatch(/acme +[0-9a-f]{16} +revoked +user:ada .* stolen\n/);
    expect(table.out).toMatch(/acme +[0-9a-f]{16} +trusted +user:ada .* \d{4}-\S+ +-\n/);
    expect((await palisade(['trust', 'revoke', '00000000', '--reason', 'x'])).status).toBe(2);
  });
});

function versionsOf(listed: Record<string, unknown>): readonly string[] {
  return (listed.skills as { version: string; state: string }[]).map(
    ({ version, state }) => `${version} ${state}`,
  );
}
