import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readEnvironment } from '../../../../src/config/environment.ts';
import type { Platform } from '../../../../src/doors/cli/connect/clients.table.ts';
import { CLIENTS } from '../../../../src/doors/cli/connect/clients.table.ts';
import { upstreamName } from '../../../../src/doors/cli/connect/entry.ts';
import { fileOf, isFound, programOf } from '../../../../src/doors/cli/connect/target.ts';
import { tempDir } from '../../../fixture/temp-dir.ts';
import { clientOf } from './samples.ts';

const here = (platform: Platform, home = '/h', more = {}) => ({
  env: readEnvironment({ HOME: home, ...more }, null),
  cwd: '/p',
  platform,
});

describe('fileOf()', () => {
  test.each<[string, Platform, string]>([
    ['claude-desktop', 'linux', '/h/.config/Claude/claude_desktop_config.json'],
    ['claude-desktop', 'darwin', '/h/Library/Application Support/Claude/claude_desktop_config.json'],
    ['claude-desktop', 'win32', '/h/AppData/Roaming/Claude/claude_desktop_config.json'],
    ['claude-code', 'linux', '/h/.claude.json'],
    ['cursor', 'darwin', '/h/.cursor/mcp.json'],
    ['vscode', 'linux', '/h/.config/Code/User/mcp.json'],
    ['vscode', 'darwin', '/h/Library/Application Support/Code/User/mcp.json'],
    ['codex', 'linux', '/h/.codex/config.toml'],
    ['gemini', 'linux', '/h/.gemini/settings.json'],
    ['windsurf', 'linux', '/h/.codeium/windsurf/mcp_config.json'],
    ['antigravity', 'linux', '/h/.gemini/antigravity/mcp_config.json'],
    ['cline', 'linux', '/h/.cline/data/settings/cline_mcp_settings.json'],
    ['qwen', 'linux', '/h/.qwen/settings.json'],
    [
      'roo-code',
      'linux',
      '/h/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json',
    ],
    ['continue', 'linux', '/h/.continue/config.yaml'],
    ['goose', 'darwin', '/h/.config/goose/config.yaml'],
    ['goose', 'win32', '/h/AppData/Roaming/Block/goose/config/config.yaml'],
    ['opencode', 'linux', '/h/.config/opencode/opencode.json'],
    ['zed', 'darwin', '/h/.config/zed/settings.json'],
    ['amp', 'linux', '/h/.config/amp/settings.json'],
    ['lm-studio', 'linux', '/h/.lmstudio/mcp.json'],
    ['kiro', 'linux', '/h/.kiro/settings/mcp.json'],
    ['copilot-cli', 'linux', '/h/.copilot/mcp-config.json'],
    ['mistral-vibe', 'linux', '/h/.vibe/config.toml'],
  ])('finds the file of %s on %s', (id, platform, path) => {
    expect(fileOf(clientOf(id), 'user', here(platform))).toBe(path);
  });

  test('takes the one of several files that is there', () => {
    const home = tempDir();
    mkdirSync(join(home, '.config/opencode'), { recursive: true });
    writeFileSync(join(home, '.config/opencode/opencode.jsonc'), '{}');
    expect(fileOf(clientOf('opencode'), 'user', here('linux', home))).toMatch(/opencode\.jsonc$/);
  });

  test.each(['Code', 'Code - Insiders', 'Cursor', 'Windsurf', 'VSCodium'])(
    'finds an older Cline in %s, until it has the file that it shares with its CLI',
    (editor) => {
      const home = tempDir();
      const cline = clientOf('cline');
      const older = `.config/${editor}/User/globalStorage/saoudrizwan.claude-dev/settings`;
      for (const folder of [older, '.cline/data/settings']) {
        mkdirSync(join(home, folder), { recursive: true });
        writeFileSync(join(home, folder, 'cline_mcp_settings.json'), '{}');
        expect(fileOf(cline, 'user', here('linux', home))).toBe(
          join(home, folder, 'cline_mcp_settings.json'),
        );
      }
    },
  );

  test('takes APPDATA and XDG_CONFIG_HOME for what they say, unless they are relative', () => {
    expect(fileOf(clientOf('vscode'), 'user', here('win32', '/h', { APPDATA: '/a' }))).toBe(
      '/a/Code/User/mcp.json',
    );
    expect(fileOf(clientOf('zed'), 'user', here('linux', '/h', { XDG_CONFIG_HOME: 'x' }))).toMatch(/^\/h\//);
  });

  test('needs a home', () => {
    const nowhere = { ...here('linux'), env: readEnvironment({}, null) };
    expect(() => fileOf(clientOf('zed'), 'user', nowhere)).toThrow('there is no home directory');
  });
});

describe('isFound()', () => {
  test('sees no client in an empty home, and each by what it leaves there', () => {
    for (const client of CLIENTS) {
      const home = tempDir();
      expect(isFound(client, here('linux', home))).toBe(false);
      const path = fileOf(client, 'user', here('linux', home));
      mkdirSync(join(path, '..'), { recursive: true });
      writeFileSync(path, '');
      expect([client.id, isFound(client, here('linux', home))]).toEqual([client.id, true]);
    }
  });
});

test('isFound() sees a client by a program on the search path, and not by a file of another name', () => {
  const [home, bin] = [tempDir(), tempDir()];
  writeFileSync(join(bin, 'qwen'), '');
  const machine = here('linux', home, { PATH: `relative:${bin}` });
  expect(CLIENTS.filter((client) => isFound(client, machine)).map(({ id }) => id)).toEqual(['qwen']);
  expect(isFound(clientOf('qwen'), here('win32', home, { PATH: bin }))).toBe(false);
  for (const { programs } of CLIENTS) for (const program of programs) writeFileSync(join(bin, program), '');
  const without = CLIENTS.filter((client) => !isFound(client, machine)).map(({ id }) => id);
  expect(without).toEqual(['claude-desktop', 'roo-code']);
});

test('isFound() does not take the empty folder for a client that a file of it was removed from', () => {
  const home = tempDir();
  mkdirSync(join(home, '.cursor'));
  expect(isFound(clientOf('cursor'), here('linux', home))).toBe(false);
  writeFileSync(join(home, '.cursor', 'settings'), '');
  expect(isFound(clientOf('cursor'), here('linux', home))).toBe(true);
});

describe('programOf()', () => {
  test('names a Node and the command by absolute paths that exist', () => {
    const { argv, isTemporary } = programOf(process.execPath, []);
    expect(argv[0]).toBe(process.execPath);
    expect(argv[1]).toMatch(/\/packages\/gateway\/bin\/palisade\.js$/);
    expect(isTemporary).toBe(false);
  });

  test('prefers the link that an update of Node leaves alone, and only if it leads to this Node', () => {
    const folder = tempDir();
    symlinkSync(process.execPath, join(folder, 'node'));
    const other = tempDir();
    writeFileSync(join(other, 'node'), '');
    chmodSync(join(other, 'node'), 0o755);
    expect(programOf(process.execPath, [other, folder]).argv[0]).toBe(join(folder, 'node'));
    expect(programOf(process.execPath, [other]).argv[0]).toBe(process.execPath);
  });
});

test.each([
  ['filesystem', 'filesystem'],
  ['My Server 2', 'my-server-2'],
  ['@acme/Files_Server', 'acme-files-server'],
  ['9lives', 'lives'],
  ['日本', 'server'],
  ['x'.repeat(50), 'x'.repeat(32)],
])('upstreamName() makes of %j a name that an upstream may have', (server, name) => {
  expect(upstreamName(server)).toBe(name);
});
