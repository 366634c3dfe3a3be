import { existsSync, readFileSync } from 'node:fs';
import type { SeccompArch } from '../../../src/tiers/seccomp/filter.ts';

/** Where distributions keep the kernel's list of calls for programs, the native place first. */
const HEADERS = {
  x64: [
    '/usr/include/x86_64-linux-gnu/asm/unistd_64.h',
    '/usr/x86_64-linux-gnu/include/asm/unistd_64.h',
    '/usr/include/asm/unistd_64.h',
  ],
  arm64: ['/usr/include/asm-generic/unistd.h', '/usr/aarch64-linux-gnu/include/asm-generic/unistd.h'],
};

/** The numbers of all calls of an architecture that this machine's kernel headers know, by name. */
export function headerNumbers(arch: SeccompArch): ReadonlyMap<string, number> {
  const text = readHeader(HEADERS[arch]);
  const defined = new Map<string, number>();
  for (const [, name = '', number] of text.matchAll(/^#define __NR(?:3264)?_(\w+)\s+(\d+)\s*$/gm)) {
    if (name !== 'syscalls') defined.set(name, Number(number));
  }
  // The generic list defines some calls under a name for both word sizes first: `__NR_fcntl` is `__NR3264_fcntl`.
  for (const [, name = '', other = ''] of text.matchAll(/^#define __NR_(\w+)\s+__NR3264_(\w+)\s*$/gm)) {
    const number = defined.get(other);
    if (number !== undefined) defined.set(name, number);
  }
  return defined;
}

/** The value of a macro that a header of this machine defines as a plain number. */
export function headerConstant(path: string, name: string): number {
  const raw = readHeader([path]).match(new RegExp(`^#define\\s+${name}\\s+(0x[0-9a-fA-F]+|\\d+)`, 'm'))?.[1];
  if (raw === undefined) throw new Error(`Cannot read header: ${path} has no ${name}, expected a number`);
  return /^0\d/.test(raw) ? Number.parseInt(raw, 8) : Number(raw);
}

function readHeader(paths: readonly string[]): string {
  const path = paths.find((each) => existsSync(each));
  if (path === undefined) {
    const remedy =
      'install linux-libc-dev (linux-libc-dev-amd64-cross or -arm64-cross for the other architecture)';
    throw new Error(`Cannot read kernel headers: none of ${paths.join(', ')} exists; ${remedy}`);
  }
  return readFileSync(path, 'utf8');
}
