import { AS } from './shared-flags.ts';
import type { Verb } from './verb.ts';

/** The words about MCP servers behind the gateway; a part of the table of verbs. */

export const UPSTREAM_VERBS: readonly Verb[] = [
  {
    words: 'mcp wrap',
    args: [],
    rest: 'COMMAND [ARGS...]',
    flags: [
      {
        name: 'name',
        value: 'NAME',
        sentence: 'What the server is called in records (default: made from its command).',
      },
      { name: 'tier', value: 'TIER', sentence: 'Its sandbox: b (limits) or c (a jail; the default).' },
      {
        name: 'risk',
        value: 'RISK',
        sentence: 'The risk of its tools: low, medium or high (the default, which needs approvals).',
      },
      {
        name: 'workspace',
        value: 'DIR',
        sentence: 'The one directory that it may write to (default: where you are).',
      },
      {
        name: 'read-only',
        value: 'PATH',
        repeats: true,
        sentence: 'A path beside the system that it may read; may be repeated.',
      },
      {
        name: 'allow-host',
        value: 'ENTRY',
        repeats: true,
        sentence: 'All that it may reach, as api.example.com or *.example.com:443; may be repeated.',
      },
      {
        name: 'secret',
        value: 'NAME',
        repeats: true,
        sentence: 'A secret of palisade.toml that it uses without having it; may be repeated.',
      },
      { name: 'env', value: 'NAME=VALUE', repeats: true, sentence: 'A variable of it; may be repeated.' },
      {
        name: 'as',
        value: 'PRINCIPAL',
        sentence: 'Who the client is: agent:NAME, user:NAME or service:NAME (default: agent:mcp).',
      },
    ],
    sentence:
      'Serve the tools of an MCP server to one client, with the server in a sandbox and every call judged and recorded.',
    examples: [
      'palisade mcp wrap -- node server.js',
      'palisade mcp wrap --risk low --read-only /opt/files-server -- node /opt/files-server/index.js',
      'palisade mcp wrap --name github --allow-host api.github.com --secret github -- github-mcp-server stdio',
    ],
    load: () => import('./verbs/mcp-wrap.ts'),
  },
  {
    words: 'upstream list',
    args: [],
    flags: [],
    sentence: 'List the MCP servers behind this gateway and how each of them stands.',
    examples: ['palisade upstream list', 'palisade upstream list --json'],
    load: () => import('./verbs/upstream-list.ts'),
  },
  {
    words: 'upstream show',
    args: ['NAME'],
    flags: [],
    sentence:
      'Show what was accepted of a server, what it offers instead, and what its words give reason to doubt.',
    examples: ['palisade upstream show files', 'palisade upstream show files --json'],
    load: () => import('./verbs/upstream-show.ts'),
  },
  {
    words: 'upstream refresh',
    args: ['[NAME]'],
    flags: [AS],
    sentence: 'Start a server (or each of them) and compare what it offers with what was accepted.',
    examples: ['palisade upstream refresh', 'palisade upstream refresh files'],
    load: () => import('./verbs/upstream-refresh.ts'),
  },
  {
    words: 'upstream approve',
    args: ['NAME'],
    flags: [
      { name: 'yes', value: null, sentence: 'Do not ask.' },
      {
        name: 'digest',
        value: 'SHA256',
        sentence: 'Accept only the set with this digest, as `upstream show --json` gave it.',
      },
      AS,
    ],
    sentence: 'Accept what a server offers now, and end its quarantine; who did is recorded.',
    examples: ['palisade upstream approve files', 'palisade upstream approve files --yes --as user:grace'],
    load: () => import('./verbs/upstream-approve.ts'),
  },
];
