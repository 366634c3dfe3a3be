import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Recordings } from '../../../src/tiers/undo/recordings.ts';
import { UndoRecords } from '../../../src/tiers/undo/records.ts';
import { Undos } from '../../../src/tiers/undo/undo.ts';
import { takeProtectedSnapshot } from '../../../src/tiers/workspace/baseline.ts';
import { HeldDirectory, holdWorkspace } from '../../../src/tiers/workspace/held-directory.ts';
import { diffSnapshots } from '../../../src/tiers/workspace/hygiene.ts';
import { tempDir } from '../../fixture/temp-dir.ts';

export const SETTINGS = {
  ...{ snapshotBytes: 1e8, snapshotFiles: 10_000, snapshotFileBytes: 1e7, snapshotWaitMs: 60_000 },
  ...{ snapshotKeepMs: 1e9, snapshotTotalBytes: 1e9 },
};

/** A workspace, and what records and undoes the changes in it. */
export function bed(settings: Partial<typeof SETTINGS> = {}) {
  // On a disk: in memory, files can change without a change of their times, and are copied before every run.
  const base = realpathSync(tempDir('/var/tmp'));
  const [workspace, folder] = [join(base, 'work'), join(base, 'undo')];
  mkdirSync(workspace);
  let now = Date.now();
  const clock = { nowMs: () => now, monotonicMs: () => performance.now() };
  const gone = new Set<string>();
  const open = (instance = 'p_own') => {
    const records = new UndoRecords(folder, instance);
    const recordings = new Recordings({
      ...{ records, clock, settings: { ...SETTINGS, ...settings } },
      isGone: (each) => gone.has(each),
      forbidden: { againstWorkspace: () => null },
    });
    return { records, recordings, undos: new Undos(records, recordings, clock.nowMs) };
  };
  const opened = open();
  let calls = 0;
  const nextId = (prefix = 'call') => {
    calls += 1;
    now += 1000;
    return `${prefix}_${String(calls).padStart(25, '0')}`;
  };
  /** What a run of a command does: looks, lets it change something, looks again. */
  const begin = async (recordings = opened.recordings, tenant = 'default') => {
    const id = nextId();
    const held = holdWorkspace(workspace);
    const root = HeldDirectory.of(held.fd);
    const snapshot = await takeProtectedSnapshot(root, { workspace });
    const who = { id, tenant, principal: 'agent:ada', command: 'sh', workspace, starter: '' };
    const recording = await recordings.begin({ ...who, held, root, snapshot });
    const close = () => {
      recording.close();
      root.close();
      held.close();
    };
    const finish = async () => {
      const after = await takeProtectedSnapshot(root, { workspace });
      const facts = await recording.finish(after, diffSnapshots(snapshot, after), true);
      close();
      return facts;
    };
    return { id, finish, close };
  };
  const run = async (change: () => void, tenant?: string) => {
    const { id, finish } = await begin(undefined, tenant);
    change();
    return { id, ...(await finish()) };
  };
  const undo = (id: string, isForced = false, undos = opened.undos) => {
    const undoId = nextId('undo');
    return undos.undo({ id, isForced, undoId, principal: 'user:eve' }).then((done) => ({ ...done, undoId }));
  };
  const at = (path: string) => join(workspace, path);
  const write = (path: string, text: string) => {
    mkdirSync(join(at(path), '..'), { recursive: true });
    writeFileSync(at(path), text);
  };
  const read = (path: string) => readFileSync(at(path), 'utf8');
  const wait = (ms: number) => {
    now += ms;
  };
  return { ...opened, base, workspace, folder, open, gone, begin, run, undo, at, write, read, wait };
}

/** Every name with what it is: kind, mode, content or target. */
export function picture(directory: string, prefix = ''): Readonly<Record<string, string>> {
  const all: Record<string, string> = {};
  for (const name of readdirSync(directory).sort()) {
    const path = join(directory, name);
    const facts = lstatSync(path);
    const mode = (facts.mode & 0o777).toString(8);
    const key = `${prefix}${name}`;
    if (facts.isSymbolicLink()) all[key] = `link ${readlinkSync(path)}`;
    else if (facts.isFile()) all[key] = `file ${mode} ${readFileSync(path, 'base64')}`;
    else if (facts.isDirectory()) {
      all[key] = `directory ${mode}`;
      Object.assign(all, picture(path, `${key}/`));
    } else all[key] = 'other';
  }
  return all;
}
