import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { digestBytes } from '../../packages/gateway/src/core/digest.ts';
import { MALLORY, samplePackage } from '../fixtures/skills/sample.ts';
import { sharedSkillGateway } from '../fixtures/skills/skill-gateway.ts';

/* Somebody who can write to the state directory changes a package after it was approved. */

const skillGateway = sharedSkillGateway();
let made = 0;

/** A skill that was approved, with its tool and the file of its package. */
async function approved() {
  const { skill, ...rest } = await waiting();
  await skillGateway().approve(skill.id);
  return { skill, ...rest };
}

/** The same before anybody approved it. */
async function waiting() {
  made += 1;
  const id = `acme.edited-${made}`;
  const { skill } = await skillGateway().install(samplePackage({ id }));
  const path = join(skillGateway().stateDir, 'skills', fileName(skill.artifact));
  return {
    skill,
    path,
    call: () => skillGateway().call(`${id}.plain`),
    state: () => skillGateway().stateOf(id, '1.0.0'),
  };
}

function fileName(artifact: string): string {
  return readdirSync(join(skillGateway().stateDir, 'skills')).find((name) => name.includes(artifact)) ?? '';
}

/** Writes in place and puts the times back, so that only the bytes tell. */
function flip(path: string, at: (length: number) => number): void {
  const { atime, mtime } = statSync(path);
  const bytes = readFileSync(path);
  const place = at(bytes.length);
  bytes[place] = (bytes[place] ?? 0) ^ 1;
  writeFileSync(path, bytes);
  utimesSync(path, atime, mtime);
}

const EDITS: Readonly<Record<string, (path: string) => void>> = {
  'flips the first byte': (path) => flip(path, () => 0),
  'flips a byte in the middle': (path) => flip(path, (length) => length >> 1),
  'flips the last byte': (path) => flip(path, (length) => length - 1),
  'cuts the file off': (path) => truncateSync(path, statSync(path).size - 1),
  'empties the file': (path) => truncateSync(path, 0),
  'adds a byte': (path) => writeFileSync(path, Buffer.concat([readFileSync(path), Buffer.from([0])])),
  'puts the package of another in its place': (path) =>
    writeFileSync(path, samplePackage({ version: '6.6.6' }, MALLORY)),
  'removes the file': (path) => rmSync(path),
  'puts a link in its place': (path) => {
    renameSync(path, `${path}.real`);
    symlinkSync(`${path}.real`, path);
  },
  'puts a folder in its place': (path) => {
    rmSync(path);
    mkdirSync(path);
  },
  'lets everybody write to it': (path) => chmodSync(path, 0o666),
};

describe('a package that was approved', () => {
  test('runs for as long as nobody touches it', async () => {
    const { call, state } = await approved();
    for (let calls = 0; calls < 3; calls += 1)
      expect(await call()).toMatchObject({ code: 'ok', output: [1, 2] });
    expect(state()).toBe('active');
  });

  test.each(Object.keys(EDITS))(
    'does not run when somebody %s, and is in quarantine from then on',
    async (edit) => {
      const { call, path, state } = await approved();
      expect((await call()).code).toBe('ok');
      EDITS[edit]?.(path);
      expect((await call()).code).toBe('skill/changed');
      expect(state()).toBe('quarantined');
      expect((await call()).code).toBe('skill/quarantined');
      expect(skillGateway().recordsOf('skill-changed').at(-1)).toMatchObject({
        event: 'quarantine',
        from: 'active',
      });
    },
  );

  test('does not run when it is edited before it was ever called', async () => {
    const { call, path } = await approved();
    flip(path, (length) => length >> 1);
    expect((await call()).code).toBe('skill/changed');
  });

  test('runs when its file was only copied over with the same bytes', async () => {
    const { call, path } = await approved();
    expect((await call()).code).toBe('ok');
    writeFileSync(`${path}.new`, readFileSync(path), { mode: 0o600 });
    renameSync(`${path}.new`, path);
    expect((await call()).code).toBe('ok');
  });

  test('has its file when it is removed while the same bytes come in', async () => {
    made += 1;
    const id = `acme.edited-${made}`;
    const bytes = samplePackage({ id });
    const installing = skillGateway().install(bytes);
    const { artifacts } = skillGateway().gateway.skills;
    const artifact = digestBytes(bytes);
    // It is written before the index names it; whoever removed that version a moment ago takes it away in between.
    while (artifacts.stampOf(artifact) === null) await null;
    artifacts.remove(artifact);
    await installing;
    await skillGateway().approve(id);
    expect((await skillGateway().call(`${id}.plain`)).code).toBe('ok');
  });

  test('leaves nothing on the disk when it is refused', async () => {
    const { skill } = await approved();
    const files = () => readdirSync(join(skillGateway().stateDir, 'skills'));
    const before = files();
    const prose = '---\nname: sample\ndescription: Another one.\n---\n\nOther words.\n';
    await expect(skillGateway().install(samplePackage({ id: skill.id, prose }))).rejects.toMatchObject({
      code: 'skill/conflict',
    });
    expect(files()).toEqual(before);
  });

  test('cannot be approved once it is edited in quarantine', async () => {
    const { skill, path, state } = await waiting();
    flip(path, (length) => length >> 1);
    await expect(skillGateway().approve(skill.id)).rejects.toMatchObject({ code: 'skill/changed' });
    expect(state()).toBe('quarantined');
  });

  test('cannot be switched on again once it is edited', async () => {
    const { skill, path, state } = await approved();
    await skillGateway().change('disable', skill.id);
    flip(path, (length) => length >> 1);
    await expect(skillGateway().change('enable', skill.id)).rejects.toMatchObject({ code: 'skill/changed' });
    expect(state()).toBe('quarantined');
  });
});
