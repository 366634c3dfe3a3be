import { type ChildProcess, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import type { ProcessTerms } from '../../../src/core/process.ts';
import type { HostPath } from '../../../src/tiers/c-bubblewrap/mounts.ts';
import { type JailHost, planC } from '../../../src/tiers/c-bubblewrap/plan.ts';
import { ETC_BINDS, HIDDEN_FILES, SYSTEM_ROOTS } from '../../../src/tiers/c-bubblewrap/root.table.ts';
import type { Descriptor } from '../../../src/tiers/child/child.ts';
import { wordsBytes } from '../../../src/tiers/child/starter-protocol.ts';
import { hostPaths } from '../../../src/tiers/process/machine.ts';
import type { TierPlan } from '../../../src/tiers/process/plan.ts';
import { sampleTerms } from '../terms.ts';
import { sampleHost } from './sample-host.ts';

const IS_ROOT = process.getuid?.() === 0;
const RUN_ID = 60001;
const ORDINARY = IS_ROOT ? { uid: RUN_ID, gid: RUN_ID } : {};

export type JailOutput = { readonly code: number | null; readonly out: string; readonly errors: string };
export type JailSaid = JailOutput & { readonly plan: TierPlan; readonly status: string };
export type JailRequest = {
  readonly workspace: string;
  readonly argv: readonly [string, ...string[]];
  readonly terms?: Partial<ProcessTerms>;
  readonly host?: Partial<JailHost>;
  readonly launcher?: string;
  /** The environment of bubblewrap, in place of the plan's. */
  readonly env?: Record<string, string>;
  /** Takes a guard away, so that a control can show what it stops. */
  readonly change?: (args: readonly string[]) => readonly string[];
  /** Happens when everything is opened and nothing started. */
  readonly meanwhile?: () => void;
};

/** Takes its words as the launcher does, and becomes the command. */
const STAND = `#!/usr/bin/python3
import os, sys
words = open(int(sys.argv[1].removeprefix('words=')), 'rb').read()[4:].split(b'\\0')[:-1]
at = words.index(b'--')
keys = [word.split(b'=', 1) for word in words[:at]]
os.chdir(dict(keys)[b'cwd'])
env = dict(value.split(b'=', 1) for key, value in keys if key == b'set')
os.execve(words[at + 1], words[at + 2:], env)
`;

/** A directory for the run beside one that holds a secret, both outside /tmp and of the run's user. */
export function makeJailDirectories(parent = '/var/tmp'): {
  workspace: string;
  secret: string;
  stand: string;
} {
  const root = mkdtempSync(`${parent}/palisade-test-`);
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  chmodSync(root, 0o711);
  const workspace = `${root}/workspace`;
  const secret = `${root}/secret`;
  const stand = `${root}/hidden/launcher`;
  mkdirSync(workspace);
  mkdirSync(`${root}/hidden`);
  writeFileSync(secret, 'hunter2\n');
  // It does what the launcher does last: it becomes the command.
  writeFileSync(stand, STAND);
  chmodSync(`${root}/hidden`, 0o700);
  if (IS_ROOT) for (const path of [workspace, secret]) chownSync(path, RUN_ID, RUN_ID);
  return { workspace, secret, stand };
}

/** Runs a command as the same ordinary user outside of any jail: the positive control. */
export async function runOutside(argv: readonly [string, ...string[]], cwd = '/'): Promise<JailOutput> {
  const [file, ...args] = argv;
  const child = spawn(file, args, { ...ORDINARY, cwd, env: { PATH: '/usr/bin:/bin' }, stdio: 'pipe' });
  return say(child);
}

/** Runs a command in the jail that the plan describes, with nothing of the plan left out. */
export async function runJail(request: JailRequest): Promise<JailSaid> {
  const { workspace, argv, terms = {}, host = {}, launcher = '/bin/true' } = request;
  const planned = planC(
    sampleTerms({ workspace, executable: argv[0], argv, env: {}, ...terms }),
    sampleHost({
      systemRoots: present(SYSTEM_ROOTS),
      etc: present(ETC_BINDS),
      hidden: present(HIDDEN_FILES),
      ...host,
    }),
  );
  if (!planned.ok) throw new Error(planned.problem.message);
  const { args: options } = planned.value;
  const plan = { ...planned.value, args: request.change?.(options) ?? options };
  const opened = plan.descriptors.map((descriptor) => open(descriptor, workspace, launcher));
  request.meanwhile?.();
  // What stands before bubblewrap is the outer launcher's; here this process drops its rights instead.
  const [bwrap = '', argv0 = '', ...args] = plan.words.slice(plan.words.indexOf('--') + 1);
  const child = spawn(bwrap, args, {
    ...ORDINARY,
    argv0,
    cwd: '/',
    env: request.env ?? {},
    stdio: ['ignore', 'pipe', 'pipe', ...opened],
  });
  for (const fd of opened) if (typeof fd === 'number') closeSync(fd);
  const pipe = (role: string) =>
    child.stdio[3 + plan.descriptors.findIndex((d) => d.role === role)] as Duplex;
  feed(child, plan);
  const [said, status] = await Promise.all([say(child), text(pipe('status'))]);
  return { ...said, plan, status };
}

/** Leaves words that stand one after the other out of options. */
export function without(...words: readonly string[]): (args: readonly string[]) => readonly string[] {
  return (args) => {
    const at = args.findIndex((_, start) => words.every((word, index) => args[start + index] === word));
    if (at < 0) throw new Error(`Cannot leave ${words.join(' ')} out: the options do not have it`);
    return args.toSpliced(at, words.length);
  };
}

/** Runs a line of shell in the jail with the stand-in for the launcher. */
export function shell(
  line: string,
  places: { workspace: string; stand: string },
  more: Partial<JailRequest> = {},
) {
  return runJail({
    workspace: places.workspace,
    launcher: places.stand,
    argv: ['/bin/sh', '-c', line],
    ...more,
  });
}

function present(rows: readonly { readonly path: string }[]): readonly HostPath[] {
  return hostPaths(rows.map(({ path }) => path));
}

function open(descriptor: Descriptor, workspace: string, launcher: string): number | 'pipe' {
  if (descriptor.role === 'workspace') return openSync(workspace, 'r');
  if (descriptor.role === 'launcher') return openSync(launcher, 'r');
  if (descriptor.role === 'host-file') return openSync(descriptor.path, 'r');
  if (descriptor.role === 'pinned' || descriptor.role === 'protected') {
    return openSync(`${workspace}/${descriptor.path}`, 'r');
  }
  return 'pipe';
}

function feed(child: ChildProcess, plan: TierPlan): void {
  plan.descriptors.forEach((descriptor, index) => {
    const pipe = child.stdio[3 + index];
    if (!(pipe instanceof Duplex)) return;
    // A jail that cannot be built reads nothing more; its own message says why.
    pipe.on('error', () => {});
    if (descriptor.role === 'args') pipe.end(plan.args.map((word) => `${word}\0`).join(''));
    if (descriptor.role === 'words') pipe.end(wordsBytes(plan.told));
    if (descriptor.role === 'bytes') pipe.end(descriptor.bytes);
  });
}

async function say(child: ChildProcess): Promise<JailOutput> {
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  const [out, errors] = await Promise.all([text(child.stdout as Duplex), text(child.stderr as Duplex)]);
  return { code: await ended, out, errors };
}
