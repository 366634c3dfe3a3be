import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chooseStateDir, readEnvironment } from '../config/environment.ts';
import { orElse } from '../core/result.ts';
import type { MessageId } from '../doors/mcp/message.ts';
import type { CodeCache } from './code-cache.ts';
import { type PackIndex, Packs } from './packs.ts';

/*
 * What `palisade` loads first, and the only file that Node loads itself: it answers the client of an MCP server, which
 * waits for nothing else, and loads the packs that the command needs.
 */

type Main = { readonly start: (answered: MessageId | null) => Promise<void> };

export type StartOptions = {
  /** Of the build: where the packs are. */
  readonly directory: string;
  readonly words: readonly string[];
  /** Where the code of this start is kept instead of the state directory; the build keeps it beside the packs. */
  readonly keepIn?: string;
};

/** Runs the command; resolves when it has ended. */
export async function start({ directory, words, keepIn }: StartOptions): Promise<void> {
  const answered = isClient(words) ? await answerFirst() : null;
  const stateDir = stateIn(words);
  const index = JSON.parse(readFileSync(join(directory, 'packs.json'), 'utf8')) as PackIndex;
  let cache: CodeCache | null = null;
  const cacheOf = () => {
    cache ??= loadCache().openCache({
      ...{ directory, stateDir, verb: words[0] ?? '', keepIn },
      digestOf: (pack) => index.packs[pack] ?? '',
    });
    return cache;
  };
  // To compile the client takes no longer than to check what it was compiled to.
  const isServed = keepIn === undefined && stateDir !== null && existsSync(join(stateDir, 'daemon.json'));
  const packs = new Packs(directory, (pack) => (isServed && pack === 'client' ? null : cacheOf()));
  await (packs.load('#client/gateway/src/main') as Main).start(answered);
  packs.keep();
}

/** Loaded where there is something to take from it: a command that a daemon serves needs no digest and no flags. */
function loadCache(): typeof import('./open-cache.ts') {
  return require('./open-cache.ts');
}

/** The client of an MCP server waits for its first answer, which needs little of the program. */
function isClient([word, ...rest]: readonly string[]): boolean {
  const asksForHelp = rest.some((each) => each === '--help' || each === '-h');
  return word === 'mcp' && !asksForHelp && process.stdin.isTTY !== true;
}

/** A client writes at once; one that does not is answered when the program is loaded. */
const WAIT_MS = 20;

async function answerFirst(): Promise<MessageId | null> {
  const { answerEarly } = await import('../doors/mcp/answer-early.ts');
  const { VERSION } = await import('../version.ts');
  return answerEarly(process.stdin, process.stdout, VERSION, WAIT_MS);
}

/** The state directory that the command will choose. */
function stateIn(words: readonly string[]): string | null {
  return orElse(() => {
    const { path } = chooseStateDir({ flag: stateFlagIn(words), env: readEnvironment(), cwd: process.cwd() });
    return path;
  }, null);
}

/** The value of --state; where it is written in a way that is refused later, nothing is cached. */
function stateFlagIn(words: readonly string[]): string | undefined {
  const end = words.indexOf('--');
  const own = end === -1 ? words : words.slice(0, end);
  const at = own.findIndex((word) => word === '--state' || word.startsWith('--state='));
  if (at === -1) return undefined;
  return own[at]?.startsWith('--state=') ? own[at].slice('--state='.length) : own[at + 1];
}
