import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { documentOf } from '../../packages/gateway/src/attest/key-files.ts';
import { makeScratch, useBuild } from '../../packages/gateway/test/doors/cli/palisade.ts';
import { newOperator, type Operator } from '../../packages/gateway/test/doors/cli/skill-operator.ts';
import { ACME, samplePackage } from '../fixtures/skills/sample.ts';

/* The values of an operator outlive an update, as far as the new version asks for them. */

useBuild();
const scratch = makeScratch();
const YES = ['--yes', '--reason', 'a test', '--accept-findings'];

async function install({ state, told }: Operator, version: string, keys: readonly string[]) {
  const file = join(state, `${version}.skill`);
  writeFileSync(file, samplePackage({ version, capabilities: `config = ${JSON.stringify(keys)}` }));
  return told(['skill', 'install', file]);
}

async function operator(name: string): Promise<Operator> {
  const found = await newOperator(scratch, name, false);
  const key = join(found.state, 'acme.json');
  writeFileSync(key, documentOf(ACME, null));
  await found.told(['trust', 'add', 'acme', key, '--yes']);
  await install(found, '1.0.0', ['unit', 'old']);
  await found.told(['skill', 'approve', 'acme.sample', '--config', 'unit=C', '--config', 'old=x', ...YES]);
  return found;
}

const configOf = (document: Record<string, unknown>) =>
  (document.grant as { wasm: { config: unknown } }).wasm.config;

describe('the configuration of a skill', () => {
  test('is kept on an update for the keys that are asked for again; the difference says what becomes of it', async () => {
    const found = await operator('kept');
    const installed = await install(found, '1.1.0', ['unit', 'fresh']);
    const config = { kept: { unit: 'C' }, added: ['fresh'], removed: ['old'] };
    expect(installed.difference).toMatchObject({ config });
    expect(await found.told(['skill', 'diff', 'acme.sample'])).toMatchObject({ config });
    const shown = (await found.palisade(['skill', 'diff', 'acme.sample'])).out;
    expect(shown).toMatch(/configuration\n\+ fresh\n- old\n {2}unit is kept: "C"/);

    const { out, status } = await found.palisade(['skill', 'approve', 'acme.sample', ...YES]);
    expect(out).toContain('config:unit is kept from 1.0.0: "C"');
    expect(out).toContain('config:old of 1.0.0 is no longer asked for; its value is dropped');
    expect(out).toContain('config:fresh has no value; set it with --config fresh=VALUE');
    expect(status).toBe(0);
    expect(configOf(await found.told(['skill', 'show', 'acme.sample']))).toEqual({ unit: 'C' });
  });

  test('is what the operator says now, where that is another value', async () => {
    const found = await operator('replaced');
    await install(found, '1.1.0', ['unit', 'fresh']);
    const words = ['skill', 'approve', 'acme.sample', '--config', 'unit=F', '--config', 'fresh=y', ...YES];
    expect((await found.palisade(words)).out).toContain('config:unit was "C" in 1.0.0, and is "F"');
    expect(configOf(await found.told(['skill', 'show', 'acme.sample']))).toEqual({ unit: 'F', fresh: 'y' });
  });

  test('is never given to a skill that asks for none', async () => {
    const found = await operator('none');
    await install(found, '1.1.0', []);
    await found.told(['skill', 'approve', 'acme.sample', ...YES]);
    expect(configOf(await found.told(['skill', 'show', 'acme.sample']))).toEqual({});
  });
});
