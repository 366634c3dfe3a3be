/**
 * From the table to the program that the kernel runs at every system call of a command.
 *
 * The command is hostile, and so are the number, the architecture and the arguments it passes; memory that an argument
 * points to is never read, since it can change afterwards. A call of another architecture ends the process, because its
 * numbers mean other calls. All other answers are errors that programs can handle.
 *
 * The numbers are cut into spans with the same answer, and a balanced tree of comparisons finds the span: about eight
 * for any call, however long the table grows.
 */
import { arch } from 'node:os';
import { assemble, type Step, type Test } from './program.ts';
import {
  type Answer,
  type Denied,
  LAST_CALL,
  RULES,
  type SeccompWish,
  SOCKET_PAIRS,
  SOCKETS,
  type SyscallRule,
} from './syscalls.table.ts';

export type SeccompArch = 'x64' | 'arm64';

/** The architecture of this machine; on one of neither kind no program with this filter starts. */
export function ownArch(): SeccompArch {
  return arch() === 'arm64' ? 'arm64' : 'x64';
}

/** AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64. */
const AUDIT_ARCH = { x64: 0xc000_003e, arm64: 0xc000_00b7 } as const;

/** SECCOMP_RET_ALLOW, _KILL_PROCESS, and _ERRNO with its number. */
const RETURNS = { allow: 0x7fff_0000, kill: 0x8000_0000, EPERM: 0x0005_0001, ENOSYS: 0x0005_0026 } as const;

/** The offsets in struct seccomp_data that the program may read. */
const NUMBER_OFFSET = 0;
const ARCH_OFFSET = 4;
const ARGUMENTS_OFFSET = 16;

/** The bits of a socket's type; the others are SOCK_CLOEXEC and SOCK_NONBLOCK. */
const SOCKET_TYPE_BITS = 0xf;

/** An answer, or a rule that checks arguments first. */
type Verdict = 'allow' | Answer | SyscallRule;

/** All calls from this number on, up to the next span. */
type Span = { readonly from: number; readonly verdict: Verdict };

/** Makes the seccomp program for one architecture: an array of struct sock_filter that denies what the table denies. */
export function seccompProgram(arch: SeccompArch, wish: SeccompWish): Uint8Array {
  return assemble([
    { kind: 'load', value: ARCH_OFFSET },
    // Boundary: 32-bit calls on a 64-bit kernel have other numbers, so none of them may reach the tree.
    jump('equal', AUDIT_ARCH[arch], 'same architecture', null),
    answer('kill'),
    place('same architecture'),
    { kind: 'load', value: NUMBER_OFFSET },
    ...search(spansOf(arch, wish), wish),
  ]);
}

function spansOf(arch: SeccompArch, wish: SeccompWish): Span[] {
  const verdicts = new Map<number, Verdict>();
  for (const rule of RULES) {
    const number = rule[arch];
    if (rule.unless !== undefined && wish[rule.unless]) continue;
    if (number !== null) verdicts.set(number, rule.denied === undefined ? rule.answer : rule);
  }
  // Boundary: calls newer than the table, and all of the x32 ABI, whose numbers have bit 30 set.
  verdicts.set(LAST_CALL + 1, 'ENOSYS');
  const spans: Span[] = [];
  for (let from = 0; from <= LAST_CALL + 1; from += 1) {
    const verdict = verdicts.get(from) ?? 'allow';
    if (spans.at(-1)?.verdict !== verdict) spans.push({ from, verdict });
  }
  return spans;
}

function search(spans: readonly Span[], wish: SeccompWish): Step[] {
  const [first] = spans;
  if (first === undefined) return [];
  if (spans.length === 1) return decide(first.verdict, wish);
  const half = spans.length >> 1;
  const upper = spans.slice(half);
  const from = upper[0]?.from ?? 0;
  const name = `calls from ${from}`;
  return [
    jump('at-least', from, name, null),
    ...search(spans.slice(0, half), wish),
    place(name),
    ...search(upper, wish),
  ];
}

function decide(verdict: Verdict, wish: SeccompWish): Step[] {
  if (typeof verdict === 'string') return [answer(verdict)];
  const { name, denied } = verdict;
  if (denied === undefined) return [answer(verdict.answer)];
  const ends: Ends = { allow: `allow ${name}`, deny: `deny ${name}` };
  return [
    ...look(denied, ends, wish),
    place(ends.deny),
    answer(verdict.answer),
    place(ends.allow),
    answer('allow'),
  ];
}

/** The two labels where checking arguments ends. */
type Ends = { readonly allow: string; readonly deny: string };

function look(denied: Denied, ends: Ends, wish: SeccompWish): Step[] {
  switch (denied.kind) {
    case 'bits': {
      const { argument, bits, onlyIf } = denied;
      const condition =
        onlyIf === undefined ? [] : [load(onlyIf.argument), jump('any-bit', onlyIf.bits, null, ends.allow)];
      return [...condition, load(argument), jump('any-bit', bits, ends.deny, ends.allow)];
    }
    case 'values':
      return [load(denied.argument), ...among(denied.values, ends.deny, ends.allow)];
    case 'other-values':
      return [load(denied.argument), ...among(denied.values, ends.allow, ends.deny)];
    case 'socket':
      return lookAtSocket(ends, wish);
    case 'socket-pair':
      return lookAtPair(ends);
  }
}

function lookAtSocket(ends: Ends, wish: SeccompWish): Step[] {
  const allowed = SOCKETS.filter((row) => wish[row.wish]);
  const families = allowed.map(({ family, number }, index) =>
    jump('equal', number, family, index === allowed.length - 1 ? ends.deny : null),
  );
  const bodies = allowed.flatMap(({ family, limits }) => {
    const rest = `protocol of ${family}`;
    return [
      place(family),
      ...lookAtType(limits.types, rest, ends.deny),
      place(rest),
      load(2),
      ...among(limits.protocols, ends.allow, ends.deny),
    ];
  });
  // Boundary: a family without a row, vsock among them, is denied.
  return [load(0), ...families, ...bodies];
}

function lookAtPair(ends: Ends): Step[] {
  const { family, types } = SOCKET_PAIRS;
  // Boundary: a pair of datagrams would reach every Unix socket that the command can name.
  return [load(0), jump('equal', family, null, ends.deny), ...lookAtType(types, ends.allow, ends.deny)];
}

function lookAtType(types: readonly number[], yes: string, no: string): Step[] {
  return [load(1), { kind: 'keep', value: SOCKET_TYPE_BITS }, ...among(types, yes, no)];
}

/** Jumps to one label when the loaded word is one of the values and to the other when it is not. */
function among(values: readonly number[], yes: string, no: string): Step[] {
  return values.map((value, index) => jump('equal', value, yes, index === values.length - 1 ? no : null));
}

/** Loads the low half of an argument. */
function load(argument: number): Step {
  return { kind: 'load', value: ARGUMENTS_OFFSET + 8 * argument };
}

function jump(test: Test, value: number, yes: string | null, no: string | null): Step {
  return { kind: 'jump', test, value, yes, no };
}

function place(name: string): Step {
  return { kind: 'place', name };
}

function answer(verdict: keyof typeof RETURNS): Step {
  return { kind: 'return', value: RETURNS[verdict] };
}
