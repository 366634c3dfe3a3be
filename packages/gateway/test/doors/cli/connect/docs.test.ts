import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Location } from '../../../../src/doors/cli/connect/clients.table.ts';
import { CLIENTS } from '../../../../src/doors/cli/connect/clients.table.ts';
import { upstreamName } from '../../../../src/doors/cli/connect/entry.ts';
import { parseCommandLine } from '../../../../src/doors/cli/parse.ts';
import { makeScratchHome, textOf } from './scratch-home.ts';

const PAGE = readFileSync(new URL('../../../../../../docs/connect.md', import.meta.url), 'utf8');
const ROOTS = { home: '~', config: 'CONFIG', app: 'APP' };

/** On Linux, the two folders are one. */
function spelled({ from, path }: Location, other: Location | undefined): string {
  return `${ROOTS[from === 'config' && other?.from === 'app' && other.path === path ? 'app' : from]}/${path}`;
}

describe('docs/connect.md', () => {
  test.each(CLIENTS.map((client) => [client.id, client] as const))('has the row of %s', (id, client) => {
    const { name, user, project, key, why } = client;
    const [linux] = user.linux;
    const file = linux === undefined ? '' : spelled(linux, user.darwin[0]);
    const shown = project === null ? '-' : `\`${project}\``;
    expect(PAGE).toContain(`| \`${id}\` | ${name} | \`${file}\` | ${shown} | \`${key}\` | ${why} |\n`);
  });

  test('says of each client what a script needs that cannot ask', () => {
    const shown = CLIENTS.flatMap(({ unattended }) => unattended?.replaceAll('NAME', 'palisade') ?? []);
    expect(shown.filter((each) => !PAGE.includes(`\`${each}\``))).toEqual([]);
  });

  test('has no row of anything else', () => {
    expect(PAGE.match(/^\| `[a-z-]+` \| [A-Z]/gm)).toHaveLength(CLIENTS.length);
  });
});

describe('the command of an entry', () => {
  test('is a command line that this palisade understands', async () => {
    const { home, run } = makeScratchHome();
    await run(['connect', 'opencode', '--as', 'agent:ada']);
    const { mcp } = JSON.parse(textOf(`${home}/.config/opencode/opencode.json`));
    const [, , ...args] = mcp.palisade.command;
    const { verb, flags } = parseCommandLine(args);
    expect([verb?.words, flags.as]).toEqual(['mcp', 'agent:ada']);
  });

  test('is one for a wrapped server, too, with its own command after --', async () => {
    const { run, write } = makeScratchHome();
    const path = write(
      '.cursor/mcp.json',
      '{"mcpServers": {"My Files": {"command": "npx", "args": ["--json", "x"]}}}',
    );
    await run(['connect', 'cursor', '--wrap', 'My Files']);
    const { verb, flags, rest } = parseCommandLine(
      JSON.parse(textOf(path)).mcpServers['My Files'].args.slice(1),
    );
    expect([verb?.words, flags.name, rest]).toEqual([
      'mcp wrap',
      upstreamName('My Files'),
      ['npx', '--json', 'x'],
    ]);
  });
});
