/** Flags that verbs of several tables have. */

export const ALLOW_HOST = {
  'allow-host ENTRY...':
    'A host that it may reach, as api.example.com or *.example.com:443; may be repeated.',
};
export const AS = {
  'as PRINCIPAL': 'The caller: agent:NAME, user:NAME or service:NAME (default: user:YOU).',
};
export const CHANNEL = {
  'channel NAME': 'The client or the way in of that caller, for policies and sessions (default: none).',
};
export const CURSOR = { 'cursor CURSOR': 'Continue after the page that printed this cursor.' };
export const DEVICE = {
  'device NAME': 'The device of that caller, for policies and sessions (default: none).',
};
export const EMBEDDED = {
  embedded: 'Make the call in this process, even where a daemon serves the state directory.',
};
export const INPUT = { 'input JSON': 'The input as JSON, @FILE, or - for standard input (default: {}).' };
export const LIMIT = { 'limit N': 'How many to show (default: 20).' };
export const OUT = { 'out FILE': 'Write to this file instead of standard output (also -o FILE).' };
export const READ_ONLY = {
  'read-only PATH...': 'A path outside the sandbox that commands may read; may be repeated.',
};
export const REASON = { 'reason TEXT': 'The reason, for the record.' };
export const RECEIPT = { 'receipt FILE': 'Write the signed receipt to this file.' };
export const RUN = {
  'run ID':
    'A label for the run that the call belongs to; budgets per run count by the session, whatever it is.',
};
export const SANDBOX_TIER = {
  'tier TIER': 'The sandbox: b (resource limits) or c (a bubblewrap jail; the default).',
};
export const SECRET = {
  'secret NAME...': 'A secret of palisade.toml that it uses without seeing it; may be repeated.',
};
export const TIMEOUT = { 'timeout TIME': 'The time limit, as 500ms, 10s or 2m.' };
export const TIMEOUT_MS = { 'timeout MS': 'The time limit of the call, in milliseconds.' };
export const TOOL_HOMES = {
  'tool-homes NAME...':
    'Tools in your home that commands may use, as nvm, pyenv or rust, or * for all that are there; may be repeated.',
};
export const WORKSPACE = {
  'workspace DIR':
    'The one directory that it may write to (default: the current directory, where it is in a project).',
};
export const WORKSPACES = {
  'workspace DIR...':
    'A directory in or below which commands may work, in place of process.workspaces; may be repeated (default: the current directory, where it is in a project).',
};
export const YES = { yes: 'Do not ask for confirmation.' };
