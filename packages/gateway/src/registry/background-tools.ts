import type { ToolCall } from '../core/call.ts';
import type { Json, JsonObject } from '../core/json.ts';
import { DEFAULT_LIMITS } from '../core/limits.ts';
import type { JsonSchema, Tool } from '../core/tool.ts';
import { INPUT_SCHEMA } from '../runner/input.ts';

/*
 * The tools for commands that outlive their call. None of them runs a command itself: what `start` begins is a call of
 * `palisade.process.run` with the same input, so that every policy and budget for commands applies to it.
 */

/** What the tools do; each acts for the principal and the tenant of its call. */
export type BackgroundActs = {
  readonly start: (call: ToolCall, input: JsonObject, signal: AbortSignal) => Promise<Json>;
  readonly logs: (call: ToolCall, input: JsonObject) => Promise<Json>;
  readonly stop: (call: ToolCall, input: JsonObject) => Promise<Json>;
};

/** Limits of what is read of a log at once. */
export const LOG_READ = { defaultBytes: 16 * 1024, maxBytes: 64 * 1024 } as const;

/** For the start of a sandbox that has to wait, and for a command that does not end when it is asked to. */
const LONGEST_MS = 60_000;

const COMMON = {
  category: 'process',
  // Starting is judged as a command, by a call of its own; reading and stopping concern the caller's own runs.
  risk: 'low',
  capabilities: ['process'],
  tier: 'builtin',
  limits: { ...DEFAULT_LIMITS, wallMs: LONGEST_MS },
  hosts: () => [],
  paths: () => [],
  artifacts: [],
} as const;

const ID: JsonSchema = {
  type: 'string',
  maxLength: 64,
  description: 'The id that palisade.process.start gave.',
};
const ANY_OBJECT: JsonSchema = { type: 'object' };

/** The three tools, on top of what performs them. */
export function backgroundTools(acts: BackgroundActs): readonly Tool[] {
  return [startTool(acts), logsTool(acts), stopTool(acts)];
}

/** What a command takes, without an input: its standard input stays open and empty for as long as it runs. */
function startSchema(): JsonSchema {
  const { stdin: _, ...properties } = INPUT_SCHEMA.properties as JsonObject;
  return { ...INPUT_SCHEMA, properties };
}

function startTool(acts: BackgroundActs): Tool {
  return {
    ...COMMON,
    id: 'palisade.process.start',
    description:
      'Starts a program in a sandbox, like palisade.process.run, and returns while it runs: a development server, a watcher. Gives its id and what it printed first. Read on with palisade.process.logs, end it with palisade.process.stop; it also ends at its limit wall_ms, and with the gateway.',
    inputSchema: startSchema(),
    outputSchema: ANY_OBJECT,
    executor: {
      kind: 'builtin',
      run: (input, signal, call) => acts.start(call, input as JsonObject, signal),
    },
  };
}

function logsTool(acts: BackgroundActs): Tool {
  return {
    ...COMMON,
    id: 'palisade.process.logs',
    description:
      'Gives what a background run printed, on both streams, and whether it still runs or how it ended. Without an id: lists the background runs of the caller.',
    inputSchema: {
      type: 'object',
      properties: {
        id: ID,
        since: {
          type: 'integer',
          minimum: 0,
          description:
            'The cursor of the last reading: only what was printed after it. By default the end of the log.',
        },
        max_bytes: {
          type: 'integer',
          minimum: 1,
          maximum: LOG_READ.maxBytes,
          description: `How much to give at most; ${LOG_READ.defaultBytes} by default.`,
        },
      },
      additionalProperties: false,
    },
    outputSchema: ANY_OBJECT,
    executor: { kind: 'builtin', run: (input, _, call) => acts.logs(call, input as JsonObject) },
  };
}

function stopTool(acts: BackgroundActs): Tool {
  return {
    ...COMMON,
    id: 'palisade.process.stop',
    description:
      'Ends a background run: asks its program to end (SIGTERM) and kills all of its processes if it has not ended after five seconds. One that has ended stays as it is.',
    inputSchema: { type: 'object', properties: { id: ID }, required: ['id'], additionalProperties: false },
    outputSchema: ANY_OBJECT,
    executor: { kind: 'builtin', run: (input, _, call) => acts.stop(call, input as JsonObject) },
  };
}
