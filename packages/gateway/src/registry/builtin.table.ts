import type { Json } from '../core/json.ts';
import { DEFAULT_LIMITS } from '../core/limits.ts';
import type { Tool } from '../core/tool.ts';

/** Tools that are our own code. They show that the line works and need only the gateway itself. */
const LONGEST_SLEEP_MS = 900_000;

/** What they all have in common: they run in the gateway, and reach nothing. */
const BUILTIN = {
  category: 'builtin',
  risk: 'low',
  capabilities: [],
  tier: 'builtin',
  limits: DEFAULT_LIMITS,
  hosts: () => [],
  paths: () => [],
  artifacts: [],
} as const;

export const BUILTIN_TOOLS: readonly Tool[] = [
  {
    ...BUILTIN,
    id: 'palisade.echo',
    description: 'Gives back the object it was given.',
    inputSchema: {
      type: 'object',
      properties: {
        message: { type: 'string', description: 'Any text; other properties are given back as well.' },
      },
      additionalProperties: true,
    },
    outputSchema: { type: 'object' },
    executor: { kind: 'builtin', run: async (input) => input },
  },
  {
    ...BUILTIN,
    id: 'palisade.sleep',
    description: 'Waits for the given number of milliseconds, or until it is cancelled.',
    inputSchema: {
      type: 'object',
      properties: {
        ms: {
          type: 'integer',
          minimum: 0,
          maximum: LONGEST_SLEEP_MS,
          description: 'How long to wait, in milliseconds.',
        },
      },
      required: ['ms'],
      additionalProperties: false,
    },
    outputSchema: {
      type: 'object',
      properties: { sleptMs: { type: 'integer', minimum: 0 } },
      required: ['sleptMs'],
      additionalProperties: false,
    },
    limits: { ...DEFAULT_LIMITS, wallMs: LONGEST_SLEEP_MS },
    executor: { kind: 'builtin', run: sleep },
  },
];

function sleep(input: Json, signal: AbortSignal): Promise<Json> {
  const { ms } = input as { readonly ms: number };
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve({ sleptMs: ms }), ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
