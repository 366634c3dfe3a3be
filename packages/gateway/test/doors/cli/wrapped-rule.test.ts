import { describe, expect, test } from 'vitest';
import { madeName } from '../../../src/doors/cli/nouns/mcp.ts';

describe('madeName()', () => {
  test.each([
    [['npx', '-y', '@acme/files-server@1.2.3', '/srv'], 'files-server'],
    [['npx', '@acme/files-server'], 'files-server'],
    [['node', '/opt/Files_Server.mjs'], 'files-server'],
    [['/usr/bin/python3', 'weather.py'], 'weather'],
    [['uv', 'run', 'weather.py'], 'weather'],
    [['github-mcp-server', 'stdio'], 'github-mcp-server'],
    [['node', '/opt/@acme/files-server/dist/index.js'], 'files-server'],
    [['node', 'dist/index.js'], 'index'],
    [['node', 'server.js'], 'server'],
    [['node'], 'node'],
    [['./--'], 'upstream'],
    [['node', '123'], 'upstream'],
  ])('calls %j %s', (command, name) => {
    expect(madeName(command)).toBe(name);
  });
});
