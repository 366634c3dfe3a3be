import { resolve } from 'node:path';
import { loadConfig } from '../../../config/load.ts';
import { type Principal, parsePrincipal } from '../../../core/principal.ts';
import { textOf, wrongUsage } from '../input.ts';
import type { Invocation } from '../verb.ts';
import type { Client, Scope } from './client.ts';
import { type ClientFile, readClientFile } from './client-file.ts';
import { fileOf, platformOf, type Surroundings } from './places.ts';
import type { Aim } from './plan.ts';
import type { Source } from './servers.ts';

/* What a command line is about: which file of which client, and what the entry in it is called. */

/** A name that every client takes, and that needs no quotes in any language. */
const SERVER_NAME = /^[A-Za-z0-9_-]{1,64}$/;

export type Target = {
  readonly client: Client;
  readonly scope: Scope;
  readonly file: ClientFile;
  readonly source: Source;
  readonly aim: Aim;
};

export function surroundingsOf({ edge: { env, cwd } }: Invocation): Surroundings {
  return { env, cwd, platform: platformOf(process.platform) };
}

/** The file that the flags name, read. */
export async function targetOf(invocation: Invocation, client: Client): Promise<Target> {
  const { flags, edge } = invocation;
  const server = textOf(invocation, 'name') ?? 'palisade';
  if (!SERVER_NAME.test(server))
    throw wrongUsage(`Cannot use --name "${server}": expected up to 64 letters, digits, - and _`);
  const scope = flags.project === true ? 'project' : 'user';
  const named = textOf(invocation, 'file');
  if (named !== undefined && scope === 'project')
    throw wrongUsage('Cannot use --project with --file: each names a file, expected one of them');
  const path =
    named === undefined ? fileOf(client, scope, surroundingsOf(invocation)) : resolve(edge.cwd, named);
  const file = readClientFile(path, scope === 'project' ? edge.cwd : null);
  const url = await urlOf(invocation);
  return { client, scope, file, source: { client, name: path, text: file.text ?? '' }, aim: { server, url } };
}

/** The address of the MCP door of this gateway, as its configuration has it. */
export async function urlOf({ stateDir }: Invocation): Promise<string> {
  const { http } = await loadConfig({ stateDir: stateDir.path });
  const base = http.publicUrl ?? `http://${http.listen.replace(/^(0\.0\.0\.0|\[::\]):/, '127.0.0.1:')}`;
  return `${base.replace(/\/$/, '')}/mcp`;
}

/** Whom the client acts as: --as, else an agent of its own name. */
export function agentOf(invocation: Invocation, client: Client): Principal {
  const raw = textOf(invocation, 'as') ?? `agent:${client.id}`;
  const principal = parsePrincipal(raw);
  // Boundary: whatever a client is told to do, it never acts as a person, who could approve what it asks for.
  if (principal?.kind === 'agent') return principal;
  throw wrongUsage(`Cannot connect ${client.name} as "${raw}": expected agent:NAME`);
}
