import type { McpClient } from '../../../../src/doors/cli/connect/clients.table.ts';
import { CLIENTS } from '../../../../src/doors/cli/connect/clients.table.ts';
import { entryFor } from '../../../../src/doors/cli/connect/entry.ts';
import type { Source } from '../../../../src/doors/cli/connect/servers.ts';

/** What the tests of plans are about: an entry, and files as people have them. */

export const OWN_ENTRY = { server: 'palisade', url: 'http://127.0.0.1:7433/mcp' };
const PROGRAM = ['/usr/bin/node', '/opt/palisade/bin/palisade.js'];
export const WRAPPER = {
  program: PROGRAM,
  flags: ['mcp', 'wrap', '--name', 'files', '--as', 'agent:ada', '--state', '/state'],
};
export const STDIO = {
  kind: 'stdio',
  argv: [...PROGRAM, 'mcp', '--as', 'agent:ada', '--state', '/state'],
} as const;
export const TOKEN = 'pls_0123456789abcdefghjkmnpqr_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
export const HTTP = { kind: 'http', url: OWN_ENTRY.url, token: TOKEN } as const;

export function clientOf(id: string): McpClient {
  const client = CLIENTS.find((each) => each.id === id);
  if (client === undefined) throw new Error(`there is no client ${id}`);
  return client;
}

export function sourceOf(id: string, text: string): Source {
  return { client: clientOf(id), name: 'the file', text };
}

/** A file with a server `files` and settings of its owner, in a layout that no program writes. */
export function existingFor(client: McpClient): string {
  const { key } = client;
  const files = entryFor(client, 'files', { kind: 'stdio', argv: ['npx', '-y', 'files-server', '/srv'] });
  if (client.format === 'yaml') return yamlWith(client, key);
  if (client.format === 'toml') return tomlWith(client, key);
  const [note, other, comma] =
    client.format === 'jsonc' ? [' // my servers', '\n    // keep this one last', ','] : ['', '', ''];
  return `{
  "theme":   "dark",
  "${key}": {${note}
    "files": ${JSON.stringify(files)}${comma}${other}
  },
  "list": [1,2,  3]
}
`;
}

function yamlWith({ isList, stdio }: McpClient, key: string): string {
  const lead = isList ? '  - name: files\n    ' : '  files:\n    name: files\n    ';
  return `# settings
theme:   dark   # at night
${key}:
${lead}${stdio.command}: npx   # from npm
    args: [ -y, files-server,
      /srv ]
    # the end of the servers

folded: >
  text that
  goes on
`;
}

function tomlWith({ isList }: McpClient, key: string): string {
  const header = isList ? `[[${key}]]\nname   = "files"` : `[${key}.files]`;
  return `# settings
theme   = 'dark'   # at night

${header}
command = "npx"    # from npm
args = [
  "-y", "files-server",
  "/srv",   # where
]

[other]
when = 2026-05-01
`;
}
