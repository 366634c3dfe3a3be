import type { JsonObject } from '../../../core/json.ts';

/* The MCP clients that can be connected: where the configuration of each is, and the form of a server in it. docs/connect.md shows this table. */

export type Platform = 'linux' | 'darwin' | 'win32';
export type FileScope = 'user' | 'project';

/**
 * A path below a folder of the user. `home` is the home directory; `config` is ~/.config or XDG_CONFIG_HOME; `app` is where
 * the platform keeps the data of applications (`config` on Linux, ~/Library/Application Support, %APPDATA%).
 */
export type Location = { readonly from: 'home' | 'config' | 'app'; readonly path: string };

/** How a server that is started by a command is written. */
type StdioForm = {
  readonly command: string;
  /** Null: the arguments are in the list of the command itself. */
  readonly args: string | null;
  /** Keys with the same value in every entry. */
  readonly more: JsonObject;
};

/** How a server at an address is written. */
type HttpForm = {
  readonly url: string;
  /** The keys down to the object with the headers of requests. */
  readonly headers: readonly string[];
  readonly more: JsonObject;
};

export type McpClient = {
  readonly id: string;
  readonly name: string;
  /** Why the row is as it is: what sets the file of this client apart. */
  readonly why: string;
  /** The files of a user, per platform; of several, the first that exists counts, else the first. */
  readonly user: Readonly<Record<Platform, readonly Location[]>>;
  /** The file of a project, below its folder; null: the client has none. */
  readonly project: string | null;
  /** Folders and files that exist where the client is installed. */
  readonly signs: readonly Location[];
  /** Its programs; one of them on the search path means that the client is installed. */
  readonly programs: readonly string[];
  /** The text that a new file begins with: what the client demands besides servers. */
  readonly start: string;
  /** An application without a project: it starts servers in `/` or in the home directory. */
  readonly isDesktop: boolean;
  /** A file that the client no longer reads once the user's file exists. */
  readonly hides: Location | null;
  /** `jsonc` takes comments and trailing commas; whether a client of `json` does is not known. */
  readonly format: 'json' | 'jsonc' | 'yaml' | 'toml';
  /** The key at the top of the file that holds the servers. */
  readonly key: string;
  /** Servers are elements of a list, each with a `name`, and not values of keys. */
  readonly isList: boolean;
  /** An entry repeats its own name. */
  readonly isNamed: boolean;
  readonly stdio: StdioForm;
  /** Null: the file has no key for an address. */
  readonly http: HttpForm | null;
  /** What makes the client read the file. */
  readonly next: string;
  /** What lets it call tools of the server NAME where no one can be asked; null: nothing is needed, or it is not known. */
  readonly unattended: string | null;
};

const home = (path: string): Location => ({ from: 'home', path });
const config = (path: string): Location => ({ from: 'config', path });
const app = (path: string): Location => ({ from: 'app', path });
const everywhere = (...locations: readonly Location[]): Record<Platform, readonly Location[]> => ({
  linux: locations,
  darwin: locations,
  win32: locations,
});

const COMMAND: StdioForm = { command: 'command', args: 'args', more: {} };
const HEADERS = ['headers'];
const HTTP: HttpForm = { url: 'url', headers: HEADERS, more: { type: 'http' } };
/** What most clients have in common; a row names what differs. */
const USUAL = {
  project: null,
  programs: [],
  start: '',
  isDesktop: false,
  hides: null,
  format: 'json',
  key: 'mcpServers',
  isList: false,
  isNamed: false,
  stdio: COMMAND,
  http: HTTP,
  next: 'It reads the file by itself; if not, reload its window.',
  unattended: null,
} as const;
const RESTART = 'Restart it.';
const NEW_SESSION = 'Start a new session.';

type ClientRow = Omit<McpClient, keyof typeof USUAL> & Partial<McpClient>;

/** Editors that are VS Code by another name: each keeps the files of extensions below its own folder. */
const EDITORS = ['Code', 'Code - Insiders', 'Cursor', 'Windsurf', 'VSCodium'];
const storageOf = (extension: string, path = ''): readonly Location[] =>
  EDITORS.map((editor) => app(`${editor}/User/globalStorage/${extension}${path}`));
const CLINE = 'saoudrizwan.claude-dev';
const ROO = 'rooveterinaryinc.roo-cline';
/** Gemini CLI and Qwen Code ask of a folder whether it is trusted, and remember the answer. */
const trustIn = (folder: string) =>
  `Start a new session in a folder that it trusts: elsewhere it starts no MCP servers. Its command /permissions trusts a folder; ~/${folder}/trustedFolders.json lists them.`;

const ROWS: readonly ClientRow[] = [
  {
    id: 'claude-desktop',
    name: 'Claude Desktop',
    why: 'Its file takes commands only; remote servers are connectors of the account.',
    user: {
      // Builds for Linux differ in how they spell the folder.
      linux: [config('Claude/claude_desktop_config.json'), config('claude/claude_desktop_config.json')],
      darwin: [app('Claude/claude_desktop_config.json')],
      win32: [app('Claude/claude_desktop_config.json')],
    },
    signs: [app('Claude'), app('claude')],
    isDesktop: true,
    http: null,
    next: RESTART,
  },
  {
    id: 'claude-code',
    name: 'Claude Code',
    why: 'The user file also holds its history; `type` is required for an address.',
    user: everywhere(home('.claude.json')),
    project: '.mcp.json',
    signs: [home('.claude.json'), home('.claude')],
    programs: ['claude'],
    next: NEW_SESSION,
    unattended: 'claude -p PROMPT --allowedTools mcp__NAME',
  },
  {
    id: 'cursor',
    name: 'Cursor',
    why: 'One file per user and one per project, in the same form.',
    user: everywhere(home('.cursor/mcp.json')),
    project: '.cursor/mcp.json',
    signs: [home('.cursor')],
    programs: ['cursor', 'cursor-agent'],
    format: 'jsonc',
  },
  {
    id: 'vscode',
    name: 'VS Code / Copilot',
    why: 'Servers are below `servers`, each with a `type`.',
    user: everywhere(app('Code/User/mcp.json')),
    project: '.vscode/mcp.json',
    signs: [app('Code/User')],
    programs: ['code'],
    format: 'jsonc',
    key: 'servers',
    stdio: { ...COMMAND, more: { type: 'stdio' } },
  },
  {
    id: 'codex',
    name: 'Codex CLI',
    why: 'TOML with one table per server; headers are `http_headers`; `required` has a session wait for the server.',
    user: everywhere(home('.codex/config.toml')),
    project: '.codex/config.toml',
    signs: [home('.codex')],
    programs: ['codex'],
    format: 'toml',
    key: 'mcp_servers',
    // Otherwise a session that is quicker than the server begins without its tools, and says nothing.
    stdio: { ...COMMAND, more: { required: true } },
    http: { url: 'url', headers: ['http_headers'], more: { required: true } },
    next: NEW_SESSION,
    unattended: `codex exec PROMPT -c 'mcp_servers.NAME.default_tools_approval_mode="approve"'`,
  },
  {
    id: 'gemini',
    name: 'Gemini CLI',
    why: 'The address is `httpUrl`; `trust: false` keeps its own confirmation of calls.',
    user: everywhere(home('.gemini/settings.json')),
    project: '.gemini/settings.json',
    signs: [home('.gemini/settings.json')],
    programs: ['gemini'],
    format: 'jsonc',
    stdio: { ...COMMAND, more: { trust: false } },
    http: { url: 'httpUrl', headers: HEADERS, more: { trust: false } },
    next: trustIn('.gemini'),
  },
  {
    id: 'qwen',
    name: 'Qwen Code',
    why: 'Made from Gemini CLI: the address is `httpUrl`; `trust: false` keeps its own confirmation of calls.',
    user: everywhere(home('.qwen/settings.json')),
    project: '.qwen/settings.json',
    signs: [home('.qwen')],
    programs: ['qwen'],
    format: 'jsonc',
    stdio: { ...COMMAND, more: { trust: false } },
    http: { url: 'httpUrl', headers: HEADERS, more: { trust: false } },
    next: trustIn('.qwen'),
  },
  {
    id: 'windsurf',
    name: 'Windsurf',
    why: 'The address is `serverUrl`.',
    user: everywhere(home('.codeium/windsurf/mcp_config.json')),
    signs: [home('.codeium/windsurf')],
    programs: ['windsurf'],
    http: { url: 'serverUrl', headers: HEADERS, more: {} },
  },
  {
    id: 'antigravity',
    name: 'Antigravity',
    why: 'The address is `serverUrl`; newer builds moved the file.',
    user: everywhere(home('.gemini/antigravity/mcp_config.json'), home('.gemini/config/mcp_config.json')),
    signs: [home('.gemini/antigravity'), home('.gemini/config/mcp_config.json')],
    programs: ['antigravity'],
    http: { url: 'serverUrl', headers: HEADERS, more: {} },
  },
  {
    id: 'cline',
    name: 'Cline',
    why: 'Its CLI and its extension share the file; older extensions have one per editor. The type of an address is `streamableHttp`.',
    user: everywhere(
      home('.cline/data/settings/cline_mcp_settings.json'),
      ...storageOf(CLINE, '/settings/cline_mcp_settings.json'),
    ),
    signs: [home('.cline'), ...storageOf(CLINE)],
    programs: ['cline'],
    http: { url: 'url', headers: HEADERS, more: { type: 'streamableHttp' } },
  },
  {
    id: 'roo-code',
    name: 'Roo Code',
    why: 'An extension of VS Code and its kin; the type of an address is `streamable-http`.',
    user: everywhere(...storageOf(ROO, '/settings/mcp_settings.json')),
    project: '.roo/mcp.json',
    signs: storageOf(ROO),
    http: { url: 'url', headers: HEADERS, more: { type: 'streamable-http' } },
  },
  {
    id: 'continue',
    name: 'Continue',
    why: 'YAML with a list of named servers; a file needs `name`, `version` and `schema`; headers are below `requestOptions`.',
    user: everywhere(home('.continue/config.yaml')),
    project: '.continue/mcpServers/palisade.yaml',
    signs: [home('.continue')],
    programs: ['cn'],
    start: 'name: Local Config\nversion: 1.0.0\nschema: v1\n',
    hides: home('.continue/config.json'),
    format: 'yaml',
    isList: true,
    isNamed: true,
    http: { url: 'url', headers: ['requestOptions', 'headers'], more: { type: 'streamable-http' } },
  },
  {
    id: 'goose',
    name: 'Goose',
    why: 'YAML; the command is `cmd`, the address `uri`, and a server must be enabled.',
    user: {
      linux: [config('goose/config.yaml')],
      darwin: [config('goose/config.yaml')],
      win32: [app('Block/goose/config/config.yaml')],
    },
    signs: [config('goose'), app('Block/goose')],
    programs: ['goose'],
    format: 'yaml',
    key: 'extensions',
    isNamed: true,
    stdio: { command: 'cmd', args: 'args', more: { type: 'stdio', enabled: true, timeout: 300 } },
    http: { url: 'uri', headers: HEADERS, more: { type: 'streamable_http', enabled: true, timeout: 300 } },
    next: NEW_SESSION,
  },
  {
    id: 'opencode',
    name: 'OpenCode',
    why: 'A command is one list with its arguments, and a server must be enabled.',
    user: everywhere(config('opencode/opencode.json'), config('opencode/opencode.jsonc')),
    project: 'opencode.json',
    signs: [config('opencode')],
    programs: ['opencode'],
    format: 'jsonc',
    key: 'mcp',
    stdio: { command: 'command', args: null, more: { type: 'local', enabled: true } },
    http: { url: 'url', headers: HEADERS, more: { type: 'remote', enabled: true } },
    next: NEW_SESSION,
  },
  {
    id: 'zed',
    name: 'Zed',
    why: 'Servers are below `context_servers` of the general settings.',
    user: {
      linux: [config('zed/settings.json')],
      darwin: [config('zed/settings.json')],
      win32: [app('Zed/settings.json')],
    },
    project: '.zed/settings.json',
    signs: [config('zed'), app('Zed')],
    programs: ['zed', 'zeditor'],
    format: 'jsonc',
    key: 'context_servers',
    http: { url: 'url', headers: HEADERS, more: {} },
  },
  {
    id: 'amp',
    name: 'Amp',
    why: 'Servers are below the one key `amp.mcpServers` of the general settings.',
    user: everywhere(config('amp/settings.json'), config('amp/settings.jsonc')),
    project: '.amp/settings.json',
    signs: [config('amp')],
    programs: ['amp'],
    format: 'jsonc',
    key: 'amp.mcpServers',
    next: NEW_SESSION,
  },
  {
    id: 'lm-studio',
    name: 'LM Studio',
    why: 'Older builds keep the file in the cache folder.',
    user: everywhere(home('.lmstudio/mcp.json'), home('.cache/lm-studio/mcp.json')),
    signs: [home('.lmstudio'), home('.cache/lm-studio')],
    programs: ['lms'],
    isDesktop: true,
  },
  {
    id: 'kiro',
    name: 'Kiro',
    why: 'An address has no `type`.',
    user: everywhere(home('.kiro/settings/mcp.json')),
    project: '.kiro/settings/mcp.json',
    signs: [home('.kiro')],
    programs: ['kiro', 'kiro-cli'],
    http: { url: 'url', headers: HEADERS, more: {} },
  },
  {
    id: 'copilot-cli',
    name: 'Copilot CLI',
    why: 'A server lists the tools that it may offer.',
    user: everywhere(home('.copilot/mcp-config.json')),
    project: '.github/mcp.json',
    signs: [home('.copilot')],
    programs: ['copilot'],
    stdio: { ...COMMAND, more: { type: 'local', tools: ['*'] } },
    http: { url: 'url', headers: HEADERS, more: { type: 'http', tools: ['*'] } },
    next: NEW_SESSION,
  },
  {
    id: 'mistral-vibe',
    name: 'Mistral Vibe',
    why: 'TOML with a list of named tables; the key of the kind is `transport`.',
    user: everywhere(home('.vibe/config.toml')),
    project: '.vibe/config.toml',
    signs: [home('.vibe')],
    programs: ['vibe'],
    format: 'toml',
    key: 'mcp_servers',
    isList: true,
    isNamed: true,
    stdio: { ...COMMAND, more: { transport: 'stdio' } },
    http: { url: 'url', headers: HEADERS, more: { transport: 'streamable-http' } },
    next: NEW_SESSION,
  },
];

export const CLIENTS: readonly McpClient[] = ROWS.map((row) => ({ ...USUAL, ...row }));
