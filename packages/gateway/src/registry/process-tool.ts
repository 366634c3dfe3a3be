/** The tool that runs native commands. Its record is what callers see; settings and policy decide what it may do. */
import { CodedError } from '../core/coded-error.ts';
import type { Json } from '../core/json.ts';
import { LIMIT_CEILINGS } from '../core/limits.ts';
import { type Refused, refuse } from '../core/outcome.ts';
import type { PreparedProcess } from '../core/process.ts';
import type { PrepareProcess, Tool } from '../core/tool.ts';
import { INPUT_SCHEMA, type ProcessInput, parseInput } from '../runner/input.ts';
import type { RunnerSettings } from '../runner/settings.ts';
import { findChange, findMovedPath, type RunnerDeps, termsOf } from '../runner/terms.ts';

const TEXT = { type: 'string' };
const COUNT_OR_NULL = { type: ['integer', 'null'] };
const ENCODING = { type: 'string', enum: ['utf-8', 'base64'] };

/** `palisade.process.run`, for these settings. */
export function processTool(settings: () => RunnerSettings, deps: () => RunnerDeps): Tool {
  return {
    id: 'palisade.process.run',
    description:
      'Runs a program in a sandbox: in one workspace, with limits on time, memory, output, files and processes. Gives what it printed and how it ended, also when it failed.',
    category: 'process',
    risk: 'medium',
    inputSchema: INPUT_SCHEMA,
    outputSchema: {
      type: 'object',
      properties: {
        exitCode: COUNT_OR_NULL,
        signal: { type: ['string', 'null'] },
        stdout: TEXT,
        stdoutEncoding: ENCODING,
        stderr: TEXT,
        stderrEncoding: ENCODING,
        truncated: { type: 'boolean' },
        omittedBytes: {
          type: 'object',
          properties: { stdout: { type: 'integer' }, stderr: { type: 'integer' } },
        },
        limit: { type: ['string', 'null'] },
        usage: { type: 'object' },
        changes: { type: 'array' },
        findings: { type: 'array' },
        hints: { type: 'array' },
      },
      required: ['exitCode', 'signal', 'stdout', 'stderr', 'truncated', 'limit'],
      additionalProperties: true,
    },
    capabilities: ['process'],
    // Where a call names none, and in `context.tier`, that of the configuration counts.
    tier: 'c',
    limits: LIMIT_CEILINGS,
    // The arguments are read by `prepare`, which knows the workspace.
    hosts: () => [],
    paths: () => [],
    artifacts: [],
    executor: { kind: 'process', prepare: prepareWith(settings, deps) },
  };
}

function prepareWith(settings: () => RunnerSettings, deps: () => RunnerDeps): PrepareProcess {
  return async (input) => {
    const read = readInput(input);
    if ('status' in read) return read;
    return prepareCommand(read, settings(), deps());
  };
}

/** The terms of a command, and what policies judge it by. */
export function prepareCommand(
  input: ProcessInput,
  settings: RunnerSettings,
  deps: RunnerDeps,
): PreparedProcess | Refused {
  const drawn = termsOf(input, settings, deps);
  if (!drawn.ok) return drawn.problem;
  const { terms, facts } = drawn.value;
  const { kind, tier, guard, root, paths, pathsTruncated, hosts } = facts;
  return {
    terms,
    facts: { kind, tier, guard, root, paths, pathsTruncated, hosts },
    stillHolds: (workspaceFd) => findChange(facts, workspaceFd),
    pathsStillHold: () => findMovedPath(facts),
  };
}

function readInput(input: Json): ProcessInput | Refused {
  try {
    return parseInput(input);
  } catch (error) {
    if (!(error instanceof CodedError) || error.code !== 'registry/invalid-input') throw error;
    return refuse('registry/invalid-input', error.message, error.remedy);
  }
}
