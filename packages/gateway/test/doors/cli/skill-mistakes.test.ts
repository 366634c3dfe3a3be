import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeScratch } from './palisade.ts';
import { newOperator } from './skill-operator.ts';
import { KEY, STORAGE, writePackage } from './skill-sample.ts';

const scratch = makeScratch();
const YES = ['--yes', '--reason', 'looked at'];

describe('an operator who errs', () => {
  test('is told of a file that is no package, and of one that is not there', async () => {
    const { state, palisade } = await newOperator(scratch, 'files', false);
    const other = join(state, 'other.txt');
    writeFileSync(other, 'a text');
    for (const verb of ['install', 'audit', 'inspect']) {
      const { status, err } = await palisade(['skill', verb, other]);
      expect(err).toContain(`Cannot read "${other}": it is not a skill package`);
      expect(status).toBe(2);
    }
    const missing = await palisade(['skill', 'audit', 'none.skill']);
    expect([missing.status, missing.err]).toEqual([
      2,
      expect.stringContaining('neither a file nor a skill has that name'),
    ]);
  });

  test('is not asked about what cannot be done', async () => {
    const { state, palisade, told } = await newOperator(scratch, 'running');
    await told(['skill', 'install', writePackage(state, 'one')]);
    await told(['skill', 'approve', 'acme.text', ...YES]);
    const { status, out, err } = await palisade(['skill', 'remove', 'acme.text'], { typed: 'acme.text\n' });
    expect([status, out]).toEqual([2, '']);
    expect(err).toContain('it is active, expected one of');
    expect(err).not.toContain('Type the id');
  });

  test('lets agents call a skill only after the policy was shown, by names that agents can have', async () => {
    const { state, palisade, told } = await newOperator(scratch, 'agents');
    await told(['skill', 'install', writePackage(state, 'one', { asks: STORAGE })]);
    const approve = ['skill', 'approve', 'acme.text', '--allow'];
    const wrong = await palisade([...approve, 'user:grace', ...YES]);
    expect([wrong.status, wrong.err]).toEqual([64, expect.stringContaining('agent:NAME')]);
    const file = join(state, 'policies/81-allowed-skills.cedar');
    const refused = await palisade([...approve, 'agents'], { typed: 'no\n' });
    expect(refused.out).toContain('[Tool::"acme.text.save"].contains(resource)');
    expect(existsSync(file)).toBe(false);
    const { policy } = await told([...approve, 'agents', ...YES]);
    expect(readFileSync(file, 'utf8')).toContain(String(policy).trim());
    const wanted = ['policy', 'explain', 'acme.text.save', '--as', 'agent:ada', '--input', '{}'];
    expect((await palisade(wanted)).out).toContain('"allowed-skill-acme.text--agents"');
    expect(await told(['skill', 'allow', 'acme.text', '--remove'])).toMatchObject({ removed: true });
    expect(readFileSync(file, 'utf8')).not.toContain('permit');
    expect(await told(['skill', 'allow', 'acme.text', '--remove'])).toMatchObject({ removed: false });
    expect(await told(['skill', 'allow', 'acme.text', '--yes'])).toMatchObject({ id: 'acme.text' });
  });

  test('sees what the key of a skill is worth now, and the risk that policies see', async () => {
    const { state, palisade, told } = await newOperator(scratch, 'worth');
    await told(['skill', 'install', writePackage(state, 'one', { asks: STORAGE })]);
    const requested = await palisade(['skill', 'approve', 'acme.text'], { typed: 'no\n' });
    // Each tool by what its own module can use.
    expect(requested.out).toMatch(/^echo +risk low; only computes$/m);
    expect(requested.out).toMatch(/^save +risk medium; uses storage$/m);
    expect(requested.out).toContain(`key ${KEY.keyId}, trusted by an operator\n`);
    await told(['skill', 'approve', 'acme.text', ...YES]);
    expect((await palisade(['skill', 'show', 'acme.text'])).out).toMatch(/^acme\.text\.save +medium/m);
    await told(['trust', 'revoke', KEY.keyId, '--reason', 'stolen']);
    for (const words of [['show'], ['approve', ...YES]]) {
      const { out } = await palisade(['skill', words[0] ?? '', 'acme.text', ...words.slice(1)]);
      expect(out).toContain(`acme, key ${KEY.keyId}, revoked\n`);
    }
  });
});
