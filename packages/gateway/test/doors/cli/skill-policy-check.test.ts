import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runInside } from './fake-edge.ts';
import { makeScratch } from './palisade.ts';
import { newOperator } from './skill-operator.ts';
import { writePackage } from './skill-sample.ts';

const scratch = makeScratch();
const YES = ['--yes', '--reason', 'looked at'];
const about = (member: string) =>
  `@id("about-echo")
permit(principal, action == Action::"call", resource == Tool::"acme.text.echo")
when { context.input has ${member} && context.input.${member} == "a" };
@id("about-commands")
forbid(principal, action == Action::"call", resource == Tool::"palisade.process.run");
`;

async function operatorWithSkill(name: string) {
  const operator = await newOperator(scratch, name);
  await operator.told(['skill', 'install', writePackage(operator.state, 'one')]);
  await operator.told(['skill', 'approve', 'acme.text', ...YES]);
  const file = join(operator.state, 'policies', '50-skill.cedar');
  return { ...operator, write: (text: string) => writeFileSync(file, text) };
}

describe('palisade policy check', () => {
  test('knows the tools of installed skills, and what their inputs have', async () => {
    const { palisade, told, write } = await operatorWithSkill('known');
    write(about('text'));
    expect(await told(['policy', 'check'])).toMatchObject({ ok: true, warnings: [] });
    write(about('txt').replace('context.input has txt && ', ''));
    const { status, out } = await palisade(['policy', 'check', '--json']);
    expect(JSON.parse(out).problems[0]).toMatchObject({ file: '50-skill.cedar', line: 3 });
    expect(status).toBe(2);
  });

  test('activates nothing of what it looks at', async () => {
    const { told, write, state } = await operatorWithSkill('idle');
    const before = await told(['journal', 'tail', '--limit', '1']);
    write(about('text'));
    await told(['policy', 'check']);
    await told(['policy', 'check', join(state, 'policies')]);
    expect(await told(['journal', 'tail', '--limit', '1'])).toEqual(before);
  });

  test('checks a folder where there is no state directory, and makes none', async () => {
    const folder = join(scratch, 'bare');
    mkdirSync(folder);
    writeFileSync(join(folder, 'a.cedar'), about('text'));
    const state = join(scratch, 'none');
    const { status, out } = await runInside(['policy', 'check', folder, '--state', state, '--json']);
    const { warnings } = JSON.parse(out);
    expect(status).toBe(0);
    expect(warnings.map(({ policy }: { policy: string }) => policy)).toEqual(['about-echo']);
    expect(existsSync(state)).toBe(false);
  });

  test('checks what it can where the state directory cannot be opened', async () => {
    const { state, palisade, write } = await operatorWithSkill('broken');
    write(about('text'));
    writeFileSync(join(state, 'palisade.toml'), 'no toml');
    const { status, out, err } = await palisade(['policy', 'check']);
    expect(err).toContain('the tools of skills are not known: palisade.toml:1:');
    expect(out).toContain('matches no registered tool');
    expect(status).toBe(0);
  });
});
