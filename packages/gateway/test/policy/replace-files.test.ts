import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { readPolicyFiles } from '../../src/policy/policy-files.ts';
import { filesDigestOf, finishReplacing, replacePolicyFiles } from '../../src/policy/replace-files.ts';
import { openTestGateway } from '../fixture/gateway.ts';
import { tempDir } from '../fixture/temp-dir.ts';

const OLD = '@id("old") permit (principal is User, action, resource);\n';
const NEW = '@id("new") permit (principal is User, action, resource);\n';

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = join(tempDir(), 'policies');
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

function contentsOf(folder: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    readdirSync(folder)
      .sort()
      .map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
  );
}

function stampOf(path: string): string {
  const { ino, mtimeNs } = statSync(path, { bigint: true });
  return `${ino}:${mtimeNs}`;
}

/** What lies in a folder when the process ended right after the plan was written. */
function interrupt(folder: string): void {
  writeFileSync(join(folder, '.new.cedar.next'), NEW);
  const remove = [{ name: 'old.cedar', stamp: stampOf(join(folder, 'old.cedar')) }];
  writeFileSync(join(folder, '.replacing'), JSON.stringify({ write: ['new.cedar'], remove }));
}

describe('replacePolicyFiles()', () => {
  it('leaves exactly the new files and what is no policy, none of them readable by others', () => {
    const folder = folderWith({ 'old.cedar': OLD, 'same.cedar': OLD, 'notes.txt': 'x' });
    replacePolicyFiles(folder, [
      { name: 'new.cedar', text: NEW },
      { name: 'same.cedar', text: NEW },
    ]);
    expect(contentsOf(folder)).toEqual({ 'new.cedar': NEW, 'notes.txt': 'x', 'same.cedar': NEW });
    expect(statSync(join(folder, 'new.cedar')).mode & 0o777).toBe(0o600);
  });

  it('writes through no link', () => {
    const folder = folderWith({ 'old.cedar': OLD });
    const outside = join(tempDir(), 'target');
    writeFileSync(outside, 'theirs');
    symlinkSync(outside, join(folder, '.new.cedar.next'));
    symlinkSync(outside, join(folder, 'new.cedar'));
    replacePolicyFiles(folder, [{ name: 'new.cedar', text: NEW }]);
    expect(readFileSync(outside, 'utf8')).toBe('theirs');
    expect(contentsOf(folder)).toEqual({ 'new.cedar': NEW });
  });

  it('removes what a process left that ended before its plan was written', () => {
    const left = ['.new.cedar.next', '.new.cedar.next.7-0.new', '.replacing.7-0.new'];
    const folder = folderWith(Object.fromEntries(left.map((name) => [name, 'half'])));
    replacePolicyFiles(folder, [{ name: 'new.cedar', text: NEW }]);
    expect(contentsOf(folder)).toEqual({ 'new.cedar': NEW });
  });

  it('makes a folder that is missing', () => {
    const folder = join(tempDir(), 'policies');
    replacePolicyFiles(folder, [{ name: 'new.cedar', text: NEW }]);
    expect(contentsOf(folder)).toEqual({ 'new.cedar': NEW });
  });
});

describe('finishReplacing()', () => {
  it('carries out what was interrupted, once and twice', () => {
    const folder = folderWith({ 'old.cedar': OLD });
    interrupt(folder);
    expect(finishReplacing(folder)).toBe(true);
    expect(contentsOf(folder)).toEqual({ 'new.cedar': NEW });
    expect(finishReplacing(folder)).toBe(true);
    expect(contentsOf(folder)).toEqual({ 'new.cedar': NEW });
  });

  it('does not remove a file that was written since under the name of one that goes', () => {
    const folder = folderWith({ 'old.cedar': OLD });
    interrupt(folder);
    writeFileSync(join(folder, 'other'), 'x');
    writeFileSync(join(folder, 'old.cedar'), `${OLD}// by hand\n`);
    finishReplacing(folder);
    expect(Object.keys(contentsOf(folder))).toEqual(['new.cedar', 'old.cedar', 'other']);
  });

  it('does nothing, and says that the files are not whole, for a plan that is none', () => {
    const folder = folderWith({ 'old.cedar': OLD });
    for (const plan of [
      '',
      '{',
      'null',
      '{"write":[],"remove":[{}]}',
      '{"write":["../x.cedar"],"remove":[]}',
    ]) {
      writeFileSync(join(folder, '.replacing'), plan);
      expect(finishReplacing(folder), plan).toBe(false);
      expect(existsSync(join(folder, 'old.cedar'))).toBe(true);
    }
  });

  it('touches nothing outside of the folder, whatever a plan says', () => {
    const directory = tempDir();
    const folder = join(directory, 'policies');
    mkdirSync(folder);
    const outside = join(directory, 'precious.cedar');
    writeFileSync(outside, 'precious');
    const stamp = stampOf(outside);
    const name = fc.oneof(
      fc.constantFrom(
        '../precious.cedar',
        '..',
        '/etc/passwd',
        './../precious.cedar',
        'a/../../precious.cedar',
      ),
      fc.string(),
    );
    const plan = fc.record({
      write: fc.array(name),
      remove: fc.array(fc.record({ name, stamp: fc.constant(stamp) })),
    });
    fc.assert(
      fc.property(fc.oneof(plan, fc.jsonValue()), (value) => {
        writeFileSync(join(folder, '.replacing'), JSON.stringify(value));
        finishReplacing(folder);
        expect(readdirSync(directory).sort()).toEqual(['policies', 'precious.cedar']);
        expect(readFileSync(outside, 'utf8')).toBe('precious');
      }),
      { numRuns: volume(200, 30) },
    );
  });
});

describe('filesDigestOf()', () => {
  it('changes with a name, a text and a file that cannot be read', () => {
    const digests = [
      folderWith({ 'a.cedar': OLD }),
      folderWith({ 'b.cedar': OLD }),
      folderWith({ 'a.cedar': NEW }),
      folderWith({ 'a.cedar': OLD, 'B.cedar': OLD }),
    ].map((folder) => filesDigestOf(readPolicyFiles(folder)));
    expect(new Set(digests).size).toBe(4);
    expect(filesDigestOf(readPolicyFiles(folderWith({ 'a.cedar': OLD })))).toBe(digests[0]);
  });
});

describe('a gateway that finds an interrupted replacement', () => {
  it('finishes it before it decides anything', async () => {
    const stateDir = tempDir();
    const first = await openTestGateway({ stateDir });
    await first.close();
    const folder = join(stateDir, 'policies');
    replacePolicyFiles(folder, [{ name: 'old.cedar', text: OLD }]);
    interrupt(folder);
    const { policy } = await openTestGateway({ stateDir });
    expect(policy.set?.policies.map(({ id }) => id)).toEqual(['new']);
    expect(contentsOf(folder)).toEqual({ 'new.cedar': NEW });
  });

  it('keeps the set before while the plan cannot be read', async () => {
    const stateDir = tempDir();
    mkdirSync(join(stateDir, 'policies'));
    const folder = join(stateDir, 'policies');
    writeFileSync(join(folder, 'old.cedar'), OLD);
    const first = await openTestGateway({ stateDir });
    await first.close();
    writeFileSync(join(folder, 'old.cedar'), NEW);
    writeFileSync(join(folder, '.replacing'), 'half a pl');
    const { policy } = await openTestGateway({ stateDir });
    expect(policy.set?.policies.map(({ id }) => id)).toEqual(['old']);
    expect(policy.problems[0]?.message).toMatch(/an earlier replacement/);
    rmSync(join(folder, '.replacing'));
    policy.reload();
    expect([policy.set?.policies.map(({ id }) => id), policy.problems]).toEqual([['new'], []]);
  });
});
