import type { Verb } from './verb.ts';

export const UPSTREAM_VERBS: readonly Verb[] = [];
