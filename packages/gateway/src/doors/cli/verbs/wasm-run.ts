import { CEILINGS, inspect, isComponent } from '@palisade/wasm';
import type { Config } from '../../../config/config.ts';
import { LIMIT_CEILINGS } from '../../../core/limits.ts';
import type { Tool } from '../../../core/tool.ts';
import type { WasmGrants } from '../../../core/wasm.ts';
import type { Ended } from '../../../invoke/finish.ts';
import { readBytes, readTime } from '../exec/quantities.ts';
import { numberOf, principalOf, readInput, textOf, wrongUsage } from '../input.ts';
import { requireAbi, requireTool } from '../module/abi.ts';
import { requireToolName, requireWorld } from '../module/component.ts';
import { requireFreeNames, tellModuleErrors } from '../module/errors.ts';
import { readModuleFile } from '../module/file.ts';
import { readGrants } from '../module/grants.ts';
import { type LocalRun, localTool } from '../module/local-tool.ts';
import { schemaOf } from '../module/schema-file.ts';
import { showRun } from '../module/show-run.ts';
import { tellCall } from '../tell-call.ts';
import type { Invocation } from '../verb.ts';

/*
 * A module from a file, for whoever writes one: a tool of its own for as long as one call takes. It walks the line like
 * every other, so the policies judge it with what it was granted, budgets pay for it, and it has a receipt.
 */

export function run(invocation: Invocation): Promise<number> {
  return tellModuleErrors(invocation.print, async () => {
    const { edge, flags } = invocation;
    const principal = principalOf(invocation);
    const timeout = textOf(invocation, 'timeout');
    const timeoutMs = timeout === undefined ? null : readTime('timeout', timeout);
    const asked = await askedRun(invocation);
    const tool = localTool(asked);
    const rawInput = await inputOf(invocation);
    const wanted = { principal, tool: tool.id, rawInput, timeoutMs };
    const openGateway = () => openWith(invocation, tool, asked.limits);
    // No daemon has this tool.
    const local: Invocation = { ...invocation, openGateway, flags: { ...flags, embedded: true } };
    if (flags['dry-run'] === true) return showRun(local, wanted, asked);
    // What a guest logs is no result: it goes to standard error, also beside a document.
    const onOutput = (_stream: string, chunk: Uint8Array) => void edge.stderr.write(chunk);
    return tellCall(local, wanted, { onOutput, reword: (ended) => reword(ended, tool.id) });
  });
}

/** The module with its grants and limits, looked at before anything is opened. */
async function askedRun(invocation: Invocation): Promise<LocalRun> {
  const { args, flags } = invocation;
  const grants = readGrants(Array.isArray(flags.grant) ? flags.grant : []);
  const memory = textOf(invocation, 'memory');
  const memoryBytes = memory === undefined ? null : readBytes('memory', memory, LIMIT_CEILINGS.memoryBytes);
  const fuel = numberOf(invocation, 'fuel', { min: 1, max: LIMIT_CEILINGS.fuel, absent: 0 });
  const limits = { ...(fuel === 0 ? {} : { fuel }), ...(memoryBytes === null ? {} : { memoryBytes }) };
  if (args[0] === '-')
    throw wrongUsage('Cannot run standard input: the tool has the name of its file, expected a file');
  const file = await readModuleFile(invocation);
  const exportName = readTool(file.bytes, textOf(invocation, 'tool'), grants);
  const schemas = {
    inputSchema: await schemaOf(invocation, 'input-schema'),
    outputSchema: await schemaOf(invocation, 'output-schema'),
  };
  return { file, exportName, grants, limits, schemas, isRecorded: flags['no-record'] !== true };
}

/** The tool that is to run, of a module or a component that has all it needs. */
function readTool(bytes: Uint8Array, tool: string | undefined, grants: WasmGrants): string {
  if (isComponent(bytes)) {
    const name = requireToolName(tool);
    requireWorld(bytes, grants);
    return name;
  }
  // Whether its memory fits is for the limits of the call.
  const facts = inspect(bytes, { memoryBytes: CEILINGS.memoryBytes });
  requireFreeNames(facts);
  const exportName = requireTool(facts, tool);
  requireAbi(facts, grants);
  return exportName;
}

/** What --input or --input-file says, else standard input; a terminal has nothing to say, and nothing is {}. */
async function inputOf(invocation: Invocation): Promise<string | Uint8Array> {
  const path = textOf(invocation, 'input-file');
  const isInline = textOf(invocation, 'input') !== undefined;
  if (path !== undefined && isInline)
    throw wrongUsage('Cannot read the input: both --input and --input-file are given, expected one of them');
  if (isInline) return readInput(invocation);
  const from = (input: string) => readInput({ ...invocation, flags: { input } });
  if (path !== undefined) return from(path === '-' ? '-' : `@${path}`);
  if ((invocation.edge.stdin as { readonly isTTY?: boolean }).isTTY === true) return '{}';
  const piped = await from('-');
  return piped.length === 0 ? '{}' : piped;
}

type OpenedGateway = Awaited<ReturnType<Invocation['openGateway']>>;

/** A limit that the configuration would lower without a word is refused instead. */
async function openWith(
  { openGateway }: Invocation,
  tool: Tool,
  limits: LocalRun['limits'],
): Promise<OpenedGateway> {
  const gateway = await openGateway({ tools: [tool] });
  try {
    requireRoom(gateway.config, limits);
    return gateway;
  } catch (error) {
    await gateway.close();
    throw error;
  }
}

function requireRoom(config: Config, { fuel = 0, memoryBytes = 0 }: LocalRun['limits']): void {
  const rows = [
    ['fuel', 'fuel', fuel, config.limits.fuel, config.ceilings.fuel],
    ['memory', 'memory_bytes', memoryBytes, config.limits.memoryBytes, config.ceilings.memoryBytes],
  ] as const;
  for (const [flag, key, asked, limit, ceiling] of rows) {
    const [most, section] = limit <= ceiling ? [limit, 'limits'] : [ceiling, 'ceilings'];
    if (asked <= most) continue;
    throw wrongUsage(
      `Cannot use --${flag} "${asked}": \`${section}.${key}\` of palisade.toml is ${most}, expected no more`,
    );
  }
}

const REMEDIES: Readonly<Record<string, (id: string) => string>> = {
  'policy/denied': (id) =>
    `Run it with --dry-run to see what the policies say, then ask the operator for one that permits ${id}.`,
};

/** The remedies of the line name commands that know only registered tools. */
function reword(ended: Ended, id: string): Ended {
  const { outcome } = ended;
  const remedy = REMEDIES[outcome.code]?.(id);
  return remedy === undefined || outcome.status === 'ok'
    ? ended
    : { ...ended, outcome: { ...outcome, remedy } };
}
