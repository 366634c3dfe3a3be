import type { Verb } from './verb.ts';

export const MCP_VERBS: readonly Verb[] = [];
