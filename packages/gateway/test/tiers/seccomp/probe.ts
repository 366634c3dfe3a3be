import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import { type SeccompArch, seccompProgram } from '../../../src/tiers/seccomp/filter.ts';
import { RULES, type SeccompWish } from '../../../src/tiers/seccomp/syscalls.table.ts';
import { headerNumbers } from './headers.ts';

/** The architecture of this machine; the real kernel can only be asked about its own. */
export const HERE: SeccompArch = process.arch === 'arm64' ? 'arm64' : 'x64';

/** No wish; each alone; and all. */
export const NOTHING: SeccompWish = { unixSockets: false, inet: false, interfaces: false };
export const INET: SeccompWish = { ...NOTHING, inet: true };
export const UNIX: SeccompWish = { ...NOTHING, unixSockets: true };
export const INTERFACES: SeccompWish = { ...NOTHING, interfaces: true };
export const EVERYTHING: SeccompWish = { unixSockets: true, inet: true, interfaces: true };

/** A call for the probe: its name, then numbers, `s:TEXT` or `x:HEX`. */
export type ProbeCall = readonly [name: string, ...args: (number | string)[]];

export type Ended = { readonly status: number | null; readonly stdout: string; readonly stderr: string };

/** The filter to install: the wish of a run, the bytes of a program, or none at all. */
type Filter = SeccompWish | Uint8Array | null;

/** The C probe, compiled once per test file into a directory that is gone afterwards. */
export class Probe {
  readonly directory = mkdtempSync(join(tmpdir(), 'palisade-seccomp-'));
  readonly #binary = join(this.directory, 'probe');
  #programs = 0;

  constructor() {
    const source = fileURLToPath(new URL('./probe.c', import.meta.url));
    execFileSync('cc', ['-std=gnu17', '-O1', '-Wall', '-Wextra', '-Werror', '-o', this.#binary, source]);
    afterAll(() => rmSync(this.directory, { recursive: true, force: true }));
  }

  /** How each call ended: `ok`, the name of its error, or the name of a signal. */
  calls(filter: Filter, calls: readonly ProbeCall[]): string[] {
    const lines = calls.map(([name, ...args]) => [lineName(name), ...args].join(' '));
    const ended = this.#run(filter, ['calls'], { input: `${lines.join('\n')}\n` });
    return ended.stdout.trimEnd().split('\n').map(readEnding);
  }

  /** Which sockets the ends of socket pairs reached. */
  reach(filter: Filter): string[] {
    const directory = mkdtempSync(join(this.directory, 'reach-'));
    return this.#run(filter, ['reach', directory], {}).stdout.trimEnd().split('\n');
  }

  /** Runs a program in a directory of its own. */
  exec(filter: Filter, command: readonly string[], cwd = this.directory): Ended {
    const env = { ...process.env, HOME: cwd, LC_ALL: 'C' };
    return this.#run(filter, ['exec', ...command], { cwd, env });
  }

  #run(filter: Filter, args: readonly string[], options: Parameters<typeof spawnSync>[2]): Ended {
    const limits = { encoding: 'utf8', timeout: 50_000, killSignal: 'SIGKILL' } as const;
    const ended = spawnSync(this.#binary, [this.#write(filter), ...args], { ...options, ...limits });
    if (ended.error !== undefined) throw ended.error;
    return { status: ended.status, stdout: ended.stdout, stderr: ended.stderr };
  }

  #write(filter: Filter): string {
    if (filter === null) return '-';
    this.#programs += 1;
    const path = join(this.directory, `program-${this.#programs}`);
    writeFileSync(path, filter instanceof Uint8Array ? filter : seccompProgram(HERE, filter));
    return path;
  }
}

/** The number of a call on an architecture, from the headers or, where they are older than the call, the table. */
export function numberOf(name: string, arch: SeccompArch): number {
  const number = headerNumbers(arch).get(name) ?? RULES.find((rule) => rule.name === name)?.[arch];
  if (typeof number !== 'number') throw new Error(`Cannot call ${name}: ${arch} has no such call`);
  return number;
}

function lineName(name: string): string {
  return /^(int80|\d+)$/.test(name) ? name : String(numberOf(name, HERE));
}

function readEnding(line: string): string {
  const [kind, raw] = line.split(' ');
  const number = Number(raw);
  const names: Record<string, number> = kind === 'signal' ? constants.signals : constants.errno;
  if (kind === 'errno' && number === 0) return 'ok';
  const name = Object.entries(names).find(([, each]) => each === number)?.[0];
  return name ?? line;
}
