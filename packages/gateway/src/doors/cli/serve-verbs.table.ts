import type { Verb } from './verb.ts';

export const SERVE_VERBS: readonly Verb[] = [];
