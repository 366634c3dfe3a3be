/** Flags that verbs of several tables have. */

export const AS = {
  name: 'as',
  value: 'PRINCIPAL',
  sentence: 'The caller: agent:NAME, user:NAME or service:NAME (default: user:YOU).',
};
export const RUN = {
  name: 'run',
  value: 'ID',
  sentence: 'The run that the call belongs to; budgets per run count it there.',
};
export const INPUT = {
  name: 'input',
  value: 'JSON',
  sentence: 'The input as JSON, @FILE, or - for standard input (default: {}).',
};
export const TIMEOUT_MS = {
  name: 'timeout',
  value: 'MS',
  sentence: 'The time limit of the call, in milliseconds.',
};
export const TIMEOUT = { name: 'timeout', value: 'TIME', sentence: 'The time limit, as 500ms, 10s or 2m.' };
export const RECEIPT = { name: 'receipt', value: 'FILE', sentence: 'Write the signed receipt to this file.' };
export const EMBEDDED = {
  name: 'embedded',
  value: null,
  sentence: 'Make the call in this process, even where a daemon serves the state directory.',
};
export const LIMIT = { name: 'limit', value: 'N', sentence: 'How many to show (default: 20).' };
export const CURSOR = {
  name: 'cursor',
  value: 'CURSOR',
  sentence: 'Continue after the page that printed this cursor.',
};
export const OUT = {
  name: 'out',
  value: 'FILE',
  sentence: 'Write to this file instead of standard output (also -o FILE).',
};
export const REASON = { name: 'reason', value: 'TEXT', sentence: 'The reason, for the record.' };
export const YES = { name: 'yes', value: null, sentence: 'Do not ask for confirmation.' };
export const SANDBOX_TIER = {
  name: 'tier',
  value: 'TIER',
  sentence: 'The sandbox: b (resource limits) or c (a bubblewrap jail; the default).',
};
export const WORKSPACE = {
  name: 'workspace',
  value: 'DIR',
  sentence: 'The one directory that it may write to (default: the current directory).',
};
export const ENV = {
  name: 'env',
  value: 'NAME=VALUE',
  repeats: true,
  sentence: 'An environment variable for it; may be repeated.',
} as const;
export const ALLOW_HOST = {
  name: 'allow-host',
  value: 'ENTRY',
  repeats: true,
  sentence: 'A host that it may reach, as api.example.com or *.example.com:443; may be repeated.',
} as const;
export const SECRET = {
  name: 'secret',
  value: 'NAME',
  repeats: true,
  sentence: 'A secret of palisade.toml that it uses without seeing it; may be repeated.',
} as const;
