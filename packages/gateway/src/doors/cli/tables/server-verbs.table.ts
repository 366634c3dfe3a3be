import { type Verb, verbs } from '../verb.ts';
import {
  ALLOW_HOST,
  AS,
  CHANNEL,
  CURSOR,
  DEVICE,
  LIMIT,
  READ_ONLY,
  SANDBOX_TIER,
  SECRET,
  TOOL_HOMES,
  WORKSPACE,
  WORKSPACES,
  YES,
} from './shared-flags.ts';

const CLIENT_AS = {
  'as PRINCIPAL': 'The principal of the client: agent:NAME, user:NAME or service:NAME (default: agent:mcp).',
};

const OWN_GATEWAY = {
  embedded: 'Serve the client in this process, even where a daemon serves the state directory.',
};

const SERVICE_PLACE = {
  user: 'The service of your user (the default unless you are root).',
  system: 'The service of the machine, as the user palisade with the state directory /var/lib/palisade.',
  'manager NAME': 'systemd or launchd (default: that of this machine).',
  'root DIR': 'Files below this directory and no other changes, for packages and images.',
};

const REGISTRY = {
  'registry URL': 'The registry to fetch from (default: that of your npm or pip configuration).',
};

/** The commands that serve clients, and that manage the MCP servers and tokens behind them. */
export const SERVER_VERBS: readonly Verb[] = verbs({
  serve: {
    sentence: 'Serve the HTTP API and MCP until Ctrl-C or SIGTERM; running calls are finished first.',
    flags: {
      'listen ADDRESS:PORT':
        'The address to listen on (default: http.listen of palisade.toml, 127.0.0.1:7433); port 0 takes any free port.',
      ...WORKSPACES,
      ...READ_ONLY,
      ...TOOL_HOMES,
      quiet: 'Do not print the address.',
    },
    examples: ['palisade serve', 'palisade serve --listen 127.0.0.1:0 --json'],
    load: async () => (await import('../nouns/serve.ts')).serve,
  },
  'service install': {
    sentence: 'Install `palisade serve` as a service of systemd or launchd, and start it.',
    flags: {
      ...SERVICE_PLACE,
      'listen ADDRESS:PORT': 'The address of the service (default: http.listen of palisade.toml).',
      'workspace DIR...': 'A directory in or below which commands may work; may be repeated.',
      'no-start': 'Write the files, and do not start it.',
      force: 'Replace files that were edited or that palisade did not write.',
      'dry-run': 'Show the files and the commands, and change nothing.',
    },
    examples: [
      'palisade service install',
      'palisade service install --system --workspace /srv/agents',
      'palisade service install --system --root ./package --no-start',
    ],
    load: async () => (await import('../service/service.ts')).install,
  },
  'service uninstall': {
    sentence: 'Stop the service and remove its files; the state directory stays.',
    flags: {
      ...SERVICE_PLACE,
      force: 'Also remove files of palisade that were edited.',
      'dry-run': 'Show what would be removed, and change nothing.',
    },
    examples: ['palisade service uninstall', 'palisade service uninstall --dry-run'],
    load: async () => (await import('../service/service.ts')).uninstall,
  },
  'service status': {
    sentence:
      'Show what is installed, and how the service is; exits with 3 where it is not active, with 4 where it is not installed.',
    flags: SERVICE_PLACE,
    examples: ['palisade service status', 'palisade service status --json'],
    load: async () => (await import('../service/status.ts')).status,
  },
  mcp: {
    sentence: 'Serve one MCP client over standard input and output, until the input ends.',
    flags: {
      ...WORKSPACES,
      ...READ_ONLY,
      ...TOOL_HOMES,
      ...CLIENT_AS,
      ...DEVICE,
      ...CHANNEL,
      ...OWN_GATEWAY,
    },
    examples: ['palisade mcp', 'palisade mcp --as agent:claude-code --workspace ~/projects/site'],
    load: async () => (await import('../nouns/mcp.ts')).mcp,
  },
  'mcp wrap -- COMMAND [ARGS...]': {
    sentence:
      'Serve the tools of an MCP server to one client: the server is sandboxed, each call authorised and recorded.',
    flags: {
      'name NAME': 'The name of the server in records (default: derived from its command).',
      ...SANDBOX_TIER,
      'risk RISK': 'The risk of its tools: low, medium or high (the default, which requires approvals).',
      ...WORKSPACE,
      'read-only PATH...': 'A path outside the system directories that it may read; may be repeated.',
      ...ALLOW_HOST,
      ...SECRET,
      'env NAME[=VALUE]...':
        'An environment variable for it, by default with the value that it has here; may be repeated.',
      fetch:
        'Fetch its package first, if it was not fetched yet; on a terminal you are asked without the flag.',
      elicitation: 'Show its questions to the person at the client, as those of this server.',
      ...CLIENT_AS,
      ...DEVICE,
      ...CHANNEL,
    },
    examples: [
      'palisade mcp wrap -- node server.js',
      'palisade mcp wrap --fetch -- npx -y @modelcontextprotocol/server-everything',
      'palisade mcp wrap --risk low --read-only /opt/files-server -- node /opt/files-server/index.js',
      'palisade mcp wrap --name github --allow-host api.github.com --secret github -- github-mcp-server stdio',
    ],
    load: async () => (await import('../nouns/mcp.ts')).wrap,
  },
  'upstream list': {
    sentence: 'List the MCP servers behind this gateway with their states.',
    examples: ['palisade upstream list', 'palisade upstream list --json'],
    load: async () => (await import('../nouns/upstream.ts')).list,
  },
  'upstream show NAME': {
    sentence: 'Show what was accepted of a server, what it offers now, and the findings about its texts.',
    examples: ['palisade upstream show files', 'palisade upstream show files --json'],
    load: async () => (await import('../nouns/upstream.ts')).show,
  },
  'upstream refresh [NAME]': {
    sentence: 'Connect to one server or to all, and compare what they offer with what was accepted.',
    flags: AS,
    examples: ['palisade upstream refresh', 'palisade upstream refresh files'],
    load: async () => (await import('../nouns/upstream.ts')).refresh,
  },
  'upstream approve NAME': {
    sentence: 'Accept what a server offers now and end its quarantine; the approver is recorded.',
    flags: {
      ...YES,
      'digest SHA256': 'Accept only the set with this digest, from `upstream show --json`.',
      ...AS,
    },
    examples: ['palisade upstream approve files', 'palisade upstream approve files --yes --as user:grace'],
    load: async () => (await import('../nouns/upstream.ts')).approve,
  },
  'package add -- COMMAND [ARGS...]': {
    sentence:
      'Fetch the package that a command line of npx, uvx or a similar program names, for servers to start from.',
    flags: { ...REGISTRY, ...ALLOW_HOST, ...AS },
    examples: [
      'palisade package add -- npx -y @modelcontextprotocol/server-everything',
      'palisade package add -- uvx mcp-server-git',
    ],
    load: async () => (await import('../nouns/package.ts')).add,
  },
  'package list': {
    sentence: 'List the packages that were fetched, with their versions and digests.',
    examples: ['palisade package list', 'palisade package list --json'],
    load: async () => (await import('../nouns/package.ts')).list,
  },
  'package update SOURCE': {
    sentence: 'Fetch a package again; servers that start from another one then need an approval.',
    flags: { ...REGISTRY, ...ALLOW_HOST, ...AS },
    examples: ['palisade package update npm:@modelcontextprotocol/server-everything'],
    load: async () => (await import('../nouns/package.ts')).update,
  },
  'package verify [SOURCE]': {
    sentence: 'Compare the files of one package or of all with what was fetched.',
    examples: ['palisade package verify', 'palisade package verify pypi:mcp-server-git'],
    load: async () => (await import('../nouns/package.ts')).verify,
  },
  'package remove SOURCE': {
    sentence: 'Remove a package; servers that start from it no longer do.',
    flags: AS,
    examples: ['palisade package remove npm:@modelcontextprotocol/server-everything'],
    load: async () => (await import('../nouns/package.ts')).remove,
  },
  'token create': {
    sentence: 'Create a token for the HTTP API; it is shown only once.',
    flags: {
      'principal PRINCIPAL': 'The principal of the holder: agent:NAME, user:NAME or service:NAME (required).',
      'scopes LIST':
        'What it permits, as call,read: call, read, approve, skills, policy, secrets, admin (default: call). An agent can have call and read only.',
      'expires WHEN':
        'When it expires: a date as 2027-01-31, or a duration as 12h, 30d or 52w, at most 366 days (default: 30d).',
      'tenant TENANT': 'The tenant of its calls (default: gateway.tenant).',
      'label TEXT': 'A note about its purpose, for lists and the journal.',
      'device NAME': 'The device of its holder, for policies and sessions (default: none).',
      'channel NAME': 'The client or the way in of its holder, for the same (default: none).',
      'sessions N':
        'How many sessions of its own it may begin while one may be idle (default: 0); never for an agent.',
      ...AS,
    },
    examples: [
      'palisade token create --principal agent:ada',
      'palisade token create --principal user:grace --scopes call,read,approve --expires 12h --label "grace at her desk"',
      'palisade token create --principal agent:ada --device build-7 --channel nightly',
      'palisade token create --principal service:platform --sessions 20',
      'palisade token create --principal service:ci --scopes call,skills --tenant acme --expires 2027-01-31 --json',
    ],
    load: async () => (await import('../nouns/token.ts')).create,
  },
  'token list': {
    sentence: 'List the tokens: their principals, scopes and expiry; never a token itself.',
    flags: { 'tenant TENANT': 'Only those of this tenant.', ...LIMIT, ...CURSOR },
    examples: ['palisade token list', 'palisade token list --tenant acme --json'],
    load: async () => (await import('../nouns/token.ts')).list,
  },
  'token revoke ID': {
    sentence: 'Revoke a token for good; the next request with it is refused.',
    flags: AS,
    examples: ['palisade token revoke tok_01k3v9m2x7q4w8e5r6t0y1p3z'],
    load: async () => (await import('../nouns/token.ts')).revoke,
  },
});
