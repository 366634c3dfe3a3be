import { describe, expect, test } from 'vitest';
import { madeName } from '../../../src/doors/cli/nouns/mcp.ts';

describe('madeName()', () => {
  test.each([
    [['npx', '-y', '@modelcontextprotocol/server-filesystem', '/srv'], 'filesystem'],
    [['npx', '-y', '@acme/files-server@1.2.3', '/srv'], 'files'],
    [['npx', '@playwright/mcp@latest'], 'playwright'],
    [['npm', 'exec', '-y', '@notionhq/notion-mcp-server'], 'notion'],
    [['uvx', 'mcp-server-git', '--repository', '/srv'], 'git'],
    [['uvx', '--from', 'git+https://git.example/x', 'weather-mcp'], 'weather'],
    [['python', '-m', 'mcp_server_git'], 'git'],
    [['docker', 'run', '-i', '--rm', '-v', '/srv:/srv', 'mcp/filesystem:1.0', '/srv'], 'filesystem'],
    [['node', '/opt/Files_Server.mjs'], 'files'],
    [['/usr/bin/python3', 'weather.py'], 'weather'],
    [['uv', 'run', 'weather.py'], 'weather'],
    [['github-mcp-server', 'stdio'], 'github'],
    [['node', '/opt/@acme/files-server/dist/index.js'], 'files'],
    [['node', 'dist/index.js'], 'index'],
    [['node', 'server.js'], 'server'],
    [['node'], 'node'],
    [['./--'], 'upstream'],
    [['node', '123'], 'upstream'],
  ])('calls %j %s', (command, name) => {
    expect(madeName(command)).toBe(name);
  });
});
