import { basename, extname, join, resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { CODES } from '@palisade/sdk';
import type { UpstreamRule } from '../../../config/config.ts';
import { stateFlag } from '../../../config/environment.ts';
import type { Caller } from '../../../core/caller.ts';
import { CodedError } from '../../../core/coded-error.ts';
import type { Principal } from '../../../core/principal.ts';
import type { Gateway, Opened } from '../../../invoke/gateway.ts';
import { makeLog } from '../../../telemetry/log.ts';
import type { RelayEnding } from '../../http/local-relay.ts';
import { answerEarly } from '../../mcp/answer-early.ts';
import type { MessageId } from '../../mcp/message.ts';
import { canAsk } from '../ask.ts';
import { findDaemon } from '../find-daemon.ts';
import { choiceOf, listOf, parsedOf, placeIn, principalOf, textOf, wrongUsage } from '../input.ts';
import { printError } from '../printer.ts';
import type { Invocation } from '../verb.ts';

/** The principal without --as. Not the name that the client gives itself: that would let it choose its rights. */
const UNNAMED_CLIENT: Principal = { kind: 'agent', name: 'mcp' };

export async function mcp(invocation: Invocation): Promise<number> {
  clientOf(invocation);
  placeIn(invocation);
  const answered = await greet(invocation);
  const relayed = await serveThroughDaemon(invocation, answered);
  if (relayed.kind === 'ended') return 0;
  const next = relayed.kind === 'lost' ? relayed.goOn() : answered;
  if (next === undefined) return printError(invocation.print, DAEMON_LOST);
  return serveClient(invocation, await invocation.openGateway({ isLasting: true }), next);
}

/** Has the daemon of the state directory serve the client; refused where none does, and nothing was read. */
async function serveThroughDaemon(invocation: Invocation, answered: MessageId | null): Promise<RelayEnding> {
  const { edge, signal } = invocation;
  const daemon = await findDaemon(invocation);
  if (daemon === null) return { kind: 'refused' };
  const { relayToDaemon } = await import('../../http/local-relay.ts');
  const unread = new AbortController();
  edge.whenUnread(() => unread.abort());
  const [stdin, stdout] = [edge.stdin as Readable, edge.stdout as Writable];
  const workspaces = listOf(invocation, 'workspace').map((path) => resolve(edge.cwd, path));
  const { version, cwd } = edge;
  const place = placeIn(invocation);
  return relayToDaemon(
    { ...daemon, principal: clientOf(invocation), place, version, cwd, workspaces, answered, stdin, stdout },
    AbortSignal.any([signal, unread.signal]),
  );
}

const DAEMON_LOST = new CodedError(
  'tier/unknown-ending',
  'Cannot go on: the daemon that served this client (`palisade serve`) has ended while it asked the person at the client',
  {
    remedy:
      'Start the client again; it is then served without the daemon, or by a new one. How calls ended that were running is in `palisade journal search --kind ended`.',
  },
);

/** Answers the first request of the client before anything that takes long, unless that was done already. */
async function greet({ edge }: Invocation): Promise<MessageId | null> {
  return edge.answered ?? answerEarly(edge.stdin as Readable, edge.stdout as Writable, edge.version);
}

/** Serves the client on standard input and output until it disconnects, and closes the gateway. */
async function serveClient(
  invocation: Invocation,
  gateway: Opened<Gateway>,
  answered: MessageId | null,
): Promise<number> {
  const { edge, signal } = invocation;
  const principal = clientOf(invocation);
  const approver: Principal = { kind: 'user', name: edge.env.user ?? 'local' };
  const { clock, config, redact, policy } = gateway;
  const write = (line: string) => void edge.stderr.write(line);
  const log = makeLog({ level: config.log.level, clock, redact, write });
  if (policy.problems.length > 0) log('warn', 'policies-have-problems', { count: policy.problems.length });
  const { makeMcp } = await import('../../mcp/index.ts');
  const mcp = makeMcp({ gateway, log, version: edge.version });
  // A client that no longer reads is treated like one that has closed the input.
  const unread = new AbortController();
  edge.whenUnread(() => unread.abort(new Error('no one reads the output')));
  const { tenant } = config.gateway;
  const scopes = new Set(['call'] as const);
  const place = placeIn(invocation);
  const caller: Caller = { principal, tenant, scopes, credential: 'process', approver, ...place };
  try {
    const until = AbortSignal.any([signal, unread.signal]);
    const [stdin, stdout] = [edge.stdin as Readable, edge.stdout as Writable];
    await mcp.serveStdio({ stdin, stdout, answered }, caller, until);
  } finally {
    await mcp.close();
    await gateway.close();
  }
  return 0;
}

function clientOf(invocation: Invocation): Principal {
  return invocation.flags.as === undefined ? UNNAMED_CLIENT : principalOf(invocation);
}

/** Why a server that starts by hand most often does not start here. */
const IN_THE_JAIL =
  'The server starts in a jail: allow what it reads with --read-only PATH, the directory that it writes to with --workspace DIR, and its hosts with --allow-host ENTRY.';

/*
 * One MCP server in a sandbox, for a client that would have started it itself: palisade is the server of the client and the
 * client of the server. The client sees the tools that were accepted, and every call of one goes through the line.
 */
export async function wrap(invocation: Invocation): Promise<number> {
  const rule = wrappedRule(invocation);
  placeIn(invocation);
  const principal = clientOf(invocation);
  // A person at a terminal is asked before anything is read as a message, and can do something about a refusal.
  if (canAsk(invocation)) {
    const failed = await fetchNow(invocation, rule);
    if (failed !== null) return failed;
  }
  const answered = await greet(invocation);
  if (!canAsk(invocation)) await fetchNow(invocation, rule);
  const gateway = await invocation.openGateway({ upstreams: [rule], isLasting: true });
  // The client is served in any case: in place of the tools it sees why there are none.
  const status = await connectTo(invocation, gateway, rule, principal).catch(async (error: unknown) => {
    await gateway.close();
    throw error;
  });
  const served = { ...gateway, registry: gateway.registry.ofUpstreams() };
  return (await serveClient(invocation, served, answered)) || status;
}

/** Fetches the package where it is wanted; the exit status where that failed or a person did not want it. */
async function fetchNow(invocation: Invocation, rule: UpstreamRule): Promise<number | null> {
  const { print, stateDir, edge } = invocation;
  // What fetches is loaded here, so that no client waits for it before its first answer.
  const { fetchMissing, printFetchError } = await import('../package/fetch-missing.ts');
  const { requireFetched } = await import('../../../packages/packaged-server.ts');
  try {
    const isFetched = await fetchMissing(invocation, rule.command);
    if (!isFetched && canAsk(invocation)) requireFetched(rule, stateFlag(stateDir.path, edge.env));
    return null;
  } catch (error) {
    return printFetchError(print, error);
  }
}

/** Connects to the wrapped server; returns the exit status, after an explanation where there are no tools. */
async function connectTo(
  { print }: Invocation,
  gateway: Opened<Gateway>,
  rule: UpstreamRule,
  principal: Principal,
): Promise<number> {
  const { tenant } = gateway.config.gateway;
  try {
    const status = await gateway.upstreams.connect(rule.name, { principal, tenant });
    if ('reason' in status) {
      print.note('quarantined', 'red', `  ${rule.name}: ${status.reason}`);
      print.next(`palisade upstream show ${rule.name}`);
    }
    return 0;
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    if (error.code.startsWith('package/')) return printError(print, error);
    if (error.code !== 'tier/upstream-failed') throw error;
    const isUsual = error.remedy === CODES[error.code].remedy;
    const unbuilt = await unbuiltIn(gateway.upstreams.ruleOf(rule.name));
    const usual = rule.tier === 'c' ? `${IN_THE_JAIL}${unbuilt}` : null;
    const remedy = (isUsual ? usual : null) ?? error.remedy;
    return printError(
      print,
      new CodedError(error.code, `Cannot wrap "${rule.name}": ${error.message}`, { remedy }),
    );
  }
}

/** Why a package that builds or downloads a part of itself does not start. */
async function unbuiltIn({ package: found }: UpstreamRule): Promise<string> {
  if (found === undefined) return '';
  const { scriptedPackages } = await import('../../../packages/installed.ts');
  const { scriptsNote } = await import('../package/fetch-missing.ts');
  const scripted = scriptedPackages(join(found.directory, found.digest));
  if (scripted.length === 0) return '';
  return ` Of its package, ${scriptsNote(scripted)}: if it needs them, install it yourself and wrap the installed program with --read-only.`;
}

/** Programs whose first plain argument names the server better than they do. */
const RUNNERS =
  /^(?:node|npx|npm|pnpm|yarn|bunx?|deno|uvx?|python[0-9.]*|pipx|ruby|java|sh|bash|docker|podman)$/;
const RUNNER_WORDS: readonly string[] = ['run', 'exec', 'dlx', 'x', 'tool'];
/** Options of runners whose value is the next argument, and names no server. */
const VALUED =
  /^(?:--from|--with|--python|--env|--env-file|--mount|--volume|--name|--network|--user|--workdir|-e|-v|-u|-w)$/;
/** What packages commonly call their entry or its folder, which distinguishes no server. */
const GENERIC_NAME = /^(?:index|main|cli|server|mcp|mcp-server|dist|build|out|lib|src|bin)$/;
/** What says only that a package is an MCP server: `server-filesystem`, `mcp-server-git`, `github-mcp-server`. */
const AFFIXES = /^(?:mcp-server-|server-|mcp-)|(?:-mcp-server|-mcp|-server)$/g;
const NAME = /^[a-z][a-z0-9-]{0,31}$/;
const RISKS = ['low', 'medium', 'high'] as const;
const TIERS = ['b', 'c'] as const;

/** The server of a command line, in the form of palisade.toml. Its tools keep their own names. */
function wrappedRule(invocation: Invocation): UpstreamRule {
  const { rest, edge } = invocation;
  const workspace = textOf(invocation, 'workspace');
  return {
    name:
      parsedOf(invocation, 'name', readName, 'up to 32 lower-case letters, digits and -') ?? madeName(rest),
    command: rest,
    tier: choiceOf(invocation, 'tier', TIERS) ?? 'c',
    // Null: the default of commands, which has to be a root.
    workspace: workspace === undefined ? null : resolve(edge.cwd, workspace),
    env: variablesOf(invocation),
    readOnly: listOf(invocation, 'read-only').map((path) => resolve(edge.cwd, path)),
    allowHosts: listOf(invocation, 'allow-host'),
    secrets: listOf(invocation, 'secret'),
    risk: choiceOf(invocation, 'risk', RISKS) ?? 'high',
    elicitation: invocation.flags.elicitation === true ? 'on' : 'off',
    prefix: '',
  };
}

/** The variables of --env; a name alone takes the value that this process has, and nothing where it has none. */
function variablesOf(invocation: Invocation): readonly string[] {
  const inherited = new Map(invocation.edge.env.entries());
  return listOf(invocation, 'env').flatMap((each) => {
    if (!/^[A-Za-z_][A-Za-z0-9_]*(?:=|$)/.test(each))
      throw wrongUsage(`Cannot use --env "${each}": expected NAME=VALUE or NAME`);
    if (each.includes('=')) return [each];
    const value = inherited.get(each);
    return value === undefined ? [] : [`${each}=${value}`];
  });
}

function readName(raw: string): string | null {
  return NAME.test(raw) ? raw : null;
}

/** `npx -y @modelcontextprotocol/server-filesystem@1` is called filesystem, and so is `node /opt/filesystem/dist/index.js`. */
export function madeName(command: readonly string[]): string {
  const [program = '', ...args] = command;
  const plain = args.find(
    (word, i) => !word.startsWith('-') && !RUNNER_WORDS.includes(word) && !VALUED.test(args[i - 1] ?? ''),
  );
  const word = RUNNERS.test(basename(program)) && plain !== undefined ? plain : program;
  const parts = word.replace(/(?<=.)[@:][^/]*$/, '').split('/');
  const last = parts.pop() ?? '';
  const own = nameFrom(last.slice(0, last.length - extname(last).length));
  if (!NAME.test(own)) return 'upstream';
  const above = parts.reverse().map(nameFrom);
  const telling = [own, ...above].find((name) => NAME.test(name) && !GENERIC_NAME.test(name)) ?? own;
  const short = telling.replaceAll(AFFIXES, '');
  return NAME.test(short) ? short : telling;
}

function nameFrom(word: string): string {
  return word
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^[^a-z]+|-+$/g, '')
    .slice(0, 32);
}
