import { resolve } from 'node:path';
import { INPUT_LIMITS } from '../../../runner/input.ts';
import { type Bound, readNamed, textOf, wrongUsage } from '../input.ts';
import type { Invocation } from '../verb.ts';
import { readLimits, readTime } from './quantities.ts';

/** A command as the flags and the words after `--` say it: the input of palisade.process.run, and its time limit. */
export type AskedCommand = { readonly input: object; readonly timeoutMs: number | null };

const TIERS = ['b', 'c'];
const EGRESS_MODES = ['strict', 'preflight', 'none'];

const STDIN_BOUND: Bound = {
  maxBytes: INPUT_LIMITS.totalBytes,
  refuse: (name) =>
    wrongUsage(
      `Cannot pass ${name} on: it has more than ${INPUT_LIMITS.totalBytes} bytes, expected a file in the workspace for that`,
    ),
};

/** Reads the flags, and standard input where that is wanted; what is no flag's value is wrong usage. */
export async function askedCommand(invocation: Invocation): Promise<AskedCommand> {
  const { rest, flags, edge } = invocation;
  const [command = '', ...args] = rest;
  const workspace = textOf(invocation, 'workspace');
  const timeout = textOf(invocation, 'timeout');
  const timeoutMs = timeout === undefined ? null : readTime('timeout', timeout);
  const input = {
    command,
    args,
    ...given('tier', choiceOf(invocation, 'tier', TIERS)),
    ...given('egress', choiceOf(invocation, 'egress', EGRESS_MODES)),
    ...given('egress_hosts', listIfAny(invocation, 'allow-host')),
    ...given('secrets', listIfAny(invocation, 'secret')),
    ...given('workspace', workspace === undefined ? undefined : resolve(edge.cwd, workspace)),
    ...given('cwd', textOf(invocation, 'cwd')),
    env: readVariables(listOf(invocation, 'env')),
    // A time limit asks for as much as it allows; without it a command gets the configured time.
    limits: { ...given('wall_ms', timeoutMs ?? undefined), ...readLimits(listOf(invocation, 'limit')) },
    ...given('stdin', flags.stdin === true ? await readText(invocation) : undefined),
  };
  return { input, timeoutMs };
}

function given<K extends string, V>(key: K, value: V | undefined): Partial<Record<K, V>> {
  return value === undefined ? {} : ({ [key]: value } as Record<K, V>);
}

function listOf({ flags }: Invocation, name: string): readonly string[] {
  const value = flags[name];
  return Array.isArray(value) ? value : [];
}

/** What a call asks for only when it is said: an empty list would ask for something else. */
function listIfAny(invocation: Invocation, name: string): readonly string[] | undefined {
  const list = listOf(invocation, name);
  return list.length === 0 ? undefined : list;
}

function choiceOf(invocation: Invocation, name: string, choices: readonly string[]): string | undefined {
  const raw = textOf(invocation, name);
  if (raw === undefined || choices.includes(raw)) return raw;
  throw wrongUsage(`Cannot use --${name} "${raw}": expected one of ${choices.join(', ')}`);
}

function readVariables(raw: readonly string[]): Readonly<Record<string, string>> {
  const variables = new Map<string, string>();
  for (const word of raw) {
    const [, name, value = ''] = /^([^=]+)=(.*)$/s.exec(word) ?? [];
    if (name === undefined) throw wrongUsage(`Cannot use --env "${word}": expected NAME=VALUE`);
    if (variables.has(name)) throw wrongUsage(`Cannot use --env "${word}": ${name} is given twice`);
    variables.set(name, value);
  }
  return Object.fromEntries(variables);
}

async function readText(invocation: Invocation): Promise<string> {
  const bytes = await readNamed(invocation, '-', STDIN_BOUND);
  try {
    // The input is JSON, so other bytes would reach the command as something else.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw wrongUsage('Cannot pass standard input on: it is not UTF-8, expected a file in the workspace');
  }
}
