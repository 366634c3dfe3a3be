import type { Verb } from '../verb.ts';
import { ALLOW_HOST, AS, CURSOR, ENV, LIMIT, SANDBOX_TIER, SECRET, WORKSPACE, YES } from './shared-flags.ts';

const CLIENT_AS = {
  name: 'as',
  value: 'PRINCIPAL',
  sentence: 'The principal of the client: agent:NAME, user:NAME or service:NAME (default: agent:mcp).',
};

/** The commands that serve clients, and that manage the MCP servers and tokens behind them. */
export const SERVER_VERBS: readonly Verb[] = [
  {
    words: 'serve',
    args: [],
    flags: [
      {
        name: 'listen',
        value: 'ADDRESS:PORT',
        sentence:
          'The address to listen on (default: http.listen of palisade.toml, 127.0.0.1:7433); port 0 takes any free port.',
      },
      { name: 'quiet', value: null, sentence: 'Do not print the address.' },
    ],
    sentence: 'Serve the HTTP API and MCP until Ctrl-C or SIGTERM; running calls are finished first.',
    examples: ['palisade serve', 'palisade serve --listen 127.0.0.1:0 --json'],
    load: async () => (await import('../nouns/serve.ts')).serve,
  },
  {
    words: 'mcp',
    args: [],
    flags: [CLIENT_AS],
    sentence: 'Serve one MCP client over standard input and output, until the input ends.',
    examples: ['palisade mcp', 'palisade mcp --as agent:claude-code'],
    load: async () => (await import('../nouns/mcp.ts')).mcp,
  },
  {
    words: 'mcp wrap',
    args: [],
    rest: 'COMMAND [ARGS...]',
    flags: [
      {
        name: 'name',
        value: 'NAME',
        sentence: 'The name of the server in records (default: derived from its command).',
      },
      SANDBOX_TIER,
      {
        name: 'risk',
        value: 'RISK',
        sentence: 'The risk of its tools: low, medium or high (the default, which requires approvals).',
      },
      WORKSPACE,
      {
        name: 'read-only',
        value: 'PATH',
        repeats: true,
        sentence: 'A path outside the system directories that it may read; may be repeated.',
      },
      ALLOW_HOST,
      SECRET,
      ENV,
      CLIENT_AS,
    ],
    sentence:
      'Serve the tools of an MCP server to one client: the server is sandboxed, each call authorised and recorded.',
    examples: [
      'palisade mcp wrap -- node server.js',
      'palisade mcp wrap --risk low --read-only /opt/files-server -- node /opt/files-server/index.js',
      'palisade mcp wrap --name github --allow-host api.github.com --secret github -- github-mcp-server stdio',
    ],
    load: async () => (await import('../nouns/mcp.ts')).wrap,
  },
  {
    words: 'upstream list',
    args: [],
    flags: [],
    sentence: 'List the MCP servers behind this gateway with their states.',
    examples: ['palisade upstream list', 'palisade upstream list --json'],
    load: async () => (await import('../nouns/upstream.ts')).list,
  },
  {
    words: 'upstream show',
    args: ['NAME'],
    flags: [],
    sentence: 'Show what was accepted of a server, what it offers now, and the findings about its texts.',
    examples: ['palisade upstream show files', 'palisade upstream show files --json'],
    load: async () => (await import('../nouns/upstream.ts')).show,
  },
  {
    words: 'upstream refresh',
    args: ['[NAME]'],
    flags: [AS],
    sentence: 'Connect to one server or to all, and compare what they offer with what was accepted.',
    examples: ['palisade upstream refresh', 'palisade upstream refresh files'],
    load: async () => (await import('../nouns/upstream.ts')).refresh,
  },
  {
    words: 'upstream approve',
    args: ['NAME'],
    flags: [
      YES,
      {
        name: 'digest',
        value: 'SHA256',
        sentence: 'Accept only the set with this digest, from `upstream show --json`.',
      },
      AS,
    ],
    sentence: 'Accept what a server offers now and end its quarantine; the approver is recorded.',
    examples: ['palisade upstream approve files', 'palisade upstream approve files --yes --as user:grace'],
    load: async () => (await import('../nouns/upstream.ts')).approve,
  },
  {
    words: 'token create',
    args: [],
    flags: [
      {
        name: 'principal',
        value: 'PRINCIPAL',
        sentence: 'The principal of the holder: agent:NAME, user:NAME or service:NAME (required).',
      },
      {
        name: 'scopes',
        value: 'LIST',
        sentence:
          'What it permits, as call,read: call, read, approve, skills, policy, secrets, admin (default: call). An agent can have call and read only.',
      },
      {
        name: 'expires',
        value: 'WHEN',
        sentence:
          'When it expires: a date as 2027-01-31, or a duration as 12h, 30d or 52w, at most 366 days (default: 30d).',
      },
      { name: 'tenant', value: 'TENANT', sentence: 'The tenant of its calls (default: gateway.tenant).' },
      {
        name: 'approver',
        value: 'PRINCIPAL',
        sentence: 'The person at the client, as user:NAME, who may be asked there to approve calls.',
      },
      { name: 'label', value: 'TEXT', sentence: 'A note about its purpose, for lists and the journal.' },
      AS,
    ],
    sentence: 'Create a token for the HTTP API; it is shown only once.',
    examples: [
      'palisade token create --principal agent:ada',
      'palisade token create --principal user:grace --scopes call,read,approve --expires 12h --label "grace at her desk"',
      'palisade token create --principal service:ci --scopes call,skills --tenant acme --expires 2027-01-31 --json',
    ],
    load: async () => (await import('../nouns/token.ts')).create,
  },
  {
    words: 'token list',
    args: [],
    flags: [{ name: 'tenant', value: 'TENANT', sentence: 'Only those of this tenant.' }, LIMIT, CURSOR],
    sentence: 'List the tokens: their principals, scopes and expiry; never a token itself.',
    examples: ['palisade token list', 'palisade token list --tenant acme --json'],
    load: async () => (await import('../nouns/token.ts')).list,
  },
  {
    words: 'token revoke',
    args: ['ID'],
    flags: [AS],
    sentence: 'Revoke a token for good; the next request with it is refused.',
    examples: ['palisade token revoke tok_01k3v9m2x7q4w8e5r6t0y1p3z'],
    load: async () => (await import('../nouns/token.ts')).revoke,
  },
];
