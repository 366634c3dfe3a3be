import { basename, extname, resolve } from 'node:path';
import type { UpstreamRule } from '../../config/config.ts';
import { textOf, wrongUsage } from './input.ts';
import { listOf } from './skill/operate/act.ts';
import type { Invocation } from './verb.ts';

/** Programs whose first plain word says more of a server than they do. */
const RUNNERS = /^(?:node|npx|bunx?|deno|uvx?|python[0-9.]*|pipx|ruby|java|sh|bash)$/;
/** What every package calls its entry or the folder of it, so that it tells no server from another. */
const ANYBODY = /^(?:index|main|cli|server|dist|build|out|lib|src|bin)$/;
const NAME = /^[a-z][a-z0-9-]{0,31}$/;
const RISKS = ['low', 'medium', 'high'] as const;
const TIERS = ['b', 'c'] as const;

/** The server of a command line, as palisade.toml would have it. Its tools keep the names that it gives them. */
export function wrappedRule(invocation: Invocation): UpstreamRule {
  const { rest, edge } = invocation;
  const env = listOf(invocation, 'env');
  const odd = env.find((each) => !/^[A-Za-z_][A-Za-z0-9_]*=/.test(each));
  if (odd !== undefined) throw wrongUsage(`Cannot use --env "${odd}": expected NAME=VALUE`);
  const workspace = textOf(invocation, 'workspace');
  return {
    name: nameOf(invocation),
    command: rest,
    tier: choiceOf(invocation, 'tier', TIERS) ?? 'c',
    workspace: resolve(edge.cwd, workspace ?? '.'),
    env,
    readOnly: listOf(invocation, 'read-only').map((path) => resolve(edge.cwd, path)),
    allowHosts: listOf(invocation, 'allow-host'),
    secrets: listOf(invocation, 'secret'),
    risk: choiceOf(invocation, 'risk', RISKS) ?? 'high',
    prefix: '',
  };
}

function nameOf(invocation: Invocation): string {
  const asked = textOf(invocation, 'name');
  if (asked === undefined) return madeName(invocation.rest);
  if (NAME.test(asked)) return asked;
  throw wrongUsage(`Cannot use --name "${asked}": expected up to 32 small letters, digits and -`);
}

/** `npx -y @acme/files-server@1` is called files-server, and so is `node /opt/files-server/dist/index.js`. */
export function madeName(command: readonly string[]): string {
  const [program = '', ...args] = command;
  const plain = args.find((word) => !word.startsWith('-') && word !== 'run' && word !== 'exec');
  const word = RUNNERS.test(basename(program)) && plain !== undefined ? plain : program;
  const parts = word.replace(/(?<=.)@[^/]*$/, '').split('/');
  const last = parts.pop() ?? '';
  const own = nameFrom(last.slice(0, last.length - extname(last).length));
  if (!NAME.test(own)) return 'upstream';
  const above = parts.reverse().map(nameFrom);
  return [own, ...above].find((name) => NAME.test(name) && !ANYBODY.test(name)) ?? own;
}

function nameFrom(word: string): string {
  return word
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^[^a-z]+|-+$/g, '')
    .slice(0, 32);
}

function choiceOf<const Choice extends string>(
  invocation: Invocation,
  flag: string,
  choices: readonly Choice[],
): Choice | undefined {
  const raw = textOf(invocation, flag);
  const choice = choices.find((each) => each === raw);
  if (raw !== undefined && choice === undefined)
    throw wrongUsage(`Cannot use --${flag} "${raw}": expected ${choices.join(', ')}`);
  return choice;
}
