import type { Verb } from './verb.ts';

export const CONNECT_VERBS: readonly Verb[] = [];
