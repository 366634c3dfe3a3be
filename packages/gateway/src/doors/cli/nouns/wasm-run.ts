import { basename } from 'node:path';
import { CEILINGS, inspect, isComponent } from '@palisade/wasm';
import type { Config } from '../../../config/config.ts';
import type { CheckedCall } from '../../../core/checked-call.ts';
import { digestBytes } from '../../../core/digest.ts';
import { LIMIT_CEILINGS } from '../../../core/limits.ts';
import { parseStrict } from '../../../core/strict-json.ts';
import type { JsonSchema, Tool } from '../../../core/tool.ts';
import type { WasmGrants } from '../../../core/wasm.ts';
import type { Ended } from '../../../invoke/finish.ts';
import { hostsOf } from '../../../skills/capabilities/http.ts';
import { capabilitiesOf, riskOf, spellGrants } from '../../../skills/capabilities/kinds.ts';
import { isAtTerminal } from '../ask.ts';
import { listOf, principalOf, readFileFlag, readInput, textOf, wrongUsage } from '../input.ts';
import { requireAbi, requireTool, requireWorld } from '../module/abi.ts';
import { readModuleFile, requireFreeNames, withModuleErrors } from '../module/file.ts';
import { readGrants } from '../module/grants.ts';
import type { FactRow } from '../printer.ts';
import { limitsOf, timeOf } from '../quantities.ts';
import { showPlan } from '../show-plan.ts';
import type { Invocation } from '../verb.ts';
import { makeCall } from './call.ts';

/*
 * A module in a file as a tool of its own, for as long as one call takes; for authors of modules. It goes through the
 * line like every other call: authorised with its grants, charged to budgets, and with a receipt.
 */

export function run(invocation: Invocation): Promise<number> {
  return withModuleErrors(invocation.print, async () => {
    const { edge, flags } = invocation;
    const principal = principalOf(invocation);
    const timeoutMs = timeOf(invocation, 'timeout') ?? null;
    const asked = await askedRun(invocation);
    const tool = localTool(asked);
    const rawInput = await inputOf(invocation);
    const wanted = { principal, tool: tool.id, rawInput, timeoutMs };
    const openGateway = () => openWith(invocation, tool, asked.limits);
    // A daemon does not have this tool.
    const local: Invocation = { ...invocation, openGateway, flags: { ...flags, embedded: true } };
    if (flags['dry-run'] === true) {
      const planOf = (checked: CheckedCall) => documentOf(checked, asked);
      return showPlan(local, wanted, { planOf, rowsOf, titleOf: (plan) => plan.tool });
    }
    // What a guest logs is not the result: it goes to standard error, with --json too.
    const onOutput = (_stream: string, chunk: Uint8Array) => void edge.stderr.write(chunk);
    return makeCall(local, wanted, { onOutput, reword: (ended) => reword(ended, tool.id) });
  });
}

type LocalRun = Awaited<ReturnType<typeof askedRun>>;

/** The module with its grants and the limits of the flags, checked before anything is opened. */
async function askedRun(invocation: Invocation) {
  const { args, flags } = invocation;
  const grants = readGrants(listOf(invocation, 'grant'));
  const limits = limitsOf(invocation);
  if (args[0] === '-')
    throw wrongUsage('Cannot run standard input: the tool is named after its file, expected a file');
  const file = await readModuleFile(invocation);
  const exportName = readTool(file.bytes, textOf(invocation, 'tool'), grants);
  const schemas = {
    inputSchema: await schemaOf(invocation, 'input-schema'),
    outputSchema: await schemaOf(invocation, 'output-schema'),
  };
  return { file, exportName, grants, limits, schemas, isRecorded: flags['no-record'] !== true };
}

function readTool(bytes: Uint8Array, tool: string | undefined, grants: WasmGrants): string {
  if (isComponent(bytes)) return requireWorld(bytes, tool, grants);
  // Whether its memory fits is for the limits of the call.
  const facts = inspect(bytes, { memoryBytes: CEILINGS.memoryBytes });
  requireFreeNames(facts);
  const exportName = requireTool(facts, tool);
  requireAbi(facts, grants);
  return exportName;
}

/** The value of --input or --input-file, else standard input; `{}` on a terminal or for empty input. */
async function inputOf(invocation: Invocation): Promise<string | Uint8Array> {
  const path = textOf(invocation, 'input-file');
  const isInline = textOf(invocation, 'input') !== undefined;
  if (path !== undefined && isInline)
    throw wrongUsage('Cannot read the input: both --input and --input-file are given, expected one of them');
  if (isInline) return readInput(invocation);
  const from = (input: string) => readInput({ ...invocation, flags: { input } });
  if (path !== undefined) return from(path === '-' ? '-' : `@${path}`);
  if (isAtTerminal(invocation)) return '{}';
  const piped = await from('-');
  return piped.length === 0 ? '{}' : piped;
}

/** Refuses a limit that the configuration would silently lower. */
async function openWith({ openGateway }: Invocation, tool: Tool, limits: LocalRun['limits']) {
  const gateway = await openGateway({ tools: [tool] });
  try {
    requireWithin(gateway.config, limits);
    return gateway;
  } catch (error) {
    await gateway.close();
    throw error;
  }
}

function requireWithin(config: Config, { fuel = 0, memoryBytes = 0 }: LocalRun['limits']): void {
  const rows = [
    ['fuel', 'fuel', fuel, config.wasm.fuel, config.ceilings.fuel],
    ['memory', 'memory_bytes', memoryBytes, config.wasm.memoryBytes, config.ceilings.memoryBytes],
  ] as const;
  for (const [flag, key, asked, limit, ceiling] of rows) {
    const [most, section] = limit <= ceiling ? [limit, 'wasm'] : [ceiling, 'ceilings'];
    if (asked <= most) continue;
    throw wrongUsage(
      `Cannot use --${flag} "${asked}": \`${section}.${key}\` of palisade.toml is ${most}, expected at most that`,
    );
  }
}

/** The remedy of the line names a command that only knows registered tools. */
function reword(ended: Ended, id: string): Ended {
  const { outcome } = ended;
  if (outcome.code !== 'policy/denied') return ended;
  const remedy = `Run it with --dry-run to see what the policies decide, then ask the operator for a policy that permits ${id}.`;
  return { ...ended, outcome: { ...outcome, remedy } };
}

/** Together with their prefix they are valid ids of tools. */
const [MOST_NAME_CHARS, MOST_EXPORT_CHARS] = [48, 64];

/**
 * A tool that is an export of a file. Without --input-schema and --output-schema its schemas accept everything. Policies
 * decide who may run it, and see its grants. The bytes that were read are run, whatever becomes of the file.
 */
export function localTool(run: LocalRun): Tool {
  const { file, exportName, grants, limits, schemas, isRecorded } = run;
  const name = plainName(basename(file.name).replace(/\.wasm$/i, ''), MOST_NAME_CHARS);
  const skill = `local.${name}`;
  const sha256 = digestBytes(file.bytes);
  const granted = spellGrants(grants);
  return {
    id: `${skill}.${plainName(exportName, MOST_EXPORT_CHARS)}`,
    // An approval is bound to it, and so to every grant.
    description: `The export ${JSON.stringify(exportName)} of a file, granted ${granted.length === 0 ? 'nothing' : JSON.stringify(granted)}${isRecorded ? '' : ', not recorded'}.`,
    category: 'wasm',
    risk: riskOf(grants),
    ...schemas,
    capabilities: capabilitiesOf(grants),
    tier: 'a',
    limits: { ...LIMIT_CEILINGS, ...limits },
    hosts: () => hostsOf(grants),
    paths: () => [],
    artifacts: [{ name: `${name}.wasm`, sha256 }],
    executor: {
      kind: 'wasm',
      program: { skill, sha256, read: async () => file.bytes, exportName, grants, isRecorded },
    },
  };
}

/** The nearest name of letters, digits, `_` and `-`; a dot would look like another part of the id. */
function plainName(text: string, mostChars: number): string {
  const plain = text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .slice(0, mostChars);
  return plain.replace(/^[-_]+|[-_]+$/g, '') || 'module';
}

function documentOf({ tool, tier, limits }: CheckedCall, { file, exportName, grants }: LocalRun) {
  const { wallMs, fuel, memoryBytes, outputBytes, egressBytes } = limits;
  return {
    tool: tool.id,
    file: file.name,
    sha256: file.sha256,
    export: exportName,
    ...{ tier, risk: tool.risk, capabilities: tool.capabilities, hosts: hostsOf(grants) },
    grants: spellGrants(grants),
    limits: { wallMs, fuel, memoryBytes, outputBytes, egressBytes },
  };
}

function rowsOf(plan: ReturnType<typeof documentOf>): readonly FactRow[] {
  const grants = plan.grants.length === 0 ? ['none'] : plan.grants;
  return [
    ['tool', plan.tool],
    ['module', plan.file],
    ['sha256', plan.sha256],
    ['export', plan.export],
    ['tier', plan.tier],
    ['risk', plan.risk],
    ...grants.map((grant): FactRow => ['grant', grant]),
    ...Object.entries(plan.limits).map(([name, value]): FactRow => ['limit', `${name}=${value}`]),
  ];
}

const JSON_LIMITS = { maxBytes: 1024 * 1024, maxDepth: 64 };

/** The schema in the file of a flag; without the flag, one that accepts everything. */
async function schemaOf(invocation: Invocation, flag: string): Promise<JsonSchema> {
  const path = textOf(invocation, flag);
  if (path === undefined) return {};
  const parsed = parseStrict(await readFileFlag(path), JSON_LIMITS);
  if (!parsed.ok) throw wrongUsage(`Cannot use --${flag} "${path}": ${parsed.message}`);
  const schema = parsed.value;
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    throw wrongUsage(`Cannot use --${flag} "${path}": it is not an object, expected a JSON Schema`);
  const { Schemas } = await import('../../../registry/schema.ts');
  try {
    new Schemas().compile(schema as JsonSchema);
    return schema as JsonSchema;
  } catch (error) {
    const why = (error as Error).message;
    throw wrongUsage(`Cannot use --${flag} "${path}": it is not a valid JSON Schema 2020-12 (${why})`);
  }
}
