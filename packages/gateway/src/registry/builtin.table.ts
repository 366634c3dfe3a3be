import type { Json } from '../core/json.ts';
import { DEFAULT_LIMITS } from '../core/limits.ts';
import type { Tool } from '../core/tool.ts';

/** Tools that are our own code. They show that the line works and need only the gateway itself. */
const LONGEST_SLEEP_MS = 900_000;

const none = () => [];

export const BUILTIN_TOOLS: readonly Tool[] = [
  {
    id: 'palisade.echo',
    description: 'Gives back the object it was given.',
    category: 'builtin',
    risk: 'low',
    inputSchema: {
      type: 'object',
      properties: {
        message: { type: 'string', description: 'Any text; other properties are given back as well.' },
      },
      additionalProperties: true,
    },
    outputSchema: { type: 'object' },
    capabilities: [],
    tier: 'builtin',
    limits: DEFAULT_LIMITS,
    hosts: none,
    paths: none,
    artifacts: [],
    executor: { kind: 'builtin', run: async (input) => input },
  },
  {
    id: 'palisade.sleep',
    description: 'Waits for the given number of milliseconds, or until it is cancelled.',
    category: 'builtin',
    risk: 'low',
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
    capabilities: [],
    tier: 'builtin',
    limits: { ...DEFAULT_LIMITS, wallMs: LONGEST_SLEEP_MS },
    hosts: none,
    paths: none,
    artifacts: [],
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
